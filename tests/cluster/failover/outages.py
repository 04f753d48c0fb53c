"""What is no failover alone: clocks that differ, a full disk, cut cables, a pooler that dies."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from daemon.runtime import exit_codes
from tests.cluster.daemons import Daemon
from tests.cluster.failover.load import FIRST_MAX_S, Load, loaded
from tests.cluster.failover.managed import patroni
from tests.cluster.failover.managed import why_not as without_guide
from tests.cluster.failover.outcome import NotPlayed, Outcome
from tests.cluster.failover.places import Cabled, Pooled, Pooler, Skewed
from tests.cluster.failover.rewound import DETECTED_S
from tests.cluster.failover.stage import Stage, staged
from tests.cluster.watching import Watch
from tests.crash.notes import lines
from tests.crash.wire import Lost, Unsent, Wire
from tests.postgres import server, unprivileged
from tests.proxies.behind import program
from tests.replication import Pair, replicated

WORK_S = 3.0
PATIENCE_S = 20.0
STARTED_S = 60.0
POLL_S = 0.05
SKEWS_S = (8.0, 0.0, -8.0)
SKEWED_LEASE_S = 10.0
FULL_MAX_S = 10.0
ROOM = "96m"
GONE_MAX_S = 6.0
"""The lease of 3 s, a poll of its followers, and as much again."""
CONNECTED = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE application_name = 'penstock' AND wait_event IS DISTINCT FROM 'SyncRep'"
)
"""A session that waits for a standby does not notice that its client is gone."""


@dataclass(frozen=True)
class Outage:
    """What happens, in a folder, to so many daemons, and why it cannot be played here."""

    play: Callable[[Path, Outcome, int, Path | None], Awaitable[None]]
    why_not: Callable[[], str | None] = lambda: None


def without(name: str) -> str | None:
    """Why what needs a program of that name cannot be played."""
    return f"there is no {name} here: apt-get install {name}" if program(name) is None else None


async def until(
    true: Callable[[], Awaitable[bool]], within_s: float = PATIENCE_S, pause_s: float = POLL_S
) -> float | None:
    """How long it took until that was true; None where it was not within that time."""
    began = time.monotonic()
    while time.monotonic() < began + within_s:
        if await true():
            return time.monotonic() - began
        await asyncio.sleep(pause_s)
    return None


async def health(daemon: Daemon) -> tuple[int, str]:
    """The status of a daemon's health, and what it says; 0 without an answer."""
    wire = Wire(daemon.place.port, "", daemon.place.host)
    try:
        answer = await wire.ask("GET", "/health", timeout_s=2.0)
    except (Lost, Unsent, TimeoutError):
        return 0, ""
    finally:
        wire.close()
    return answer.status, str(answer.json["status"])


async def clocks(folder: Path, outcome: Outcome, daemons: int, parent: Path | None) -> None:
    """Daemons whose clocks are 16 s apart work for one company, and one that is beyond the lease
    ends.
    """
    skews = iter(SKEWS_S)
    settings = {"lease_s": str(SKEWED_LEASE_S)}.items()
    async with (
        replicated(synchronous=False, parent=parent) as pair,
        staged(folder, pair, daemons=daemons, place=lambda: Skewed(next(skews)), settings=settings) as stage,
        loaded(stage) as load,
    ):
        stage.survivor = pair.primary
        await load.work(WORK_S)
        beyond = stage.another(Skewed(SKEWED_LEASE_S + 5), settings)
        took_s = await _ended(beyond)
        code = ", ".join(map(str, beyond.ends)) or "none"
        await beyond.close()
        outcome.note("a daemon beyond the lease ends with", code, held=code == str(exit_codes.CLOCK_SKEWED))
        outcome.note("after", "never" if took_s is None else took_s)
        await load.work(WORK_S)
        await load.compare(outcome, skew_s=max(SKEWS_S))
        refused = sum(line.get("status") == 401 for line in lines(load.log))
        outcome.note("answers of 401", refused, held=not refused)
        backwards, events = _backwards(folder / "history.jsonl")
        outcome.note("events earlier than the one before", f"{backwards} of {events:,}", held=not backwards)


