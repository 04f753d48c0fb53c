"""The companies' own logs as rows, beside the commits of their runs; all of it runs in a connection's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.audit_events import LogEvent, Logged
from daemon.model.chain import HistoryBroken, extended, genesis
from daemon.stores import codec
from daemon.stores.sqlite.rows import Rows

if TYPE_CHECKING:
    import sqlite3

    from daemon.model import Following

ADD_COMMITS = Rows("INSERT INTO commits (company_id, run_id, version, first_seq, head, exact, events)", columns=7)
_HOLDING = (
    "SELECT events FROM commits WHERE company_id = ? AND run_id = ? AND instr(events, ?) ORDER BY version DESC LIMIT 1"
)
_LAST = "SELECT version, head FROM commits WHERE company_id = ? AND run_id = ? ORDER BY version DESC LIMIT 1"


def last_logged(db: sqlite3.Connection, company_id: str, holding: str) -> LogEvent | None:
    """The latest event of a company's own log whose JSON holds this text."""
    found = db.execute(_HOLDING, (company_id, company_id, holding.encode())).fetchone()
    return None if found is None else codec.decode_log(found[0])[-1]


def log_after(db: sqlite3.Connection, company_id: str, holding: str, following: Following) -> None:
    """Add to a company's own log what follows on its latest event that holds this text."""
    event = following(last_logged(db, company_id, holding), accompanied=False)
    if event is not None:
        log(db, Logged(company_id, event))


def log(db: sqlite3.Connection, logged: Logged) -> None:
    """Add an event to a company's own log: a stream that has the company's id."""
    key = (logged.company_id, logged.company_id)
    last = db.execute(_LAST, key).fetchone()
    version, head = (0, genesis(*key)) if last is None else last
    if head is None:
        raise HistoryBroken(logged.company_id, version, "the commit before has no head")
    line = codec.encode_log(logged.event)
    ADD_COMMITS.write(db, [(*key, version + 1, version + 1, extended(head, [line]), None, line)])
