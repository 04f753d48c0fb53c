"""Spans of OpenTelemetry, exported by OTLP over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Literal
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from actors.context import LOG_CONTEXT, TRACE

Kind = Literal["server", "internal", "client"]
PATH = "/v1/traces"
CLOSE_S = 1.0
_KINDS = {"server": trace.SpanKind.SERVER, "internal": trace.SpanKind.INTERNAL, "client": trace.SpanKind.CLIENT}
_NOWHERE = Context()


class Span:
    __slots__ = ("_error_set", "_span")

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._error_set = False

    def set_attribute(self, name: str, value: str | int) -> None:
        self._span.set_attribute(name, value)

    def set_error(self, why: str) -> None:
        """Mark the span as failed; the first reason counts."""
        if self._error_set:
            return
        self._error_set = True
        self._span.set_attribute("error.type", why)
        self._span.set_status(trace.StatusCode.ERROR)


class Tracer:
    """Sends spans in batches from a thread; drops what it cannot send."""

    def __init__(self, to: str, version: str) -> None:
        """OpenTelemetry's own variables set sampling, headers and batches."""
        own = Resource({"service.name": "penstock", "service.version": version})
        self._provider = TracerProvider(
            resource=Resource.create().merge(own).merge(OTELResourceDetector().detect()), shutdown_on_exit=False
        )
        address = to if urlsplit(to).path.strip("/") else to.rstrip("/") + PATH
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
        self._tracer = self._provider.get_tracer("penstock", version)

    @contextmanager
    def span(self, name: str, kind: Kind, parent: str | None) -> Iterator[Span]:
        """A span around a block; records only the type of an exception."""
        span = self._tracer.start_span(name, _context(parent), _KINDS[kind])
        recorded, token = Span(span), TRACE.set(_text(span.get_span_context()))
        try:
            yield recorded
        except BaseException as error:
            recorded.set_error(type(error).__name__)
            raise
        finally:
            TRACE.reset(token)
            for key, value in LOG_CONTEXT.get().items():
                recorded.set_attribute(f"penstock.{key}", value if isinstance(value, int) else str(value))
            span.end()

    async def close(self) -> None:
        ending = Thread(target=self._provider.shutdown, name="traces-end", daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, CLOSE_S)


def _context(parent: str | None) -> Context:
    if parent is None:
        return _NOWHERE
    _, trace_id, span_id, flags = parent.split("-")
    sampled = trace.TraceFlags(int(flags, 16) & trace.TraceFlags.SAMPLED)
    above = trace.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=sampled)
    return trace.set_span_in_context(trace.NonRecordingSpan(above), _NOWHERE)


def _text(context: trace.SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
