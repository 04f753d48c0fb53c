"""The cases, by name: how each pair is made, and what happens to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.cluster.failover.load import Load, loaded
from tests.cluster.failover.outages import OUTAGES
from tests.cluster.failover.outcome import NotPlayed, Outcome
from tests.cluster.failover.rewound import DETECTED_S, REMEMBERED_S, play_rewound
from tests.cluster.failover.stage import DAEMONS, Stage, staged
from tests.cluster.failover.tidings import Tidings
from tests.replication import replicated

WORK_S = 3.0
BEHIND_S = 1.0
ZOMBIE_S = 4.0
LOOKS = 20
SHORT_S = 4.0
TIMED_OUT_S = 14.0
"""Beyond the 8 s that a daemon gives a statement."""
SETTLED_S = 0.5
BROKE_OFF = "broke off"
"""What is missed where something did not come to its end; the cases that follow are played."""
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
_COMMITS = "SELECT count(*) FROM commits"
_CONNECTED = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'penstock'"
_CUT = (
    "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity "
    "WHERE application_name = 'penstock' LIMIT 10) AS cut"
)


async def _promoted(stage: Stage, load: Load, outcome: Outcome) -> float:
    """Promote after the time that it takes to notice, and see them come back."""
    await asyncio.sleep(DETECTED_S)
    promoted = await stage.pair.promote()
    await load.came_back(outcome, promoted)
    return promoted


async def kill(stage: Stage, outcome: Outcome) -> None:
    """The primary dies; the synchronous standby has all that was acknowledged."""
    async with loaded(stage) as load:
        await load.work(WORK_S)
        await asyncio.to_thread(stage.pair.primary.kill)
        await _promoted(stage, load, outcome)
        await load.work(WORK_S)
        await load.compare(outcome)


async def freeze(stage: Stage, outcome: Outcome, *, thawed: bool = False) -> None:
    """The primary takes connections and answers nobody; it may go on after the promotion, with the
    connections that it had, before it is gone for good.
    """
    async with loaded(stage) as load:
        await load.work(WORK_S)
        stage.pair.primary.freeze()
        await _promoted(stage, load, outcome)
        if thawed:
            stage.pair.primary.thaw()
        await asyncio.sleep(WORK_S)
        await asyncio.to_thread(stage.pair.primary.kill)
        await load.work(WORK_S)
        await load.compare(outcome)


async def lose(stage: Stage, outcome: Outcome) -> None:
    """The primary dies while the standby is behind."""
    tidings = Tidings(stage)
    async with tidings.awaited(), loaded(stage) as load:
        await load.work(WORK_S)
        await stage.pair.part()
        await load.work(BEHIND_S)
        await asyncio.to_thread(stage.pair.primary.kill)
        promoted = await _promoted(stage, load, outcome)
        await load.work(WORK_S)
        await tidings.compare(outcome)
        if await load.compare(outcome, rewound=promoted) == 0:
            raise NotPlayed("the standby had all that was acknowledged")


async def revive(stage: Stage, outcome: Outcome) -> None:
    """The old primary comes back behind a promotion, writable and first in the address."""
    pair, database = stage.pair, stage.database
    async with loaded(stage) as load:
        await load.work(WORK_S)
        await asyncio.to_thread(pair.primary.kill)
        promoted = await _promoted(stage, load, outcome)
        await load.work(1.0)
        await pair.revive()
        stood = await pair.primary.value(_COMMITS, database)
        cut = await pair.standby.value(_CUT)
        if not cut:
            raise NotPlayed("no connection was there to be cut")
        await asyncio.sleep(ZOMBIE_S)
        # One that is refused because of the server's timeline is there for a moment.
        stay = min([await pair.primary.value(_CONNECTED) for _ in range(LOOKS)])
        written = await pair.primary.value(_COMMITS, database) - stood
        outcome.note("connections to the old primary", f"{stay} after {cut} were cut", held=not stay)
        outcome.note("commits on the old primary", written, held=not written)
        await asyncio.to_thread(pair.primary.kill)
        await load.work(WORK_S)
        await load.compare(outcome, rewound=promoted)


async def miss_standby(stage: Stage, outcome: Outcome, *, away_s: float) -> None:
    """The synchronous standby is away for so long, then the primary dies and it takes over."""
    pair = stage.pair
    async with loaded(stage) as load:
        await load.work(WORK_S)
        await pair.part()
        await asyncio.sleep(SETTLED_S)
        begun, stood, waiting = time.time(), await pair.primary.value(_COMMITS, stage.database), 0
        while time.time() < begun + away_s:
            waiting = max(waiting, await pair.primary.value(_WAITING))
            await asyncio.sleep(0.1)
        visible = await pair.primary.value(_COMMITS, stage.database) - stood
        killed = time.time()
        await asyncio.to_thread(pair.primary.kill)
        _judge_absence(outcome, load, (begun, killed), waiting, visible)
        outcome.note("waits cancelled, by PostgreSQL's log", len(pair.cancelled), held=not pair.cancelled)
        if away_s == TIMED_OUT_S and not _timed_out(stage):
            raise NotPlayed("no statement timed out while it waited for the standby")
        await _promoted(stage, load, outcome)
        await load.work(WORK_S)
        await load.compare(outcome)


def _timed_out(stage: Stage) -> int:
    """How many batches the daemons' logs say to be unknown, since nothing came within the limit.

    Whoever asked is answered once the daemon has looked, which may take until the primary is gone.
    """
    logs = (stage.folder / f"daemon-{daemon.number}.log" for daemon in stage.daemons)
    found = (line for log in logs for line in log.read_text(encoding="utf-8").splitlines())
    return sum("no answer within" in line and '"outcome": "unknown"' in line for line in found)


def _judge_absence(outcome: Outcome, load: Load, away: tuple[float, float], waiting: int, visible: int) -> None:
    begun, killed = away
    if not waiting:
        raise NotPlayed("no commit waited for the standby")
    told = sum(begun < sent and at < killed for sent, at in load.acknowledged)
    outcome.note("without the standby", killed - begun)
    outcome.note("commits that waited at once, at most", waiting)
    outcome.note("commands acknowledged meanwhile", told, held=not told)
    outcome.note("commits visible without the standby", visible, held=not visible)
    outcome.note("answers that said unknown", load.unknown)


@dataclass(frozen=True)
class Case:
    """One case: what happens, on which pair."""

    play: Callable[[Stage, Outcome], Awaitable[None]]
    synchronous: bool = True
    standby_first: bool = False
    settings: tuple[tuple[str, str], ...] = ()


CASES = {
    "killed": Case(kill),
    "frozen": Case(freeze),
    "frozen-second": Case(freeze, standby_first=True),
    "thawed": Case(partial(freeze, thawed=True), standby_first=True),
    "behind": Case(lose, synchronous=False),
    "rewound": Case(play_rewound, synchronous=False, settings=(("run_idle_s", str(REMEMBERED_S)),)),
    "revived": Case(revive, synchronous=False),
    "absent": Case(partial(miss_standby, away_s=SHORT_S)),
    "absent-long": Case(partial(miss_standby, away_s=TIMED_OUT_S)),
}


NAMES = (*CASES, *OUTAGES)


async def play(
    name: str,
    folder: Path,
    *,
    parent: Path | None = None,
    daemons: int = DAEMONS,
    plant: Callable[[Stage], Awaitable[None]] | None = None,
) -> Outcome:
    """Play a case on a new pair with new daemons; a plant breaks something of theirs first."""
    outcome = Outcome(name)
    if (outage := OUTAGES.get(name)) is not None:
        outcome.skipped = outage.why_not() or ""
        if not outcome.skipped:
            await _judged(outcome, outage.play(folder, outcome, daemons, parent))
        return outcome
    case = CASES[name]
    async with (
        replicated(synchronous=case.synchronous, parent=parent) as pair,
        staged(folder, pair, daemons=daemons, standby_first=case.standby_first, settings=case.settings) as stage,
    ):
        if plant is not None:
            await plant(stage)
        await _judged(outcome, case.play(stage, outcome))
    return outcome


async def _judged(outcome: Outcome, playing: Awaitable[None]) -> None:
    """Play, and note where that did not come to its end."""
    try:
        await playing
    except NotPlayed as why:
        outcome.not_played = str(why)
    except (AssertionError, TimeoutError) as error:
        outcome.note(BROKE_OFF, f"{type(error).__name__} {error}", held=False)
