"""The numbers of reports; medians are those of the rows themselves, and so exact."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from daemon.contract.reports import ReportStep
from daemon.model.reports.questions import (
    AGES,
    ClockNumbers,
    DayNumbers,
    GateNumbers,
    OpenCount,
    PersonNumbers,
    Times,
    ToolNumbers,
    Totals,
)
from daemon.stores.rows import iso, time_or_none
from daemon.stores.tables.reading import partly_closed, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.model.reading import Sight
    from daemon.model.reports.questions import DaySpan
    from daemon.stores.database import Database, Row

_WITHIN = "FROM report_decisions WHERE company_id = $1 AND decided_at >= $2 AND decided_at < $3"
BY_PEOPLE = "by_kind <> 'deadline' AND closed = 1"
BY_DEADLINE = "by_kind = 'deadline'"
_OF_PERSONS = "by_kind = 'person'"
_GATE = "vertical, step_id"
_DAY = "substr(decided_at, 1, 10)"
_DAYS = "WHERE company_id = $1 AND day >= $2 AND day <= $3"
# Of n values in order, the median is the first that half of them do not exceed; nine of ten alike.
_TIMES = """
SELECT {names}, max(n), CAST(sum(denies) AS bigint), max(CASE WHEN place = (n + 1) / 2 THEN waited_us END),
    max(CASE WHEN place = (9 * n + 9) / 10 THEN waited_us END), max(label), max(decided_at)
FROM (
    SELECT {keys}, waited_us, label, decided_at, CASE WHEN decision = 'denied' THEN 1 ELSE 0 END AS denies,
        row_number() OVER (PARTITION BY {groups} ORDER BY waited_us) AS place,
        count(*) OVER (PARTITION BY {groups}) AS n
    {within} AND {which}{seen}
) AS ranked GROUP BY {names} ORDER BY {names}"""
_EXPIRED = f"SELECT {{0}}, count(*), max(label) {_WITHIN} AND {BY_DEADLINE}{{seen}} GROUP BY {{0}}"
_OPEN = "FROM report_visits WHERE company_id = $1 AND opened_at IS NOT NULL"
_OVERDUE = "CAST(sum(CASE WHEN due_at <= $2 THEN 1 ELSE 0 END) AS bigint)"
_BY_AGE = (
    f"SELECT tier, CASE WHEN opened_at >= $3 THEN 0 WHEN opened_at >= $4 THEN 1 WHEN opened_at >= $5 THEN 2 "
    f"WHEN opened_at >= $6 THEN 3 ELSE 4 END AS age, count(*), {_OVERDUE}, min(opened_at) {_OPEN}{{seen}} "
    "GROUP BY 1, 2 ORDER BY 1, 2"
)
_BY_GATE = f"SELECT vertical, step_id, count(*), {_OVERDUE}, max(label) {_OPEN}{{seen}} GROUP BY vertical, step_id"
_CLEARED = f"SELECT {{0}}, vertical, CAST(sum(cleared) AS bigint) FROM report_steps {_DAYS} GROUP BY {{0}}, vertical"
# Daemons of 0.1.0 counted without the template.
_CALLS = (
    f"SELECT day, vertical, tool_id, calls, failed, last_at, last_error FROM report_tool_calls {_DAYS} UNION ALL "
    f"SELECT day, '', tool_id, calls, failed, last_at, last_error FROM report_calls {_DAYS} ORDER BY tool_id, last_at"
)


_OPEN_CLOCKS = (
    "SELECT vertical, clock, max(label), count(*), count(breached_at), "
    "min(CASE WHEN breached_at IS NULL THEN due_at END) "
    "FROM report_clocks WHERE company_id = $1 AND stopped_at IS NULL{seen} GROUP BY vertical, clock"
)
# Acts in time are ranked by what was left; what was breached counts so, whatever has stopped it.
_STOPPED_CLOCKS = """
SELECT vertical, clock, max(label), CAST(sum(in_time) AS bigint), count(breached_at),
    CAST(sum(CASE WHEN in_time = 0 AND breached_at IS NULL THEN 1 ELSE 0 END) AS bigint),
    max(CASE WHEN in_time = 1 AND place = (n + 1) / 2 THEN left_us END), min(CASE WHEN in_time = 1 THEN left_us END),
    max(CASE WHEN breached_at IS NOT NULL THEN -left_us END)
