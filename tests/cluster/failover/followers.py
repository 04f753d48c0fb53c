"""Those who are told what happens: a reader who goes on where its stream broke, and a webhook."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import orjson

from tests.cluster.failover.outcome import Outcome
from tests.crash.wire import HOST, Wire
from tests.webhooks.conftest import Receiver

PAUSE_S = 0.1
SILENT_MAX_S = 20.0
TOLD_MAX_S = 30.0
Event = tuple[str, int, str]


class Reader:
    """Follows the events of a company by `Last-Event-ID`, over a balancer."""

    def __init__(self, port: int, token: str) -> None:
        self.seen: list[Event] = []
        self.statuses: Counter[int] = Counter()
        self._url, self._token, self._last = f"http://{HOST}:{port}/events", token, "0"

    async def follow(self) -> None:
        """Read for as long as it goes on."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=SILENT_MAX_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                with suppress(aiohttp.ClientError, ConnectionError, TimeoutError):
                    await self._stream(session)
                await asyncio.sleep(PAUSE_S)

    async def _stream(self, session: aiohttp.ClientSession) -> None:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "text/event-stream"}
        async with session.get(self._url, headers={**headers, "Last-Event-ID": self._last}) as stream:
            self.statuses[stream.status] += 1
            if stream.status == 410:
                self._last = "0"
            place = self._last
            async for line in stream.content:
                if line.startswith(b"id: "):
                    place = line[4:].decode().strip()
                elif line.startswith(b"data: ") and "seq" in (event := orjson.loads(line[6:])):
                    self.seen.append(named(event))
                    self._last = place


class Followers:
    """A reader and a webhook of one company."""

    def __init__(self, port: int, token: str) -> None:
        self.reader, self.receiver = Reader(port, token), Receiver()
        self._wire = Wire(port, token)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Listen meanwhile; the webhook is told the ends of runs alone."""
        await self.receiver.server.start_server()
        answer = await self._wire.ask("POST", "/webhooks/", {"url": self.receiver.url(), "events": ["run_ended"]})
        assert answer.status == 201, answer.body
        reading = asyncio.create_task(self.reader.follow())
        try:
            yield
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await self.receiver.server.close()

    async def compare(self, outcome: Outcome, *, rewound: bool) -> None:
        """Note what they were not told, or told twice; what was lost may have been told before."""
        journal, ends = await self._journal()
        with suppress(TimeoutError):  # the figures say so
            async with asyncio.timeout(TOLD_MAX_S):
                while journal - set(self.reader.seen) or ends - set(self.receiver.ids):  # noqa: ASYNC110 - two kinds
                    await asyncio.sleep(PAUSE_S)
        seen, told = set(self.reader.seen), set(self.receiver.ids)
        missed, lost, twice = len(journal - seen), len(seen - journal), len(self.reader.seen) - len(seen)
        streams = ", ".join(f"{times} x {status}" for status, times in self.reader.statuses.items())
        begun_anew = 410 in self.reader.statuses
        outcome.note("events that a stream went past", missed, held=not missed or rewound)
        outcome.note("events of a lost history in it", lost, held=not lost or rewound)
        outcome.note("events twice in it", f"{twice:,} of {len(seen):,}; {streams}", held=not twice or begun_anew)
        untold = len(ends - told)
        outcome.note("ends that a webhook was not told", f"{untold:,} of {len(ends):,}", held=not untold)
        outcome.note("ends that it was told twice", len(self.receiver.ids) - len(told))

    async def _journal(self) -> tuple[set[Event], set[str]]:
        """All events, and what a webhook calls the ends among them."""
        events: list[dict[str, Any]] = []
        path: str | None = "/events?after=0&limit=200"
        while path is not None:
            answer = await self._wire.ask("GET", path)
            assert answer.status == 200, answer.body
            events += answer.json
            path = answer.next_path
        ends = {f"msg_{event['run_id']}_{event['seq']}" for event in events if event["event"]["type"] == "run_ended"}
        return {named(event) for event in events}, ends


def named(event: dict[str, Any]) -> Event:
    """What tells an event of one history from one of another."""
    return event["run_id"], event["seq"], event["event"]["at"]
