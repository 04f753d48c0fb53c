"""Server-sent events."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

from aiohttp import web

from actors.actor import Overloaded
from actors.ports import StoreFailed
from daemon.runtime.json_codec import dumps
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import company_of, counts_still
from daemon.web.middleware.in_flight import ANSWERS
from daemon.web.middleware.occupancy import Use, used_for
from daemon.web.problems import HttpProblem, not_authenticated, quota_exceeded
from daemon.web.responses import accepted_media
from daemon.web.services import SERVICES

BEAT_S = 15.0
BEAT = b": still here\n\n"
T = TypeVar("T")


def wants_stream(request: web.Request) -> bool:
    return request.method == "GET" and "text/event-stream" in accepted_media(request)


def frame(event_id: str, name: str, data: Any) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event_id.encode(), name.encode(), dumps(data))


def notice(name: str, data: Any) -> bytes:
    """An event without an id: it is no part of the history, and the reader's position stays."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), dumps(data))


async def soon(following: Callable[[], Awaitable[T]]) -> T | None:
    """The next item; None when a heartbeat is due. EOFError when nothing more will come."""
    try:
        async with asyncio.timeout(BEAT_S):
            return await following()
    except TimeoutError:
        return None


class Streams:
    """The live streams of each company, `company_max` at most."""

    def __init__(self, company_max: int) -> None:
        self._max = company_max
        self._open: Counter[str] = Counter()

    @contextmanager
    def one(self, company_id: str) -> Iterator[None]:
        if self._open[company_id] >= self._max:
            detail = f"This company has {self._max} live streams already; end one of them first."
            raise quota_exceeded("company_streams", self._max, detail)
        self._open[company_id] += 1
        try:
            yield
        finally:
            self._open[company_id] -= 1
            if not self._open[company_id]:
                del self._open[company_id]


STREAMS = web.AppKey("streams", Streams)


async def stream(
    request: web.Request, frames: AsyncGenerator[bytes, None], sees: Callable[[], Awaitable[bool]]
) -> web.StreamResponse:
    """Send frames until there are no more, the reader has gone, or its token counts no longer.

    It ends, too, where the reader no longer `sees` what is streamed.
    """
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    with request.app[STREAMS].one(company_of(request)), used_for(request, Use.STREAM):
        return await _sent(request, frames, web.StreamResponse(headers=headers), sees)


@asynccontextmanager
async def while_it_counts(request: web.Request) -> AsyncIterator[None]:
    """End what is inside as soon as the token or key counts no more.

    By a 401, or ConnectionResetError where the answer has begun.
    """
    limit = asyncio.timeout(None)
    try:
        async with limit:
            watching = asyncio.create_task(_watch(request, limit))
            try:
                yield
            finally:
                watching.cancel()
    except TimeoutError:
        if not limit.expired():
            raise
        if request.writer.output_size:
            raise ConnectionResetError("the token or key counts no more") from None
        raise not_authenticated(sent=True) from None


async def _watch(request: web.Request, limit: asyncio.Timeout) -> None:
    changed = request.app[SERVICES].identity.sessions.rights_changed
    told = changed.next()
    with suppress(StoreFailed):
        while await counts_still(request):
            await told.wait()
            told = changed.next()
    limit.reschedule(asyncio.get_running_loop().time())


async def _sent(
    request: web.Request,
    frames: AsyncGenerator[bytes, None],
    response: web.StreamResponse,
    sees: Callable[[], Awaitable[bool]],
) -> web.StreamResponse:
    await response.prepare(request)
    with slot_released(), suppress(ConnectionResetError, EOFError, StoreFailed, Overloaded, HttpProblem, TimeoutError):
        async with while_it_counts(request), aclosing(frames):
            async for part in frames:
                if not (await counts_still(request) and await sees()):
                    break
                if part:
                    with request.app[ANSWERS].count_while_written(company_of(request), len(part)):
                        await response.write(part)
    return response
