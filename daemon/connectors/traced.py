"""Spans around outgoing calls, passed on in `traceparent`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from actors.context import TRACE
from actors.core.calls import Request
from daemon.connectors.dns import DnsResolver
from daemon.connectors.egress import EgressGuard
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.model.tracing import Tracer
from daemon.runtime.offload import Offload

PARENT = "traceparent"
_REFUSED = 400


@asynccontextmanager
async def open_client(
    guard: EgressGuard, body_bytes_max: int, tracer: Tracer | None, offload: Offload
) -> AsyncIterator[HttpConnector]:
    """The client of all calls, with a resolver of its own."""
    resolver = DnsResolver()
    try:
        if tracer is None:
            client = HttpConnector(guard, body_bytes_max=body_bytes_max, resolver=resolver, offload=offload)
        else:
            client = TracedConnector(tracer, guard, body_bytes_max=body_bytes_max, resolver=resolver, offload=offload)
        async with client:
            yield client
    finally:
        await resolver.close()


class TracedConnector(HttpConnector):
    """Client with a span per attempt; the span has the URL's host only: the rest may be secret."""

    def __init__(self, tracer: Tracer, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._tracer = tracer

    async def send(self, request: Request, *, headers: dict[str, str], **how: Any) -> HttpResponse:
        with self._tracer.span(f"call {request.method}", "client", TRACE.get()) as span:
            span.set_attribute("http.request.method", request.method or "GET")
            span.set_attribute("server.address", _host(request.url or ""))
            span.set_attribute("penstock.tool", request.tool)
            own = {PARENT: TRACE.get() or ""} if PARENT in headers else {}
            try:
                answer = await super().send(request, headers={**headers, **own}, **how)
            except SendFailed as none:
                span.set_error(none.code)
                raise
            span.set_attribute("http.response.status_code", answer.status)
            if answer.status >= _REFUSED:
                span.set_error(str(answer.status))
            return answer


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
