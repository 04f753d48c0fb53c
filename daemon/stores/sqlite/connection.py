"""Connections to one SQLite database, one writer and several readers, each checked at open."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import aiosqlite

from actors.ports import StoreFailed
from daemon.model import FolderInUse, SchemaMismatch
from daemon.stores.sqlite.errors import at_opening, lacks_index

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

T = TypeVar("T")

SQLITE_MIN = (3, 37, 0)
DATABASE = "penstock.db"
LOCK_NAME = "penstock.lock"
FULL = 2
IN_MEMORY = 2
STATEMENTS_MAX = 256

_SHARED: Mapping[str, str | int] = {
    "synchronous": FULL,
    "foreign_keys": 1,
    "busy_timeout": 5_000,
    "wal_autocheckpoint": 0,
    "temp_store": IN_MEMORY,
}
WRITER_PRAGMAS: Mapping[str, str | int] = {
    "journal_mode": "wal",
    **_SHARED,
    "journal_size_limit": 64 * 1024 * 1024,
    "cache_size": -16 * 1024,
}
READER_PRAGMAS: Mapping[str, str | int] = {**_SHARED, "query_only": 1}
# What the search index of runs has words of; it is of the connection, since it stores nothing.
_TERMS = "CREATE VIRTUAL TABLE temp.run_terms USING fts5vocab(main, run_words, instance)"


class SqliteConnection(aiosqlite.Connection):
    """A connection with its own thread; a whole work goes there in one hop."""

    waiting = 0

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(partial(self._opened, connect), 64)

    def _opened(self, connect: Callable[[], sqlite3.Connection]) -> sqlite3.Connection:
        self.database = connect()
        return self.database

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a work in the connection's thread; `waiting` counts works that have not returned."""
        self.waiting += 1
        try:
            done: T = await self._execute(work, self.database)  # type: ignore[no-untyped-call]
            return done
        finally:
            self.waiting -= 1


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the data folder for this process; FolderInUse when another one has it."""
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            detail = f"Another process uses the data folder {folder}; stop that one, or choose another folder."
            raise FolderInUse(detail, "not_applied") from error
        yield
    finally:
        os.close(descriptor)


def in_use(folder: Path) -> bool:
    """Whether a process holds the data folder; creates nothing."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def create(path: Path) -> None:
    """Create the file for its owner alone; SQLite gives its other files the same mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


@asynccontextmanager
async def writer(path: Path, *, alone: bool = False) -> AsyncIterator[SqliteConnection]:
    """The connection that writes; at the end it moves the whole log into the database."""
    async with _open(path, partial(configure, pragmas=WRITER_PRAGMAS), alone=alone) as connection:
        try:
            yield connection
        finally:
            # What cannot be moved now stays in the log, and the next opening finds it there.
            with suppress(sqlite3.Error):
                await connection.run(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())


def reader(path: Path, *, alone: bool = False) -> AbstractAsyncContextManager[SqliteConnection]:
    return _open(path, _configure_reader, alone=alone)


@asynccontextmanager
async def opening(path: Path) -> AsyncIterator[tuple[SqliteConnection, bool]]:
    """The connection that writes, and whether this process has the database alone.

    It has where the disk has no room for the index of the log, a file that SQLite makes: the index
    is then in memory, where other processes cannot read it.
    """
    async with AsyncExitStack() as stack:
        alone = False
        try:
            writing = await stack.enter_async_context(writer(path))
        except StoreFailed as failed:
            if not lacks_index(failed):
                raise
            alone = True
            writing = await stack.enter_async_context(writer(path, alone=True))
        yield writing, alone


@asynccontextmanager
async def _open(
    path: Path, prepare: Callable[[sqlite3.Connection], None], *, alone: bool
) -> AsyncIterator[SqliteConnection]:
    if sqlite3.sqlite_version_info < SQLITE_MIN:
        wanted = ".".join(map(str, SQLITE_MIN))
        raise SchemaMismatch(f"SQLite {wanted} or newer is needed; Python uses {sqlite3.sqlite_version} here.")
    connection = SqliteConnection(partial(_connected, path, alone=alone))
    with at_opening(path):
        await connection
    try:
        with at_opening(path):
            await connection.run(prepare)
        yield connection
    finally:
        await connection.close()


def _connected(path: Path, *, alone: bool) -> sqlite3.Connection:
    # psow: no padding follows the frame of a commit; see errors.not_committed.
    address = f"file:{quote(str(path.absolute()))}?psow=1{'&vfs=unix-excl' if alone else ''}"
    return sqlite3.connect(address, uri=True, isolation_level=None, cached_statements=STATEMENTS_MAX)


def _configure_reader(db: sqlite3.Connection) -> None:
    configure(db, _SHARED)  # to set temp_store drops what is there
    db.execute(_TERMS)
    configure(db, READER_PRAGMAS)


def configure(db: sqlite3.Connection, pragmas: Mapping[str, str | int]) -> None:
    """Set each pragma and read it back; SchemaMismatch when one did not take."""
    for name, wanted in pragmas.items():
        db.execute(f"PRAGMA {name} = {wanted}").fetchall()
        _check(db, name, wanted)
    _check(db, "journal_mode", "wal")


def _check(db: sqlite3.Connection, name: str, wanted: str | int) -> None:
    row: tuple[Any, ...] = db.execute(f"PRAGMA {name}").fetchone()
    if row != (wanted,):
        raise SchemaMismatch(f"SQLite did not take {name} = {wanted}, it has {row[0]}: writes would not be safe.")
