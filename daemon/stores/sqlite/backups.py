"""Backups of a database: taken beside a running service, examined, and restored."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from daemon.model import SchemaMismatch
from daemon.runtime.durable_files import as_owner
from daemon.stores.migrations import pending, read_migrations
from daemon.stores.sqlite import connection, inspection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAGES = 256
PAUSE_S = 0.01
PARTIAL = ".partial"
ENDINGS = ("-wal", "-shm", "-journal")


class CopyRefused(Exception):
    """A copy cannot be made, trusted or restored; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Holding:
    """`schema` is the number of the last migration, `last_at` the time of the last commit."""

    schema: int
    runs: dict[str, int]
    last_at: str | None
    size_bytes: int


def back_up(database: Path, target: Path, *, replace: bool = False, pause_s: float = PAUSE_S) -> Holding:
    """Copy a database at one moment, also in use; the copy appears whole or not at all.

    CopyRefused, and nothing changed, when that cannot be done.
    """
    _check_place(database, target, replace=replace)
    with _sentences(f"{database} cannot be backed up"), _beside(target) as copy:
        _copy_online(database, copy, pause_s)
        holding = examined(copy)
        _flush(copy)
        copy.replace(target)
        _flush(target.parent)
    return holding


def keep_before_migration(db: sqlite3.Connection, database: Path) -> Path | None:
    """Copy a database that is about to be migrated; returns the copy, named with the schema.

    Nobody else may use it. A copy of the same schema is replaced.
    """
    done = inspection.applied(db)
    if not done or not pending(read_migrations(), done):
        return None
    kept = database.with_name(f"{database.name}.schema-{done[-1].number}")
    with _beside(kept) as copy:
        with closing(sqlite3.connect(copy, isolation_level=None)) as copied:
            for pragma in ("journal_mode = OFF", "synchronous = OFF"):
                copied.execute(f"PRAGMA {pragma}").fetchall()
            db.backup(copied)
        _flush(copy)
        copy.replace(kept)
    _flush(database.parent)
    return kept


def restore(
    file: Path, database: Path, now: Callable[[], datetime], *, replace: bool = False
) -> tuple[Holding, Path | None]:
    """Replace a database by a copy; returns the name under which the earlier one is kept.

    After an interruption either the earlier database or the copy is in place, whole. StoreFailed
    while a service uses the folder; CopyRefused when the copy cannot be used.
    """
    if not file.is_file():
        raise CopyRefused(f"There is no file {file}.")
    if _logs(file):
        raise CopyRefused(f"{file} has a log beside it: it is a database in use and no backup. Make one of it first.")
    with _sentences(f"{file} cannot be restored"), file.open("rb") as source, _held(database.parent):
        _check_free(database, replace=replace)
        with _beside(database) as copy:
            with copy.open("r+b") as target:
                shutil.copyfileobj(source, target, 1024 * 1024)
            holding = examined(copy)
            _flush(copy)
            aside = _put_aside(database, now()) if database.exists() else None
            copy.replace(database)
            _flush(database.parent)
    return holding, aside


def examined(copy: Path) -> Holding:
    """What a closed copy holds; CopyRefused when it is damaged or does not fit this version."""
    with closing(sqlite3.connect(f"{_uri(copy)}?immutable=1", uri=True, isolation_level=None)) as db:
        wrong = inspection.damage(db) or inspection.orphans(db)
        if wrong:
            raise CopyRefused(f"The copy is damaged: {wrong[0]}.")
        applied = inspection.applied(db)
        if not applied:
            raise CopyRefused("The copy is no database of Penstock.")
        pending(read_migrations(), applied)
        return Holding(applied[-1].number, inspection.statuses(db), inspection.last_at(db), copy.stat().st_size)