FROM (
    SELECT vertical, clock, label, breached_at, left_us, in_time,
        row_number() OVER (PARTITION BY vertical, clock, in_time ORDER BY left_us) AS place,
        count(*) OVER (PARTITION BY vertical, clock, in_time) AS n
    FROM (
        SELECT vertical, clock, label, breached_at, left_us,
            CASE WHEN stopped_by IS NOT NULL AND breached_at IS NULL THEN 1 ELSE 0 END AS in_time
        FROM report_clocks
        WHERE company_id = $1 AND stopped_at IS NOT NULL AND stopped_at >= $2 AND stopped_at < $3{seen}
    ) AS stopped
) AS ranked GROUP BY vertical, clock"""


def _timed(db: Database, sight: Sight | None, first: int) -> tuple[str, Row]:
    return visible(db.dialect, sight, first, "report_clocks.run_id", "report_clocks.vertical", summed=True)


async def report_clocks(
    db: Database, company_id: str, span: DaySpan, sight: Sight | None = None
) -> Sequence[ClockNumbers]:
    """The clocks of templates that go now, or have stopped within the days."""
    found: dict[tuple[str, str], ClockNumbers] = {}
    seen, more = _timed(db, sight, 2)
    going = await db.rows(_OPEN_CLOCKS.format(seen=seen), company_id, *more)
    for vertical, clock, label, number, overdue, due_at in going:
        found[vertical, clock] = ClockNumbers(vertical, clock, label, number, overdue, time_or_none(due_at))
    seen, more = _timed(db, sight, 4)
    stopped = await db.rows(_STOPPED_CLOCKS.format(seen=seen), company_id, *span.bounds, *more)
    for vertical, clock, label, *numbers in stopped:
        before = found.get((vertical, clock), ClockNumbers(vertical, clock, label))
        found[vertical, clock] = ClockNumbers._make((*before[:6], *numbers))._replace(label=max(before.label, label))
    found = {key: one._replace(breached=one.breached + one.overdue) for key, one in found.items()}
    return [found[key] for key in sorted(found)]


def _decided(db: Database, sight: Sight | None) -> tuple[str, Row]:
    """Leaves out decisions in runs that somebody may not read."""
    return visible(db.dialect, sight, 4, "report_decisions.run_id", "report_decisions.vertical", summed=True)


def _opened(db: Database, sight: Sight | None, first: int) -> tuple[str, Row]:
    return visible(db.dialect, sight, first, "report_visits.run_id", "report_visits.vertical", summed=True)


async def report_totals(
    db: Database, company_id: str, span: DaySpan, now: datetime, sight: Sight | None = None
) -> Totals:
    seen, more = _opened(db, sight, 3 + len(AGES))
    ages_at = [iso(now - age) for age in AGES]
    counted = await db.rows(_BY_AGE.format(seen=seen), company_id, iso(now), *ages_at, *more)
    ages = [OpenCount._make((*row[:4], datetime.fromisoformat(row[4]))) for row in counted]
    times = [_times(row[1:]) for row in await _ranked(db, company_id, span, "company_id", BY_PEOPLE, sight=sight)]
    days = await report_days(db, company_id, span, sight)
    calls, failed = sum(day.calls for day in days), sum(day.failed_calls for day in days)
    expired, autopilot = sum(day.expired for day in days), sum(day.autopilot for day in days)
    return Totals(ages, times[0] if times else Times(), expired, autopilot, calls, failed)


async def report_days(db: Database, company_id: str, span: DaySpan, sight: Sight | None = None) -> Sequence[DayNumbers]:
    """The days on which anything happened."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    seen, more = _decided(db, sight)
    for row in await _ranked(db, company_id, span, "day", BY_PEOPLE, sight=sight, keys=f"{_DAY} AS day", groups=_DAY):
        found[row[0]]["times"] = _times(row[1:])
    for day, expired, _ in await db.rows(_EXPIRED.format(_DAY, seen=seen), company_id, *span.bounds, *more):
        found[day]["expired"] = expired
    for (day, _), cleared in (await _cleared(db, company_id, span, "day", sight)).items():
        found[day]["autopilot"] = found[day].get("autopilot", 0) + cleared
    for day, _, _, calls, failed, *_ in await _called(db, company_id, span, sight):
        before = found[day]
        before["calls"] = before.get("calls", 0) + calls
        before["failed_calls"] = before.get("failed_calls", 0) + failed
    return [DayNumbers(day, **numbers) for day, numbers in sorted(found.items())]


