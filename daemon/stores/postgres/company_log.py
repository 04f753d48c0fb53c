"""The companies' own logs on PostgreSQL, and the clocks by which each company's commits are ordered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.audit_events import Logged
from daemon.model.chain import extended, genesis
from daemon.stores import codec
from daemon.stores.postgres.lease import accompanied

if TYPE_CHECKING:
    from daemon.model import Following
    from daemon.model.audit_events import LogEvent
    from daemon.stores.postgres.connection import Db

CLOCK = (
    "INSERT INTO clocks (company_id, position) VALUES ($1, $2) ON CONFLICT (company_id) DO UPDATE "
    "SET position = clocks.position + excluded.position RETURNING position"
)
_LAST = "SELECT version, head FROM commits WHERE company_id = $1 AND run_id = $1 ORDER BY version DESC LIMIT 1"
_HOLDING = (
    "SELECT events FROM commits WHERE company_id = $1 AND run_id = $1 AND position($2 in events) > 0 "
    "ORDER BY version DESC LIMIT 1"
)
_ADD = (
    "INSERT INTO commits (company_id, run_id, version, first_seq, position, head, events) "
    "VALUES ($1, $1, $2, $2, $3, $4, $5)"
)


async def last_logged(db: Db, company_id: str, holding: str) -> LogEvent | None:
    """The latest event of a company's own log whose JSON holds this text."""
    events = await db.fetchval(_HOLDING, company_id, holding.encode())
    return None if events is None else codec.decode_log(events)[-1]


async def log_after(db: Db, epoch: int, company_id: str, holding: str, following: Following) -> None:
    """Add to a company's own log what follows on its latest event that holds this text."""
    await db.fetchval(CLOCK, company_id, 0)  # whoever else writes there waits from here on
    last, others = await last_logged(db, company_id, holding), await accompanied(db, epoch)
    event = following(last, accompanied=others)
    if event is not None:
        await log(db, Logged(company_id, event))


async def log(db: Db, logged: Logged) -> None:
    """Add an event to a company's own log: a stream that has the company's id."""
    company_id = logged.company_id
    position = await db.fetchval(CLOCK, company_id, 1)
    last = await db.fetchrow(_LAST, company_id)
    version, head = (0, genesis(company_id, company_id)) if last is None else last
    line = codec.encode_log(logged.event)
    await db.execute(_ADD, company_id, version + 1, position, extended(head, [line]), line)
