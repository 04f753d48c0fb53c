"""Requests in flight, which a drain gives some time, and their large answers, bounded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import hdrs, web

from actors.actor import Overloaded
from daemon.web.middleware.auth import PRINCIPAL, company_of
from daemon.web.problems import quota_exceeded

ANSWERED_S = 0.5
LOOK_S = 0.01


class InFlight:
    """Every request in flight has a deadline, which is set once the service drains."""

    def __init__(self) -> None:
        self._deadlines: set[asyncio.Timeout] = set()

    @property
    def count(self) -> int:
        return len(self._deadlines)

    def begin(self) -> asyncio.Timeout:
        """The deadline that the request has to enter at once."""
        deadline = asyncio.timeout(None)
        self._deadlines.add(deadline)
        return deadline

    def end(self, deadline: asyncio.Timeout) -> None:
        self._deadlines.discard(deadline)

    async def drain(self, within_s: float) -> None:
        """Give the requests that time, cut off the rest, and wait until each is answered."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        for deadline in self._deadlines:
            deadline.reschedule(until)
        while self._deadlines and loop.time() < until + ANSWERED_S:  # noqa: ASYNC110 - a drain is rare
            await asyncio.sleep(LOOK_S)


IN_FLIGHT = web.AppKey("in_flight", InFlight)


LARGE_BYTES = PIECE_BYTES = 128 * 1024
BUDGET = "company_response_bytes"


class Answers:
    """Bounds the bytes of large answers that wait for their readers."""

    def __init__(self, bytes_max: int, company_max: int) -> None:
        self._free = bytes_max
        self._company_max = company_max
        self._held: Counter[str] = Counter()

    @contextmanager
    def count_while_written(self, company_id: str, size: int, *, bounded: bool = True) -> Iterator[None]:
        """Count an answer while it is written; without `bounded` it is never refused."""
        if bounded and self._held[company_id] + size > self._company_max:
            detail = f"This company reads {self._held[company_id]} bytes of answers at this moment; read them first."
            raise quota_exceeded(BUDGET, self._company_max, detail)
        if bounded and size > self._free:
            raise Overloaded
        self._count(company_id, size)
        try:
            yield
        finally:
            self._count(company_id, -size)

    def _count(self, company_id: str, size: int) -> None:
        self._free -= size
        self._held[company_id] += size
        if not self._held[company_id]:
            del self._held[company_id]


ANSWERS = web.AppKey("answers", Answers)


async def in_pieces(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Write a large answer to a company in pieces, each when the one before was read."""
    body = response.body if isinstance(response, web.Response) and not response.prepared else None
    if not isinstance(body, bytes) or len(body) <= LARGE_BYTES or PRINCIPAL not in request:
        return response
    # What has changed something is answered in any case: a refusal would deny it.
    bounded = request.method == hdrs.METH_GET
    with request.app[ANSWERS].count_while_written(company_of(request), len(body), bounded=bounded):
        return await _written(request, response, body)


async def _written(request: web.Request, response: web.StreamResponse, body: bytes) -> web.StreamResponse:
    pieces = web.StreamResponse(status=response.status, headers=response.headers)
    pieces.content_length = len(body)
    await pieces.prepare(request)
    whole = memoryview(body)
    for begin in range(0, len(body), PIECE_BYTES):
        await pieces.write(whole[begin : begin + PIECE_BYTES])
    await pieces.write_eof()
    return pieces
