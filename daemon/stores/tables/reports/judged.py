"""What people decided where a panel was for clearing, and what was cleared."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model.reports.judged import JudgedCase, JudgedStep
from daemon.model.reports.projection import JudgedVisit
from daemon.stores.rows import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.stores.database import Database, Row

JUDGED = JudgedVisit._fields
_CASES = (
    "SELECT at, run_id, seq, visit, raw, why, approved FROM report_judged WHERE company_id = $1 AND vertical = $2 "
    "AND step_id = $3 AND template_version = $4 AND approved IS NOT NULL "
    "ORDER BY at DESC, run_id DESC, seq DESC LIMIT $5"
)
_STEPS = (
    "SELECT vertical, step_id, template_version, sum(CASE WHEN approved IS NULL THEN 1 ELSE 0 END), max(at) "
    "FROM report_judged WHERE company_id = $1 GROUP BY vertical, step_id, template_version "
    "ORDER BY vertical, step_id, template_version DESC LIMIT $2"
)


def judged_row(one: JudgedVisit) -> Row:
    return (*one[:4], text(one.at), *one[5:10], None if one.approved is None else int(one.approved))


async def judged_cases(db: Database, company_id: str, step: JudgedStep, most: int) -> Sequence[JudgedCase]:
    """The newest cases of a step, the oldest of them first."""
    rows = await db.rows(_CASES, company_id, *step, most)
    return [
        JudgedCase(datetime.fromisoformat(at), run_id, seq, visit, raw, why, bool(approved))
        for at, run_id, seq, visit, raw, why, approved in reversed(rows)
    ]


async def judged_steps(db: Database, company_id: str, most: int) -> Sequence[tuple[JudgedStep, int]]:
    """The steps that panels were for clearing, and how often each was cleared."""
    rows = await db.rows(_STEPS, company_id, most)
    return [(JudgedStep(vertical, step_id, version), int(cleared)) for vertical, step_id, version, cleared, _ in rows]
