"""Reads runs from PostgreSQL, and appends commits, those of a company in one statement.

Histories only grow, so no reading needs a transaction. Each commit of a statement is refused by
itself; a frozen client holds no lock, since it has nothing to do between begin and commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from actors.core.run import Run
from actors.ports import Commit, ReceiptTaken, VersionConflict
from daemon.model import Ownership
from daemon.model.actions import action_row
from daemon.model.chain import HistoryBroken, extended, genesis
from daemon.model.inbox import affects_inbox, gate_rows
from daemon.model.pages import Page
from daemon.runtime.json_codec import dumps
from daemon.stores import codec
from daemon.stores.postgres.lease import Fenced
from daemon.stores.postgres.timelines import Placed
from daemon.stores.rows import iso, run_row, run_timer
from daemon.stores.tables.agents.actions import action_json
from daemon.stores.tables.reading import readers_json
from daemon.stores.tables.runs import chosen, fold_commits, listing, replay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from daemon.keys.commit_keys import CommitKeys
    from daemon.model import RunQuery
    from daemon.stores.database import Key, Row
    from daemon.stores.postgres.connection import Db
    from daemon.stores.postgres.database import PostgresDatabase


APPEND = "SELECT performer, taken_over, refusal, placed FROM penstock_append_2($1, $2, $3, $4, $5)"


@dataclass(frozen=True, slots=True)
class PostgresAppend:
    """A commit as columns of the statement, encoded before it reaches a connection."""

    company_id: str
    head: bytes
    row: tuple[Any, ...]
    at: str

    @classmethod
    def from_commit(cls, commit: Commit, now: datetime, keys: CommitKeys) -> PostgresAppend:
        run, receipt = commit.run, commit.receipt
        version, _, status, parked, updated_at, vertical, created_at = run_row(run)
        key = (run.company_id, run.id)
        events: bytes | None = None
        exact = mac = None
        head = commit.follows or genesis(*key)
        if commit.events:
            events, exact = codec.stored_events(commit.events)
            head = extended(head, events.split(b"\n"))
            mac = keys.mac(key, version, commit.expected_version + 1, head)
        body = None if version <= SHORT_EVENTS and codec.told_exactly(commit, events, exact) else codec.snapshot(commit)
        moved = (run.id, commit.expected_version, version, commit.resting, status, parked, updated_at, vertical)
        body_mac = None if body is None else keys.snapshot_mac(key, version, codec.SNAPSHOT_SCHEMA, body)
        kept: tuple[Any, ...] = (None,) * 7
        if receipt is not None:
            answer = (receipt.fingerprint, receipt.run_id, receipt.status, receipt.headers, receipt.body)
            kept = (receipt.path, receipt.key, *answer)
        gates = dumps([one._asdict() for one in gate_rows(run)]).decode() if affects_inbox(commit.events) else None
        written = (created_at, head, mac, exact, events, body_mac, body)
        readers = None if commit.reading is None else readers_json(commit.reading)
        action = None if (acting := action_row(run)) is None else action_json(acting)
        rest = (*run_timer(run), run.business_key, gates, commit.follows, readers, action)
        return cls(run.company_id, head, (*moved, *written, *kept, *rest), iso(now))


Settled = tuple[Ownership | None, Exception | None]


class Appended(NamedTuple):
    """The owner or the refusal of each commit, and where those that count stand."""

    settled: list[Settled]
    placed: list[Placed]


async def append_all(db: Db, company_id: str, epoch: int, appends: Sequence[PostgresAppend]) -> Appended:
    """Commit these of one company."""
    rows = await db.fetch(APPEND, company_id, epoch, appends[0].at, codec.SNAPSHOT_SCHEMA, [one.row for one in appends])
    if not rows:
        return Appended([(None, Fenced())] * len(appends), [])
    settled = [_settled(*row) for *row, _ in rows]
    found = zip(appends, rows, settled, strict=True)
    placed = [Placed(company_id, row[3], one.head) for one, row, (_, refusal) in found if refusal is None]
    return Appended(settled, placed)


def _settled(performer: int | None, taken_over: int | None, refusal: str | None) -> Settled:
    if refusal == "receipt taken":
        return None, ReceiptTaken("The idempotency key is already used.")
    if performer is None or taken_over is None:
        return None, VersionConflict("The run has moved on since it was loaded.")
    return Ownership(performer, taken_over), None


SHORT_EVENTS = 16
"""A run of at most so many events needs no snapshot: its commits are read by the same statement."""

_RUN = (
    "SELECT runs.company_id, runs.id, runs.version, runs.epoch, runs.claimed, commits.head, "
    "snapshots.version, snapshots.schema, snapshots.mac, snapshots.body, later.* FROM"
)
_COMMITS = ", ".join(
    f"array_agg({column} ORDER BY version)" for column in ("first_seq", "version", "head", "mac", "exact", "events")
)
# The commits from that of the snapshot on, whose head the next one follows.
_LATER = (
    f"SELECT {_COMMITS} FROM commits AS own WHERE own.company_id = runs.company_id AND own.run_id = runs.id "  # noqa: S608 - names of our own
    "AND own.version BETWEEN coalesce(snapshots.version, 0) AND runs.version "
    f"AND coalesce(snapshots.version, 0) < runs.version AND runs.version <= {SHORT_EVENTS}"
)
_BESIDE = (
    "LEFT JOIN snapshots ON snapshots.company_id = runs.company_id AND snapshots.run_id = runs.id "
    "LEFT JOIN commits ON commits.company_id = runs.company_id AND commits.run_id = runs.id "
    f"AND commits.version = runs.version LEFT JOIN LATERAL ({_LATER}) AS later ON true"
)
# By LATERAL each row is found by its key, whatever the planner knows of the tables.
_EACH = "SELECT one.* FROM"
LOAD = (
    f"{_EACH} unnest($1::text[], $2::text[]) AS asked(company_id, id) CROSS JOIN LATERAL ("
    f"{_RUN} runs {_BESIDE} WHERE runs.company_id = asked.company_id AND runs.id = asked.id LIMIT 1) AS one"
)
_SIZES = (
    "SELECT asked.company_id, asked.id, asked.place, coalesce(one.size, 0) + coalesce(("
    "SELECT sum(length(events)) FROM commits WHERE commits.company_id = asked.company_id "
    "AND run_id = asked.id AND commits.version > coalesce(one.version, 0)), 0)::bigint FROM ({}) AS asked "
    "LEFT JOIN LATERAL (SELECT length(body) AS size, version FROM snapshots "
    "WHERE snapshots.company_id = asked.company_id AND snapshots.run_id = asked.id LIMIT 1) AS one ON true"
)


class OwnedRun(NamedTuple):
    """A run as committed, its owner, and the head of its history."""

    run: Run
    performs: Ownership
    head: bytes


async def load_all(db: PostgresDatabase, keys: Sequence[Key]) -> dict[Key, OwnedRun]:
    rows = await db.rows(LOAD, [key[0] for key in keys], [key[1] for key in keys])
    return {row[:2]: await _restored(db, row) for row in rows}


async def find(db: PostgresDatabase, company_id: str, query: RunQuery) -> Page[Run]:
    wanted = chosen(await _wanted(db, company_id, query))
    runs = await load_all(db, wanted)
    page = Page(runs[key].run for key in wanted)
    page.more, page.size = wanted.more, wanted.size
    return page


async def _wanted(db: PostgresDatabase, company_id: str, query: RunQuery) -> Sequence[Row]:
    """Keys, places and sizes; of a search from the newest runs where these fill a page."""
    rows: Sequence[Row] = ()
    for newest in (True, False) if query.words or query.created_by else (False,):
        asked = listing(db.dialect, company_id, query, newest=newest)
        if asked is None:
            return ()
        rows = await db.rows(_SIZES.format(asked[0]), *asked[1])
        if len(rows) >= query.limit:
            break
    return rows


async def _restored(db: PostgresDatabase, row: Row) -> OwnedRun:
    """The run from its snapshot and later commits, or from all without a usable snapshot."""
    company_id, run_id, version, epoch, claimed, head, *rest = row
    snapshot, later = rest[:4], [*zip(*(one or () for one in rest[4:]), strict=True)]
    key = (company_id, run_id)
    if head is None:
        raise HistoryBroken(run_id, version, "the commit that the run stands at is missing")
    size = 0 if snapshot[-1] is None else len(snapshot[-1])
    run = await db.run_by_size(company_id, size, lambda: codec.decode_snapshot_if_current(db.keys, key, snapshot))
    if later and (run is None or run.version != version):
        run = await fold_commits(db, key, version, run, later)
    if run is None or run.version != version:
        run = await replay(db, key, version, run)
    return OwnedRun(run, Ownership(epoch, claimed), head)
