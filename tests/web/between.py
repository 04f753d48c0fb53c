"""A line between a client and the service that fails in the ways that lines do, when a test says
so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.listening import Listener
from tests.web.support import House

DROPPED = frozenset({"host", "content-length", "transfer-encoding", "connection", "date", "server"})


@dataclass
class Fault:
    """What happens to one request: it never arrives, its answer is lost, or somebody else
    answers.
    """

    kind: str
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    after_bytes: int = 0


LOST_BEFORE = Fault("lost-before")
LOST_AFTER = Fault("lost-after")


def said(status: int, code: str, retry_after: str = "1", **more: Any) -> Fault:
    """An answer of the service's kind, at a moment when the service would not give it by itself."""
    common = {"type": f"urn:penstock:problem:{code}", "title": code, "status": status, "detail": "Later."}
    body = {**common, "code": code, "request_id": "r", "retryable": True, **more}
    return Fault("said", status, {"Retry-After": retry_after}, body)


class Between(Listener):
    """Forwards to the house; each request takes the next of the faults that were ordered."""

    def __init__(self, house: House) -> None:
        super().__init__()
        self.house = house
        self.faults: list[Fault] = []
        self.seen: list[tuple[str, str, str | None]] = []
        self.last_ids: list[str | None] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append((request.method, request.path_qs, request.headers.get("Idempotency-Key")))
        self.last_ids.append(request.headers.get("Last-Event-ID"))
        fault = self.faults.pop(0) if self.faults else Fault("none")
        if fault.kind == "said":
            return web.json_response(fault.body, status=fault.status, headers=fault.headers)
        if fault.kind == "lost-before":
            return self._cut(request)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in DROPPED}
        async with aiohttp.ClientSession(auto_decompress=False) as session:
            target = self.house.client.make_url(request.path_qs)
            async with session.request(request.method, target, headers=headers, data=await request.read()) as answer:
                if fault.kind == "lost-after":
                    await answer.read()
                    return self._cut(request)
                return await self._forward(request, answer, fault)

    async def _forward(self, request: web.Request, answer: aiohttp.ClientResponse, fault: Fault) -> web.StreamResponse:
        """The answer as it comes; cut in the middle when that is the fault."""
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in DROPPED}
        response, sent = web.StreamResponse(status=answer.status, headers=kept), 0
        await response.prepare(request)
        async for chunk in answer.content.iter_any():
            part = chunk[: fault.after_bytes - sent] if fault.kind == "cut" else chunk
            await response.write(part)
            sent += len(part)
            if fault.kind == "cut" and sent >= fault.after_bytes:
                return self._cut(request)
        return response

    def _cut(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
