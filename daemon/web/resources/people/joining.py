"""Invitations accepted, and companies switched: what gives a session of another company."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from actors.ports import Receipt
from daemon.contract import accounts as contract
from daemon.contract import people
from daemon.identity.accounts import Session
from daemon.runtime.json_codec import dumps, loads
from daemon.web import cookies
from daemon.web.bodies import parse, read
from daemon.web.idempotency import IdempotencyKey, idempotent
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.accounts import client_of, granted, refusing, session_json, session_receipt
from daemon.web.responses import JSON, StoredResponse, json_response
from daemon.web.services import SERVICES


async def _replay(request: web.Request, _: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    """The session of an earlier request, its token signed again."""
    kept: dict[str, Any] = loads(receipt.body)
    token = request.app[SERVICES].identity.signed(kept["claims"], kept["key_id"])
    return _accepted({**kept["session"], "token": token}).as_replay()


@idempotent(_replay)
async def _accept(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    body = await parse(request, people.InvitationToken, raw)
    return _accepted(session_json(await _entered(request, body.token, key)))


@Operation(
    "Accept an invitation",
    "account",
    contract.Session,
    request=people.InvitationToken,
    headers=KEYED,
    problems=(403, 404, 409, 410, 429),
)
async def accept_invitation(request: web.Request) -> web.StreamResponse:
    """Joins a company, and gives a session there. The caller's address must be the invited one."""
    await request.app[RATE_LIMITS].network(request)
    if not cookies.of_page(request):
        return await _accept(request)
    body = await read(request, people.InvitationToken)
    return granted(request, await _entered(request, body.token, None), 200)


@Operation(
    "Switch the company", "account", contract.Session, request=people.CompanySwitch, problems=(401, 403, 404, 429)
)
async def switch_company(request: web.Request) -> web.Response:
    """Gives a session for another company of the caller.

    What proved the caller's session has to count there: single sign-on counts in the company of its
    domain alone. Elsewhere 403 `forbidden` says what is missing, and the `password`, with a `code`
    where the person has a second factor, proves it.
    """
    body = await read(request, people.CompanySwitch)
    with refusing():
        session = await _switched(request, body)
    return granted(request, session, 200) if cookies.of_page(request) else json_response(session_json(session))


async def _switched(request: web.Request, body: people.CompanySwitch) -> Session:
    identity, principal, limits = request.app[SERVICES].identity, principal_of(request), request.app[RATE_LIMITS]
    where = (principal, body.company_id, client_of(request), body.password, body.code)
    if body.password is None:
        return await identity.switch(*where)
    async with limits.password(request, principal.email), limits.code(principal.email):
        return await identity.switch(*where)


async def _entered(request: web.Request, token: str, key: IdempotencyKey | None) -> Session:
    invitations, receipt = request.app[SERVICES].identity.invitations, partial(session_receipt, request, key)
    with refusing():
        return await invitations.accept(principal_of(request), token, client_of(request), receipt)


def _accepted(session: dict[str, Any]) -> StoredResponse:
    return StoredResponse(200, dumps(session), {"Content-Type": JSON})
