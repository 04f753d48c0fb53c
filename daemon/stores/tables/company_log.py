"""The companies' own logs, each a stream of commits that has the company's id.

The service has further streams beside its log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model import CallerChanged
from daemon.model.audit_events import Caller, Logged
from daemon.model.chain import extended, genesis
from daemon.model.event_log import LogPlace, Position, mark_of
from daemon.stores import codec

if TYPE_CHECKING:
    from daemon.model import NextEvent
    from daemon.model.audit_events import LogEvent
    from daemon.stores.database import Database

_ROLE = "SELECT role FROM members WHERE company_id = $1 AND id = $2 AND status = 'active'"
_OF_STREAM = "FROM commits WHERE company_id = $1 AND run_id = $2 ORDER BY version"
_PLACE = "SELECT version, first_seq, head, mac"
_LAST = f"{_PLACE} {_OF_STREAM} DESC LIMIT 1"
_LAST_EVENT = f"{_PLACE}, events {_OF_STREAM} DESC LIMIT 1"
_FIRST_EVENT = f"{_PLACE}, events {_OF_STREAM} LIMIT 1"
_HOLDING = "SELECT events FROM commits WHERE company_id = $1 AND run_id = $1 AND {} ORDER BY version DESC LIMIT 1"
_LAST_HOLDING = {
    "sqlite": _HOLDING.format("instr(events, $2)"),
    "postgres": _HOLDING.format("position($2 in events) > 0"),
}
_ADD = (
    "INSERT INTO commits (company_id, run_id, version, first_seq, position, head, mac, events) "
    "VALUES ($1, $2, $3, $3, $4, $5, $6, $7) RETURNING position"
)


async def last_logged(db: Database, company_id: str, holding: str) -> LogEvent | None:
    """The last entry with that text; its MAC is unchecked, since it may name a missing key."""
    events = await db.value(_LAST_HOLDING[db.dialect], company_id, holding.encode())
    return None if events is None else codec.decode_log(events)[-1]


async def first_event(db: Database, company_id: str, stream: str) -> LogEvent | None:
    return await _event(db, _FIRST_EVENT, company_id, stream)


async def last_event(db: Database, company_id: str, stream: str) -> LogEvent | None:
    return await _event(db, _LAST_EVENT, company_id, stream)


async def _event(db: Database, statement: str, company_id: str, stream: str) -> LogEvent | None:
    found = await db.row(statement, company_id, stream)
    if found is None:
        return None
    *place, events = found
    db.keys.check((company_id, stream), *place)
    return codec.decode_log(events)[0]


async def log_after(db: Database, company_id: str, holding: str, following: NextEvent) -> None:
    """Append to a company's log what follows on its latest event with this text, atomically.

    An exception of `following` is raised here, and nothing is written.
    """
    await db.next_position(company_id, 0)  # locks: nobody else writes to this log until the end
    event = following(await last_logged(db, company_id, holding), has_peers=await db.has_peers())
    if event is not None:
        await log(db, Logged(company_id, event))


async def check_caller(db: Database, company_id: str, caller: Caller | None) -> None:
    """CallerChanged for one who is no active member of that role any more."""
    if caller is not None and (role := await db.value(_ROLE, company_id, caller.member_id)) != caller.role:
        raise CallerChanged(role)


async def log(db: Database, logged: Logged) -> LogPlace:
    company_id = logged.company_id
    stream = company_id if logged.stream is None else logged.stream
    position = await db.next_position(company_id)  # locks, too: what a caller may do is judged as others left it
    await check_caller(db, company_id, logged.caller)
    last = await db.row(_LAST, company_id, stream)
    version, head = 0, genesis(company_id, stream)
    if last is not None:
        db.keys.check((company_id, stream), *last)
        version, _, head, _ = last
    line = codec.encode_log(logged.event)
    version, head = version + 1, extended(head, [line])
    mac = db.keys.mac((company_id, stream), version, version, head)
    added = await db.value(_ADD, company_id, stream, version, position, head, mac, line)
    return LogPlace(Position(added, 1), stream, version, mark_of(head))
