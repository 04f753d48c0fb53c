"""The rows that reports count: decisions, failed calls, open gates, and what panels judged."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from daemon.model.reports.questions import JudgedCase, JudgedStep, ListedGate
from daemon.stores.rows import bounded, iso_or_null, time_or_none
from daemon.stores.tables.reading import visible
from daemon.stores.tables.reports.following import DECISIONS, FAILURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.model.reading import Sight
    from daemon.model.reports.projection import Decision, FailedCall
    from daemon.model.reports.questions import DaySpan, DecisionQuery, FailureQuery, OpenQuery
    from daemon.stores.database import Database, Row


_DECISIONS = f"{DECISIONS.select} WHERE company_id = $1 AND decided_at >= $2 AND decided_at < $3"
_FAILURES = f"{FAILURES.select} WHERE company_id = $1 AND failed_at >= $2 AND failed_at < $3"
_GATES = (
    "SELECT run_id, step_id, visit, vertical, tier, label, opened_at, due_at FROM report_visits "
    "WHERE company_id = $1 AND opened_at >= $2 AND opened_at < $3"
)
_EARLIEST, _LATEST = "", "9999"


async def reported_decisions(db: Database, company_id: str, span: DaySpan, query: DecisionQuery) -> Sequence[Decision]:
    asked = {
        "vertical": query.vertical,
        "step_id": query.step_id,
        "decision": query.decision,
        "decided_by": query.by,
        "by_kind": query.by_kind,
        "closed": None if query.closed is None else int(query.closed),
    }
    rows = await _newest(db, (_DECISIONS, "decided_at"), (company_id, *span.bounds), asked, query)
    return [DECISIONS.from_row(row) for row in rows]


async def reported_failures(db: Database, company_id: str, span: DaySpan, query: FailureQuery) -> Sequence[FailedCall]:
    asked = {"vertical": query.vertical, "step_id": query.step_id, "tool_id": query.tool_id}
    rows = await _newest(db, (_FAILURES, "failed_at"), (company_id, *span.bounds), asked, query)
    return [FAILURES.from_row(row) for row in rows]


async def reported_gates(db: Database, company_id: str, query: OpenQuery) -> Sequence[ListedGate]:
    """Open gates, the oldest first."""
    bounds = iso_or_null(query.opened_from) or _EARLIEST, iso_or_null(query.opened_before) or _LATEST
    asked = {"vertical =": query.vertical, "step_id =": query.step_id, "tier =": query.tier}
    asked["due_at <="] = iso_or_null(query.due_by)
    where, values = _conditions(asked, 5)
    seen, more = visible(db.dialect, query.sight, 5 + len(values), "report_visits.run_id", "report_visits.vertical")
    where, values = where + seen, (*values, *more)
    if query.after is not None:
        where += f" AND (opened_at, run_id, step_id) > ({', '.join(f'${place}' for place in _places(5 + len(values)))})"
        values += query.after
    statement = f"{_GATES}{where} ORDER BY opened_at, run_id, step_id LIMIT $4"
    rows = await db.rows(statement, company_id, *bounds, bounded(query.limit), *values)
    return [ListedGate._make((*row[:6], datetime.fromisoformat(row[6]), time_or_none(row[7]))) for row in rows]


async def _newest(
    db: Database, of: tuple[str, str], within: Row, asked: dict[str, Any], query: DecisionQuery | FailureQuery
) -> Sequence[Row]:
    """Rows from the newest on, behind the last one of the page before."""
    select, time = of
    where, values = _conditions({f"{column} =": value for column, value in asked.items()}, 5)
    table = select.partition(" FROM ")[2].split()[0]
    seen, more = visible(db.dialect, query.sight, 5 + len(values), f"{table}.run_id", f"{table}.vertical")
    where, values = where + seen, (*values, *more)
    if query.after is not None:
        at, run_id, seq = query.after
        places = ", ".join(f"${place}" for place in _places(5 + len(values)))
        where += f" AND ({time}, run_id, seq) < ({places})"
        values += (at, run_id, int(seq))
    statement = f"{select}{where} ORDER BY {time} DESC, run_id DESC, seq DESC LIMIT $4"
    return await db.rows(statement, *within, bounded(query.limit), *values)


def _conditions(asked: dict[str, Any], first: int) -> tuple[str, Row]:
    """The conditions that are asked for, and their values from that parameter on."""
    wanted = {condition: value for condition, value in asked.items() if value is not None}
    where = "".join(f" AND {condition} ${place}" for place, condition in enumerate(wanted, first))
    return where, tuple(wanted.values())


def _places(first: int) -> range:
    return range(first, first + 3)


_CASES = (
    "SELECT at, run_id, seq, visit, raw, why, approved FROM report_judged WHERE company_id = $1 AND vertical = $2 "
    "AND step_id = $3 AND template_version = $4 AND about = $5 AND approved IS NOT NULL{seen} "
    "ORDER BY at DESC, run_id DESC, seq DESC LIMIT $6"
)
_STEPS = (
    "SELECT vertical, step_id, template_version, about, sum(CASE WHEN approved IS NULL THEN 1 ELSE 0 END) "
    "FROM report_judged WHERE company_id = $1{seen} GROUP BY vertical, step_id, template_version, about "
    "ORDER BY vertical, step_id, template_version DESC, about LIMIT $2"
)


async def judged_cases(
    db: Database, company_id: str, step: JudgedStep, most: int, sight: Sight | None = None
) -> Sequence[JudgedCase]:
    """The newest cases of a step, the oldest of them first."""
    seen, more = _judged(db, sight, 7)
    rows = await db.rows(_CASES.format(seen=seen), company_id, *step, most, *more)
    return [
        JudgedCase(datetime.fromisoformat(at), run_id, seq, visit, raw, why, bool(approved))
        for at, run_id, seq, visit, raw, why, approved in reversed(rows)
    ]


async def judged_steps(
    db: Database, company_id: str, most: int, sight: Sight | None = None
) -> Sequence[tuple[JudgedStep, int]]:
    """The steps that panels were for clearing, and how often each was cleared."""
    seen, more = _judged(db, sight, 3)
    rows = await db.rows(_STEPS.format(seen=seen), company_id, most, *more)
    return [(JudgedStep(*step), int(cleared)) for *step, cleared in rows]


def _judged(db: Database, sight: Sight | None, first: int) -> tuple[str, Row]:
    """Leaves out cases of runs that somebody may not read."""
    return visible(db.dialect, sight, first, "report_judged.run_id", "report_judged.vertical")
