"""A company's events in the order of their commits, in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.event_log import CompanyEvent, Position
from daemon.stores.rows import INTEGER_MAX, events_of_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.stores.postgres.connection import Db

_HAPPENED = (
    "SELECT commits.position, commits.run_id, commits.first_seq, commits.version, commits.head, commits.exact, "
    "commits.events, before.head FROM commits LEFT JOIN commits AS before ON before.company_id = commits.company_id "
    "AND before.run_id = commits.run_id AND before.version = commits.first_seq - 1 "
    "WHERE commits.company_id = $1 AND commits.position >= $2 AND commits.run_id <> commits.company_id "
    "ORDER BY commits.position LIMIT $3"
)


async def present(db: Db, company_id: str) -> Position:
    """The place behind everything that a company has committed."""
    last = await db.fetchval("SELECT position FROM clocks WHERE company_id = $1", company_id)
    return Position((last or 0) + 1, 0)


async def happened(db: Db, company_id: str, after: Position, limit: int) -> Sequence[CompanyEvent]:
    """The events behind a place; each commit holds at least one, so that one more commit than events is enough."""
    found: list[CompanyEvent] = []
    limit = max(0, min(limit, INTEGER_MAX - 1))
    for row in await db.fetch(_HAPPENED, company_id, min(after.position, INTEGER_MAX), limit + 1):
        if len(found) >= limit:
            break
        found += [placed for placed in events_of_row(company_id, tuple(row)) if placed.place > after]
    return found[:limit]
