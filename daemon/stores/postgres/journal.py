"""Reading runs, their snapshots and their commits from PostgreSQL; histories only grow, so no transaction is needed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from daemon.model import ParkedRun, Performs, Recorded
from daemon.model.chain import HistoryBroken, Walk, genesis
from daemon.stores import codec
from daemon.stores.rows import GATED, INTEGER_MAX, bounded, statuses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.core.messages import Event
    from actors.core.run import Run
    from daemon.model import RunQuery
    from daemon.stores.postgres.connection import Db

_STANDING = (
    "SELECT runs.company_id, runs.id, runs.version, runs.epoch, runs.claimed, head, "
    "snapshots.version, snapshots.schema, snapshots.checksum, snapshots.body FROM"
)
_BESIDE = (
    "LEFT JOIN snapshots ON snapshots.company_id = runs.company_id AND snapshots.run_id = runs.id "
    "LEFT JOIN commits ON commits.company_id = runs.company_id AND commits.run_id = runs.id "
    "AND commits.version = runs.version"
)
# By LATERAL each row is found by its key, whatever the planner knows of the tables.
_EACH = "SELECT one.* FROM"
_LOAD = (
    f"{_EACH} unnest($1::text[], $2::text[]) AS asked(company_id, id) CROSS JOIN LATERAL ("
    f"{_STANDING} runs {_BESIDE} WHERE runs.company_id = asked.company_id AND runs.id = asked.id LIMIT 1) AS one"
)
_FIND = f"{_STANDING} runs {_BESIDE} WHERE runs.company_id = $1"
_EVENTS = (
    "SELECT first_seq, version, head, exact, events FROM commits "
    "WHERE company_id = $1 AND run_id = $2 AND version > $3 AND version <= $4 ORDER BY version LIMIT $5"
)
_HEAD = "SELECT head FROM commits WHERE company_id = $1 AND run_id = $2 AND version = $3"
_VERSION = "SELECT version FROM runs WHERE company_id = $1 AND id = $2"
_RESTLESS = """
SELECT company_id, id FROM (
    SELECT * FROM (
        SELECT company_id, id FROM runs
        WHERE NOT resting AND epoch = $4 AND (company_id, id) > ($1, $2) ORDER BY company_id, id LIMIT $3
    ) AS unfinished UNION SELECT * FROM (
        SELECT company_id, id FROM runs
        WHERE resting AND (status = 'executing' OR (status = 'parked' AND parked = ''))
        AND (company_id, id) > ($1, $2) ORDER BY company_id, id LIMIT $3
    ) AS forgotten
) AS both_kinds ORDER BY company_id, id LIMIT $3
"""
_AT_GATES = """
SELECT * FROM (
    SELECT company_id, id, vertical, parked, updated_at, created_at FROM runs
    WHERE company_id = $1 AND status = '{0}' AND parked <> '' AND id > $2 ORDER BY id LIMIT $3
) AS mine_{0} UNION ALL SELECT * FROM (
    SELECT runs.company_id, runs.id, vertical, parked, updated_at, runs.created_at FROM companies
    JOIN runs ON runs.company_id = companies.id AND status = '{0}' AND parked <> ''
    WHERE companies.id > $1 ORDER BY companies.id, runs.id LIMIT $3
) AS others_{0}"""
_PARKED = " UNION ALL ".join(map(_AT_GATES.format, GATED)) + " ORDER BY company_id, id LIMIT $3"


class Standing(NamedTuple):
    """A run as committed, who performs what is outstanding, and the head of its history."""

    run: Run
    performs: Performs
    head: bytes


async def load_all(db: Db, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Standing]:
    """The runs of these (company_id, run_id) as committed; those that there are."""
    rows = await db.fetch(_LOAD, [key[0] for key in keys], [key[1] for key in keys])
    return {(row[0], row[1]): await _restored(db, row) for row in rows}


async def head_of(db: Db, company_id: str, run_id: str, version: int) -> bytes | None:
    """The head of a run's history at a version; None when it never was at that one."""
    head: bytes | None = await db.fetchval(_HEAD, company_id, run_id, version)
    return head


