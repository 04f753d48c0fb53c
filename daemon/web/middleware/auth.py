"""Who makes a request, by token or cookie, and whether they may do what it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from actors.context import set_log_context
from actors.core.people import ACTIONS, Action, Refusal, refusal
from actors.core.run import Run
from daemon.identity.accounts import NotAuthenticated, Principal
from daemon.identity.api_keys import PREFIX
from daemon.sso.provider import ProviderUnavailable
from daemon.web import cookies
from daemon.web.middleware.request_id import request_id_of
from daemon.web.operations import Endpoint
from daemon.web.problems import HttpProblem, not_authenticated, proof_missing
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
        principal = request[PRINCIPAL] = await _principal(request, request.app[SERVICES])
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


MACHINE, DECIDE, APPROVE = "machine", "decide", "approve"

AUTHORITY = web.AppKey("authority", Mapping[Any, Action])
"""The action of each handler; those without an entry need no token."""


def needed_by(endpoint: Endpoint) -> Action:
    return ACTIONS[endpoint.operation.action]


async def permit(request: web.Request) -> None:
    """403 for a role or kind of principal that may not do this, a repeat neither.

    What may be done with own runs alone is checked where the run is known: `check_own`.
    """
    action = request.app[AUTHORITY].get(request.match_info.handler)
    if action is not None:
        await _permit(request, action)


async def permit_again(request: web.Request) -> None:
    """403 as `permit`, or 401, after a request has waited: what changed meanwhile counts."""
    action = request.app[AUTHORITY].get(request.match_info.handler)
    if action is not None:
        await authenticate_again(request)
        await _permit(request, action)


async def _permit(request: web.Request, action: Action) -> None:
    principal = principal_of(request)
    refused = refusal(principal.role, principal.kind, action, own=True)
    if refused is None:
        return
    if (
        action.name not in (DECIDE, APPROVE)
        or principal.kind != "person"
        or not await _decides_otherwise(request, principal)
    ):
        raise forbidden(action, refused)


async def _decides_otherwise(request: web.Request, principal: Principal) -> bool:
    """Whether a person decides somewhere whatever the role: by a function, or for others."""
    services = request.app[SERVICES]
    company = await services.identity.companies.load(principal.company_id)
    person = company.people.get(principal.email)
    return person is not None and (company.fills_any(person) or bool(company.givers(person, services.now())))


def check_own(principal: Principal, action: Action, run: Run | None) -> None:
    """403 for who may do this with their own runs alone, and where there is no such run."""
    own = run is not None and (run.created_by, run.created_by_kind) == (principal.email, principal.kind)
    check(principal, action, own=own)


def check(principal: Principal, action: Action, *, own: bool = False) -> None:
    """403 for a role or kind of principal that may not do an action."""
    refused = refusal(principal.role, principal.kind, action, own=own)
    if refused is not None:
        raise forbidden(action, refused)


def forbidden(action: Action, refused: Refusal) -> HttpProblem:
    more = {"required": refused.required, "reason": refused.reason}
    if refused.reason == MACHINE:
        whose = "an agent" if "service" in action.kinds else "a machine"
        return HttpProblem("forbidden", f"The API key of {whose} may not do this: {action.summary.lower()}.", more)
    return HttpProblem("forbidden", f"This needs the role {refused.required}: {action.summary.lower()}.", more)
