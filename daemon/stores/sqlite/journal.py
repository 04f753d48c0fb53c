"""Runs, snapshots and commits as rows; functions run in the thread of their connection."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from actors.ports import Commit, CommittedRun, ReceiptTaken, VersionConflict
from daemon.model.actions import ActionRow, action_row
from daemon.model.chain import HistoryBroken, extended, genesis
from daemon.model.inbox import affects_inbox, gate_rows
from daemon.model.pages import Page
from daemon.stores import codec
from daemon.stores.rows import iso, receipt_row, run_status, run_timer
from daemon.stores.sqlite.database import Rows, SqliteDatabase
from daemon.stores.tables.agents import actions
from daemon.stores.tables.lists.search import terms_of
from daemon.stores.tables.open_gates import OPEN_GATE
from daemon.stores.tables.reading import RUN_READER, reader_row
from daemon.stores.tables.runs import chosen, fold, listing, replay, walk_behind

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from actors.core.messages import Event
    from actors.core.run import Run
    from daemon.keys.commit_keys import CommitKeys
    from daemon.model import RunQuery
    from daemon.model.chain import ChainWalk
    from daemon.stores.database import Key, Row

ENDED_EVENTS_MAX = 16

_ADD_RECEIPTS = Rows(
    "INSERT INTO receipts (company_id, path, key, fingerprint, run_id, status, headers, body, created_at)",
    columns=9,
    after="ON CONFLICT (company_id, path, key) DO NOTHING",
)
_ADD_COMMITS = Rows("INSERT INTO commits (company_id, run_id, version, first_seq, head, mac, exact, events)", columns=8)
_INSERT = Rows(
    "INSERT INTO runs (version, resting, status, parked, updated_at, wake_at, reviewed, clock_due_at, company_id, "
    "id, vertical, created_at, business_key)",
    columns=13,
    after="ON CONFLICT (company_id, id) DO NOTHING",
)
_UPDATE = Rows(
    "UPDATE runs SET version = new.column1, resting = new.column2, status = new.column3, parked = new.column4, "
    "updated_at = new.column5, wake_at = new.column6, reviewed = new.column7, clock_due_at = new.column8 FROM (",
    columns=11,
    after=") AS new WHERE company_id = new.column9 AND id = new.column10 AND version = new.column11",
)
_SNAPSHOT = Rows(
    "INSERT INTO snapshots (run, version, schema, mac, body) SELECT number, column3, column4, column5, column6 FROM (",
    columns=6,
    after=") AS new CROSS JOIN runs ON company_id = new.column1 AND id = new.column2 WHERE true "
    "ON CONFLICT (run) DO UPDATE SET version = excluded.version, schema = excluded.schema, "
    "mac = excluded.mac, body = excluded.body",
)
# `IN` with several rows of VALUES looks at a whole table: what is deleted is joined in this order.
_CLOSE_GATES = Rows(
    "DELETE FROM open_gates WHERE number IN (SELECT number FROM (",
    columns=2,
    after=") AS asked CROSS JOIN open_gates ON company_id = asked.column1 AND run_id = asked.column2)",
)
_OPEN_GATES = Rows(f"INSERT INTO open_gates ({OPEN_GATE})", columns=11)
_FORGET_READERS = Rows(
    "DELETE FROM run_readers WHERE (company_id, run_id, kind, name) IN (SELECT company_id, run_id, kind, name FROM (",
    columns=3,
    after=") AS asked CROSS JOIN run_readers ON company_id = asked.column1 AND run_id = asked.column2 "
    "AND kind = asked.column3)",
)
_ADD_READERS = Rows(f"INSERT INTO run_readers ({RUN_READER})", columns=5, after="ON CONFLICT DO NOTHING")
_PUT_ACTIONS = Rows(
    f"INSERT INTO actions ({actions.ACTION})", columns=len(actions.ACTIONS.columns), after=actions.AFTER
)
_DROP_HOLDS = Rows(
    "DELETE FROM action_holds WHERE (company_id, rule, scope, run_id) IN "
    "(SELECT company_id, rule, scope, run_id FROM (",
    columns=2,
    after=") AS asked CROSS JOIN action_holds ON company_id = asked.column1 AND run_id = asked.column2)",
)
_LATER = "CASE WHEN snapshots.version < commits.version THEN"
_LAST = (
    "(SELECT head FROM commits AS last WHERE last.company_id = runs.company_id AND last.run_id = runs.id "
    "AND last.version = runs.version)"
)
_SELECT = (
    f"SELECT runs.company_id, runs.id, runs.version, {_LAST}, snapshots.version, snapshots.schema, snapshots.mac, "
    f"{_LATER} NULL ELSE snapshots.body END, first_seq, commits.version, head, {_LATER} commits.mac END, "
    f"{_LATER} exact END, {_LATER} events END FROM"
)
# Where the snapshot is current, NULL for the id keeps SQLite from looking for commits.
_BESIDE = (
    "LEFT JOIN snapshots ON snapshots.run = runs.number LEFT JOIN commits ON commits.company_id = runs.company_id "
    "AND run_id = CASE WHEN snapshots.version < runs.version THEN runs.id END AND commits.version >= snapshots.version"
)
_LOAD = Rows(
    f"{_SELECT} (",
    columns=2,
    after=f") AS asked CROSS JOIN runs ON runs.company_id = asked.column1 AND runs.id = asked.column2 {_BESIDE}",
)
_SIZES = (
    "SELECT asked.company_id, asked.id, asked.place, coalesce(length(snapshots.body), 0) + coalesce(("
    "SELECT sum(length(events)) FROM commits WHERE commits.company_id = asked.company_id AND run_id = asked.id "
    "AND commits.version > coalesce(snapshots.version, 0)), 0) FROM ({}) AS asked "
    "CROSS JOIN runs ON runs.company_id = asked.company_id AND runs.id = asked.id "
    "LEFT JOIN snapshots ON snapshots.run = runs.number"
)
_FOLLOWED = Rows(
    "SELECT count(*) FROM (",
    columns=4,
    after=") AS asked CROSS JOIN commits ON company_id = asked.column1 AND run_id = asked.column2 "
    "AND version = asked.column3 AND head = asked.column4",
)


@dataclass(frozen=True, slots=True)
class SqliteAppend:
    """A commit as rows, encoded before it reaches the writer's thread."""

    commit: Commit
    head: bytes
    run: tuple[Any, ...]
    events: tuple[Any, ...]
    snapshot: tuple[Any, ...] | None
    receipt: tuple[Any, ...] | None
    gates: list[tuple[Any, ...]] | None
    action: ActionRow | None

    @classmethod
    def from_commit(cls, commit: Commit, now: datetime, keys: CommitKeys) -> SqliteAppend:
        run, expected = commit.run, commit.expected_version
        key = (run.company_id, run.id)
        moved = (run.version, commit.resting, *run_status(run), *run_timer(run), *key)
        events, exact = codec.stored_events(commit.events)
        head = extended(commit.follows or genesis(*key), events.split(b"\n")) if commit.events else commit.follows
        mac = keys.mac(key, run.version, expected + 1, head)
        body = _snapshot(commit)
        snapshot = None
        if body is not None:
            body_mac = keys.snapshot_mac(key, run.version, codec.SNAPSHOT_SCHEMA, body)
            snapshot = (*key, run.version, codec.SNAPSHOT_SCHEMA, body_mac, body)
        return cls(
            commit,
            head,
            run=(*moved, expected) if expected else (*moved, run.vertical, iso(run.created_at), run.business_key),
            events=(*key, run.version, expected + 1, head, mac, exact, events),
            snapshot=snapshot,
            receipt=None if commit.receipt is None else receipt_row(commit.receipt, iso(now)),
            gates=[(*key, one.step_id, one.visit, run.vertical, *one[2:]) for one in gate_rows(run)]
            if affects_inbox(commit.events)
            else None,
            action=None if run.action is None else action_row(run),
        )