async def find(db: Db, company_id: str, query: RunQuery) -> Sequence[Run]:
    """The runs that a query asks for, newest first."""
    conditions: dict[str, str | None] = {
        "runs.id < ${}": query.before,
        "runs.vertical = ${}": query.vertical,
        "strpos(runs.parked, '|' || ${} || '|') > 0": query.parked_at,
    }
    asked = {condition: value for condition, value in conditions.items() if value is not None}
    said = (*asked.values(), query.status or "")
    if any("\x00" in value for value in said) or "|" in (query.parked_at or ""):
        return []
    where = " ".join(f"AND {condition.format(number)}" for number, condition in enumerate(asked, 3))
    found, values = list[str](), [status for status in statuses(query) if status is not None]
    for number, _ in enumerate(statuses(query), 3 + len(asked)):
        status = f"AND runs.status <> '' AND runs.status = ${number}" if values else ""
        each = ("SELECT * FROM (", _FIND, where, status, f"ORDER BY runs.id DESC LIMIT $2) AS runs_{number}")
        found.append(" ".join(each))
    statement = f"{' UNION ALL '.join(found)} ORDER BY id DESC LIMIT $2"
    rows = await db.fetch(statement, company_id, bounded(query.limit), *asked.values(), *values)
    return [(await _restored(db, row)).run for row in rows]


async def history(db: Db, company_id: str, run_id: str, after: int, limit: int) -> Sequence[Recorded]:
    """The events after a place; each commit holds at least one, so `limit` commits are enough."""
    limit, after = bounded(limit), min(after, INTEGER_MAX)
    version = await db.fetchval(_VERSION, company_id, run_id)
    if version is None or not limit:
        return []
    found: list[Recorded] = []
    reached = after
    for first, last, events in await _commits(db, (company_id, run_id), after, version, limit):
        reached = last
        found += [Recorded(place, event) for place, event in enumerate(events, first) if place > after]
        if len(found) >= limit:
            return found[:limit]
    if version > reached:
        raise HistoryBroken(run_id, reached + 1, f"the history ends, and the run is at version {version}")
    return found


async def restless(db: Db, after: tuple[str, str], limit: int, epoch: int) -> Sequence[tuple[str, str]]:
    """At most `limit` runs behind a key that this daemon sees to and are not at rest, or say so and wait for nobody."""
    return [(row[0], row[1]) for row in await db.fetch(_RESTLESS, *after, limit, epoch)]


async def parked(db: Db, after: tuple[str, str], limit: int) -> Sequence[ParkedRun]:
    """At most `limit` runs behind a key that wait for a human, in order."""
    return [
        ParkedRun(company_id, run_id, vertical, steps.count("|") - 1, *map(datetime.fromisoformat, times))
        for company_id, run_id, vertical, steps, *times in await db.fetch(_PARKED, *after, limit)
    ]


async def unfinished(db: Db) -> Sequence[tuple[str, str]]:
    """Every run that is not at rest."""
    rows = await db.fetch("SELECT company_id, id FROM runs WHERE NOT resting ORDER BY company_id, id")
    return [(row[0], row[1]) for row in rows]


async def _commits(
    db: Db, key: tuple[str, str], after: int, until: int, limit: int
) -> Sequence[tuple[int, int, tuple[Event, ...]]]:
    """The commits between two places, as first and last seq and events, their chain checked."""
    rows = await db.fetch(_EVENTS, *key, after, until, limit)
    found = []
    walk: Walk | None = None
    for first, version, head, exact, events in rows:
        if walk is None:
            walk = await _walk(db, key, min(first, after + 1))
        walk.take(first, version, head, events)
        found.append((first, version, codec.decode_events(events, exact)))
    return found


async def _walk(db: Db, key: tuple[str, str], first: int) -> Walk:
    """A walk along a stream that goes on with that event."""
    if first == 1:
        return Walk(key[1], genesis(*key))
    head = await head_of(db, *key, first - 1)
    if head is None:
        raise HistoryBroken(key[1], first - 1, "the commit before is missing or has no head")
    return Walk(key[1], head, first - 1)


async def _restored(db: Db, row: Sequence[Any]) -> Standing:
    """The run from its snapshot and what came after; from its whole history when the snapshot is not of our kind."""
    company_id, run_id, version, epoch, claimed, head, *snapshot = row
    key = (company_id, run_id)
    if head is None:
        raise HistoryBroken(run_id, version, "the commit that the run stands at is missing")
    run = codec.usable(key, *snapshot)
    if run is not None and run.version == version:
        return Standing(run, Performs(epoch, claimed), head)
    after = 0 if run is None else run.version
    commits = await _commits(db, key, after, version, INTEGER_MAX)
    try:
        run = codec.fold((event for _, _, events in commits for event in events), run)
    except ValueError as error:
        raise HistoryBroken(run_id, after + 1, f"no run can have gone on like this: {error}") from error
    if (run.company_id, run.id, run.version) != (*key, version):
        what = f"the history leads to {run.id} at version {run.version}, and the run is at {version}"
        raise HistoryBroken(run_id, run.version, what)
    return Standing(run, Performs(epoch, claimed), head)
