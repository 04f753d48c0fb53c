"""Commits of one company in one statement, which is a transaction of its own: one round trip, refusals one by one.

A client that is frozen or cut off in the middle holds no lock, since nothing is asked of it between begin and commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from actors.ports import Commit, ReceiptTaken, VersionConflict
from daemon.model import Performs
from daemon.model.chain import extended, genesis
from daemon.stores import codec
from daemon.stores.postgres.lease import Fenced
from daemon.stores.rows import standing_row, text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from daemon.stores.postgres.connection import Db

# The company's clock comes first, so that whoever waits holds nothing else; then the runs that are where they should
# be, then their receipts, and only what passed both moves on. Each row is found by its key whatever the planner knows
# of the tables: by LATERAL, by ON CONFLICT, by a CASE that keeps it from joining, or by asking for a value, since of
# EXISTS it might make a list of all.
APPEND = """
WITH alive AS MATERIALIZED (
    SELECT epoch FROM daemons WHERE epoch = $2 FOR KEY SHARE
), clock AS (
    INSERT INTO clocks (company_id, position) SELECT $1, $3::bigint FROM alive
    ON CONFLICT (company_id) DO UPDATE SET position = clocks.position + excluded.position
    RETURNING position - $3::bigint AS base
), new AS MATERIALIZED (
    SELECT * FROM unnest(
        $4::text[], $5::bigint[], $6::bigint[], $7::boolean[], $8::text[], $9::text[], $10::text[], $11::text[],
        $12::text[], $13::bytea[], $14::bytea[], $15::bytea[], $16::bigint[], $17::bytea[],
        $18::text[], $19::text[], $20::bytea[], $21::text[], $22::bigint[], $23::text[], $24::bytea[]
    ) WITH ORDINALITY AS one(
        id, expected, version, resting, status, parked, updated_at, vertical,
        created_at, head, exact, events, checksum, body,
        path, key, fingerprint, answered_run, answered, headers, answer, nth
    ) WHERE (SELECT count(*) FROM clock) = 1
), found AS MATERIALIZED (
    SELECT new.nth FROM new CROSS JOIN LATERAL (
        SELECT runs.version FROM runs WHERE runs.company_id = $1 AND runs.id = new.id FOR UPDATE
    ) AS standing WHERE new.expected > 0 AND standing.version = new.expected
), taken AS (
    INSERT INTO receipts (company_id, path, key, fingerprint, run_id, status, headers, body, created_at)
    SELECT $1, path, key, fingerprint, answered_run, answered, headers, answer, $25 FROM new
    WHERE key IS NOT NULL AND CASE WHEN expected = 0
        THEN (SELECT runs.version FROM runs WHERE runs.company_id = $1 AND runs.id = new.id) IS NULL
        ELSE nth IN (SELECT nth FROM found) END
    ON CONFLICT (company_id, path, key) DO NOTHING
    RETURNING path, key
), fit AS MATERIALIZED (
    SELECT * FROM new
    WHERE CASE WHEN key IS NULL THEN true ELSE (path, key) IN (SELECT path, key FROM taken) END
    AND CASE WHEN expected = 0 THEN true ELSE nth IN (SELECT nth FROM found) END
), moved AS (
    INSERT INTO runs (company_id, id, version, resting, status, vertical, parked, created_at, updated_at, epoch,
        moved_by, moved_from)
    SELECT $1, id, version, resting, status, vertical, parked, created_at, updated_at, $2, $2, expected FROM fit
    ON CONFLICT (company_id, id) DO UPDATE SET version = excluded.version, resting = excluded.resting,
        status = excluded.status, parked = excluded.parked, updated_at = excluded.updated_at,
        epoch = CASE WHEN runs.resting THEN excluded.epoch ELSE runs.epoch END, moved_by = excluded.moved_by,
        moved_from = excluded.moved_from, claimed = CASE WHEN runs.resting THEN 0 ELSE runs.claimed END
        WHERE runs.version = excluded.moved_from
    RETURNING id, epoch, claimed
), written AS (
    INSERT INTO commits (company_id, run_id, version, first_seq, position, head, exact, events)
    SELECT $1, id, version, expected + 1, base + nth, head, exact, events FROM fit CROSS JOIN clock
    WHERE events IS NOT NULL AND CASE WHEN id IN (SELECT id FROM moved) THEN true ELSE false END
), kept AS (
    INSERT INTO snapshots (company_id, run_id, version, schema, checksum, body)
    SELECT $1, id, version, $26, checksum, body FROM fit
    WHERE body IS NOT NULL AND CASE WHEN id IN (SELECT id FROM moved) THEN true ELSE false END
    ON CONFLICT (company_id, run_id) DO UPDATE SET version = excluded.version, schema = excluded.schema,
        checksum = excluded.checksum, body = excluded.body
)
SELECT id, epoch, claimed, false FROM moved
UNION ALL
SELECT id, NULL, NULL, CASE
    WHEN key IS NULL THEN false
    WHEN (path, key) IN (SELECT path, key FROM taken) THEN 1 / (nth - nth) = 0
    WHEN nth IN (SELECT nth FROM found) THEN true
    ELSE (
        SELECT receipts.key FROM receipts
        WHERE receipts.company_id = $1 AND receipts.path = new.path AND receipts.key = new.key
    ) IS NOT NULL END
