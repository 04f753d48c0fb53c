"""The meaning of SQLite's errors, and checks of room, soundness and log length."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

from actors.ports import StoreFailed
from daemon.model import DiskFull, SchemaMismatch, StoreBroken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRIMARY = 0xFF
CHECKED_BYTES_MAX = 512 * 1024 * 1024
_log = structlog.get_logger()
# After one of these the disk, its mount or the file has changed: the next write is not safe.
BROKEN = frozenset(
    {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PROTOCOL,
    }
)
WAL_HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
PAGE_BYTES = 4096


def is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & PRIMARY == sqlite3.SQLITE_FULL


def is_broken(error: sqlite3.Error) -> bool:
    """Whether the disk or file has changed, so that this process must stop writing."""
    return getattr(error, "sqlite_errorcode", 0) & PRIMARY in BROKEN


def named(error: sqlite3.Error) -> str:
    return f"{error} ({getattr(error, 'sqlite_errorname', 'unnamed')})"


def not_committed(error: sqlite3.Error) -> StoreFailed:
    """The meaning of a failed COMMIT.

    A commit counts by its last frame in the log. SQLITE_FULL says that a write came back short:
    that frame is not whole. A failed sync (SQLITE_IOERR_FSYNC) may have written it all the same.
    """
    if is_full(error):
        return not_written(error)
    return StoreFailed(f"The database could not commit: {named(error)}.", "unknown")


def not_written(error: sqlite3.Error) -> StoreFailed:
    """The meaning of a transaction that failed before its commit and was rolled back."""
    if is_full(error):
        return DiskFull(f"There is no room for this: {named(error)}.", "not_applied")
    if is_broken(error):
        return StoreBroken(f"The database could not write: {named(error)}.", "not_applied")
    return StoreFailed(f"The database could not write: {error}.", "not_applied")


@contextmanager
def at_opening(path: Path) -> Iterator[None]:
    """Turn SQLite's errors at open into StoreFailed or SchemaMismatch, which name the file."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & PRIMARY == sqlite3.SQLITE_NOTADB:
            raise SchemaMismatch(f"{path} cannot be used: {named(error)}.") from error
        raise StoreFailed(f"{path} cannot be used: {named(error)}.", "not_applied") from error


def lacks_index(failed: StoreFailed) -> bool:
    """Whether a database could not be opened for lack of room for its log's index."""
    return getattr(failed.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE


def stopped_short(path: Path) -> bool:
    """Whether the last user of this database did not close it."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def check_sound(db: sqlite3.Connection) -> None:
    """StoreFailed when a page is damaged; a very large database is not checked."""
    (pages,), (page_bytes,) = db.execute("PRAGMA page_count").fetchone(), db.execute("PRAGMA page_size").fetchone()
    if pages * page_bytes > CHECKED_BYTES_MAX:
        _log.warning("database_check_skipped", reason="it is large", bytes=pages * page_bytes)
        return
    (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        finding = " ".join(found.split())
        raise StoreFailed(f"The database is damaged: {finding}. Restore a backup.", "not_applied")


def log_is_long(log: Path, bytes_max: int) -> bool:
    """Whether the write-ahead log has reached that length in its present round.

    The file size does not say: after a checkpoint SQLite overwrites it with new salts. A frame with
    the salts of the header is of this round (sqlite.org/fileformat2.html#walformat).
    """
    frame = WAL_HEADER_BYTES + bytes_max // PAGE_BYTES * (PAGE_BYTES + FRAME_HEADER_BYTES)
    descriptor = os.open(log, os.O_RDONLY)
    try:
        return os.pread(descriptor, 8, 16) == os.pread(descriptor, 8, frame + 8)
    finally:
        os.close(descriptor)


def check_room(folder: Path, bytes_min: int) -> None:
    """DiskFull when an ordinary user may write less than that there."""
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < bytes_min:
        raise DiskFull(
            f"{folder} has {free} bytes free, of {bytes_min} that must be; nothing was written.", "not_applied"
        )
