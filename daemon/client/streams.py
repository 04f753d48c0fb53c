"""Event streams over connections that come and go, without a gap and without a repeat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp

from daemon.client.transport import (
    CONNECTION_ERRORS,
    RETRY_STATUSES,
    ApiRequest,
    Problem,
    Transport,
    Unreachable,
    lines,
)
from daemon.contract.events import CompanyEvent, Event, GateChanged

ENDED = "run_ended"
GATE_CHANGED = "gate_changed"


@dataclass(slots=True)
class StreamPosition:
    """How far somebody has come in a stream; `over` when nothing more can follow."""

    last_id: str | None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A server-sent event: without data it is a position only, without an id no event."""

    id: str
    name: str
    data: bytes


async def follow_run(transport: Transport, path: str, after: int) -> AsyncIterator[Event | GateChanged]:
    """The events of a run after a number, and changes of its open gates, until it has ended."""
    reader = StreamPosition(str(after))
    async for frame in _followed(transport, path, reader):
        if not frame.id:
            if frame.name == GATE_CHANGED:
                yield GateChanged.model_validate_json(frame.data)
            continue
        event = Event.model_validate_json(frame.data)
        if event.seq > after:
            after, reader.over = event.seq, reader.over or event.type == ENDED
            reader.last_id = str(after)
            yield event


async def follow_company(transport: Transport, path: str, after: str | None) -> AsyncIterator[CompanyEvent]:
    """Every event of all runs behind a place, or from now on, without an end."""
    reader = StreamPosition(after)
    async for frame in _followed(transport, path, reader):
        reader.last_id = frame.id or reader.last_id
        if frame.id and frame.data:
            yield CompanyEvent.model_validate_json(frame.data)


async def _followed(transport: Transport, path: str, reader: StreamPosition) -> AsyncIterator[Frame]:
    """The frames of a stream, over reconnections; attempts count anew after each sign of life."""
    tried = 0
    while True:
        failure: Problem | Unreachable
        try:
            async with transport.stream(_request(path, reader.last_id)) as response:
                if response.status == HTTPStatus.NO_CONTENT:
                    return
                async for frame in _frames(response):
                    tried = 0
                    if frame is not None:
                        yield frame
            if reader.over:
                return
            failure = Unreachable("The service ended the stream, and there is more to come.")
        except CONNECTION_ERRORS as error:
            failure = transport.unreachable(error)
        except Problem as problem:
            if problem.status not in RETRY_STATUSES:
                raise
            failure = problem
        tried += 1
        pause_s = transport.patience.pause_s(tried, getattr(failure, "retry_after_s", None))
        if pause_s is None:
            raise failure
        await transport.patience.sleep(pause_s)


def _request(path: str, last_id: str | None) -> ApiRequest:
    known = {} if last_id is None else {"Last-Event-ID": last_id}
    return ApiRequest("GET", path, headers={"Accept": "text/event-stream", **known})


async def _frames(response: aiohttp.ClientResponse) -> AsyncIterator[Frame | None]:
    """The frames of one connection; None for a heartbeat."""
    place, title, data = "", "", list[bytes]()
    async for line in lines(response):
        name, _, text = line.rstrip(b"\r").partition(b":")
        if name == b"data":
            data.append(text)
        elif name == b"id":
            place = text.decode().strip()
        elif name == b"event":
            title = text.decode().strip()
        elif not line and (data or place):
            yield Frame(place, title, b"\n".join(data))
            place, title, data = "", "", []
        else:
            yield None
