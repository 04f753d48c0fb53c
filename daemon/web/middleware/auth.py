"""Authentication: who makes a request, by the bearer token or the page's cookie."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from actors.context import set_log_context
from daemon.identity.accounts import NotAuthenticated, Principal
from daemon.web import cookies
from daemon.web.middleware.request_id import request_id_of
from daemon.web.problems import not_authenticated, second_factor_needed
from daemon.web.services import SERVICES, Services

PRINCIPAL = web.RequestKey("principal", Principal)
HEALTH = "/health"
ASSETS = "/assets/"
OWN = "/auth/"
"""Where people without a second factor that their company asks for may still go."""
NOBODY = ""
_OPEN = frozenset({"/auth/register", "/auth/login", cookies.REFRESH_PATH, HEALTH, "/openapi.json", "/docs", "", "/"})


def auth(services: Services, check: Callable[[web.Request], None]) -> Middleware:
    """Refuse unknown addresses, missing or invalid tokens, and what `check` refuses."""

    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.match_info.http_exception is not None:  # an address or method that is not known, to anybody
            raise request.match_info.http_exception
        path = request.path
        if not (path in _OPEN or path.rstrip("/") in _OPEN or path.startswith(ASSETS)):
            principal = request[PRINCIPAL] = services.identity.principal(_token(request))
            set_log_context(request_id=request_id_of(request), company_id=principal.company_id)
            if not path.startswith(OWN) and services.identity.second_factors.lacking(principal):
                raise second_factor_needed()
        check(request)
        return await handler(request)

    return authenticate


def principal_of(request: web.Request) -> Principal:
    """Who makes the request; only for addresses that need a token."""
    return request[PRINCIPAL]


def company_of(request: web.Request) -> str:
    """The company of who makes the request; all who need no token count as one."""
    principal = request.get(PRINCIPAL)
    return NOBODY if principal is None else principal.company_id


def counts_still(request: web.Request) -> bool:
    """Whether the token of a long request has not expired, and its session not ended meanwhile."""
    identity = request.app[SERVICES].identity
    try:
        return not identity.second_factors.lacking(identity.principal(_token(request)))
    except NotAuthenticated:
        return False


def _token(request: web.Request) -> str:
    given = request.headers.get("Authorization")
    if given is None:
        token = cookies.token_of(request)
    else:
        scheme, _, rest = given.partition(" ")
        token = rest.strip() if scheme.lower() == "bearer" else ""
    if not token:
        raise not_authenticated(sent=False)
    return token
