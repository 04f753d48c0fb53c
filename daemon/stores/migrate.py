"""Migrates a stopped installation from SQLite to PostgreSQL and compares the result.

Rows that are there already stay as they are, so that an interrupted migration is started again.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daemon.stores.postgres.connection import Db, PostgresConnection, without_nul
from daemon.stores.postgres.migrations import migrate
from daemon.stores.rows import iso
from daemon.stores.sqlite.connection import locked
from daemon.stores.sqlite.inspection import read_only
from daemon.stores.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from daemon.keys.commit_keys import CommitKeys

BATCH = 500
Row = tuple[Any, ...]


class MigrationRefused(Exception):
    """The installation cannot be migrated; the text says why."""


@dataclass(frozen=True, slots=True)
class MigratedTable:
    """A table of PostgreSQL, the query of its rows in SQLite, its booleans and moments."""

    name: str
    columns: tuple[str, ...]
    reading: str
    flags: frozenset[str] = frozenset()
    moments: frozenset[str] = frozenset()

    @property
    def writing(self) -> str:
        casts = ["::text::timestamptz" if name in self.moments else "" for name in self.columns]
        values = ", ".join(f"${number}{cast}" for number, cast in enumerate(casts, 1))
        columns = ", ".join(self.columns)
        return f"INSERT INTO {self.name} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING"  # noqa: S608


MADE_ANEW = frozenset(("migrations", "company_usage", "search_progress", "run_words"))
"""What each database has of its own, and what a daemon makes of the rest."""
# The next daemon claims the unfinished runs: no daemon has epoch 0. Each company's clock starts
# after all positions, since the cursors of webhooks stand among those of all companies.
SELECTED = {
    "addresses": "SELECT email_key, company_id, id AS user_id FROM users",
    "runs": "SELECT *, 0 AS epoch, 0 AS moved_by, 0 AS moved_from FROM runs",
    "snapshots": "SELECT company_id, id AS run_id, snapshots.version AS version, schema, mac, body "
    "FROM snapshots JOIN runs ON number = run",
    "clocks": "SELECT DISTINCT company_id, (SELECT max(position) + 1 FROM commits) AS position FROM commits",
    "report_cursors": "SELECT id AS company_id, position FROM companies, report_cursors",
    "autonomies": "SELECT *, updated_at AS noted_at FROM autonomies",
    "seals": "SELECT company_id, max(position) AS position FROM audit_leaves GROUP BY company_id",
}
"""How rows are read that SQLite has in another form."""
_HEADS = "SELECT company_id, run_id, version, position, head, mac, exact, events FROM commits ORDER BY 1, 2, 3"
_TREES = "SELECT company_id, size, root, signature FROM audit_checkpoints ORDER BY 1, 2"


async def move(
    source: Path, url: str, keys: CommitKeys, clock: Callable[[], datetime], report: Callable[[str], None]
) -> None:
    """Copy everything, compare it, and then let daemons in; the source stays as it is.

    MigrationRefused or StoreFailed say why it cannot be done.
    """
    async with SqliteStore.open(source, keys=keys):  # so that it is of today's form, and nobody uses it
        pass
    connection = PostgresConnection(url)
    try:
        await connection.use(lambda db: migrate(db, iso(clock())), writing=True)
        with locked(source.parent), closing(sqlite3.connect(read_only(source), uri=True, isolation_level=None)) as old:
            old.execute("BEGIN")
            await connection.use(lambda db: _begun(db, str(source)), writing=True)
            for table in await connection.use(lambda db: tables(old, db)):
                number = await _copied(old, connection, table)
                report(f"{table.name}: {number:,} rows")
            report(await _compared(old, connection))
        await connection.use(lambda db: db.execute("UPDATE moves SET done = true"), writing=True)
    finally:
        await connection.close()


async def _begun(db: Db, source: str) -> None:
    """Record the migration; MigrationRefused when something else is there."""
    known = await db.fetchrow("SELECT source, done FROM moves")
    if known is None:
        if await db.fetchval("SELECT EXISTS (SELECT 1 FROM companies) OR EXISTS (SELECT 1 FROM commits)"):
            raise MigrationRefused("There is an installation in that database already; nothing was written.")
        await db.execute("INSERT INTO moves VALUES (true, $1, false)", source)
    elif known["done"]:
        raise MigrationRefused(f"{known['source']} was moved there already; nothing was written.")
    elif known["source"] != source:
        raise MigrationRefused(f"A move from {known['source']} to that database was begun; finish that one.")


async def tables(old: sqlite3.Connection, db: Db) -> list[MigratedTable]:
    """What is copied: each table that both have, by the columns that both have."""
    sql = "SELECT table_name, column_name, udt_name FROM information_schema.columns WHERE table_schema = current_schema"
    there: dict[str, dict[str, str]] = {}
    for name, column, kind in await db.fetch(sql):
        there.setdefault(name, {})[column] = kind
    names = [name for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
    return [
        _table(old, name, there[name])
        for name in dict.fromkeys((*names, *SELECTED))
        if name in there and name not in MADE_ANEW
    ]


def _table(old: sqlite3.Connection, name: str, there: dict[str, str]) -> MigratedTable:
    select = SELECTED.get(name, f"SELECT * FROM {name}")  # noqa: S608 - a name of our own
    here = [one[0] for one in old.execute(f"{select} LIMIT 0").description]
    columns = tuple([one for one in here if one in there])
    flags, moments = (frozenset(one for one in columns if there[one] == kind) for kind in ("bool", "timestamptz"))
    return MigratedTable(name, columns, f"SELECT {', '.join(columns)} FROM ({select})", flags, moments)  # noqa: S608


async def _copied(old: sqlite3.Connection, connection: PostgresConnection, table: MigratedTable) -> int:
    """Copy a table in batches; returns how many rows it has in both databases."""
    total = 0
    for rows in _pages(old, table):
        await connection.use(lambda db, rows=rows: db.executemany(table.writing, rows), writing=True)  # type: ignore[misc]
        total += len(rows)
    count = f"SELECT count(*) FROM {table.name}"  # noqa: S608 - a name of our own
    found = await connection.use(lambda db: db.fetchval(count))
    if found != total:
        raise MigrationRefused(f"{table.name} has {found:,} rows there and {total:,} here: somebody else wrote there.")
    return total


def _pages(old: sqlite3.Connection, table: MigratedTable) -> Iterator[list[Row]]:
    cursor = old.execute(table.reading)
    while rows := cursor.fetchmany(BATCH):
        yield [
            tuple(_value(table, column, one) for column, one in zip(table.columns, row, strict=True)) for row in rows
        ]


def _value(table: MigratedTable, column: str, value: Any) -> Any:
    if column in table.flags:
        return bool(value)
    return without_nul(value) if isinstance(value, str) else value


async def _compared(old: sqlite3.Connection, connection: PostgresConnection) -> str:
    """Compare the chains of all commits and all checkpoints; MigrationRefused at a difference."""
    said = []
    for name, statement in (("commits", _HEADS), ("checkpoints", _TREES)):
        here, number = _digest(old.execute(statement))
        there, _ = await connection.use(lambda db, asked=statement: _digest_there(db, asked))  # type: ignore[misc]
        if here != there:
            raise MigrationRefused(f"The {name} are not the same there as here: do not use that database.")
        said.append(f"{number:,} {name}")
    return f"compared: {' and '.join(said)} are the same, byte for byte"


def _digest(rows: Iterator[Row] | sqlite3.Cursor) -> tuple[str, int]:
    digest, number = hashlib.sha256(), 0
    for number, row in enumerate(rows, 1):  # noqa: B007
        digest.update(repr(tuple(row)).encode())
    return digest.hexdigest(), number


async def _digest_there(db: Db, statement: str) -> tuple[str, int]:
    digest, number = hashlib.sha256(), 0
    async with db.transaction():
        async for row in db.cursor(statement, prefetch=BATCH):
            digest.update(repr(tuple(row)).encode())
            number += 1
    return digest.hexdigest(), number
