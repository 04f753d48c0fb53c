"""The companies' own logs: a stream of commits that has the company's id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.audit_events import Logged
from daemon.model.chain import HistoryBroken, extended, genesis
from daemon.stores import codec

if TYPE_CHECKING:
    from daemon.model import Following
    from daemon.model.audit_events import LogEvent
    from daemon.stores.database import Database

_LAST = "SELECT version, head FROM commits WHERE company_id = $1 AND run_id = $1 ORDER BY version DESC LIMIT 1"
_HOLDING = "SELECT events FROM commits WHERE company_id = $1 AND run_id = $1 AND {} ORDER BY version DESC LIMIT 1"
_LAST_HOLDING = {
    "sqlite": _HOLDING.format("instr(events, $2)"),
    "postgres": _HOLDING.format("position($2 in events) > 0"),
}
_ADD = (
    "INSERT INTO commits (company_id, run_id, version, first_seq, position, head, events) "
    "VALUES ($1, $1, $2, $2, $3, $4, $5)"
)


async def last_logged(db: Database, company_id: str, holding: str) -> LogEvent | None:
    events = await db.value(_LAST_HOLDING[db.dialect], company_id, holding.encode())
    return None if events is None else codec.decode_log(events)[-1]


async def log_after(db: Database, company_id: str, holding: str, following: Following) -> None:
    await db.next_position(company_id, 0)  # locks: nobody else writes to this log until the end
    event = following(await last_logged(db, company_id, holding), has_peers=await db.has_peers())
    if event is not None:
        await log(db, Logged(company_id, event))


async def log(db: Database, logged: Logged) -> None:
    company_id = logged.company_id
    position = await db.next_position(company_id)
    version, head = await db.row(_LAST, company_id) or (0, genesis(company_id, company_id))
    if head is None:
        raise HistoryBroken(company_id, version, "the commit before has no head")
    line = codec.encode_log(logged.event)
    await db.execute(_ADD, company_id, version + 1, position, extended(head, [line]), line)