def _snapshot(commit: Commit) -> bytes | None:
    """The snapshot to write; None for a run that ended soon after the one before.

    The last one is larger, and would split pages full of small snapshots. Nothing continues an
    ended run, and a reader folds those few events.
    """
    if commit.run.ended is not None and commit.expected_version > 0 and len(commit.events) <= ENDED_EVENTS_MAX:
        return None
    return codec.snapshot(commit)


def append_all(db: sqlite3.Connection, appends: Sequence[SqliteAppend]) -> None:
    """Write these commits in few statements; ReceiptTaken or VersionConflict at a misfit."""
    receipts = [one.receipt for one in appends if one.receipt is not None]
    if _ADD_RECEIPTS.write(db, receipts) < len(receipts):
        raise ReceiptTaken("The idempotency key is already used.")
    began = [one.run for one in appends if one.commit.expected_version == 0]
    moved = [one.run for one in appends if one.commit.expected_version > 0]
    if _INSERT.write(db, began) + _UPDATE.write(db, moved) < len(appends) or not _follow(db, appends):
        raise VersionConflict("The run has moved on since it was loaded.")
    changed = [one for one in appends if one.gates is not None]
    moved_on = [one.commit.run for one in changed if one.commit.expected_version > 0]
    _CLOSE_GATES.write(db, [(run.company_id, run.id) for run in moved_on])
    _OPEN_GATES.write(db, [gate for one in changed for gate in one.gates or ()])
    if some := [one for one in appends if one.commit.reading is not None or one.action is not None]:
        _put_what_some_have(db, some)
    _ADD_COMMITS.write(db, [one.events for one in appends if one.commit.events])
    _SNAPSHOT.write(db, [one.snapshot for one in appends if one.snapshot is not None])


