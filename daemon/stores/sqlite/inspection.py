"""Reads a database without writing to it, beside a running service or not."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from actors.ports import StoreFailed
from daemon.model import StoredTemplate
from daemon.stores.migrations import Applied, differences, misnamed, pending, read_migrations
from daemon.stores.sqlite import journal
from daemon.stores.sqlite.connection import DATABASE
from daemon.stores.sqlite.database import numbered
from daemon.stores.sqlite.database import run as work
from daemon.stores.sqlite.engine import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from actors.core.run import Run
    from daemon.keys.commit_keys import CommitKeys
    from daemon.stores.database import Row

DAMAGE_MAX = 10
PAGE = 500
_LAST = (
    "SELECT max(updated_at) FROM runs",
    # Each event is a line.
    (
        "SELECT json_extract(substr(text, 1, instr(text || char(10), char(10)) - 1), '$.at') FROM "
        "(SELECT CAST(events AS TEXT) AS text FROM commits ORDER BY position DESC LIMIT 1)"
    ),
    "SELECT max(at) FROM connector_changes",
)
_TEMPLATES = """
    SELECT digest, vertical, version, document FROM templates UNION ALL
    SELECT digest, vertical, version, document FROM own_templates ORDER BY vertical, version
"""


@contextmanager
def looking(database: Path) -> Iterator[sqlite3.Connection]:
    """A connection that sees the database at one moment and neither writes nor checkpoints.

    SQLite opens the file for reading, so not even the last connection folds the log at close.
    """
    with closing(sqlite3.connect(read_only(database), uri=True, isolation_level=None)) as db:
        for pragma in ("query_only = 1", "busy_timeout = 5000", "temp_store = 2"):
            db.execute(f"PRAGMA {pragma}").fetchall()
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        yield db


def read_only(database: Path) -> str:
    return f"file:{quote(str(database.resolve()))}?mode=ro"


def damage(db: sqlite3.Connection) -> Sequence[str]:
    try:
        found = [str(text) for (text,) in db.execute(f"PRAGMA integrity_check({DAMAGE_MAX})")]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if found == ["ok"] else found


def orphans(db: sqlite3.Connection) -> Sequence[str]:
    rows = db.execute("PRAGMA foreign_key_check").fetchmany(DAMAGE_MAX)
    return [f"row {row} of {table} refers to a row of {parent} that is not there" for table, row, parent, _ in rows]


def applied(db: sqlite3.Connection) -> Sequence[Applied]:
    known = db.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'").fetchone()
    if known != (1,):
        return []
    return [Applied(*row) for row in db.execute("SELECT number, name, checksum FROM migrations ORDER BY number")]


def statuses(db: sqlite3.Connection) -> dict[str, int]:
    return dict(db.execute("SELECT status, count(*) FROM runs GROUP BY status ORDER BY status").fetchall())


def last_at(db: sqlite3.Connection) -> str | None:
    """The time of what was written last: a run, the newest commit of any log, a connector."""
    found: list[str] = []
    for asked in _LAST:
        with suppress(sqlite3.OperationalError):  # an earlier schema has no such table
            found += [str(at) for (at,) in db.execute(asked) if at is not None]
    return max(found, default=None)


def wrapping_keys(db: sqlite3.Connection) -> Sequence[str]:
    return [str(key_id) for (key_id,) in db.execute("SELECT DISTINCT key_id FROM company_keys")]


def templates(db: sqlite3.Connection) -> Iterator[StoredTemplate]:
    """Those that every company has, and those of one company alone."""
    for row in db.execute(_TEMPLATES):
        yield StoredTemplate(*row)


def contradictory(db: sqlite3.Connection) -> Sequence[tuple[str, str]]:
    """The (id, why) of the first runs whose row contradicts itself."""
    rows = db.execute(
        "SELECT id, iif(status = 'parked', 'it is parked at no gate', 'it executes and is at rest') FROM runs "
        "WHERE (status = 'executing' AND resting = 1) OR (status = 'parked' AND parked = '') LIMIT ?",
        (DAMAGE_MAX,),
    )
    return rows.fetchall()


def open_runs(db: sqlite3.Connection, commit_keys: CommitKeys) -> Iterator[tuple[str, Run | None]]:
    """Every unfinished run by id; None where it cannot be read."""
    after = ("", "")
    while rows := db.execute(_OPEN, (*after, PAGE)).fetchall():
        keys = [(str(company_id), str(run_id)) for company_id, run_id in rows]
        for key in keys:
            try:
                found = work(partial(journal.load_all, keys=[key]), db, commit_keys).get(key)
            except (ValueError, StoreFailed):
                found = None
            yield key[1], None if found is None else found.run
        after = keys[-1]


_OPEN = (
    "SELECT company_id, id FROM runs WHERE (company_id, id) > (?, ?) AND status IN ('executing', 'parked', 'failed') "
    "ORDER BY company_id, id LIMIT ?"
)


class SqliteReader:
    """Statements on the state that a connection has begun to read."""

    dialect: Literal["sqlite"] = "sqlite"

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def rows(self, statement: str, *values: Any) -> Iterator[Row]:
        return self._db.execute(numbered(statement), values)

    def row(self, statement: str, *values: Any) -> Row | None:
        row: Row | None = self._db.execute(numbered(statement), values).fetchone()
        return row

    def columns(self) -> dict[str, Sequence[str]]:
        tables = self._db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {name: [row[1] for row in self._db.execute(f"PRAGMA table_info({name})")] for (name,) in tables}

    def unlike_migrations(self) -> Iterator[tuple[str, str]]:
        known, done = read_migrations(), applied(self._db)
        pending(known, done)
        yield from misnamed(known, done)
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
            migrate(made, known[: len(done)], "")
            now = _objects(made)
            migrate(made, known, "")
            later = _objects(made).keys() - now.keys()
        found = _objects(self._db)
        yield from differences(now, found)
        yield from ((name, "no migration is recorded that made it") for name in sorted(later & found.keys()))


def _objects(db: sqlite3.Connection) -> dict[str, str]:
    """Tables, indexes, triggers and views with their definitions, apart from tables of others."""
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {f"{kind} {name}": f"{on} {' '.join(sql.replace(chr(34), '').split())}" for kind, name, on, sql in rows}


@contextmanager
def reading(path: Path) -> Iterator[SqliteReader]:
    """A database in a data folder or file, in one state; also beside a running service."""
    with looking(path / DATABASE if path.is_dir() else path) as db:
        yield SqliteReader(db)
