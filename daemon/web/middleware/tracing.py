"""Requests as spans, each in the trace of its caller where that names one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from daemon.web.middleware.access_log import route_of
from daemon.web.middleware.auth import HEALTH
from daemon.web.parameters import ID

if TYPE_CHECKING:
    from daemon.observability.spans import Tracer

OTHER = "_OTHER"
_FAULT = 500
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
