"""A run's history, as a list or live."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress

from aiohttp import web

from actors.ports import StoreFailed
from daemon.feed import Follower
from daemon.jsonio import dumps
from daemon.ports import Recorded
from daemon.web import render
from daemon.web.auth import SERVER, request_id_of
from daemon.web.bodies import number, page_limit
from daemon.web.handlers.runs import find
from daemon.web.problems import invalid
from daemon.web.replies import from_cursor, json_reply, next_page, to_cursor
from daemon.web.services import SERVICES

BEAT_S = 15.0
PAGE = 200
_SEQ = re.compile(r"[0-9]{1,18}")


async def index(request: web.Request) -> web.StreamResponse:
    """GET /process-runs/{run_id}/events."""
    run = await find(request)
    if request.method == "GET" and "text/event-stream" in request.headers.get("Accept", ""):
        return await Stream(request, run.company_id, run.id).serve()
    kind = f"events-{run.id}"
    limit, cursor = page_limit(request), from_cursor(request, kind, _SEQ)
    after = number(request, "after", 0) if cursor is None else int(cursor)
    found = await request.app[SERVICES].store.history(run.company_id, run.id, after, limit + 1)
    headers = next_page(request, to_cursor(kind, str(found[limit - 1].seq))) if len(found) > limit else None
    return json_reply([render.event(recorded) for recorded in found[:limit]], headers=headers)


class Stream:
    """The history of a run as server-sent events: what is recorded first, then what comes, without a gap."""

    def __init__(self, request: web.Request, company_id: str, run_id: str) -> None:
        """Begin behind the event that the reader has seen last."""
        self._request = request
        self._services = request.app[SERVICES]
        self._key = (company_id, run_id)
        self._response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
                "X-Request-ID": request_id_of(request),
                "Server": SERVER,
            }
        )
        self._sent = _last_seen(request)
        self._ended = False

    async def serve(self) -> web.StreamResponse:
        """Send until the run has ended or the reader has gone; 204 when there will never be more."""
        with self._services.feed.follow(*self._key) as follower:
            run = await find(self._request)
            self._ended = run.ended is not None
            first = await self._recorded()  # after the run was read, so that an end in between is not passed over
            if self._ended and not first:
                return web.Response(status=204)
            await self._response.prepare(self._request)
            with suppress(ConnectionResetError, EOFError, StoreFailed):
                await self._follow(first, follower)
        return self._response

    async def _follow(self, first: Sequence[Recorded], follower: Follower) -> None:
        while first:
            await self._send(first)
            first = await self._recorded()
        while not self._ended:
            try:
                async with asyncio.timeout(BEAT_S):
                    run, events = await follower.next()
            except TimeoutError:
                await self._response.write(b": still here\n\n")
                continue
            before = run.version - len(events)
            await self._send([Recorded(before + place, event) for place, event in enumerate(events, 1)])
            self._ended = run.ended is not None

    async def _recorded(self) -> Sequence[Recorded]:
        return await self._services.store.history(*self._key, self._sent, PAGE)

    async def _send(self, found: Sequence[Recorded]) -> None:
        lines: list[bytes] = []
        for recorded in found:
            if recorded.seq > self._sent:
                name = recorded.event.type
                lines.append(b"id: %d\nevent: %s\ndata: %s\n\n" % (recorded.seq, name.encode(), _data(recorded)))
                self._sent = recorded.seq
        if lines:
            await self._response.write(b"".join(lines))


def _data(recorded: Recorded) -> bytes:
    return dumps(render.event(recorded))


def _last_seen(request: web.Request) -> int:
    text = request.headers.get("Last-Event-ID")
    if text is None:
        return number(request, "after", 0)
    if not _SEQ.fullmatch(text):
        raise invalid(("", "Last-Event-ID is the id of an event"))
    return int(text)
