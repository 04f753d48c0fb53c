"""What is told of each request when it is answered: a line in the log where that is asked for, and its figures."""

from __future__ import annotations

import structlog
from aiohttp import web

from daemon.identity.accounts import Principal
from daemon.web.services import Services

PRINCIPAL = web.RequestKey("principal", Principal)
REQUEST_ID = web.RequestKey("request_id", str)
REFUSED = web.RequestKey("refused", bool)
"""Whether there was no room for a request."""
HEALTH = "/health"
NOBODY = ""
SLOW_S = 1.0
NO_ROUTE = "unknown"
RUNS = "/process-runs/"
STREAM = "text/event-stream"
_FAULT = 500
_log = structlog.get_logger("penstock.access")


def company_of(request: web.Request) -> str:
    """The company of who makes the request; all who need no token count as one."""
    principal = request.get(PRINCIPAL)
    return NOBODY if principal is None else principal.company_id


def tell(services: Services, request: web.Request, response: web.StreamResponse, seconds: float) -> None:
    """Tell whoever wants to know of a request that is answered."""
    status = response.status
    if services.metrics is not None:
        services.metrics.request(request.method, route_of(request), status, seconds)
    wanted = services.settings.access_log
    if wanted == "all" or (wanted == "errors" and (status >= _FAULT or _slow(response, seconds))):
        if request.get(REFUSED):  # a line for each would be too many
            return
        _write(request, response, seconds)


def route_of(request: web.Request) -> str:
    """The address as the API lists it, whatever ids stand in it."""
    resource = request.match_info.route.resource
    return NO_ROUTE if resource is None else resource.canonical.rstrip("/") or "/"


def _slow(response: web.StreamResponse, seconds: float) -> bool:
    """Whether an answer took long; a stream is meant to."""
    return seconds >= SLOW_S and response.content_type != STREAM


def _run_of(request: web.Request, response: web.StreamResponse) -> str | None:
    """The run that a request is about: the one that it names, or that it has begun."""
    begun = response.headers.get("Location", "").partition(RUNS)[2]
    return request.match_info.get("run_id") or begun or None


def _write(request: web.Request, response: web.StreamResponse, seconds: float) -> None:
    status, principal, run_id = response.status, request.get(PRINCIPAL), _run_of(request, response)
    write = _log.warning if status >= _FAULT else _log.info
    write(
        "request",
        request_id=request[REQUEST_ID],
        **({} if principal is None else {"company_id": principal.company_id}),
        **({} if run_id is None else {"run_id": run_id}),
        method=request.method,
        route=route_of(request),
        path=request.path,
        status=status,
        latency_ms=round(seconds * 1000, 3),
    )
