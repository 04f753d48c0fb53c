"""Runs, their snapshots and their commits as rows; what is called with a database runs in its connection's thread."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from actors.ports import Commit, ReceiptTaken, VersionConflict
from daemon.ports import Recorded
from daemon.stores import codec
from daemon.stores.sqlite_rows import Rows, text
from daemon.stores.sqlite_shelves import ADD_RECEIPTS, receipt_row

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from actors.run import Run
    from daemon.ports import RunQuery

INTEGER_MAX = 2**63 - 1

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
_COMMIT = Rows("INSERT INTO commits (company_id, run_id, version, first_seq, events)", columns=5)
_SNAPSHOT = Rows(
    "INSERT INTO snapshots (run, version, schema, body) SELECT number, column3, column4, column5 FROM (",
    columns=5,
    after=") AS new CROSS JOIN runs ON company_id = new.column1 AND id = new.column2 WHERE true "
    "ON CONFLICT (run) DO UPDATE SET version = excluded.version, schema = excluded.schema, body = excluded.body",
)
_SELECT = "SELECT runs.company_id, runs.id, runs.version, snapshots.version, snapshots.schema, snapshots.body FROM"
_SNAPSHOTS = "LEFT JOIN snapshots ON snapshots.run = runs.number"
_RUNS = f"{_SELECT} runs {_SNAPSHOTS} WHERE runs.company_id = ?"
_LOAD = Rows(
    f"{_SELECT} (",
    columns=2,
    after=f") AS asked CROSS JOIN runs ON company_id = asked.column1 AND id = asked.column2 {_SNAPSHOTS}",
)
_EVENTS = (
    "SELECT first_seq, events FROM commits WHERE company_id = ? AND run_id = ? AND version > ? ORDER BY version LIMIT ?"
)
# One half for each of two partial indexes, runs_unfinished and runs_forgotten; both are short.
_RESTLESS = """
SELECT * FROM (
    SELECT company_id, id FROM runs WHERE resting = 0 AND (company_id, id) > (?1, ?2)
    ORDER BY company_id, id LIMIT ?3
) UNION SELECT * FROM (
    SELECT company_id, id FROM runs
    WHERE resting = 1 AND (status = 'executing' OR (status = 'parked' AND parked = '')) AND (company_id, id) > (?1, ?2)
    ORDER BY company_id, id LIMIT ?3
) ORDER BY company_id, id LIMIT ?3
"""


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
        parked = "".join(f"|{visit.step_id}" for visit in run.parked)
        key = (run.company_id, run.id)
        standing = (run.version, commit.resting, run.status, f"{parked}|" if parked else "", text(run.updated_at), *key)
        body = codec.snapshot(commit)
        return cls(
            commit,
            run=(*standing, expected) if expected else (*standing, run.vertical, text(run.created_at)),
            events=(*key, run.version, expected + 1, codec.encode_events(commit.events)),
            snapshot=None if body is None else (*key, run.version, codec.SNAPSHOT_SCHEMA, body),
            receipt=None if commit.receipt is None else receipt_row(commit.receipt, text(now)),
        )

    def __call__(self, db: sqlite3.Connection) -> None:
        """Write it all, or raise ReceiptTaken or VersionConflict."""
        append_all(db, [self])


def append_all(db: sqlite3.Connection, appends: Sequence[Append]) -> None:
    """Write these commits in as few statements as can be; ReceiptTaken or VersionConflict when one does not fit."""
    receipts = [one.receipt for one in appends if one.receipt is not None]
    if ADD_RECEIPTS.write(db, receipts) < len(receipts):
        raise ReceiptTaken("The idempotency key is already used.")
    began = [one.run for one in appends if one.commit.expected_version == 0]
    moved = [one.run for one in appends if one.commit.expected_version > 0]
    if _INSERT.write(db, began) + _UPDATE.write(db, moved) < len(appends):
        raise VersionConflict("The run has moved on since it was loaded.")
    _COMMIT.write(db, [one.events for one in appends if one.commit.events])
    _SNAPSHOT.write(db, [one.snapshot for one in appends if one.snapshot is not None])


def load_all(db: sqlite3.Connection, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Run]:
    """The runs of these (company_id, run_id) as committed; those that there are."""
    return {(row[0], row[1]): _restored(db, *row) for row in _LOAD.read(db, keys)}


def find(db: sqlite3.Connection, company_id: str, query: RunQuery) -> Sequence[Run]:
    """The runs that a query asks for, newest first."""
    conditions: dict[str, Any] = {
        "AND runs.id < ?": query.before,
        "AND runs.status = ?": query.status,
        "AND runs.vertical = ?": query.vertical,
        "AND runs.status = 'parked' AND instr(runs.parked, '|' || ? || '|')": query.parked_at,
    }
    if query.parked_at is not None and "|" in query.parked_at:
        return []
    asked = {condition: value for condition, value in conditions.items() if value is not None}
    statement = " ".join((_RUNS, *asked, "ORDER BY runs.id DESC LIMIT ?"))
    rows = db.execute(statement, (company_id, *asked.values(), _bounded(query.limit))).fetchall()
    return [_restored(db, *row) for row in rows]


def history(db: sqlite3.Connection, company_id: str, run_id: str, after: int, limit: int) -> Sequence[Recorded]:
    """The events after a place; each commit holds at least one, so `limit` commits are enough."""
    limit = _bounded(limit)
    found: list[Recorded] = []
    for first, data in db.execute(_EVENTS, (company_id, run_id, min(after, INTEGER_MAX), limit)):
        events = codec.decode_events(data)
        found += [Recorded(seq, event) for seq, event in enumerate(events, first) if seq > after]
        if len(found) >= limit:
            break
    return found[:limit]


def unfinished(db: sqlite3.Connection) -> Sequence[tuple[str, str]]:
    """Every run that is not at rest."""
    return db.execute("SELECT company_id, id FROM runs WHERE resting = 0 ORDER BY company_id, id").fetchall()


def restless(db: sqlite3.Connection, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
    """At most `limit` runs behind a key that are not at rest, or that say so and wait for nobody."""
    return db.execute(_RESTLESS, (*after, limit)).fetchall()


def _restored(db: sqlite3.Connection, company_id: str, run_id: str, version: int, *snapshot: Any) -> Run:
    """The run from its snapshot and what came after; from its whole history when the snapshot is not of our kind."""
    run = _usable(*snapshot)
    if run is not None and run.version == version:
        return run
    after = 0 if run is None else run.version
    rows = db.execute(_EVENTS, (company_id, run_id, after, INTEGER_MAX))
    return codec.fold((event for _, data in rows for event in codec.decode_events(data)), run)


def _usable(version: int | None, schema: int | None, body: bytes | None) -> Run | None:
    if body is None or schema != codec.SNAPSHOT_SCHEMA:
        return None
    try:
        run = codec.decode_run(body)
    except ValueError:
        return None
    return run if run.version == version else None


def _bounded(limit: int) -> int:
    """What SQLite can take as a LIMIT; to it a negative one means none."""
    return max(0, min(limit, INTEGER_MAX))
