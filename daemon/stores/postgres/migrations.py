"""Migrates the schema of a PostgreSQL database; the first daemon to come does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model import SchemaMismatch
from daemon.stores.migrations import POSTGRES, Applied, pending, read_migrations

if TYPE_CHECKING:
    from daemon.stores.postgres.connection import Db

_LOCK = 7_305_810_204_190_051  # any number that is only ours
TABLE = (
    "CREATE TABLE IF NOT EXISTS migrations ("
    "number bigint NOT NULL PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at text NOT NULL)"
)


async def applied(db: Db) -> list[Applied]:
    if await db.fetchval("SELECT to_regclass('migrations')") is None:
        return []
    rows = await db.fetch("SELECT number, name, checksum FROM migrations ORDER BY number")
    return [Applied(*row) for row in rows]


async def migrate(db: Db, at: str) -> None:
    """Apply what is missing in one transaction; SchemaMismatch when the database does not fit."""
    known = read_migrations(POSTGRES)
    if not pending(known, await applied(db)):
        return
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await db.execute(TABLE)
        for migration in pending(known, await applied(db)):
            await db.execute(migration.sql)
            row = (migration.number, migration.name, migration.checksum, at)
            await db.execute("INSERT INTO migrations VALUES ($1, $2, $3, $4)", *row)


async def check_moved(db: Db) -> None:
    """SchemaMismatch while a migration from SQLite is unfinished."""
    source = await db.fetchval("SELECT source FROM moves WHERE NOT done")
    if source is not None:
        raise SchemaMismatch(f"The move from {source} to this database is not finished: call penstock migrate again.")
