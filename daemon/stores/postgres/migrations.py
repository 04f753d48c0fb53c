"""Migrates the schema of a PostgreSQL database; the first daemon to come does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.ports import StoreFailed
from daemon.model import SchemaMismatch
from daemon.stores import addresses
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


async def migrate(db: Db, at: str, *, beside_others: bool = False) -> None:
    """Apply what is missing in one transaction; SchemaMismatch when the database does not fit.

    StoreFailed while daemons of another version serve it that cannot go on, unless told to migrate
    beside them.
    """
    known, done = read_migrations(POSTGRES), await applied(db)
    missing = pending(known, done)
    if not missing:
        return
    if not beside_others and max(one.rolls_from for one in missing) > len(done):
        await _check_alone(db, len(known))
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await db.execute(TABLE)
        for migration in pending(known, await applied(db)):
            await db.execute(migration.sql)
            if migration.name == addresses.MIGRATION:
                await addresses.rekey_postgres(db)
            row = (migration.number, migration.name, migration.checksum, at)
            await db.execute("INSERT INTO migrations VALUES ($1, $2, $3, $4)", *row)
            if migration.rolls_from < migration.number:
                rolls = "UPDATE migrations SET rolls_from = $2 WHERE number = $1"
                await db.execute(rolls, migration.number, migration.rolls_from)


async def _check_alone(db: Db, known: int) -> None:
    """Daemons that know no such schema would fail at what it brings, and keep half the requests."""
    if await db.fetchval("SELECT to_regclass('daemons')") is None:
        return
    names = await db.fetch("SELECT name FROM daemons WHERE until > clock_timestamp() ORDER BY epoch")
    if names:
        schema = max(one.number for one in await applied(db))
        raise StoreFailed(
            f"The database has schema {schema}, this version brings schema {known}, and other daemons serve it: "
            f"{', '.join(row[0] for row in names)}. Stop them, then start this one; or start it once with "
            "PENSTOCK_MIGRATE_BESIDE_OTHERS=true, and they end.",
            "not_applied",
        )


async def check_moved(db: Db) -> None:
    """SchemaMismatch while a migration from SQLite is unfinished."""
    source = await db.fetchval("SELECT source FROM moves WHERE NOT done")
    if source is not None:
        raise SchemaMismatch(f"The move from {source} to this database is not finished: call penstock migrate again.")
