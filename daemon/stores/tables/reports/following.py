"""Reports follow the commits: rows and the cursor move in one transaction."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog

from daemon.model.reports.projection import (
    Calls,
    CaseClock,
    Decision,
    FailedCall,
    FollowedCommit,
    JudgedVisit,
    OpenVisit,
    PanelOutcome,
    Projection,
    RunKey,
)
from daemon.stores import codec
from daemon.stores.group_commit import DROP_MAX
from daemon.stores.rows import iso, iso_or_null
from daemon.stores.table import FLAG, Codec, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daemon.stores.database import Database, Dialect, Row

_log = structlog.get_logger()


def _heard_json(heard: PanelOutcome) -> str:
    """Without what it is about where that is nothing: daemons of 0.1.0 read three members."""
    return json.dumps(heard if heard.about else heard[:-1])


VISITS = Table(
    *("report_visits", OpenVisit, ("company_id", "run_id", "step_id")),
    codecs={"heard": Codec(_heard_json, lambda stored: PanelOutcome(*json.loads(stored))).optional},
    beside=("company_id", "run_id", "step_id"),
)
DECISIONS = Table(
    *("report_decisions", Decision, ("company_id", "decided_at", "run_id", "seq")),
    stored_as={"by": ("decided_by",)},
    codecs={"closed": FLAG},
)
FAILURES = Table("report_failures", FailedCall, ("company_id", "failed_at", "run_id", "seq"))
JUDGED = Table(
    *("report_judged", JudgedVisit, ("company_id", "vertical", "step_id", "template_version", "at", "run_id", "seq")),
    codecs={"approved": FLAG.optional},
)
CLOCKS = Table("report_clocks", CaseClock, ("company_id", "run_id", "clock"))
# What a batch does not say of a clock stays as it was.
_KEEP_CLOCK = (
    f"INSERT INTO report_clocks ({CLOCKS.names}) "
    f"VALUES ({', '.join(f'${number}' for number, _ in enumerate(CLOCKS.columns, 1))}) "
    "ON CONFLICT (company_id, run_id, clock) DO UPDATE SET "
    "label = coalesce(nullif(excluded.label, ''), report_clocks.label)"
    + "".join(
        f", {one} = coalesce(excluded.{one}, report_clocks.{one})"
        for one in ("started_at", "due_at", "breached_at", "stopped_at", "stopped_by", "left_us")
    )
)
_CURSOR = "SELECT position FROM report_cursors WHERE company_id = $1"
# Each database has its own order of commits: SQLite one of all companies, PostgreSQL one of each.
_OF_WHOM = {"sqlite": "$3 = $3", "postgres": "commits.company_id = $3"}
_LATER = (
    "SELECT position, commits.company_id, run_id, vertical, first_seq, exact, "
    "CASE WHEN run_id <> commits.company_id THEN events END FROM commits "
    "LEFT JOIN runs ON runs.company_id = commits.company_id AND runs.id = run_id "
    "WHERE position > $1 AND {} ORDER BY position LIMIT $2"
)
_IDS = {
    "sqlite": "(SELECT value FROM json_each($2))",
    "postgres": "(SELECT jsonb_array_elements_text($2::jsonb))",
}
_OF_RUNS = "FROM report_visits WHERE company_id = $1 AND run_id IN {}"
_BEGIN = "INSERT INTO report_cursors (company_id, position) VALUES ($1, 0) ON CONFLICT DO NOTHING"
# Not by an update, which PostgreSQL keeps daemons of 0.1.0 from.
_LEAVE = "DELETE FROM report_cursors WHERE company_id = $1 AND position = $2"
_REACH = "INSERT INTO report_cursors (company_id, position) VALUES ($1, $2)"
_ADD_STEPS = (
    "INSERT INTO report_steps (company_id, day, vertical, step_id, cleared) VALUES ($1, $2, $3, $4, $5) "
    "ON CONFLICT (company_id, day, vertical, step_id) DO UPDATE SET cleared = report_steps.cleared + excluded.cleared"
)
_ADD_CALLS = (
    "INSERT INTO report_tool_calls (company_id, day, vertical, tool_id, calls, failed, last_at, last_error) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (company_id, day, vertical, tool_id) DO UPDATE SET "
    "calls = report_tool_calls.calls + excluded.calls, failed = report_tool_calls.failed + excluded.failed, "
    "last_at = excluded.last_at, last_error = excluded.last_error"
)
_BEHIND = {
    "sqlite": (
        "SELECT '' WHERE coalesce((SELECT max(position) FROM commits), 0) > "
        "coalesce((SELECT position FROM report_cursors WHERE company_id = ''), 0)"
    ),
    "postgres": (
        "SELECT clocks.company_id FROM clocks LEFT JOIN report_cursors "
        "ON report_cursors.company_id = clocks.company_id "
        "WHERE clocks.company_id <> '' AND clocks.position > coalesce(report_cursors.position, 0)"
    ),
}
STEPS_KEY = ("company_id", "day", "vertical", "step_id")
CALLS_KEY = ("company_id", "day", "vertical", "tool_id")
OLD_CALLS_KEY = ("company_id", "day", "tool_id")
BY_MONTH = {DECISIONS.name: "decided_at", FAILURES.name: "failed_at"}
"""Tables that PostgreSQL has by month, and the column of their time."""
OTHER = "_other"
"""What follows on the name of such a table for rows whose month has none."""
_OTHER: dict[Dialect, str] = {"sqlite": "", "postgres": OTHER}
_DATED = (
    (f"{DECISIONS.name}{{0}}", DECISIONS.key, "decided_at"),
    (f"{FAILURES.name}{{0}}", FAILURES.key, "failed_at"),
    ("report_steps", STEPS_KEY, "day"),
    ("report_tool_calls", CALLS_KEY, "day"),
    ("report_calls", OLD_CALLS_KEY, "day"),
    (CLOCKS.name, CLOCKS.key, "stopped_at"),
)
"""The tables whose rows grow old, their keys, and the column of their time."""
_DROP = [
    f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {time} < $1 LIMIT $2)"
    for table, key, time in ((table, ", ".join(columns), time) for table, columns, time in _DATED)
]


@dataclass(frozen=True, slots=True)
class ReportBatch:
    """What the next commits add, and the cursor before and after them."""

    holder: str
    before: int
    after: int
    projection: Projection
    more: bool


async def companies_behind(db: Database) -> list[str]:
    """Those with commits that are in no report yet; SQLite has one order of all companies."""
    return [row[0] for row in await db.rows(_BEHIND[db.dialect])]


async def later_commits(db: Database, holder: str, commits_max: int) -> ReportBatch | None:
    """What the next commits add; None where there are none."""
    before = await db.value(_CURSOR, holder) or 0
    rows = await db.page(_LATER.format(_OF_WHOM[db.dialect]), before, commits_max, holder)
    if not rows:
        return None
    visits = await _visits(db, rows)
    projection = await db.run_by_size(holder, rows.size, partial(_projected, rows, visits))
    more = rows.more or len(rows) >= commits_max
    return ReportBatch(holder, before, rows[-1][0], projection, more)


async def _visits(db: Database, rows: Sequence[Row]) -> dict[RunKey, dict[str, OpenVisit]]:
    """The open visits of the runs of these commits, by run and step."""
    runs: dict[str, set[str]] = defaultdict(set)
    for _, company_id, run_id, vertical, *_ in rows:
        if vertical is not None:
            runs[company_id].add(run_id)
    found: dict[RunKey, dict[str, OpenVisit]] = {}
    for company_id, ids in runs.items():
        statement = f"SELECT run_id, step_id, {VISITS.names} {_OF_RUNS.format(_IDS[db.dialect])}"
        for run_id, step_id, *visit in await db.rows(statement, company_id, json.dumps(sorted(ids))):
            found.setdefault((company_id, run_id), {})[step_id] = VISITS.from_row(visit)
    return found


def _projected(rows: Sequence[Row], visits: dict[RunKey, dict[str, OpenVisit]]) -> Projection:
    projection = Projection(visits)
    for commit in _commits(rows):
        projection.add(commit)
    return projection


def _commits(rows: Sequence[Row]) -> Iterator[FollowedCommit]:
    """The commits of runs; one that cannot be read counts as none: `penstock verify` names it."""
    for position, company_id, run_id, vertical, first_seq, exact, events in rows:
        if not events or vertical is None:  # of a log, or in an archive
            continue
        try:
            yield FollowedCommit(company_id, run_id, vertical, first_seq, codec.decode_events(events, exact))
        except ValueError:
            _log.error("commit_not_reported", position=position, run_id=run_id)


async def keep_following(db: Database, found: ReportBatch, since: str) -> bool:
    """Store what was found, but for rows before `since`; False where somebody else was first."""
    await db.execute(_BEGIN, found.holder)
    if await db.execute(_LEAVE, found.holder, found.before) != 1:
        return False
    await db.execute(_REACH, found.holder, found.after)
    await _keep_visits(db, found)
    made = found.projection
    await DECISIONS.insert_new(db, [one for one in made.decisions if iso(one.decided_at) >= since])
    await FAILURES.insert_new(db, [one for one in made.failures if iso(one.failed_at) >= since])
    await JUDGED.insert_new(db, made.judged)
    for clock in made.clocks.values():
        await db.execute(_KEEP_CLOCK, *CLOCKS.to_row(clock))
    for steps, cleared in made.cleared.items():
        if steps[1] >= since:
            await db.execute(_ADD_STEPS, *steps, cleared)
    for tool, calls in made.calls.items():
        if tool[1] >= since:
            await db.execute(_ADD_CALLS, *tool, *_calls(calls))
    return True


def _calls(calls: Calls) -> Row:
    return (calls.calls, calls.failed, iso_or_null(calls.last_at), calls.last_error)


async def _keep_visits(db: Database, found: ReportBatch) -> None:
    """The open visits of the runs in place of those before."""
    gone: dict[str, list[str]] = defaultdict(list)
    for company_id, run_id in sorted(found.projection.open):
        gone[company_id].append(run_id)
    for company_id, ids in gone.items():
        await db.execute(f"DELETE {_OF_RUNS.format(_IDS[db.dialect])}", company_id, json.dumps(ids))
    rows = [
        (*key, step_id, *VISITS.to_row(visit))
        for key, steps in found.projection.open.items()
        for step_id, visit in steps.items()
    ]
    await db.insert(f"report_visits (company_id, run_id, step_id, {VISITS.names})", rows)


async def drop_reports(db: Database, before: str) -> int:
    """Drop a bounded number of rows before a day, so that no other write waits long."""
    return sum([await db.execute(one.format(_OTHER[db.dialect]), before, DROP_MAX) for one in _DROP])
