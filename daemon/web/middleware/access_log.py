"""What is written of each request: a line in the access log, figures, and a span."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import structlog
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from actors.core.calls import MASK
from daemon.web.middleware.admission import REFUSED
from daemon.web.middleware.auth import HEALTH, PRINCIPAL
from daemon.web.middleware.request_id import request_id_of
from daemon.web.parameters import ID
from daemon.web.services import Services

if TYPE_CHECKING:
    from daemon.observability.spans import Tracer


REASON = web.RequestKey("reason", str)
"""Why the store could not do what was asked for."""
SLOW_S = 1.0
NO_ROUTE = "unknown"
RUNS = "/process-runs/"
STREAM = "text/event-stream"
_FAULT = 500
_log = structlog.get_logger("penstock.access")


def access_log(services: Services) -> Middleware:
    wanted, metrics = services.settings.access_log, services.metrics

    @web.middleware
    async def log(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.perf_counter()
        response = await handler(request)
        seconds = time.perf_counter() - began
        if metrics is not None:
            metrics.request(request.method, route_of(request), response.status, seconds)
        slow = seconds >= SLOW_S and response.content_type != STREAM  # a stream is meant to take long
        if wanted == "all" or (wanted == "errors" and (slow or response.status >= _FAULT)):
            _write(request, response, seconds)
        return response

    return log


def route_of(request: web.Request) -> str:
    """The address as the API lists it, whatever ids stand in it."""
    resource = request.match_info.route.resource
    return NO_ROUTE if resource is None else resource.canonical.rstrip("/") or "/"


def path_of(request: web.Request) -> str:
    """The path of a request as logs may have it: a token in it is a credential."""
    token = request.match_info.get("token")
    return request.path if token is None else request.path.replace(token, MASK)


def _write(request: web.Request, response: web.StreamResponse, seconds: float) -> None:
    if request.get(REFUSED):  # a line for each would be too many
        return
    status, principal = response.status, request.get(PRINCIPAL)
    run_id = request.match_info.get("run_id") or response.headers.get("Location", "").partition(RUNS)[2]
    write = _log.warning if status >= _FAULT else _log.info
    write(
        "request",
        request_id=request_id_of(request),
        **({} if principal is None else {"company_id": principal.company_id}),
        **({"run_id": run_id} if run_id else {}),
        **({"reason": request[REASON]} if REASON in request else {}),
        method=request.method,
        route=route_of(request),
        path=path_of(request),
        status=status,
        latency_ms=round(seconds * 1000, 3),
    )


OTHER = "_OTHER"
_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def tracing(tracer: Tracer) -> Middleware:
    """A middleware that makes requests spans, but for those that ask how the service is."""

    @web.middleware
    async def spanned(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == HEALTH:
            return await handler(request)
        method, route = request.method if request.method in hdrs.METH_ALL else OTHER, route_of(request)
        with tracer.span(f"{method} {route}", "server", sent_traceparent(request)) as span:
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.route", route)
            if ID.fullmatch(run_id := request.match_info.get("run_id", "")):
                span.set_attribute("penstock.run_id", run_id)
            response = await handler(request)
            span.set_attribute("http.response.status_code", response.status)
            if response.status >= _FAULT:
                span.set_error(str(response.status))
            return response

    return spanned


def sent_traceparent(request: web.Request) -> str | None:
    """The caller's W3C trace context, if it is well formed; one that is not counts as none."""
    text = request.headers.get("traceparent")
    if text is None or not _TRACEPARENT.fullmatch(text) or set(text[3:35]) == {"0"} or set(text[36:52]) == {"0"}:
        return None
    return text
