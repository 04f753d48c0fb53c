"""Applies a writer's batches to SQLite, and runs migrations and checkpoints."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import structlog

from actors.failpoints import reach
from actors.ports import StoreFailed
from daemon.model import DiskFull
from daemon.stores import addresses
from daemon.stores.database import Work as DatabaseWork
from daemon.stores.migrations import Applied, Migration, pending
from daemon.stores.sqlite.database import run
from daemon.stores.sqlite.errors import check_room, is_broken, log_is_long, named, not_committed, not_written
from daemon.stores.sqlite.journal import SqliteAppend, append_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from daemon.keys.commit_keys import CommitKeys
    from daemon.stores.sqlite.connection import SqliteConnection

LOG_BYTES_MAX = 4 * 1024 * 1024

_log = structlog.get_logger()

Work = SqliteAppend | DatabaseWork[Any]
Settled = tuple[Any, Exception | None]


class SqliteEngine:
    """Runs a batch in one transaction and one hop; keeps the write-ahead log short."""

    def __init__(self, connection: SqliteConnection, path: Path, keys: CommitKeys, free_bytes_min: int = 0) -> None:
        self._connection = connection
        self._keys = keys
        self._folder = path.parent
        self._log = path.with_name(path.name + "-wal")
        self._free_bytes_min = free_bytes_min
        self._full = False
        self._checkpoint_due = False

    async def apply(self, works: Sequence[Work]) -> Sequence[Settled]:
        return await self._connection.run(partial(self._apply, works))

    async def after_batch(self) -> None:
        """Checkpoint a long log; readers are neither disturbed nor waited for."""
        if self._checkpoint_due:
            try:
                await self._connection.run(_checkpoint)
            except sqlite3.Error as error:
                if is_broken(error):
                    raise not_written(error) from error
                _log.warning("store_checkpoint_failed", detail=named(error))

    def _apply(self, works: Sequence[Work], db: sqlite3.Connection) -> Sequence[Settled]:
        try:
            check_room(self._folder, self._free_bytes_min)
            settled = commit_together(db, works, self._keys)
        except DiskFull as full:
            self._turned(full=True, detail=str(full))
            raise
        self._turned(full=False)
        self._checkpoint_due = log_is_long(self._log, LOG_BYTES_MAX)
        return settled

    def _turned(self, *, full: bool, detail: str = "") -> None:
        """Log when the disk becomes full and when it has room again, not at each attempt."""
        if full and not self._full:
            _log.error("disk_full", detail=detail, hint="reads go on, and writes as soon as there is room")
        elif self._full and not full:
            _log.warning("disk_space_recovered")
        self._full = full


def _checkpoint(db: sqlite3.Connection) -> None:
    reach("before-checkpoint")
    db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    reach("after-checkpoint")


def commit_together(db: sqlite3.Connection, works: Sequence[Work], keys: CommitKeys) -> Sequence[Settled]:
    """Run the works in one transaction; StoreFailed when it was rolled back or may have been."""
    try:
        reach("before-begin")
        db.execute("BEGIN IMMEDIATE")
        reach("after-begin")
        settled: list[Settled] = []
        for appends, group in groupby(works, lambda work: isinstance(work, SqliteAppend)):
            alike = list(group)
            if appends:
                settled += _settle_appends(db, alike)
            else:
                settled += [_attempt(db, partial(run, cast("DatabaseWork[Any]", work), db, keys)) for work in alike]
    except sqlite3.Error as error:
        _roll_back(db)
        raise not_written(error) from error
    try:
        reach("before-commit")
        db.execute("COMMIT")
        reach("after-commit")
    except sqlite3.Error as error:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise not_committed(error) from error
    return settled


def _settle_appends(db: sqlite3.Connection, appends: list[Any]) -> Sequence[Settled]:
    """Write all appends at once, which nearly always succeeds; else one by one."""
    if _attempt(db, partial(append_all, db, appends)) == (None, None):
        return [(None, None)] * len(appends)
    return [_attempt(db, partial(append_all, db, [append])) for append in appends]


def _attempt(db: sqlite3.Connection, work: Callable[[], Any]) -> Settled:
    """Run one work so that it can fail alone; a failure of the database fails the batch."""
    db.execute("SAVEPOINT work")
    try:
        value = work()
    except sqlite3.IntegrityError as error:
        refusal: Exception = StoreFailed(f"The database refused the row: {error}.", "not_applied")
    except sqlite3.Error:
        raise
    except Exception as error:  # noqa: BLE001 - a work's own exception goes to whoever submitted it
        refusal = error
    else:
        db.execute("RELEASE work")
        return value, None
    db.execute("ROLLBACK TO work")
    db.execute("RELEASE work")
    return None, refusal


def _roll_back(db: sqlite3.Connection) -> None:
    """Undo the transaction, unless SQLite has done so itself, as on a full disk."""
    try:
        if db.in_transaction:
            db.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise StoreFailed(f"The database could not roll back: {error}.", "unknown") from error


def migrate(db: sqlite3.Connection, known: Sequence[Migration], at: str) -> None:
    """Apply each missing migration in its own transaction; SchemaMismatch when one does not fit."""
    db.execute(
        "CREATE TABLE IF NOT EXISTS migrations ("
        "number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT"
    )
    rows = db.execute("SELECT number, name, checksum FROM migrations ORDER BY number")
    for migration in pending(known, [Applied(*row) for row in rows]):
        reach("before-migration")
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements(migration.sql):
                db.execute(statement)
            if migration.name == addresses.MIGRATION:
                addresses.rekey_sqlite(db)
            reach("migration-unrecorded")
            row = (migration.number, migration.name, migration.checksum, at)
            db.execute("INSERT INTO migrations VALUES (?, ?, ?, ?)", row)
            db.execute("COMMIT")
        except BaseException:
            _roll_back(db)
            raise
        reach("after-migration")


def statements(script: str) -> list[str]:
    """The statements of a script; sqlite3's own executescript would commit in between."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current.strip())
            current = ""
    if current.strip():
        raise ValueError(f"the script ends within a statement: {current.strip()[:40]}")
    return found
