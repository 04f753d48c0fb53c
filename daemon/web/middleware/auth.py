"""Who makes a request: the one gateway that every request passes, and what it leaves behind for the handlers."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable

import structlog
from aiohttp import web
from aiohttp.typedefs import Middleware

from actors.actor import Stopped
from actors.context import concern
from daemon.identity.accounts import NotAuthenticated, Principal
from daemon.runtime.ids import new_id
from daemon.web import cookies, problems
from daemon.web.middleware import access_log
from daemon.web.middleware.access_log import HEALTH, PRINCIPAL, REQUEST_ID
from daemon.web.problems import SERVER, Problem, not_authenticated
from daemon.web.server.in_flight import InFlight
from daemon.web.services import SERVICES, Services

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
ASSETS = "/assets/"
_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_OPEN = frozenset({"/auth/register", "/auth/login", HEALTH, "/openapi.json", "/docs", "/"})
_log = structlog.get_logger("penstock.access")


def principal_of(request: web.Request) -> Principal:
    """Who makes the request; only for addresses that need a token."""
    return request[PRINCIPAL]


def request_id_of(request: web.Request) -> str:
    """The id of the request, its sender's own where that is well formed."""
    return request[REQUEST_ID]


def counts_still(request: web.Request) -> bool:
    """Whether the token of a request that takes long to answer has neither ended nor been revoked meanwhile."""
    try:
        request.app[SERVICES].identity.principal(_token(request))
    except NotAuthenticated:
        return False
    return True


def gateway(services: Services, in_flight: InFlight) -> Middleware:
    """A middleware that names a request, learns who makes it, and turns whatever is raised into an answer."""

    @web.middleware
    async def passed(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.perf_counter()
        request_id = request[REQUEST_ID] = _accepted_id(request.headers.get("X-Request-ID", ""))
        concern(request_id=request_id)
        try:
            _authenticate(request, services)
            response = await in_flight.run(handler(request), request)
        except ConnectionError:  # there is nobody to answer
            raise
        except Exception as error:  # noqa: BLE001 - the top of the request: everybody is answered
            response = _answer(error, request, request_id)
        if not response.prepared:
            response.headers["X-Request-ID"] = request_id
            response.headers["Server"] = SERVER
            if services.draining():
                response.force_close()
        access_log.tell(services, request, response, time.perf_counter() - began)
        return response

    return passed


def _authenticate(request: web.Request, services: Services) -> None:
    """Let a request through to its handler if its token counts, or if its address needs none."""
    path = request.path
    if path != HEALTH and services.draining():
        raise Stopped
    if request.match_info.http_exception is not None:
        raise request.match_info.http_exception
    if path.rstrip("/") in _OPEN or path in _OPEN or path.startswith(ASSETS):
        return
    principal = request[PRINCIPAL] = services.identity.principal(_token(request))
    concern(request_id=request[REQUEST_ID], company_id=principal.company_id)


def _token(request: web.Request) -> str:
    """The token that a request carries: in its Authorization header, or else in the page's cookie."""
    given = request.headers.get("Authorization")
    if given is None:
        token = cookies.token_of(request)
    else:
        scheme, _, rest = given.partition(" ")
        token = rest.strip() if scheme.lower() == "bearer" else ""
    if not token:
        raise not_authenticated(sent=False)
    return token


def _accepted_id(given: str) -> str:
    """The id of a request: its sender's own where that is well formed."""
    return given if _ID.fullmatch(given) else new_id()


def _answer(error: Exception, request: web.Request, request_id: str) -> web.Response:
    problem = problems.of(error)
    if problem is None:
        _log.exception("unhandled_exception", method=request.method, path=request.path)
        problem = Problem("internal_error", "Something went wrong here; the request id helps to find out what.")
    if "Idempotency-Key" in request.headers and _ending(request.app[SERVICES]):
        problem = problems.in_doubt(problem)
    return problem.response(request_id)


def _ending(services: Services) -> bool:
    """Whether this process will not live to know what became of an earlier request under the same key."""
    return services.draining() or services.store.failed
