"""The responses stored under each Idempotency-Key."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from actors.ports import Receipt, ReceiptTaken
from daemon.stores.group_commit import DROP_MAX
from daemon.stores.rows import receipt_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.stores.database import Database

_ADD = (
    "INSERT INTO receipts (company_id, path, key, fingerprint, run_id, status, headers, body, created_at) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (company_id, path, key)"
)
_COMPLETE = (
    f"{_ADD} DO UPDATE SET run_id = coalesce(excluded.run_id, receipts.run_id), status = excluded.status, "
    "headers = excluded.headers, body = excluded.body WHERE receipts.status IS NULL"
)
ReceiptKey: TypeAlias = tuple[str, str, str, str]
"""Company, path, key, and the key to look under otherwise."""
_TOGETHER = (
    "SELECT asked.nth, one.* FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) "
    "WITH ORDINALITY AS asked(company_id, path, key, other, nth) CROSS JOIN LATERAL ("
    "SELECT receipts.company_id, receipts.path, receipts.key, fingerprint, run_id, status, headers, body FROM receipts "
    "WHERE receipts.company_id = asked.company_id AND receipts.path = asked.path "
    "AND receipts.key IN (asked.key, asked.other) ORDER BY receipts.key <> asked.key LIMIT 1) AS one"
)
# Those of the Agent Approval Protocol stay longer: until its request was decided so long ago.
_DROP = (
    "DELETE FROM receipts WHERE (company_id, path, key) IN "
    "(SELECT company_id, path, key FROM receipts WHERE created_at < $1 "
    "AND (path NOT LIKE '/aap/%' OR (created_at < $3 AND NOT EXISTS "
    "(SELECT 1 FROM runs WHERE runs.company_id = receipts.company_id AND runs.id = receipts.run_id "
    "AND (runs.status NOT IN ('completed', 'failed', 'cancelled') OR runs.updated_at >= $3)))) "
    "LIMIT $2) RETURNING length(body)"
)
DROPPED_AT_ONCE, DROPPED_BYTES_MAX = 10, 16 * 1024 * 1024
"""A response can have many megabytes, whose size is known only once they are read."""


async def add_receipt(db: Database, receipt: Receipt, at: str) -> None:
    if await db.execute(f"{_ADD} DO NOTHING", *receipt_row(receipt, at)) != 1:
        raise ReceiptTaken("The idempotency key is already used.")


async def keep_receipt(db: Database, receipt: Receipt, at: str) -> None:
    if await db.execute(_COMPLETE, *receipt_row(receipt, at)) != 1:
        raise ReceiptTaken("The request under this idempotency key is answered already.")


async def receipt(db: Database, company_id: str, path: str, key: str, otherwise: str = "") -> Receipt | None:
    """The receipt under a key, or `otherwise` the one under that key."""
    row = await db.row(
        "SELECT company_id, path, key, fingerprint, run_id, status, headers, body FROM receipts "
        "WHERE company_id = $1 AND path = $2 AND key IN ($3, $4) ORDER BY key <> $3 LIMIT 1",
        *(company_id, path, key, otherwise),
    )
    return None if row is None else Receipt(*row)


async def receipts(db: Database, keys: Sequence[ReceiptKey]) -> dict[ReceiptKey, Receipt]:
    """The receipts of concurrent requests, each as `receipt` finds it, in PostgreSQL."""
    rows = await db.rows(_TOGETHER, *(list(column) for column in zip(*keys, strict=True)))
    return {keys[number - 1]: Receipt(*row) for number, *row in rows}


async def drop_receipts(db: Database, before: str, aap_before: str = "") -> int:
    """Drop a bounded number and size, so that no other write waits long; returns how many.

    Those of the Agent Approval Protocol are dropped before the other time.
    """
    dropped = size = 0
    while dropped < DROP_MAX and size < DROPPED_BYTES_MAX:
        sizes = await db.rows(_DROP, before, DROPPED_AT_ONCE, aap_before)
        dropped, size = dropped + len(sizes), size + sum(one for (one,) in sizes)
        if len(sizes) < DROPPED_AT_ONCE:
            break
    return dropped
