"""Calls as spans, one for each attempt; the far side is told the span that it is called by."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from actors.context import TRACE
from daemon.connectors.dns import DnsResolver
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed, unheard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from actors.core.calls import Connector, Request
    from daemon.connectors.egress import EgressGuard
    from daemon.observability.tracing import Tracer

PARENT = "traceparent"
_REFUSED = 400


@asynccontextmanager
async def open_client(
    guard: EgressGuard, body_bytes_max: int, tracer: Tracer | None
) -> AsyncIterator[tuple[HttpConnector, DnsResolver]]:
    """The client of all calls, and the resolver that it shares with the URL policy."""
    resolver = DnsResolver()
    try:
        if tracer is None:
            client = HttpConnector(guard, body_bytes_max=body_bytes_max, resolver=resolver)
        else:
            client = TracedConnector(tracer, guard, body_bytes_max=body_bytes_max, resolver=resolver)
        async with client:
            yield client, resolver
    finally:
        await resolver.close()


class TracedConnector(HttpConnector):
    """The client, with a span around each attempt. Of the URL it tells the host: what stands behind may be secret."""

    def __init__(self, tracer: Tracer, *args: Any, **how: Any) -> None:
        """Make spans with `tracer`; all else is the client's."""
        super().__init__(*args, **how)
        self._tracer = tracer

    async def send(
        self,
        request: Request,
        *,
        secret: str | None,
        connector: Connector,
        headers: dict[str, str],
        timeout_s: float,
        leaving: Callable[[], None] = unheard,
    ) -> HttpResponse:
        """Send a request once and return the answer; SendFailed when there is none."""
        with self._tracer.span(f"call {request.method}", "client", TRACE.get()) as span:
            span.note("http.request.method", request.method or "GET")
            span.note("server.address", _host(request.url or ""))
            span.note("penstock.tool", request.tool)
            own = {PARENT: TRACE.get() or ""} if PARENT in headers else {}
            try:
                answer = await super().send(
                    request,
                    secret=secret,
                    connector=connector,
                    headers={**headers, **own},
                    timeout_s=timeout_s,
                    leaving=leaving,
                )
            except SendFailed as none:
                span.failed(none.code)
                raise
            span.note("http.response.status_code", answer.status)
            if answer.status >= _REFUSED:
                span.failed(str(answer.status))
            return answer


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
