"""Runs, their snapshots and their commits as rows; what is called with a database runs in its connection's thread."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from actors.ports import Commit, ReceiptTaken, VersionConflict
from daemon.model import ParkedRun, Recorded
from daemon.model.chain import HistoryBroken, extended, genesis
from daemon.stores import codec
from daemon.stores.rows import GATED, INTEGER_MAX, bounded, reached, receipt_row, statuses, text
from daemon.stores.sqlite.accounts import ADD_RECEIPTS
from daemon.stores.sqlite.company_log import ADD_COMMITS
from daemon.stores.sqlite.history import commits, heads, restored
from daemon.stores.sqlite.rows import Rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from actors.core.run import Run
    from daemon.model import RunQuery

ENDED_EVENTS_MAX = 16

_INSERT = Rows(
    "INSERT INTO runs (version, resting, status, parked, updated_at, company_id, id, vertical, created_at)",
    columns=9,
    after="ON CONFLICT (company_id, id) DO NOTHING",
)
_UPDATE = Rows(
    "UPDATE runs SET version = new.column1, resting = new.column2, status = new.column3, parked = new.column4, "
    "updated_at = new.column5 FROM (",
    columns=8,
    after=") AS new WHERE company_id = new.column6 AND id = new.column7 AND version = new.column8",
)
_SNAPSHOT = Rows(
    "INSERT INTO snapshots (run, version, schema, checksum, body) "
    "SELECT number, column3, column4, column5, column6 FROM (",
    columns=6,
    after=") AS new CROSS JOIN runs ON company_id = new.column1 AND id = new.column2 WHERE true "
    "ON CONFLICT (run) DO UPDATE SET version = excluded.version, schema = excluded.schema, "
    "checksum = excluded.checksum, body = excluded.body",
)
_LATER = "CASE WHEN snapshots.version < commits.version THEN"
_SELECT = (
    "SELECT runs.company_id, runs.id, runs.version, snapshots.version, snapshots.schema, snapshots.checksum, "
    f"{_LATER} NULL ELSE snapshots.body END, first_seq, commits.version, head, {_LATER} exact END, {_LATER} events END "
    "FROM"
)
# Where the snapshot is that of the run as it is, NULL for the id keeps SQLite from looking for commits at all.
_BESIDE = (
    "LEFT JOIN snapshots ON snapshots.run = runs.number LEFT JOIN commits ON commits.company_id = runs.company_id "
    "AND run_id = CASE WHEN snapshots.version < runs.version THEN runs.id END AND commits.version >= snapshots.version"
)
_LOAD = Rows(
    f"{_SELECT} (",
    columns=2,
    after=f") AS asked CROSS JOIN runs ON runs.company_id = asked.column1 AND runs.id = asked.column2 {_BESIDE}",
)
_STANDING = "SELECT number, company_id, id, version FROM runs WHERE company_id = ?"
_VERSION = "SELECT version FROM runs WHERE company_id = ? AND id = ?"
# One half for each of two partial indexes, runs_unfinished and runs_forgotten; both are short.
_RESTLESS = """
SELECT * FROM (
    SELECT company_id, id FROM runs WHERE resting = 0 AND (company_id, id) > (:company_id, :id)
    ORDER BY company_id, id LIMIT :limit
) UNION SELECT * FROM (
    SELECT company_id, id FROM runs
    WHERE resting = 1 AND (status = 'executing' OR (status = 'parked' AND parked = ''))
    AND (company_id, id) > (:company_id, :id)
    ORDER BY company_id, id LIMIT :limit
) ORDER BY company_id, id LIMIT :limit
"""
# What is left of the company, then the companies behind it; neither looks at a run of another status.
_AT_GATES = """
SELECT * FROM (
    SELECT company_id, id, vertical, parked, updated_at, created_at FROM runs
    WHERE company_id = :company_id AND status = '{0}' AND parked <> '' AND id > :id ORDER BY id LIMIT :limit
) UNION ALL SELECT * FROM (
    SELECT company_id, runs.id, vertical, parked, updated_at, runs.created_at FROM companies
    CROSS JOIN runs ON company_id = companies.id AND status = '{0}' AND parked <> ''
    WHERE companies.id > :company_id ORDER BY companies.id, runs.id LIMIT :limit
)"""
_PARKED = " UNION ALL ".join(map(_AT_GATES.format, GATED)) + " ORDER BY company_id, id LIMIT :limit"


@dataclass(frozen=True, slots=True)
class Append:
    """A commit as rows, encoded before it comes to the writer's thread."""

    commit: Commit
    run: tuple[Any, ...]
    events: tuple[Any, ...]
    snapshot: tuple[Any, ...] | None
    receipt: tuple[Any, ...] | None

    @classmethod
    def of(cls, commit: Commit, now: datetime) -> Append:
        """Encode a commit."""
        run, expected = commit.run, commit.expected_version
        key = (run.company_id, run.id)
        moved = (run.version, commit.resting, *reached(run), *key)
        body = _snapshot(commit)
        kept = (run.version, codec.SNAPSHOT_SCHEMA, codec.checksum(run.version, body or b""), body)
        return cls(
            commit,
            run=(*moved, expected) if expected else (*moved, run.vertical, text(run.created_at)),
            events=(*key, run.version, expected + 1, *codec.encode_events(commit.events)),
            snapshot=None if body is None else (*key, *kept),
            receipt=None if commit.receipt is None else receipt_row(commit.receipt, text(now)),
        )

    def __call__(self, db: sqlite3.Connection) -> None:
        """Write it all, or raise ReceiptTaken or VersionConflict."""
        append_all(db, [self])


