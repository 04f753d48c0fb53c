"""Three daemons, a balancer, a crowd at gates, people who pay, and faults in turn; then everything
is compared.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tests.cluster.daemons import Corded, Daemon, Place, make_keys
from tests.cluster.namespaces import Network
from tests.cluster.people import FarSide, Person, Told, connect
from tests.cluster.proxy import Proxy
from tests.cluster.watching import LOOK_S, Watch
from tests.crash.provoke import registered
from tests.crash.service import write_templates
from tests.crash.wire import HOST, Lost, Unsent, Wire
from tests.linear.crowd import Caller, Record, Shares
from tests.linear.gate import fault
from tests.postgres import Server

DAEMONS = 3
CROWD = 12
PEOPLE = 8
GATES_AT_ONCE = 30
GONE_MAX_S = 10.0
# A statement has 8 s and a connection 5 s; a partition lasts until those limits have made an answer
# of the silence.
SILENT_MAX_S = 20.0


@dataclass
class Outcome:
    """What came of it."""

    took_s: float = 0.0
    gates: int = 0
    operations: int = 0
    payments: int = 0
    doubtful: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    ends: Counter[int] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)
    silences_s: list[float] = field(default_factory=list)
    fenced_writes: int = 0
    twice: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    crooked: list[str] = field(default_factory=list)

    @property
    def late(self) -> int:
        """How often it took too long until others went on with what a daemon left."""
        return sum(wait_s > GONE_MAX_S for wait_s in self.waits_s)

    @property
    def silent(self) -> int:
        """How often whoever asked a daemon that was cut off waited too long for an answer."""
        return sum(silence_s > SILENT_MAX_S for silence_s in self.silences_s)

    @property
    def sound(self) -> bool:
        """Whether everything was as it has to be."""
        wrong = self.late or self.silent or self.fenced_writes or self.twice or self.lost or self.crooked
        return bool(self.gates) and not wrong

    def __str__(self) -> str:
        answers = ", ".join(f"{times:,} x {status or 'no answer'}" for status, times in self.statuses.most_common())
        faults = ", ".join(f"{times} x {name}" for name, times in self.faults.most_common())
        ends = ", ".join(f"{times} x code {code}" for code, times in self.ends.most_common())
        waits_s = self.waits_s or [0.0]
        lines = [
            f"faults            {faults or 'none'} in {self.took_s:,.0f} s; daemons ended {ends or 'never'}",
            f"answers           {answers}",
            f"verdicts lost     {len(self.lost)} of those acknowledged",
            f"effects twice     {len(self.twice)} of {self.payments:,} irreversible ones; {self.doubtful} in doubt",
            f"fenced writes     {self.fenced_writes}",
            f"linearizable      {self.gates - len(self.crooked):,} of {self.gates:,} gates, {self.operations:,} told",
            f"taken over        {len(self.waits_s)} times, after {median(waits_s):.1f} s, at most {max(waits_s):.1f} s",
            f"too late          {self.late} of these after more than {GONE_MAX_S:.0f} s",
        ]
        if self.silences_s:
            times, most_s = len(self.silences_s), max(self.silences_s)
            lines.append(f"while cut off     {times} asked were answered after at most {most_s:.1f} s")
        return "\n".join([*lines, *self.lost[:5], *self.twice[:5], *self.crooked[:5]])


@dataclass
class Cluster:
    """The daemons behind a balancer, and a look at their database."""

    server: Server
    daemons: list[Daemon]
    balancer: Proxy
    watch: Watch
    token: str
    lease_s: float
    here: str = HOST

    async def one(self) -> Daemon:
        """Any of the daemons, once all serve: where none is left nobody can take over."""
        for daemon in self.daemons:
            await daemon.ready()
        return random.choice(self.daemons)


@asynccontextmanager
async def clustered(
    folder: Path, server: Server, lease_s: float = 3.0, network: Network | None = None
) -> AsyncIterator[Cluster]:
    """Daemons on a new database, in a network that was made for them, or side by side."""
    write_templates(folder / "templates")
    make_keys(folder)
    url = await server.made()
    async with AsyncExitStack() as stack:
        places: Sequence[Place] = network.homes if network else [Corded(server.port) for _ in range(DAEMONS)]
        settings = {"lease_s": str(lease_s), **({"egress_allow": network.allowed} if network else {})}
        daemons = [
            Daemon(folder, number, place, {**settings, "database_url": place.url(url)})
            for number, place in enumerate(places)
        ]
        for daemon in daemons:
            stack.push_async_callback(daemon.close)
            await daemon.open()
        balancer = Proxy(*((place.host, place.port) for place in places))
        await balancer.open()
        stack.push_async_callback(balancer.close)
        watch = Watch(url)
        await watch.trap()
        token = await registered(balancer.port, "ada@example.test")
        yield Cluster(server, daemons, balancer, watch, token, lease_s, network.here if network else HOST)


class Play:
    """A performance on a cluster."""

    def __init__(self, cluster: Cluster, seconds: float, pause_s: float) -> None:
        self._cluster = cluster
        self._seconds = seconds
        self._pause_s = pause_s
        self._over = False
        self._record = Record()
        self._told = Told()
        self._far = FarSide(cluster.here)
        self.outcome = Outcome()

    async def perform(self, *names: str) -> Outcome:
        """Let everybody work while faults come in turn, then compare."""
        began = time.monotonic()
        await self._far.server.start_server()
        try:
            await connect(self._cluster.balancer.port, self._cluster.token, self._far)
            crowd = asyncio.create_task(self._crowd())
            people = [asyncio.create_task(self._person(number)) for number in range(PEOPLE)]
            await self._faults(began, names)
            self._over = True
            await asyncio.gather(crowd, *people)
            await self._cluster.watch.settled()
            await self._compare()
        finally:
            await self._far.server.close()
        self.outcome.took_s = time.monotonic() - began
        return self.outcome

    async def _faults(self, began: float, names: tuple[str, ...]) -> None:
        play = {name: getattr(self, f"_{name}") for name in names}
        while time.monotonic() - began < self._seconds:
            for name, happen in play.items():
                await asyncio.sleep(self._pause_s)
                await happen()
                self.outcome.faults[name.replace("_", " ")] += 1
                if time.monotonic() - began >= self._seconds:
                    break

    async def _kill(self) -> None:
        daemon = await self._cluster.one()
        await self._gone(daemon, lambda: daemon.send(signal.SIGKILL))

    async def _freeze(self) -> None:
        """Stop a daemon for longer than its lease, and wake it."""
        daemon = await self._cluster.one()
        await self._gone(daemon, lambda: daemon.send(signal.SIGSTOP))
        await asyncio.sleep(self._cluster.lease_s)
        daemon.send(signal.SIGCONT)

    async def _partition(self) -> None:
        """Cut a daemon off from the database for longer than its lease, and until it has said
        so.
        """
        daemon = await self._cluster.one()
        asking = asyncio.create_task(self._asked(daemon))
        await self._gone(daemon, daemon.place.cut)
        await asyncio.sleep(self._cluster.lease_s)
        await asking
        daemon.place.mend()

    async def _asked(self, daemon: Daemon) -> None:
        """Ask this daemon for what it has to look up, until it is cut off and says that it
        cannot.
        """
        alone, status, asked = Wire(daemon.place.port, self._cluster.token, daemon.place.host), 200, time.monotonic()
        with suppress(TimeoutError):  # the figure says so
            async with asyncio.timeout(2 * SILENT_MAX_S):
                while status == 200:
                    with suppress(Lost, Unsent):
                        since, status = time.monotonic(), (await alone.ask("GET", "/process-runs/")).status
                        asked = since if status != 200 else time.monotonic()
                    await asyncio.sleep(LOOK_S)
        alone.close()
        self.outcome.silences_s.append(time.monotonic() - asked)

    async def _cut_backends(self) -> None:
        await self._cluster.watch.cut_backends()

    async def _restart_database(self) -> None:
        """Have the database crash, and start it again."""
        await asyncio.to_thread(self._cluster.server.stop, signal.SIGQUIT)
        await asyncio.sleep(1.0)
        await asyncio.to_thread(self._cluster.server.start)

    async def _gone(self, daemon: Daemon, happen: Callable[[], None]) -> None:
        """Let a daemon go while it has something to do, and wait until others have taken that
        over.
        """
        epoch = await self._cluster.watch.epoch(daemon.pid)
        with suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                while not await self._cluster.watch.outstanding(epoch):  # noqa: ASYNC110 - the database has no event
                    await asyncio.sleep(0.02)
        happen()
        await self._cluster.watch.taken_over(epoch, time.monotonic())

    async def _crowd(self) -> None:
        """Decide on gates, many at each at once, for as long as it goes on; in the end look at each
        once more.
        """
        port, token = self._cluster.balancer.port, self._cluster.token
        crowd = [Caller(port, token, self._record, number, Shares()) for number in range(CROWD)]
        while not self._over:
            starting = (caller.start(-(-GATES_AT_ONCE // CROWD)) for caller in crowd)
            run_ids = [run_id for some in await asyncio.gather(*starting) for run_id in some]
            await asyncio.gather(*(caller.decide(run_ids) for caller in crowd))
            for caller in crowd:
                caller._wire.close()
        run_ids = list(self._record.ops)
        await asyncio.gather(*(_read(caller, run_ids[at::CROWD]) for at, caller in enumerate(crowd)))

    async def _person(self, number: int) -> None:
        person = Person(self._cluster.balancer.port, self._cluster.token, self._told)
        doing: Callable[[], Coroutine[Any, Any, None]] = person.pay if number % 2 else person.work
        while not self._over:
            await doing()

    async def _compare(self) -> None:
        outcome, told = self.outcome, self._told
        outcome.gates, outcome.payments = len(self._record.ops), len(told.verdicts)
        outcome.operations = sum(map(len, self._record.ops.values()))
        outcome.crooked = [
            f"{key}: {what}" for key, ops in self._record.ops.items() if (what := fault(ops)) is not None
        ]
        outcome.twice, outcome.doubtful = self._far.twice, told.doubtful
        outcome.statuses = self._record.statuses + told.statuses
        outcome.waits_s = self._cluster.watch.waits_s
        outcome.fenced_writes = await self._cluster.watch.fenced_writes()
        for daemon in self._cluster.daemons:
            outcome.ends += daemon.ends
        person = Person(self._cluster.balancer.port, self._cluster.token, Told())
        for run_id, decision in told.verdicts.items():
            answer = await person.ask("GET", f"/process-runs/{run_id}")
            given = [one["verdict"]["decision"] for one in answer.json["trace"] if one["verdict"] is not None]
            if decision not in given:
                outcome.lost.append(run_id)
        for run_id in told.started:
            answer = await person.ask("GET", f"/process-runs/{run_id}/events?limit=200")
            if answer.status != 200:
                outcome.lost.append(f"{run_id}: its history is answered {answer.status}")


async def _read(caller: Caller, run_ids: list[str]) -> None:
    for run_id in run_ids:
        await caller.read(run_id)
