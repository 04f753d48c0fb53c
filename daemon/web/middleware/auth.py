"""Authentication: who makes a request, by the bearer token or the page's cookie."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from actors.context import set_log_context
from daemon.identity.accounts import NotAuthenticated, Principal
from daemon.identity.api_keys import PREFIX
from daemon.sso.provider import ProviderUnavailable
from daemon.web import cookies
from daemon.web.middleware.request_id import request_id_of
from daemon.web.problems import not_authenticated, proof_missing
from daemon.web.services import SERVICES, Services

PRINCIPAL = web.RequestKey("principal", Principal)
HEALTH = "/health"
ASSETS = "/assets/"
OWN = "/auth/"
CALLBACKS = "/callbacks/"
"""Where people may still go whose session lacks what their company asks for."""
NOBODY = ""
_OPEN = frozenset(
    {
        *("/auth/register", "/auth/login", "/auth/invitation", cookies.REFRESH_PATH),
        *("/auth/options", "/auth/password/forgotten", "/auth/password/reset"),
        *("/auth/sso/start", "/auth/sso/callback", "/auth/sso/token"),
        *("/auth/sso/link", "/auth/sso/command", "/auth/sso/backchannel-logout"),
        *(HEALTH, "/openapi.json", "/docs", "", "/"),
    }
)


def auth(services: Services, check: Callable[[web.Request], None]) -> Middleware:
    """Refuse unknown addresses, missing or invalid tokens, and what `check` refuses."""

    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.match_info.http_exception is not None:  # an address or method that is not known, to anybody
            raise request.match_info.http_exception
        path = request.path
        if not (path in _OPEN or path.rstrip("/") in _OPEN or path.startswith((ASSETS, CALLBACKS))):
            principal = request[PRINCIPAL] = await _principal(request, services)
            set_log_context(request_id=request_id_of(request), company_id=principal.company_id)
            _check_proof(request, principal)
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


async def authenticate_again(request: web.Request) -> None:
    """Look at the rights of a request that has waited; NotAuthenticated when they have ended.

    403 when the company asks by now for what the session has not proven.
    """
    if PRINCIPAL in request:
        principal = request[PRINCIPAL] = await _principal(request, request.app[SERVICES])
        _check_proof(request, principal)


async def counts_still(request: web.Request) -> bool:
    """Whether the token or key of a long request has not expired, and was not ended meanwhile."""
    try:
        principal = await _principal(request, request.app[SERVICES])
        return request.app[SERVICES].identity.sessions.proofs.missing(principal) is None
    except (NotAuthenticated, ProviderUnavailable):
        return False


def _check_proof(request: web.Request, principal: Principal) -> None:
    """403 for a session that lacks a proof that the company asks for, but at the own account."""
    if request.path.startswith(OWN):
        return
    missing = request.app[SERVICES].identity.sessions.proofs.missing(principal)
    if missing is not None:
        raise proof_missing(missing)


async def _principal(request: web.Request, services: Services) -> Principal:
    """The holder of the token or API key; NotAuthenticated when it does not count."""
    token = _token(request)
    if services.rights is not None:
        await services.rights.ensure_fresh()
    if token.startswith(PREFIX) and "Authorization" in request.headers:
        return await services.api_keys.principal(token)
    if services.sso is not None and services.sso.recognises(token):
        return await services.sso.principal(token)
    return services.identity.principal(token)


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
