"""Accounts: register, log in, log out, who am I."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from actors.ports import Receipt
from daemon.contract import accounts as contract
from daemon.contract.base import Empty
from daemon.identity.accounts import Session
from daemon.model import Account, EmailTaken
from daemon.runtime.json_codec import dumps, loads
from daemon.web import cookies
from daemon.web.bodies import idempotency_key, parse, read, read_object
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey, fingerprint, key_reused
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of
from daemon.web.middleware.request_id import request_id_of
from daemon.web.operations import KEYED, Operation
from daemon.web.problems import email_taken
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.responses import JSON, StoredResponse, json_response, problem_response
from daemon.web.services import SERVICES, Services

PATH = "/auth/register"


@Operation(
    "Register a company", contract.Session, 201, contract.Registration, headers=KEYED, problems=(409, 429), public=True
)
async def register(request: web.Request) -> web.Response:
    """Makes a company and its owner, and logs the owner in. An e-mail address has one account."""
    services, of_page = request.app[SERVICES], cookies.of_page(request)
    await request.app[RATE_LIMITS].registration(request)
    raw = await read_object(request)
    body = parse(contract.Registration, raw)
    text, store = idempotency_key(request), request.app[IDEMPOTENCY]
    if of_page:
        session = await _register(services, body, None)
        return cookies.opened(request, _session_json(session), 201, services.settings.token_ttl_s)
    if text is None:
        return _registered(_session_json(await _register(services, body, None))).response()
    public = {name: value for name, value in raw.items() if name != "password"}
    key = IdempotencyKey("", PATH, text, fingerprint(public))

    async def execute() -> StoredResponse:
        try:
            return _registered(_session_json(await _register(services, body, key)))
        except EmailTaken:
            refusal = problem_response(email_taken(), request_id_of(request))
            await store.keep(key.receipt(refusal))
            return refusal

    return (await store.answer(key, execute, partial(_replay_registration, services, body))).response()


@Operation("Log in", contract.Session, request=contract.Login, problems=(401, 429), public=True)
async def log_in(request: web.Request) -> web.Response:
    """Gives a token for an e-mail address and its password.

    An unknown address and a wrong password look the same.
    """
    services, of_page = request.app[SERVICES], cookies.of_page(request)
    body = await read(request, contract.Login)
    await request.app[RATE_LIMITS].login(request, body.email)
    with slot_released():
        session = await services.identity.log_in(body.email, body.password)
    if of_page:
        return cookies.opened(request, _session_json(session), 200, services.settings.token_ttl_s)
    return json_response(_session_json(session))


@Operation("Log out", status=204, request=Empty)
async def log_out(request: web.Request) -> web.Response:
    """Revokes the token at once and for good."""
    services = request.app[SERVICES]
    await read(request, Empty)
    await services.identity.log_out(principal_of(request))
    gone = web.Response(status=204)
    return cookies.closed(request, gone) if cookies.token_of(request) else gone


@Operation("Get the account", contract.Account)
async def get_account(request: web.Request) -> web.Response:
    """The user, company and role that the token stands for."""
    return json_response(_account_json(await request.app[SERVICES].identity.account(principal_of(request))))


async def _register(services: Services, body: contract.Registration, key: IdempotencyKey | None) -> Session:
    def receipt(session: Session) -> Receipt | None:
        """Keeps all of the session but the token, which is signed again from its claims."""
        if key is None:
            return None
        claims, key_id = services.identity.claims(session.token)
        kept = {"claims": claims, "key_id": key_id, "session": {**_session_json(session), "token": None}}
        return key.sealed_receipt(dumps(kept))

    with slot_released():
        return await services.identity.register(body.company_name, body.email, body.password, body.name, receipt)


async def _replay_registration(services: Services, body: contract.Registration, receipt: Receipt) -> StoredResponse:
    """The response of an earlier registration, byte for byte, if the password is right."""
    with slot_released():
        confirmed = await services.identity.confirms(body.email, body.password)
    if not confirmed:
        raise key_reused()
    kept: dict[str, Any] = loads(receipt.body)
    session = {**kept["session"], "token": services.identity.signed(kept["claims"], kept["key_id"])}
    return _registered(session).as_replay()


def _registered(session: dict[str, Any]) -> StoredResponse:
    return StoredResponse(201, dumps(session), {"Content-Type": JSON})


def _session_json(session: Session) -> dict[str, Any]:
    return {
        "token": session.token,
        "token_type": "bearer",
        "expires_at": session.expires_at,
        **_account_json(session.account),
    }


def _account_json(one: Account) -> dict[str, Any]:
    return {"user": contract.User.view(one.user), "company": contract.Company.view(one.company), "role": one.user.role}