async def _ended(daemon: Daemon) -> float | None:
    """How long until a daemon that was begun ends by itself."""
    await daemon.begin()

    async def ended() -> bool:
        return bool(daemon.ends)

    return await until(ended, STARTED_S)


def _backwards(histories: Path) -> tuple[int, int]:
    backwards, events = 0, 0
    for run in lines(histories):
        times = [event["at"] for event in run["events"]]
        backwards += sum(later < earlier for earlier, later in pairwise(times))
        events += len(times)
    return backwards, events


def unmountable() -> str | None:
    """Why there can be no small file system here."""
    with TemporaryDirectory() as folder:
        try:
            with small(Path(folder) / "small"):
                return None
        except subprocess.CalledProcessError as refused:
            return f"a small file system cannot be mounted here: {refused.stderr.decode().strip()}"


@contextmanager
def small(place: Path) -> Iterator[Path]:
    """A small file system of our own."""
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=0700", "tmpfs", str(place)]
    subprocess.run(mounting, capture_output=True, check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


async def full(folder: Path, outcome: Outcome, daemons: int, parent: Path | None) -> None:
    """The file system of the database's tables is full, and has room again."""
    with small((parent or folder.parent) / "small") as place, server(parent=parent) as one:
        (tables := place / "tables").mkdir()
        for path in (place, tables):
            os.chown(path, *unprivileged())
        await one.told(f"CREATE TABLESPACE small LOCATION '{tables}'")
        await one.told("ALTER DATABASE template1 SET TABLESPACE small")
        async with staged(folder, Pair(one, one), daemons=daemons) as stage, loaded(stage) as load:
            await load.work(WORK_S)
            filling = place / "filling"
            await asyncio.to_thread(_fill, filling)
            await _said_full(stage, outcome)
            filling.unlink()
            room = time.time()
            took_s = await load.acknowledged_since(room)
            outcome.note(
                "room until the first 2xx", took_s or "never", held=took_s is not None and took_s <= FIRST_MAX_S
            )
            well_s = await until(partial(_all_say, stage, 200, "ok"))
            outcome.note("room until all are well", well_s or "never", held=well_s is not None)
            await load.work(WORK_S)
            await load.compare(outcome)


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass


async def _said_full(stage: Stage, outcome: Outcome) -> None:
    took_s = await until(partial(_all_say, stage, 503, "full"), FULL_MAX_S)
    outcome.note("all say full after", took_s or "never", held=took_s is not None)
    wire = Wire(stage.port, stage.token)
    read = (await wire.ask("GET", "/process-runs/")).status
    wire.close()
    outcome.note("a list of runs meanwhile", read, held=read == 200)


async def _all_say(stage: Stage, status: int, said: str) -> bool:
    return all([await health(daemon) == (status, said) for daemon in stage.daemons])


async def cut_daemon(folder: Path, outcome: Outcome, daemons: int, parent: Path | None) -> None:
    """Nothing comes through between one daemon and the database for longer than its lease."""
    async with _cabled(folder, daemons, parent) as (pair, stage, load):
        stage.survivor = pair.primary
        await load.work(WORK_S)
        daemon, watch = stage.daemons[0], Watch(pair.primary.url(stage.database))
        epoch = await watch.epoch(daemon.pid)
        if await until(partial(_has_work, watch, epoch), pause_s=0.0) is None:
            raise NotPlayed("the daemon had nothing that others could take over")
        daemon.place.cut()
        began = time.monotonic()
        await watch.taken_over(epoch, began)
        outcome.note("taken over after", watch.waits_s[-1], held=watch.waits_s[-1] <= GONE_MAX_S)
        await asyncio.sleep(max(0.0, GONE_MAX_S - (time.monotonic() - began)))
        others = await load.acknowledged_since(time.time())
        outcome.note("the others do a command within", others or "never", held=others is not None)
        said = (await health(daemon))[0]
        outcome.note("health of the one that is cut off", said or "none", held=said != 200)
        daemon.place.mend()
        ended = await until(partial(_has_ended, daemon))
        outcome.note("ended after it was mended", ended or "never", held=set(daemon.ends) == {exit_codes.STORE_FAILED})
        await load.work(WORK_S)
        await load.compare(outcome)


async def _has_work(watch: Watch, epoch: int) -> bool:
    return bool(await watch.outstanding(epoch))


async def _has_ended(daemon: Daemon) -> bool:
    return bool(daemon.ends)


async def cut_primary(folder: Path, outcome: Outcome, daemons: int, parent: Path | None) -> None:
    """The primary is cut off from all daemons, its standby is promoted, and it comes back."""
    async with _cabled(folder, daemons, parent) as (pair, stage, load):
        await load.work(WORK_S)
        places = [daemon.place for daemon in stage.daemons]
        for place in places:
            assert isinstance(place, Cabled)
            place.primary.cut()
        await asyncio.sleep(DETECTED_S)
        promoted = await pair.promote()
        await load.came_back(outcome, promoted)
        for place in places:
            place.mend()
        await asyncio.sleep(WORK_S)
        left = await until(partial(_left, pair), PATIENCE_S)
        outcome.note("the old primary has no connection after", left or "never", held=left is not None)
        await load.work(WORK_S)
        await load.compare(outcome)


async def _left(pair: Pair) -> bool:
    return not await pair.primary.value(CONNECTED)


@asynccontextmanager
async def _cabled(folder: Path, daemons: int, parent: Path | None) -> AsyncIterator[tuple[Pair, Stage, Load]]:
    async with (
        replicated(synchronous=True, parent=parent) as pair,
        staged(folder, pair, daemons=daemons, place=partial(Cabled, pair)) as stage,
        loaded(stage) as load,
    ):
        yield pair, stage, load


async def pooler(folder: Path, outcome: Outcome, daemons: int, parent: Path | None) -> None:
    """A pooler dies and comes back, and leads to the standby once that is promoted."""
    async with AsyncExitStack() as stack:
        pair = await stack.enter_async_context(replicated(synchronous=True, parent=parent))
        session = Pooler(parent or folder)
        stack.push_async_callback(session.kill)
        await session.start(pair.primary)
        stage = await stack.enter_async_context(staged(folder, pair, daemons=daemons, place=partial(Pooled, session)))
        load = await stack.enter_async_context(loaded(stage))
        await load.work(WORK_S)
        await session.kill()
        since = await session.start(pair.primary)
        took_s = await load.acknowledged_since(since)
        outcome.note(
            "a new pooler until the first 2xx", took_s or "never", held=took_s is not None and took_s <= FIRST_MAX_S
        )
        await load.work(WORK_S)
        await asyncio.to_thread(pair.primary.kill)
        await session.kill()
        promoted = await pair.promote()
        await session.start(pair.standby)
        await load.came_back(outcome, promoted)
        await _refused(stage, outcome, pair, parent or folder)
        await load.work(WORK_S)
        await load.compare(outcome)


async def _refused(stage: Stage, outcome: Outcome, pair: Pair, folder: Path) -> None:
    """A daemon behind a pooler in transaction mode ends, and says why."""
    shared = Pooler(folder, "transaction")
    await shared.start(pair.standby)
    daemon = stage.another(Pooled(shared))
    await _ended(daemon)
    code = ", ".join(map(str, daemon.ends)) or "none"
    said = "pool_mode = session" in (stage.folder / f"daemon-{daemon.number}.log").read_text(encoding="utf-8")
    await daemon.close()
    await shared.kill()
    outcome.note("in transaction mode a daemon ends with", code, held=code == str(exit_codes.CONFIG))
    outcome.note("and says why", "yes" if said else "no", held=said)


OUTAGES = {
    "clocks": Outage(clocks, partial(without, "faketime")),
    "full": Outage(full, unmountable),
    "cut": Outage(cut_daemon),
    "cut-primary": Outage(cut_primary),
    "pooler": Outage(pooler, partial(without, "pgbouncer")),
    "patroni": Outage(patroni, without_guide),
}
