"""What every writing transaction on PostgreSQL begins with, and the companies' own logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.ports import StoreFailed
from daemon.audit.chain import extended, genesis
from daemon.stores import codec

if TYPE_CHECKING:
    from daemon.audit.log import LogEvent, Logged
    from daemon.stores.postgres_link import Db

CLOCK = (
    "INSERT INTO clocks (company_id, position) VALUES ($1, $2) ON CONFLICT (company_id) DO UPDATE "
    "SET position = clocks.position + excluded.position RETURNING position"
)
_ALIVE = "SELECT epoch FROM daemons WHERE epoch = $1 FOR KEY SHARE"
_LAST = "SELECT version, head FROM commits WHERE company_id = $1 AND run_id = $1 ORDER BY version DESC LIMIT 1"
_HOLDING = (
    "SELECT events FROM commits WHERE company_id = $1 AND run_id = $1 AND position($2 in events) > 0 "
    "ORDER BY version DESC LIMIT 1"
)
_ADD = (
    "INSERT INTO commits (company_id, run_id, version, first_seq, position, head, events) "
    "VALUES ($1, $1, $2, $2, $3, $4, $5)"
)


class Fenced(StoreFailed):
    """This daemon's lease has ended, and its work is another's: it may write nothing more."""

    def __init__(self) -> None:
        """Say so; nothing was applied."""
        super().__init__("Another daemon has taken over from this one; nothing was written.", "not_applied")


async def alive(db: Db, epoch: int) -> None:
    """Hold on to this daemon's lease until the transaction ends; Fenced when it is gone."""
    if await db.fetchval(_ALIVE, epoch) is None:
        raise Fenced


async def last_logged(db: Db, company_id: str, holding: str) -> LogEvent | None:
    """The latest event of a company's own log whose JSON holds this text."""
    events = await db.fetchval(_HOLDING, company_id, holding.encode())
    return None if events is None else codec.decode_log(events)[-1]


async def log(db: Db, logged: Logged) -> None:
    """Add an event to a company's own log: a stream that has the company's id."""
    company_id = logged.company_id
    position = await db.fetchval(CLOCK, company_id, 1)
    last = await db.fetchrow(_LAST, company_id)
    version, head = (0, genesis(company_id, company_id)) if last is None else last
    line = codec.encode_log(logged.event)
    await db.execute(_ADD, company_id, version + 1, position, extended(head, [line]), line)
