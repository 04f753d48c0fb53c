"""Reports follow the commits: each counts once, however small the steps and whoever else counts."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta

from actors.core.reading.scope import ReadScope
from daemon.model.reading import Sight
from daemon.model.reports.questions import DaySpan, DecisionQuery, OpenQuery, Times
from daemon.stores.store import Store
from tests.histories import ACME, NOON, OTHER, append, count_as_before, decide, failed, start

LONG_AGO = date(2020, 1, 1)
MARCH = DaySpan(date(2026, 3, 1), date(2026, 3, 31))
AT = NOON + timedelta(hours=2)


async def follow(store: Store, commits_max: int = 100) -> None:
    """Count all that was committed."""
    while orders := await store.reports_behind():
        for order in orders:
            await store.follow_commits(order, commits_max, LONG_AGO)


async def test_open_gates_are_counted_by_tier_and_age(store: Store) -> None:
    await store.append(start("run-1", gates=("signoff", "legal")))
    await store.append(start("run-2", company_id=OTHER))
    await follow(store)
    totals = await store.report_totals(ACME, MARCH, AT)
    assert [(one.tier, one.age, one.gates, one.overdue) for one in totals.open] == [("high", 1, 2, 0)]
    listed = await store.reported_gates(ACME, OpenQuery(tier="high"))
    assert [(one.run_id, one.step_id, one.label) for one in listed] == [
        ("run-1", "legal", "Legal"),
        ("run-1", "signoff", "Signoff"),
    ]
    assert await store.reported_gates(ACME, OpenQuery(opened_before=NOON)) == []


async def test_a_verdict_closes_its_gate_and_counts_for_its_giver(store: Store) -> None:
    begun = start("run-1")
    await store.append(begun)
    await follow(store)
    await append(store, decide(begun.run))
    await follow(store)
    totals = await store.report_totals(ACME, MARCH, AT)
    assert (totals.open, totals.times) == ([], Times(1, 0, 0, 0))
    assert [(one.by, one.times.decided) for one in await store.report_people(ACME, MARCH)] == [("bob", 1)]
    (gate,) = await store.report_gates(ACME, MARCH, AT)
    assert (gate.vertical, gate.step_id, gate.label, gate.open, gate.times.decided) == (
        "prior-auth",
        "signoff",
        "Signoff",
        0,
        1,
    )
    (row,) = await store.reported_decisions(ACME, MARCH, DecisionQuery(by="bob", closed=True))
    assert (row.run_id, row.seq, row.decision, row.decided_at) == ("run-1", 4, "approved", NOON)
    assert await store.reported_decisions(OTHER, MARCH, DecisionQuery()) == []


async def test_steps_that_the_autopilot_cleared_are_counted_by_day(store: Store) -> None:
    await append(store, failed("run-1", gates=("signoff",)))
    await follow(store)
    (day,) = await store.report_days(ACME, MARCH)
    assert (day.day, day.autopilot, day.times.decided) == ("2026-03-02", 1, 0)
    (step,) = await store.report_steps(ACME, MARCH)
    assert (step.step_id, step.autopilot, step.people) == ("call", 1, 0)
    assert await store.report_days(ACME, DaySpan(date(2026, 3, 3), date(2026, 3, 4))) == []


async def test_each_commit_counts_once_in_however_small_steps(store: Store) -> None:
    for number in range(5):
        begun = start(f"run-{number}")
        await store.append(begun)
        await append(store, decide(begun.run))
    await follow(store, 1)
    assert (await store.report_totals(ACME, MARCH, AT)).times.decided == 5
    await follow(store, 1)
    assert (await store.report_totals(ACME, MARCH, AT)).times.decided == 5


async def test_who_counts_at_once_counts_everything_once(store: Store) -> None:
    for number in range(5):
        begun = start(f"run-{number}")
        await store.append(begun)
        await append(store, decide(begun.run))
    orders = await store.reports_behind()
    await asyncio.gather(*(store.follow_commits(order, 2, LONG_AGO) for order in orders for _ in range(10)))
    await follow(store)
    assert (await store.report_totals(ACME, MARCH, AT)).times.decided == 5


async def test_pages_of_decisions_go_on_behind_the_last_row(store: Store) -> None:
    for number in range(5):
        begun = start(f"run-{number}")
        await store.append(begun)
        await append(store, decide(begun.run))
    await follow(store)
    first = await store.reported_decisions(ACME, MARCH, DecisionQuery(limit=3))
    last = first[-1]
    after = (last.decided_at.isoformat(timespec="microseconds"), last.run_id, str(last.seq))
    rest = await store.reported_decisions(ACME, MARCH, DecisionQuery(limit=3, after=after))
    assert [one.run_id for one in (*first, *rest)] == [f"run-{number}" for number in (4, 3, 2, 1, 0)]


async def test_what_is_old_is_dropped_and_not_counted_anew(store: Store) -> None:
    begun = start("run-1")
    await store.append(begun)
    await append(store, decide(begun.run))
    await store.append(start("run-2"))
    await follow(store)
    await store.drop_reports(date(2100, 1, 1) if store.shared else date(2026, 3, 3))  # PostgreSQL drops whole months
    totals = await store.report_totals(ACME, MARCH, AT)
    assert (totals.times.decided, sum(one.gates for one in totals.open)) == (0, 1)


async def test_calls_counted_without_a_template_are_told_to_those_who_read_every_run(store: Store) -> None:
    await count_as_before(store)
    everything = Sight(ACME, ReadScope("ann"), NOON)
    for sight in (None, everything):
        assert [(one.tool_id, one.calls) for one in await store.report_tools(ACME, MARCH, sight)] == [("lookup", 2)]
        assert [(one.calls, one.failed_calls) for one in await store.report_days(ACME, MARCH, sight)] == [(2, 1)]
    for scope in (ReadScope("ann", closed=frozenset({"prior-auth"})), ReadScope("ann", reads="own")):
        assert await store.report_tools(ACME, MARCH, Sight(ACME, scope, NOON)) == []
