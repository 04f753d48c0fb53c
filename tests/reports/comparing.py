"""Every answer of the reports beside the recount: a sentence for each difference."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from actors.ports import Commit
from daemon.model.reports.questions import DaySpan, DecisionQuery, FailureQuery, OpenQuery
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.store import Store
from tests import histories
from tests.conversations import MORNING
from tests.reports.histories import history
from tests.reports.recount import Recount, grouped, times

LONG_AGO = date(2020, 1, 1)
ALL = 1_000_000
BATCHES = (1, 2, 3, 7, 50, 200)


def merged(histories: Sequence[Sequence[Commit]]) -> list[Commit]:
    """The commits of all runs as time would have brought them."""
    every = [(one.events[0].at, one.run.id, one.run.version, one) for commits in histories for one in commits]
    return [one[3] for one in sorted(every, key=lambda one: one[:3])]


async def append(store: Store, commits: Sequence[Commit]) -> None:
    """Append commits in their order, those of different runs together."""
    left = list(commits)
    while left:
        together, seen = 0, set[str]()
        while together < len(left) and left[together].run.id not in seen:
            seen.add(left[together].run.id)
            together += 1
        await asyncio.gather(*(histories.append(store, one) for one in left[:together]))
        del left[:together]


async def follow(store: Store, random: Random, *, whole: bool) -> None:
    """Count the next commits: some, or all that there are."""
    while orders := await store.reports_behind():
        for order in orders:
            await store.follow_commits(order, random.choice(BATCHES), LONG_AGO)
        if not whole:
            return


@asynccontextmanager
async def store_in(folder: Path) -> AsyncIterator[Store]:
    async with SqliteStore.open(folder / "penstock.db") as store:
        yield store


async def played(store: Store, seeds: range, company_id: str) -> tuple[Recount, int]:
    """Let histories happen while the reports follow; returns a recount and how many events."""
    random = Random(seeds.start)
    commits = merged([history(seed, company_id) for seed in seeds])
    place = 0
    while place < len(commits):
        amount = random.choice((1, 5, 20, 100))
        await append(store, commits[place : place + amount])
        place += amount
        await follow(store, random, whole=False)
    await follow(store, random, whole=True)
    return Recount.of(commits), sum(len(one.events) for one in commits)


async def differences(store: Store, company_id: str, recount: Recount, random: Random) -> list[str]:
    """What the reports answer otherwise than the recount, for all days and for some."""
    first = MORNING.date()
    spans = [DaySpan(first, first + timedelta(days=400))]
    for _ in range(2):
        begin = first + timedelta(days=random.randint(0, 60))
        spans.append(DaySpan(begin, begin + timedelta(days=random.choice((0, 6, 29, 89)))))
    found = []
    for span in spans:
        now = MORNING + timedelta(days=random.randint(0, 130), seconds=random.randint(0, 86_399))
        for name, told, counted in await _compared(store, company_id, recount, span, now):
            if told != counted:
                found.append(f"{name} within {span.first} and {span.last}: {told!r} is not {counted!r}")
    return found


async def _compared(
    store: Store, company_id: str, recount: Recount, span: DaySpan, now: datetime
) -> list[tuple[str, Any, Any]]:
    some = recount.within(span)
    return [
        *[one async for one in _rows(store, company_id, some, span)],
        *[one async for one in _totals(store, company_id, some, span, now)],
        *[one async for one in _groups(store, company_id, some, span, now)],
    ]


async def _rows(store: Store, company_id: str, some: Recount, span: DaySpan) -> AsyncIterator[tuple[str, Any, Any]]:
    decisions = await store.reported_decisions(company_id, span, DecisionQuery(limit=ALL))
    yield "decisions", decisions, sorted(some.decisions, key=lambda one: (one.decided_at, one.run_id, one.seq))[::-1]
    failures = await store.reported_failures(company_id, span, FailureQuery(limit=ALL))
    yield "failed calls", failures, sorted(some.failures, key=lambda one: (one.failed_at, one.run_id, one.seq))[::-1]
    yield "open gates", await store.reported_gates(company_id, OpenQuery(limit=ALL)), some.open_gates()


async def _totals(
    store: Store, company_id: str, some: Recount, span: DaySpan, now: datetime
) -> AsyncIterator[tuple[str, Any, Any]]:
    totals = await store.report_totals(company_id, span, now)
    ages = some.ages(now)
    yield "ages", Counter({one[:2]: one.gates for one in totals.open}), _summed(ages, late=None)
    yield "overdue", Counter({one[:2]: one.overdue for one in totals.open if one.overdue}), _summed(ages, late=True)
    yield "decided", totals.times, times(some.by_people())
    yield "expired", totals.expired, len(some.expired())
    yield "autopilot", totals.autopilot, len(some.cleared)
    yield "calls", (totals.calls, totals.failed_calls), (len(some.calls), len(some.failures))


async def _groups(
    store: Store, company_id: str, some: Recount, span: DaySpan, now: datetime
) -> AsyncIterator[tuple[str, Any, Any]]:
    days = {one.day: one[1:] for one in await store.report_days(company_id, span)}
    yield "days", days, dict(_days(some))
    gates = {one[:2]: one[3:] for one in await store.report_gates(company_id, span, now)}
    yield "gates", gates, dict(_gates(some, now))
    people = {one.by: (one.times, one.last_at) for one in await store.report_people(company_id, span)}
    verdicts = grouped((one for one in some.decisions if one.by_kind == "person"), "by")
    yield "people", people, {by: (times(one), max(each.decided_at for each in one)) for (by,), one in verdicts.items()}
    found = await store.report_steps(company_id, span)
    steps = {(one.vertical, one.step_id): (one.autopilot, one.people) for one in found}
    yield "steps", steps, _steps(some)
    tools = {one.tool_id: one[1:] for one in await store.report_tools(company_id, span)}
    yield "tools", tools, _tools(some)


def _summed(ages: Counter[tuple[str, int, bool]], late: bool | None) -> Counter[tuple[str, int]]:
    found: Counter[tuple[str, int]] = Counter()
    for (tier, age, overdue), number in ages.items():
        if late is None or overdue is late:
            found[tier, age] += number
    return found


def _days(some: Recount) -> Iterator[tuple[str, Any]]:
    cleared, calls = Counter(one[0] for one in some.cleared), Counter(one[0] for one in some.calls)
    failed = Counter(one.failed_at.date().isoformat() for one in some.failures)
    expired = Counter(one.decided_at.date().isoformat() for one in some.expired())
    decided = Counter(one.decided_at.date().isoformat() for one in some.by_people())
    for day in {*cleared, *calls, *expired, *decided}:
        own = [one for one in some.by_people() if one.decided_at.date().isoformat() == day]
        yield day, (times(own), expired[day], cleared[day], calls[day], failed[day])


def _gates(some: Recount, now: datetime) -> Iterator[tuple[tuple[str, str], Any]]:
    opened = Counter((one.vertical, one.step_id) for one in some.open_gates())
    late = Counter(
        (one.vertical, one.step_id) for one in some.open_gates() if one.due_at is not None and one.due_at <= now
    )
    expired = grouped(some.expired(), "vertical", "step_id")
    decided = grouped(some.by_people(), "vertical", "step_id")
    for gate in {*opened, *expired, *decided}:
        yield gate, (opened[gate], late[gate], len(expired.get(gate, ())), times(decided.get(gate, ())))


def _steps(some: Recount) -> dict[tuple[str, str], tuple[int, int]]:
    cleared = Counter(one[1:] for one in some.cleared)
    people = Counter((one.vertical, one.step_id) for one in some.by_people())
    return {step: (cleared[step], people[step]) for step in {*cleared, *people}}


def _tools(some: Recount) -> dict[str, Any]:
    """The last call is the last of the templates' own: of the last day, the one committed last."""
    own: dict[tuple[str, str], Any] = {}
    for _, vertical, tool, at, code in sorted(some.calls, key=lambda one: one[0]):
        calls, failed = own.get((tool, vertical), (0, 0))[:2]
        own[tool, vertical] = (calls + 1, failed + (code is not None), at, code)
    found: dict[str, Any] = {}
    for (tool, _), numbers in sorted(own.items(), key=lambda one: (one[0][0], one[1][2])):
        calls, failed = found.get(tool, (0, 0))[:2]
        found[tool] = (calls + numbers[0], failed + numbers[1], *numbers[2:])
    return found
