"""Commits of one company in one statement, which is a transaction of its own: one round trip, refusals one by one.

A client that is frozen or cut off in the middle holds no lock, since nothing is asked of it between begin and commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from actors.ports import Commit, ReceiptTaken, VersionConflict
from daemon.audit.chain import extended, genesis
from daemon.stores import codec
from daemon.stores.postgres_log import Fenced
from daemon.stores.sqlite_journal import standing
from daemon.stores.sqlite_rows import text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from daemon.stores.postgres_link import Db

# The company's clock comes first, so that whoever waits holds nothing else; then the runs that are where they should
# be, then their receipts, and only what passed both moves on.
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
    )
), found AS MATERIALIZED (
    SELECT new.nth FROM new JOIN runs ON runs.company_id = $1 AND runs.id = new.id
    WHERE new.expected > 0 AND runs.version = new.expected AND (SELECT count(*) FROM clock) = 1
    FOR UPDATE OF runs
), taken AS (
    INSERT INTO receipts (company_id, path, key, fingerprint, run_id, status, headers, body, created_at)
    SELECT $1, path, key, fingerprint, answered_run, answered, headers, answer, $25 FROM new
    WHERE key IS NOT NULL AND (SELECT count(*) FROM clock) = 1 AND CASE WHEN expected = 0
        THEN NOT EXISTS (SELECT 1 FROM runs WHERE runs.company_id = $1 AND runs.id = new.id)
        ELSE nth IN (SELECT nth FROM found) END
    ON CONFLICT (company_id, path, key) DO NOTHING
    RETURNING path, key
), fit AS MATERIALIZED (
    SELECT new.* FROM new LEFT JOIN taken ON taken.path = new.path AND taken.key = new.key
    WHERE (new.key IS NULL OR taken.key IS NOT NULL) AND (SELECT count(*) FROM clock) = 1
), moved AS (
    UPDATE runs SET version = fit.version, resting = fit.resting, status = fit.status, parked = fit.parked,
        updated_at = fit.updated_at, epoch = CASE WHEN runs.resting THEN $2 ELSE runs.epoch END, moved_by = $2
    FROM fit JOIN found ON found.nth = fit.nth
    WHERE runs.company_id = $1 AND runs.id = fit.id AND runs.version = fit.expected
    RETURNING runs.id, runs.epoch
), began AS (
    INSERT INTO runs (company_id, id, version, resting, status, vertical, parked, created_at, updated_at, epoch,
        moved_by)
    SELECT $1, id, version, resting, status, vertical, parked, created_at, updated_at, $2, $2 FROM fit
    WHERE expected = 0
    ON CONFLICT (company_id, id) DO NOTHING
    RETURNING id, epoch
), applied AS MATERIALIZED (
    SELECT id, epoch FROM moved UNION ALL SELECT id, epoch FROM began
), written AS (
    INSERT INTO commits (company_id, run_id, version, first_seq, position, head, exact, events)
    SELECT $1, new.id, new.version, new.expected + 1, clock.base + new.nth, new.head, new.exact, new.events
    FROM applied JOIN new ON new.id = applied.id CROSS JOIN clock WHERE new.events IS NOT NULL
), kept AS (
    INSERT INTO snapshots (company_id, run_id, version, schema, checksum, body)
    SELECT $1, new.id, new.version, $26, new.checksum, new.body
    FROM applied JOIN new ON new.id = applied.id WHERE new.body IS NOT NULL
    ON CONFLICT (company_id, run_id) DO UPDATE SET version = excluded.version, schema = excluded.schema,
        checksum = excluded.checksum, body = excluded.body
)
SELECT new.nth, applied.epoch,
    new.key IS NOT NULL AND taken.key IS NULL AND (found.nth IS NOT NULL OR EXISTS (
        SELECT 1 FROM receipts WHERE receipts.company_id = $1 AND receipts.path = new.path AND receipts.key = new.key
    )),
    CASE WHEN taken.key IS NOT NULL AND applied.epoch IS NULL THEN 1 / (new.nth - new.nth) END
FROM alive CROSS JOIN new
LEFT JOIN applied ON applied.id = new.id
LEFT JOIN found ON found.nth = new.nth
LEFT JOIN taken ON taken.path = new.path AND taken.key = new.key
ORDER BY new.nth
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
        version, _, status, parked, updated_at, vertical, created_at = standing(run)
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


Settled = tuple[int | None, Exception | None]


async def append_all(db: Db, company_id: str, epoch: int, appends: Sequence[Append]) -> list[Settled]:
    """Commit these, of one company and with different claims; the epoch that performs, or the refusal, of each."""
    columns = [list(column) for column in zip(*(one.row for one in appends), strict=True)]
    args = (company_id, epoch, len(appends), *columns, appends[0].at, codec.SNAPSHOT_SCHEMA)
    rows = await db.fetch(APPEND, *args)
    if not rows:
        return [(None, Fenced())] * len(appends)
    return [_settled(performs, taken=taken) for _, performs, taken, _ in rows]


def _settled(performs: int | None, *, taken: bool) -> Settled:
    if performs is not None:
        return performs, None
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
