"""Clocks of the law in lists and reports, in each store."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from actors.core.messages import ClockBreached, ClockExtended, ClockStarted, ClockStopped
from actors.ports import Commit
from daemon.model import RunQuery
from daemon.model.inbox import GateQuery
from daemon.model.reports.questions import ClockNumbers, DaySpan
from daemon.stores.store import Store
from tests.histories import ACME, NOON, OTHER, append, commit, start
from tests.stores.contract.test_reports import follow

DAY = timedelta(days=1)
MARCH = DaySpan(date(2026, 3, 1), date(2026, 3, 31))


def clocked(run_id: str, due_at: datetime, company_id: str = ACME) -> Commit:
    """A run that is parked while its clock runs."""
    begun = start(run_id, company_id)
    started = ClockStarted(at=NOON, clock="notice", label="Notice", started_at=NOON, within="P7D", due_at=due_at)
    return commit(None, *begun.events, started)


def stopped(run: Commit, at: datetime, due_at: datetime) -> Commit:
    return commit(run.run, ClockStopped(at=at, clock="notice", stopped_by="send", due_at=due_at))


async def due_before(store: Store, at: datetime, **more: str) -> list[str]:
    return [run.id for run in await store.find(ACME, RunQuery(clock_due_before=at, **more))]  # type: ignore[arg-type]


async def test_runs_are_listed_whose_clock_is_due_by_then(store: Store) -> None:
    first, second = clocked("run-1", NOON + DAY), clocked("run-2", NOON + 3 * DAY)
    for one in (first, second, start("run-3"), clocked("run-4", NOON + DAY, OTHER)):
        await store.append(one)
    assert await due_before(store, NOON + DAY) == []
    assert await due_before(store, NOON + 2 * DAY) == ["run-1"]
    assert await due_before(store, NOON + 9 * DAY) == ["run-2", "run-1"]
    assert await due_before(store, NOON + 9 * DAY, before="run-2", vertical="prior-auth") == ["run-1"]
    assert await due_before(store, NOON + 9 * DAY, status="completed") == []
    await append(store, stopped(first, NOON, NOON + DAY))
    assert await due_before(store, NOON + 9 * DAY) == ["run-2"]
    more = ClockExtended(at=NOON, clock="notice", extended_by="P14D", once_done="tell", due_at=NOON + 17 * DAY)
    await append(store, commit(second.run, more))
    assert await due_before(store, NOON + 9 * DAY) == []


async def test_gates_stand_in_the_order_in_which_clocks_are_due(store: Store) -> None:
    later = clocked("run-1", NOON + 3 * DAY)
    for one in (start("run-0"), later, clocked("run-2", NOON + 2 * DAY)):
        await store.append(one)
    listed = [key.run_id for key in await store.open_gates(ACME, GateQuery())]
    assert listed == ["run-2", "run-1", "run-0"]
    await append(store, stopped(later, NOON, NOON + 3 * DAY))
    assert [key.run_id for key in await store.open_gates(ACME, GateQuery())] == ["run-2", "run-0", "run-1"]


async def test_a_report_counts_each_clock_once_however_small_the_steps(store: Store) -> None:
    due = NOON + DAY
    kept, near, late, over, ended = (clocked(f"run-{number}", due) for number in range(1, 6))
    for one in (kept, near, late, over, ended, clocked("run-6", NOON + 2 * DAY), clocked("run-7", due, OTHER)):
        await store.append(one)
        await follow(store, 1)
    breach = ClockBreached(at=due, clock="notice", due_at=due)
    await append(store, stopped(kept, due - timedelta(hours=20), due))
    await append(store, stopped(near, due - timedelta(minutes=1), due))
    acted = ClockStopped(at=due + timedelta(hours=5), clock="notice", stopped_by="send", due_at=due)
    await append(store, commit(late.run, breach, acted))
    await append(store, commit(over.run, breach))
    closed = ClockStopped(at=NOON, clock="notice", reason="the run has ended: cancelled", due_at=due)
    await append(store, commit(ended.run, closed))
    for commits_max in (1, 100):
        await follow(store, commits_max)
    (found,) = await store.report_clocks(ACME, MARCH)
    hour = 3_600_000_000
    assert found == ClockNumbers(
        *("prior-auth", "notice", "Notice"),
        *(2, 1, NOON + 2 * DAY),
        *(2, 2, 1),
        *(60_000_000, 60_000_000, 5 * hour),
    )
    (other,) = await store.report_clocks(OTHER, MARCH)
    assert (other.open, other.kept, other.breached) == (1, 0, 0)
    (april,) = await store.report_clocks(ACME, DaySpan(date(2026, 4, 1), date(2026, 4, 30)))
    assert (april.open, april.kept, april.breached, april.ended) == (2, 0, 1, 0)


async def test_what_stopped_long_ago_is_counted_no_more_and_what_goes_stays(store: Store) -> None:
    done = clocked("run-1", NOON + DAY)
    for one in (done, clocked("run-2", NOON + DAY)):
        await store.append(one)
    await append(store, stopped(done, NOON, NOON + DAY))
    await follow(store)
    await store.drop_reports((NOON + DAY).date())
    (found,) = await store.report_clocks(ACME, MARCH)
    assert (found.open, found.kept) == (1, 0)