def _check_place(database: Path, target: Path, *, replace: bool) -> None:
    if not database.is_file():
        raise CopyRefused(f"There is no database at {database}.")
    if not target.parent.is_dir():
        raise CopyRefused(f"There is no folder {target.parent}.")
    if target.parent.resolve() == database.parent.resolve():
        raise CopyRefused(f"{target} lies in the data folder: put the backup elsewhere, best on another disk.")
    if target.is_dir() or (target.exists() and not replace):
        raise CopyRefused(f"{target} is there already; choose another name, or say --replace.")


def _check_free(database: Path, *, replace: bool) -> None:
    if database.exists() and not replace:
        raise CopyRefused(f"{database} is there already; say --replace to put it aside.")
    if not database.exists() and _logs(database):
        logs = " and ".join(_logs(database))
        raise CopyRefused(f"{logs} stands in {database.parent} without its database: move it to where that is.")


def _copy_online(database: Path, copy: Path, pause_s: float) -> None:
    """Copy in small durable pieces, so that a running service hardly waits for the disk.

    The reading transaction stays open, so the whole copy is of one moment.
    """
    descriptor = os.open(copy, os.O_RDWR)
    try:
        with _read_as_owner(database) as live, closing(sqlite3.connect(copy, isolation_level=None)) as copied:
            for pragma in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE"):
                copied.execute(f"PRAGMA {pragma}").fetchall()

            def piece(_status: int, remaining: int, _total: int) -> None:
                os.fdatasync(descriptor)
                if remaining:
                    time.sleep(pause_s)

            live.backup(copied, pages=PAGES, progress=piece)
    finally:
        os.close(descriptor)


@contextmanager
def _read_as_owner(database: Path) -> Iterator[sqlite3.Connection]:
    """A reading connection whose files are opened as the owner of their folder."""
    with ExitStack() as stack:
        with as_owner(database.parent):
            live = stack.enter_context(inspection.looking(database))
        yield live


def _put_aside(database: Path, now: datetime) -> Path:
    """Give the database a second name, its log folded into it; the first stays until replaced."""
    for earlier in database.parent.glob(f"{database.name}.replaced-*"):
        if earlier.samefile(database):  # a restore was cut off here
            earlier.unlink()
    _fold_log(database)
    aside = database.with_name(f"{database.name}.replaced-{now.astimezone(UTC):%Y%m%dT%H%M%S%fZ}")
    os.link(database, aside)
    _flush(database.parent)
    return aside


def _fold_log(database: Path) -> None:
    """Move the log into the database: another database of that name would take it for its own."""
    try:
        with closing(sqlite3.connect(f"{_uri(database)}?mode=rw", uri=True, isolation_level=None)) as db:
            for pragma in ("synchronous = FULL", "journal_mode = DELETE"):
                db.execute(f"PRAGMA {pragma}").fetchall()
        detail = "it is in use"
    except sqlite3.Error as error:
        detail = str(error)
    if _logs(database):
        raise CopyRefused(
            f"The log of the earlier database cannot be moved into it: {detail}. "
            f"Move {' and '.join((database.name, *_logs(database)))} elsewhere, together, and restore again."
        )
    for ending in ENDINGS:
        database.with_name(database.name + ending).unlink(missing_ok=True)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A private file beside the target; removed at the end unless it replaced the target."""
    copy = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PARTIAL}")
    os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield copy
    finally:
        copy.unlink(missing_ok=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock the data folder as its owner, made where there is none, and remove partial copies."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with as_owner(folder), connection.locked(folder):
        for left in folder.glob(f".*{PARTIAL}"):
            left.unlink()
        yield


@contextmanager
def _sentences(what: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, SchemaMismatch, OSError) as error:
        raise CopyRefused(f"{what}: {error}") from error


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _logs(database: Path) -> list[str]:
    """The names of the logs beside a database that hold something."""
    logs = [database.with_name(database.name + ending) for ending in ("-wal", "-journal")]
    return [log.name for log in logs if log.exists() and log.stat().st_size]


def _uri(path: Path) -> str:
    return f"file:{quote(str(path.resolve()))}"
