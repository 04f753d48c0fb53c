"""Sessions: renewed for the page, listed and ended."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.contract import accounts as contract
from daemon.contract.base import Empty
from daemon.identity.accounts import NotAuthenticated
from daemon.identity.proofs import merged
from daemon.identity.second_factors import OTP
from daemon.model import UserSession
from daemon.web import cookies
from daemon.web.bodies import page_limit, read
from daemon.web.middleware.auth import principal_of
from daemon.web.middleware.request_id import request_id_of
from daemon.web.operations import PAGED, PUBLIC, Operation
from daemon.web.problems import not_authenticated, not_found
from daemon.web.resources.accounts import granted
from daemon.web.resources.pages import page_response
from daemon.web.responses import from_cursor, problem_response
from daemon.web.services import SERVICES


@Operation("Renew the page's session", PUBLIC, contract.PageSession, request=Empty, problems=(401, 403))
async def refresh_session(request: web.Request) -> web.Response:
    """Gives the page a new token for the refresh token in its cookie, which is replaced.

    A refresh token counts once: when one is used again later, its session ends.
    """
    services, of_page = request.app[SERVICES], cookies.of_page(request)
    await read(request, Empty)
    given = cookies.refresh_token_of(request)
    if not of_page or not given:
        raise not_authenticated(sent=False)
    try:
        session = await services.identity.sessions.refresh(given)
    except NotAuthenticated:
        refusal = problem_response(not_authenticated(sent=True), request_id_of(request)).response()
        return cookies.closed(request, refusal)
    return granted(request, session, 200)


@Operation("List the sessions", "account", list[contract.ActiveSession], query=PAGED)
async def list_sessions(request: web.Request) -> web.Response:
    """The caller's sessions that count, newest first. Use is recorded once a minute."""
    principal = principal_of(request)
    limit, before = page_limit(request), from_cursor(request, "sessions")
    found = await request.app[SERVICES].identity.sessions.live(principal, before, limit + 1)
    second_factors = request.app[SERVICES].identity.second_factors

    def show(one: UserSession) -> dict[str, Any]:
        proven = one.proofs
        if second_factors.confirmed_in(one.user_id, one.id):
            proven = merged(proven, (OTP,))
        return contract.ActiveSession.view(one, current=one.id == principal.session_id, amr=proven)

    return await page_response(request, found, limit, "sessions", name=lambda last: last.id, show=show)


@Operation("End a session", "account", status=204, problems=(404,))
async def end_session(request: web.Request) -> web.Response:
    """Ends a session of the caller: its tokens count nowhere from this answer on."""
    sessions, principal = request.app[SERVICES].identity.sessions, principal_of(request)
    if not await sessions.end(principal, request.match_info["session_id"]):
        raise not_found()
    return web.Response(status=204)


@Operation("End all other sessions", "account", status=204)
async def end_other_sessions(request: web.Request) -> web.Response:
    """Ends all sessions of the caller but that of this request."""
    await request.app[SERVICES].identity.sessions.end_others(principal_of(request))
    return web.Response(status=204)