def _put_what_some_have(db: sqlite3.Connection, appends: Sequence[SqliteAppend]) -> None:
    """Write what lists have to know of readers, and of actions, whose holds end as they begin."""
    forgotten: list[Row] = []
    readers: list[Row] = []
    for one in appends:
        if (reading := one.commit.reading) is not None:
            key = (one.commit.run.company_id, one.commit.run.id)
            readers += [(*key, *reader_row(row)) for row in reading.rows]
            if one.commit.expected_version > 0:
                forgotten += [(*key, kind) for kind in reading.kinds]
    _FORGET_READERS.write(db, forgotten)
    _ADD_READERS.write(db, readers)
    acting = [one for one in appends if one.action is not None]
    _PUT_ACTIONS.write(db, [actions.ACTIONS.to_row(one.action) for one in acting if one.action is not None])
    began = [one.commit.run for one in acting if one.commit.expected_version == 0]
    _DROP_HOLDS.write(db, [(run.company_id, run.id) for run in began])


def _follow(db: sqlite3.Connection, appends: Sequence[SqliteAppend]) -> bool:
    """Whether each goes on from the head that is stored, and not only from its version."""
    places = [
        (one.commit.run.company_id, one.commit.run.id, one.commit.expected_version, one.commit.follows)
        for one in appends
        if one.commit.expected_version > 0
    ]
    return not places or sum(count for (count,) in _FOLLOWED.read(db, places)) == len(places)


async def load_all(db: SqliteDatabase, keys: Sequence[Key]) -> dict[Key, CommittedRun]:
    return {(one.run.company_id, one.run.id): one for one in await _restored(db, _LOAD.read(db.connection, keys))}


async def find(db: SqliteDatabase, company_id: str, query: RunQuery) -> Page[Run]:
    asked = listing(db.dialect, company_id, query, await terms_of(db, query.words or ()))
    if asked is None:
        return Page()
    keys, values = asked
    wanted = chosen(await db.rows(_SIZES.format(keys), *values))
    runs = await load_all(db, wanted)
    page = Page(runs[key].run for key in wanted)
    page.more, page.size = wanted.more, wanted.size
    return page


async def _restored(db: SqliteDatabase, rows: Sequence[Row]) -> list[CommittedRun]:
    """The runs of these rows of company_id, id, version, head, snapshot and commit.

    A snapshot with later commits has a row for its own and each of those; the first has its body.
    """
    found = []
    for (company_id, run_id, version, head), beside in groupby(rows, itemgetter(0, 1, 2, 3)):
        if head is None:
            raise HistoryBroken(run_id, version, "the commit that the run stands at is missing")
        run = await _restored_run(db, (company_id, run_id), version, [row[4:] for row in beside])
        found.append(CommittedRun(run, head))
    return found


async def _restored_run(db: SqliteDatabase, key: Key, version: int, rows: Sequence[Row]) -> Run:
    """The run from its snapshot and later commits, or from all without a usable snapshot."""
    run = codec.decode_snapshot_if_current(db.keys, key, rows[0][:4])
    if run is None:
        return await replay(db, key, version, None)
    if run.version == version:
        return run
    base, *later = sorted((row[4:] for row in rows), key=itemgetter(1))
    return fold(key, version, run, _taken(db.keys, key, walk_behind(key, run.version, base[2]), later))


def _taken(keys: CommitKeys, key: Key, walk: ChainWalk, rows: Sequence[Row]) -> Iterator[tuple[Event, ...]]:
    for first, version, head, mac, exact, events in rows:
        walk.read_commit(first, version, head, events)
        keys.check(key, version, first, head, mac, events=events)
        yield codec.decode_events(events, exact)
