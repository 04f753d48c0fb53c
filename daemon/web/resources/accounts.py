"""Accounts: register, log in, log out, who am I."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from actors.ports import Receipt
from daemon.contract.accounts import Login, Registration
from daemon.contract.base import Empty
from daemon.identity.accounts import Session
from daemon.model import EmailTaken
from daemon.runtime.json_codec import dumps, loads
from daemon.web import cookies, render
from daemon.web.bodies import idempotency_key, read
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey, fingerprint, key_reused
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of, request_id_of
from daemon.web.problems import email_taken
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.responses import JSON, StoredResponse, json_response, problem_response
from daemon.web.services import SERVICES, Services

PATH = "/auth/register"


async def register(request: web.Request) -> web.Response:
    """POST /auth/register."""
    services, of_page = request.app[SERVICES], cookies.of_page(request)
    await request.app[RATE_LIMITS].registration(request)
    body, raw = await read(request, Registration, body_s=services.settings.body_s)
    text, store = idempotency_key(request), request.app[IDEMPOTENCY]
    if of_page:
        session = await _register(services, body, None)
        return cookies.opened(request, _session(session), 201, services.settings.token_ttl_s)
    if text is None:
        return _registered(_session(await _register(services, body, None))).response()
    public = {name: value for name, value in raw.items() if name != "password"}
    key = IdempotencyKey("", PATH, text, fingerprint(public))

    async def execute() -> StoredResponse:
        try:
            return _registered(_session(await _register(services, body, key)))
        except EmailTaken:
            refusal = problem_response(email_taken(), request_id_of(request))
            await store.keep(key.receipt(refusal))
            return refusal

    return (await store.answer(key, execute, partial(_again, services, body))).response()


async def log_in(request: web.Request) -> web.Response:
    """POST /auth/login."""
    services, of_page = request.app[SERVICES], cookies.of_page(request)
    body, _ = await read(request, Login, body_s=services.settings.body_s)
    await request.app[RATE_LIMITS].login(request, body.email)
    with slot_released():
        session = await services.identity.log_in(body.email, body.password)
    if of_page:
        return cookies.opened(request, _session(session), 200, services.settings.token_ttl_s)
    return json_response(_session(session))


async def log_out(request: web.Request) -> web.Response:
    """POST /auth/logout."""
    services = request.app[SERVICES]
    await read(request, Empty, body_s=services.settings.body_s, optional=True)
    await services.identity.log_out(principal_of(request))
    gone = web.Response(status=204)
    return cookies.closed(request, gone) if cookies.token_of(request) else gone


async def me(request: web.Request) -> web.Response:
    """GET /auth/me."""
    return json_response(render.account(await request.app[SERVICES].identity.account(principal_of(request))))


async def _register(services: Services, body: Registration, key: IdempotencyKey | None) -> Session:
    def receipt(session: Session) -> Receipt | None:
        """What is kept of the session: all but the token, which can be signed again from its claims."""
        if key is None:
            return None
        claims, key_id = services.identity.claims(session.token)
        kept = {"claims": claims, "key_id": key_id, "session": {**_session(session), "token": None}}
        return key.sealed_receipt(dumps(kept))

    with slot_released():
        return await services.identity.register(body.company_name, body.email, body.password, body.name, receipt)


async def _again(services: Services, body: Registration, receipt: Receipt) -> StoredResponse:
    """The session of an earlier registration, byte for byte, for who still knows its password."""
    with slot_released():
        confirmed = await services.identity.confirms(body.email, body.password)
    if not confirmed:
        raise key_reused()
    kept: dict[str, Any] = loads(receipt.body)
    session = {**kept["session"], "token": services.identity.signed(kept["claims"], kept["key_id"])}
    status, written, headers = _registered(session)
    return StoredResponse(status, written, {**headers, "Idempotency-Replayed": "true"})


def _registered(session: dict[str, Any]) -> StoredResponse:
    return StoredResponse(201, dumps(session), {"Content-Type": JSON})


def _session(session: Session) -> dict[str, Any]:
    return {
        "token": session.token,
        "token_type": "bearer",
        "expires_at": session.expires_at,
        **render.account(session.account),
    }
