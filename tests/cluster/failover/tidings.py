"""Who is told that a failover has lost history, and how soon.

The clock begins when the promoted server takes writes and the first daemon is connected to it. Each
daemon that had acknowledged anything of what is lost tells by its log, its health and a metric; the
company is told by its record and a webhook, and the readers of each daemon, whatever it had
acknowledged, by 410.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import aiohttp
import asyncpg

from tests.cluster.failover.followers import Reader
from tests.cluster.failover.outcome import Outcome
from tests.cluster.failover.stage import Stage
from tests.crash.wire import HOST, Wire
from tests.webhooks.conftest import Receiver

TOLD_MAX_S = 2.0
WAIT_S = 8.0
POLL_S = 0.02
LOST = "history_rewound"
METRIC = "penstock_history_rewound_commits_total"
_CONNECTED = (
    "SELECT NOT pg_is_in_recovery() AND EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'penstock')"
)
Look = Callable[[], Awaitable[bool]]


class Tidings:
    """When each of those who have to be told was told first."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._receiver = stage, Receiver()
        self._readers = [Reader(daemon.place.port, stage.token) for daemon in stage.daemons]
        self._first: dict[str, float] = {}
        self._logs = [stage.folder / f"daemon-{daemon.number}.log" for daemon in stage.daemons]

    @asynccontextmanager
    async def awaited(self) -> AsyncIterator[None]:
        """Watch for them meanwhile."""
        await self._receiver.server.start_server()
        wire = Wire(self._stage.port, self._stage.token)
        answer = await wire.ask("POST", "/webhooks/", {"url": self._receiver.url(), "events": [LOST]})
        wire.close()
        assert answer.status == 201, answer.body
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=1.0)) as session:
            watching = [asyncio.create_task(self._note(name, look)) for name, look in self._looks(session).items()]
            reading = [asyncio.create_task(reader.follow()) for reader in self._readers]
            try:
                yield
            finally:
                for task in (*watching, *reading):
                    task.cancel()
                await asyncio.gather(*watching, *reading, return_exceptions=True)
                await self._receiver.server.close()

    async def read(self, number: int) -> None:
        """Wait until the readers of each daemon have so many events."""
        async with asyncio.timeout(WAIT_S):
            while any(len(reader.seen) < number for reader in self._readers):  # noqa: ASYNC110 - as below
                await asyncio.sleep(POLL_S)

    async def compare(self, outcome: Outcome) -> None:
        """Note how long each took; whatever was not told, or too late, misses the case."""
        with suppress(TimeoutError):  # the figures say so
            async with asyncio.timeout(WAIT_S):
                while any(name not in self._first for name in self._expected()):  # noqa: ASYNC110 - many events
                    await asyncio.sleep(POLL_S)
        logged = sum(f"log {number}" in self._first for number in range(len(self._logs)))
        outcome.note("daemons that told of a lost history", logged, held=bool(logged))
        begun = self._first.get("connected", float("inf"))
        for name in ("log", "health", "metric", "record", "webhook", "stream"):
            told = [self._first.get(one) for one in self._expected() if one.partition(" ")[0] == name]
            late = [None if at is None else max(0.0, at - begun) for at in told]
            found = "never" if None in late or not late else max(one for one in late if one is not None)
            outcome.note(f"told after, by {name}", found, held=isinstance(found, float) and found <= TOLD_MAX_S)

    def _expected(self) -> list[str]:
        """Of each kind, those by whom it has to be told."""
        numbers = range(len(self._logs))
        own = [f"{name} {n}" for n in numbers if f"log {n}" in self._first for name in ("log", "health", "metric")]
        return ["connected", *own, "record", "webhook", *(f"stream {n}" for n in numbers)]

    async def _note(self, name: str, look: Look) -> None:
        while name not in self._first:
            with suppress(OSError, aiohttp.ClientError, TimeoutError, asyncpg.PostgresError):
                if await look():
                    self._first[name] = time.time()
            await asyncio.sleep(POLL_S)

    def _looks(self, session: aiohttp.ClientSession) -> Mapping[str, Look]:
        stage = self._stage
        bearer = {"Authorization": f"Bearer {stage.token}"}
        record = f"http://{HOST}:{stage.port}/audit/log?type={LOST}"

        async def connected() -> bool:
            return bool(await stage.survivor.value(_CONNECTED))

        async def heard() -> bool:
            return bool(self._receiver.got)

        async def asked(url: str, part: str) -> bool:
            async with session.get(url, headers=bearer) as answer:
                return part in await answer.text()

        async def counted(url: str) -> bool:
            async with session.get(url) as answer:
                found = (line.split() for line in (await answer.text()).splitlines() if line.startswith(METRIC))
                return any(float(value) > 0 for _, value in found)

        async def logged(log: Path) -> bool:
            return LOST in log.read_text(encoding="utf-8", errors="replace")  # noqa: ASYNC240 - a few lines

        async def refused(reader: Reader) -> bool:
            return 410 in reader.statuses

        looks: dict[str, Look] = {"connected": connected, "webhook": heard, "record": partial(asked, record, LOST)}
        for number, daemon in enumerate(stage.daemons):
            base = f"http://{HOST}:{daemon.place.port}/health"
            metrics = f"http://{HOST}:{stage.metrics_ports[number]}/metrics"
            looks |= {
                f"health {number}": partial(asked, base, LOST),
                f"metric {number}": partial(counted, metrics),
                f"log {number}": partial(logged, self._logs[number]),
                f"stream {number}": partial(refused, self._readers[number]),
            }
        return looks
