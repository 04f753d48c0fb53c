"""Rewrites histories from before hash chains in batches; a second pass finds nothing."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from daemon.model import StoredConnectorChange
from daemon.model.audit_events import UPGRADE, Logged
from daemon.model.chain import HistoryBroken, extended, genesis
from daemon.runtime.json_codec import canonical_lines
from daemon.stores import codec
from daemon.stores.sqlite.database import run
from daemon.stores.tables.company_log import log
from daemon.stores.tables.connectors import CONNECTOR_CHANGES, add_change

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from daemon.keys.commit_keys import CommitKeys
    from daemon.stores.database import Database

T = TypeVar("T")

REWRITE_MAX = 256

_OLD = (
    "SELECT position, company_id, run_id, version, first_seq, events FROM commits "
    "WHERE head IS NULL ORDER BY position LIMIT ?"
)
_HEAD = "SELECT head FROM commits WHERE company_id = ? AND run_id = ? AND version = ?"
_UNLOGGED = (
    f"{CONNECTOR_CHANGES.select} AS one "  # noqa: S608 - columns of our own
    "WHERE NOT EXISTS (SELECT 1 FROM commits WHERE company_id = one.company_id AND run_id = one.company_id) "
    "ORDER BY company_id, at, tool_id, number"
)
# From before there were changes: nobody has changed them since.
_UNCHANGED = (
    "SELECT company_id, connector, sealed_secret IS NOT NULL, updated_at, updated_by FROM connectors AS one "
    "WHERE NOT EXISTS (SELECT 1 FROM connector_changes WHERE company_id = one.company_id AND tool_id = one.tool_id) "
    "AND NOT EXISTS (SELECT 1 FROM commits WHERE company_id = one.company_id AND run_id = one.company_id)"
)


def upgrade(db: sqlite3.Connection, keys: CommitKeys) -> int:
    """Upgrade old rows; returns how many commits and changes there were."""
    done = 0
    while (rewritten := together(db, _rewrite)) > 0:
        done += rewritten
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    return done + together(db, lambda db: run(_changes_logged, db, keys))


def together(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run a work in a transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        done = work(db)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    return done


def _rewrite(db: sqlite3.Connection) -> int:
    """Write the next commits as canonical lines with heads, in the order of each run."""
    rows = db.execute(_OLD, (REWRITE_MAX,)).fetchall()
    for position, company_id, run_id, version, first, old in rows:
        try:
            events, exact = canonical_lines(_listed(json.loads(old)))
            lines = events.split(b"\n")
        except (ValueError, TypeError) as error:
            raise HistoryBroken(run_id, first, f"a commit cannot be read: {error}") from error
        if first + len(lines) - 1 != version:
            raise HistoryBroken(run_id, first, f"a commit up to {version} holds {len(lines)} events")
        head = genesis(company_id, run_id)
        if first > 1:
            before = db.execute(_HEAD, (company_id, run_id, first - 1)).fetchone()
            if before is None or before[0] is None:
                raise HistoryBroken(run_id, first - 1, "the commit before is missing")
            head = before[0]
        row = (extended(head, lines), exact, events, position)
        db.execute("UPDATE commits SET head = ?, exact = ?, events = ? WHERE position = ?", row)
    return len(rows)


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ValueError("it has no head, and is not of the form before")
    return value


async def _changes_logged(db: Database) -> int:
    """Log connector changes from before the log, and connectors from before changes."""
    rows, unchanged = await db.rows(_UNLOGGED), await db.rows(_UNCHANGED)
    for row in rows:
        await log(db, Logged(row[0], codec.connector_changed(CONNECTOR_CHANGES.from_row(row))))
    for row in unchanged:
        await add_change(db, _found(*row))
    return len(rows) + len(unchanged)


def _found(company_id: str, connector: bytes, sealed: int, at: str, by: str) -> StoredConnectorChange:
    """The change that made a connector, as far as it is known."""
    made = codec.decode_connector(connector)
    key = (company_id, made.tool_id, 1, made.version)
    return StoredConnectorChange(*key, datetime.fromisoformat(at), by, "set" if sealed else "none", None, made, UPGRADE)
