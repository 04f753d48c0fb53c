"""A run's history as it grows, over connections that come and go, without a gap and without a repeat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus

import aiohttp

from daemon.client.errors import Problem, Unreachable
from daemon.client.exchange import LOST, PATIENT, Ask, Exchange, lines
from daemon.client.models import Event

ENDED = "run_ended"


async def watched(exchange: Exchange, path: str, after: int) -> AsyncIterator[Event]:
    """Every event behind a place, until the run has ended; patience begins anew with whatever is received."""
    ended, tried = False, 0
    while True:
        trouble: Problem | Unreachable
        try:
            async with exchange.stream(_ask(path, after)) as response:
                if response.status == HTTPStatus.NO_CONTENT:
                    return
                async for event in _events(response):
                    tried = 0
                    if event is not None and event.seq > after:
                        ended, after = ended or event.type == ENDED, event.seq
                        yield event
            if ended:
                return
            trouble = Unreachable("The service ended the stream before the run had ended.")
        except LOST as error:
            trouble = exchange.lost(error)
        except Problem as problem:
            if problem.status not in PATIENT:
                raise
            trouble = problem
        tried += 1
        pause_s = exchange.patience.pause_s(tried, getattr(trouble, "retry_after_s", None))
        if pause_s is None:
            raise trouble
        await exchange.patience.sleep(pause_s)


def _ask(path: str, after: int) -> Ask:
    return Ask("GET", path, headers={"Accept": "text/event-stream", "Last-Event-ID": str(after)})


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[Event | None]:
    """The events of a stream; None for a line that only says that the service is still there."""
    data: list[bytes] = []
    async for line in lines(response):
        name, _, text = line.rstrip(b"\r").partition(b":")
        if name == b"data":
            data.append(text)
        elif not line and data:
            yield Event.model_validate_json(b"\n".join(data))
            data = []
        else:
            yield None