FROM new WHERE CASE WHEN id IN (SELECT id FROM moved) THEN false ELSE true END
"""


@dataclass(frozen=True, slots=True)
class Append:
    """A commit as the columns of the statement, encoded before it comes to a connection."""

    commit: Commit
    row: tuple[Any, ...]
    at: str

    @classmethod
    def of(cls, commit: Commit, before: bytes | None, now: datetime) -> Append:
        """Encode a commit that goes on from a head; None for one that begins a run."""
        run, receipt = commit.run, commit.receipt
        version, _, status, parked, updated_at, vertical, created_at = standing_row(run)
        events = exact = None
        if commit.events:
            events, exact = codec.encode_events(commit.events)
        head = genesis(run.company_id, run.id) if before is None else before
        if events is not None:
            head = extended(head, events.split(b"\n"))
        body = codec.snapshot(commit)
        moved = (run.id, commit.expected_version, version, commit.resting, status, parked, updated_at, vertical)
        checksum = None if body is None else codec.checksum(version, body)
        kept: tuple[Any, ...] = (None,) * 7
        if receipt is not None:
            answer = (receipt.fingerprint, receipt.run_id, receipt.status, receipt.headers, receipt.body)
            kept = (receipt.path, receipt.key, *answer)
        return cls(commit, (*moved, created_at, head, exact, events, checksum, body, *kept), text(now))

    @property
    def head(self) -> bytes:
        """The head of the run's history after this commit."""
        head: bytes = self.row[9]
        return head

    @property
    def claims(self) -> tuple[Any, ...]:
        """What no other commit of the same statement may name."""
        receipt = self.commit.receipt
        return (self.commit.run.id, *(() if receipt is None else ((receipt.path, receipt.key),)))


CallResult = tuple[Performs | None, Exception | None]


async def append_all(db: Db, company_id: str, epoch: int, appends: Sequence[Append]) -> list[CallResult]:
    """Commit these, of one company and with different claims; who performs, or the refusal, of each."""
    columns = [list(column) for column in zip(*(one.row for one in appends), strict=True)]
    args = (company_id, epoch, len(appends), *columns, appends[0].at, codec.SNAPSHOT_SCHEMA)
    rows = await db.fetch(APPEND, *args)
    if not rows:
        return [(None, Fenced())] * len(appends)
    settled = {run_id: _settled(epoch, claimed, taken=taken) for run_id, epoch, claimed, taken in rows}
    return [settled[one.commit.run.id] for one in appends]


def _settled(epoch: int | None, claimed: int, *, taken: bool) -> CallResult:
    if epoch is not None:
        return Performs(epoch, claimed), None
    if taken:
        return None, ReceiptTaken("The idempotency key is already used.")
    return None, VersionConflict("The run has moved on since it was loaded.")


def waves(appends: Sequence[Append]) -> list[list[Append]]:
    """The commits in groups within which no two name the same run or receipt, in order."""
    groups: list[list[Append]] = []
    named: set[Any] = set()
    for one in appends:
        if not groups or not named.isdisjoint(one.claims):
            groups.append([])
            named = set()
        groups[-1].append(one)
        named.update(one.claims)
    return groups