async def report_gates(
    db: Database, company_id: str, span: DaySpan, now: datetime, sight: Sight | None = None
) -> Sequence[GateNumbers]:
    found: dict[tuple[str, str], GateNumbers] = {}
    seen, more = _opened(db, sight, 3)
    by_gate = await db.rows(_BY_GATE.format(seen=seen), company_id, iso(now), *more)
    for vertical, step_id, number, overdue, label in by_gate:
        found[vertical, step_id] = GateNumbers(vertical, step_id, label, number, overdue)
    seen, more = _decided(db, sight)
    expired = await db.rows(_EXPIRED.format(_GATE, seen=seen), company_id, *span.bounds, *more)
    for vertical, step_id, number, label in expired:
        before = found.get((vertical, step_id), GateNumbers(vertical, step_id, label))
        found[vertical, step_id] = before._replace(expired=number, label=max(before.label, label))
    for vertical, step_id, *row in await _ranked(db, company_id, span, _GATE, BY_PEOPLE, sight=sight):
        before = found.get((vertical, step_id), GateNumbers(vertical, step_id, row[4]))
        found[vertical, step_id] = before._replace(times=_times(row), label=max(before.label, row[4]))
    return [found[gate] for gate in sorted(found)]


async def report_people(
    db: Database, company_id: str, span: DaySpan, sight: Sight | None = None
) -> Sequence[PersonNumbers]:
    rows = await _ranked(db, company_id, span, "decided_by", _OF_PERSONS, sight=sight)
    return [PersonNumbers(row[0], _times(row[1:]), datetime.fromisoformat(row[6])) for row in rows]


async def report_steps(
    db: Database, company_id: str, span: DaySpan, sight: Sight | None = None
) -> Sequence[ReportStep]:
    cleared = await _cleared(db, company_id, span, "step_id", sight)
    cleared = {(vertical, step_id): number for (step_id, vertical), number in cleared.items()}
    decided = {row[:2]: row[2] for row in await _ranked(db, company_id, span, _GATE, BY_PEOPLE, sight=sight)}
    return [
        ReportStep(vertical=step[0], step_id=step[1], autopilot=cleared.get(step, 0), people=decided.get(step, 0))
        for step in sorted({*cleared, *decided})
    ]


async def _cleared(
    db: Database, company_id: str, span: DaySpan, name: str, sight: Sight | None
) -> dict[tuple[str, str], int]:
    """What the autopilot cleared by a name and template; of a partly closed one it is not told."""
    rows = await _told(db, sight, await db.rows(_CLEARED.format(name), company_id, *span.days))
    return {(one, vertical): number for one, vertical, number in rows}


async def _called(db: Database, company_id: str, span: DaySpan, sight: Sight | None) -> Sequence[Row]:
    """The calls by day, template and tool; of a partly closed template they are not told."""
    return await _told(db, sight, await db.rows(_CALLS, company_id, *span.days))


async def _told(db: Database, sight: Sight | None, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows but for those of templates that have a run which somebody may not read.

    The second column is the template. Where any is left out, so is what was counted without one.
    """
    if sight is None:
        return rows
    hidden = await partly_closed(db, sight)
    hidden |= {row[1] for row in rows if not sight.scope.covers(row[1], started=False)}
    return [row for row in rows if row[1] not in hidden and (row[1] or not hidden)]


async def report_tools(
    db: Database, company_id: str, span: DaySpan, sight: Sight | None = None
) -> Sequence[ToolNumbers]:
    found: dict[str, ToolNumbers] = {}
    for _, _, tool_id, calls, failed, last_at, last_error in await _called(db, company_id, span, sight):
        last = (datetime.fromisoformat(last_at), last_error)
        before = found.get(tool_id, ToolNumbers(tool_id, 0, 0, *last))
        found[tool_id] = ToolNumbers(tool_id, before.calls + calls, before.failed + failed, *last)
    return list(found.values())


async def _ranked(
    db: Database,
    company_id: str,
    span: DaySpan,
    names: str,
    which: str,
    *,
    sight: Sight | None,
    keys: str = "",
    groups: str = "",
) -> Sequence[Row]:
    """By group the number of decisions, denials, median, 90th percentile, label, and the last."""
    seen, more = _decided(db, sight)
    parts = {"names": names, "keys": keys or names, "groups": groups or names, "within": _WITHIN, "which": which}
    return await db.rows(_TIMES.format(**parts, seen=seen), company_id, *span.bounds, *more)


def _times(row: Sequence[Any]) -> Times:
    return Times(*row[:4])