def _snapshot(commit: Commit) -> bytes | None:
    """The snapshot to write; none of a run that ended with few events behind the one before, which stays.

    It is larger than that one, and pages of small snapshots are full: to put it there splits them, at a run of long ago
    each time others. Nothing goes on from an ended run, and whoever reads it folds those few.
    """
    if commit.run.ended is not None and commit.expected_version > 0 and len(commit.events) <= ENDED_EVENTS_MAX:
        return None
    return codec.snapshot(commit)


def append_all(db: sqlite3.Connection, appends: Sequence[Append]) -> None:
    """Write these commits in as few statements as can be; ReceiptTaken or VersionConflict when one does not fit."""
    receipts = [one.receipt for one in appends if one.receipt is not None]
    if ADD_RECEIPTS.write(db, receipts) < len(receipts):
        raise ReceiptTaken("The idempotency key is already used.")
    began = [one.run for one in appends if one.commit.expected_version == 0]
    moved = [one.run for one in appends if one.commit.expected_version > 0]
    if _INSERT.write(db, began) + _UPDATE.write(db, moved) < len(appends):
        raise VersionConflict("The run has moved on since it was loaded.")
    ADD_COMMITS.write(db, _chained(db, [one.events for one in appends if one.commit.events]))
    _SNAPSHOT.write(db, [one.snapshot for one in appends if one.snapshot is not None])


def _chained(db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """These commits with the head of each; all heads that they go on from are looked up together."""
    known = heads(db, [(company_id, run_id, first - 1) for company_id, run_id, _, first, *_ in rows if first > 1])
    chained = []
    for company_id, run_id, version, first, events, exact in rows:
        key = (company_id, run_id)
        head = genesis(*key) if first == 1 else known.get(key)
        if not head:
            raise HistoryBroken(run_id, first - 1, "the commit before is missing or has no head")
        known[key] = head = extended(head, events.split(b"\n"))
        chained.append((*key, version, first, head, exact, events))
    return chained


def load_all(db: sqlite3.Connection, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Run]:
    """The runs of these (company_id, run_id) as committed; those that there are."""
    return {(run.company_id, run.id): run for run in restored(db, _LOAD.read(db, keys))}


def find(db: sqlite3.Connection, company_id: str, query: RunQuery) -> Sequence[Run]:
    """The runs that a query asks for, newest first."""
    conditions: dict[str, Any] = {
        "AND id < ?": query.before,
        "AND vertical = ?": query.vertical,
        "AND instr(parked, '|' || ? || '|')": query.parked_at,
    }
    if query.parked_at is not None and "|" in query.parked_at:
        return []
    asked = {condition: value for condition, value in conditions.items() if value is not None}
    limit = bounded(query.limit)
    found, values = list[str](), list[Any]()
    for status in statuses(query):  # one after the other, since the index has them in order by status
        named = asked if status is None else {**asked, "AND status = ?": status}
        found.append(" ".join(("SELECT * FROM (", _STANDING, *named, "ORDER BY id DESC LIMIT ?)")))
        values += [company_id, *named.values(), limit]
    statement = f"{_SELECT} ({' UNION ALL '.join(found)} ORDER BY id DESC LIMIT ?) AS runs {_BESIDE}"
    rows = db.execute(statement, (*values, limit)).fetchall()
    return sorted(restored(db, rows), key=lambda run: run.id, reverse=True)


def history(db: sqlite3.Connection, company_id: str, run_id: str, after: int, limit: int) -> Sequence[Recorded]:
    """The events after a place; each commit holds at least one, so `limit` commits are enough."""
    limit, after = bounded(limit), min(after, INTEGER_MAX)
    found: list[Recorded] = []
    reached = after
    for first, last, events in commits(db, (company_id, run_id), after, limit):
        reached = last
        found += [Recorded(place, event) for place, event in enumerate(events, first) if place > after]
        if len(found) >= limit:
            return found[:limit]
    row = db.execute(_VERSION, (company_id, run_id)).fetchone()
    if row is not None and limit and row[0] > reached:
        raise HistoryBroken(run_id, reached + 1, f"the history ends, and the run is at version {row[0]}")
    return found


def unfinished(db: sqlite3.Connection) -> Sequence[tuple[str, str]]:
    """Every run that is not at rest."""
    return db.execute("SELECT company_id, id FROM runs WHERE resting = 0 ORDER BY company_id, id").fetchall()


def restless(db: sqlite3.Connection, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
    """At most `limit` runs behind a key that are not at rest, or that say so and wait for nobody."""
    return db.execute(_RESTLESS, _behind(after, limit)).fetchall()


def parked(db: sqlite3.Connection, after: tuple[str, str], limit: int) -> Sequence[ParkedRun]:
    """At most `limit` runs behind a key that wait for a human, in order."""
    rows = db.execute(_PARKED, _behind(after, limit))
    return [
        ParkedRun(company_id, run_id, vertical, steps.count("|") - 1, *map(datetime.fromisoformat, times))
        for company_id, run_id, vertical, steps, *times in rows
    ]


def _behind(after: tuple[str, str], limit: int) -> dict[str, Any]:
    return {"company_id": after[0], "id": after[1], "limit": limit}
