"""Commits of one company in one statement, its own transaction: one round trip, refused singly.

A frozen client holds no lock, since it has nothing to do between begin and commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from actors.ports import Commit, ReceiptTaken, VersionConflict
from daemon.model import Ownership
from daemon.model.chain import extended, genesis
from daemon.model.inbox import affects_inbox, gate_rows
from daemon.runtime.json_codec import dumps
from daemon.stores import codec
from daemon.stores.postgres.lease import Fenced
from daemon.stores.rows import iso, run_row, run_timer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from daemon.keys.commit_keys import CommitKeys
    from daemon.stores.postgres.connection import Db

APPEND = "SELECT performer, taken_over, refusal FROM penstock_append($1, $2, $3, $4, $5)"


@dataclass(frozen=True, slots=True)
class PostgresAppend:
    """A commit as columns of the statement, encoded before it reaches a connection."""

    company_id: str
    head: bytes
    row: tuple[Any, ...]
    at: str

    @classmethod
    def from_commit(cls, commit: Commit, before: bytes | None, now: datetime, keys: CommitKeys) -> PostgresAppend:
        run, receipt = commit.run, commit.receipt
        version, _, status, parked, updated_at, vertical, created_at = run_row(run)
        key = (run.company_id, run.id)
        events = exact = mac = None
        if commit.events:
            events, exact = codec.stored_events(commit.events)
        head = genesis(*key) if before is None else before
        if events is not None:
            head = extended(head, events.split(b"\n"))
            mac = keys.mac(key, version, commit.expected_version + 1, head)
        body = codec.snapshot(commit)
        moved = (run.id, commit.expected_version, version, commit.resting, status, parked, updated_at, vertical)
        body_mac = None if body is None else keys.snapshot_mac(key, version, codec.SNAPSHOT_SCHEMA, body)
        kept: tuple[Any, ...] = (None,) * 7
        if receipt is not None:
            answer = (receipt.fingerprint, receipt.run_id, receipt.status, receipt.headers, receipt.body)
            kept = (receipt.path, receipt.key, *answer)
        gates = dumps([one._asdict() for one in gate_rows(run)]).decode() if affects_inbox(commit.events) else None
        written = (created_at, head, mac, exact, events, body_mac, body)
        return cls(run.company_id, head, (*moved, *written, *kept, *run_timer(run), run.business_key, gates), iso(now))


Settled = tuple[Ownership | None, Exception | None]


async def append_all(db: Db, company_id: str, epoch: int, appends: Sequence[PostgresAppend]) -> list[Settled]:
    """Commit these of one company; returns the owner or the refusal of each."""
    rows = await db.fetch(APPEND, company_id, epoch, appends[0].at, codec.SNAPSHOT_SCHEMA, [one.row for one in appends])
    return [_settled(*row) for row in rows] or [(None, Fenced())] * len(appends)


def _settled(performer: int | None, taken_over: int | None, refusal: str | None) -> Settled:
    if refusal == "receipt taken":
        return None, ReceiptTaken("The idempotency key is already used.")
    if performer is None or taken_over is None:
        return None, VersionConflict("The run has moved on since it was loaded.")
    return Ownership(performer, taken_over), None
