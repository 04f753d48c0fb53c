"""A collector of traces: a real receiver of OTLP over HTTP, and what arrived there as spans that
can be asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.listening import Listener


@dataclass(frozen=True)
class Arrived:
    """One span as the collector got it."""

    name: str
    trace_id: str
    id: str
    parent_id: str
    kind: int
    failed: bool
    seconds: float
    noted: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.noted[name]


class Collector(Listener):
    """Where spans are sent; `raw` is everything that arrived, headers included."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: list[Arrived] = []
        self.resources: list[dict[str, Any]] = []
        self.paths: set[str] = set()
        self.headers: list[Mapping[str, str]] = []
        self.raw = b""
        self.status = 200
        self.answers = asyncio.Event()
        self.answers.set()
        self.asked = asyncio.Event()

    def named(self, name: str) -> list[Arrived]:
        """The spans of that name, in the order in which they ended."""
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> Arrived:
        """The only span of that name."""
        (span,) = self.named(name)
        return span

    async def handle(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.asked.set()
        await self.answers.wait()
        if self.status == 200:
            self.raw += raw
            self.paths.add(request.path)
            self.headers.append(request.headers)
            self._take(ExportTraceServiceRequest.FromString(raw))
        answer = ExportTraceServiceResponse().SerializeToString()
        return web.Response(body=answer, status=self.status, content_type="application/x-protobuf")

    def _take(self, sent: Any) -> None:
        for group in sent.resource_spans:
            self.resources.append(_members(group.resource.attributes))
            for span in (span for scope in group.scope_spans for span in scope.spans):
                self.spans.append(
                    Arrived(
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.kind,
                        span.status.code == span.status.STATUS_CODE_ERROR,
                        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                        _members(span.attributes),
                    )
                )


def _members(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
