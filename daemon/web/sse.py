"""Server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from aiohttp import web

from actors.ports import StoreFailed
from daemon.runtime.json_codec import dumps
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import counts_still

BEAT_S = 15.0
BEAT = b": still here\n\n"
T = TypeVar("T")


def wants_stream(request: web.Request) -> bool:
    return request.method == "GET" and "text/event-stream" in request.headers.get("Accept", "").lower()


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


async def stream(request: web.Request, frames: AsyncGenerator[bytes, None]) -> web.StreamResponse:
    """Send frames until there are no more, the reader has gone, or its token counts no longer."""
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    with slot_released(), suppress(ConnectionResetError, EOFError, StoreFailed):
        async with aclosing(frames):
            async for part in frames:
                if not counts_still(request):
                    break
                if part:
                    await response.write(part)
    return response
