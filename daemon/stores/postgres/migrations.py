"""Migrates the schema of a PostgreSQL database; the first daemon to come does it.

Rows that reports count are in tables by month, which are made ahead and dropped as a whole.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING

import asyncpg

from actors.ports import StoreFailed
from daemon.model import SchemaMismatch
from daemon.stores import addresses
from daemon.stores.migrations import POSTGRES, Applied, pending, read_migrations
from daemon.stores.tables.reports.following import BY_MONTH, OTHER

if TYPE_CHECKING:
    from daemon.stores.postgres.connection import Db
    from daemon.stores.postgres.database import PostgresDatabase

MIGRATE_S = 3_600.0
"""A migration may read what has grown for years, or index it."""
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


async def is_migrated(db: Db) -> bool:
    """Whether nothing is missing; SchemaMismatch when the database does not fit."""
    return not pending(read_migrations(POSTGRES), await applied(db))


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
        await db.execute("SET LOCAL statement_timeout = 0")
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


_MONTHS = (
    "SELECT inhrelid::regclass::text FROM pg_inherits "
    "WHERE inhparent = '{table}'::regclass AND inhrelid <> '{table}{other}'::regclass"
)
_IN_OTHER = "SELECT DISTINCT left({time}, 7) FROM {table}{other}"
# Reports wait for this, and so it does not wait for them: it is tried again within the hour.
_WAIT = "SET LOCAL lock_timeout = '500ms'"
# Before anything is read: two that have read wait for each other.
_ALONE = "LOCK TABLE ONLY {table} IN SHARE UPDATE EXCLUSIVE MODE"
_MAKE = """
LOCK TABLE {table}{other} IN ACCESS EXCLUSIVE MODE;
CREATE TABLE {name} (LIKE {table});
WITH moved AS (DELETE FROM {table}{other} WHERE {time} >= '{month}' AND {time} < '{after}' RETURNING *)
INSERT INTO {name} SELECT * FROM moved;
ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{month}') TO ('{after}')
"""


async def tend_months(db: PostgresDatabase, today: date, before: date) -> None:
    """Make the tables of this month, the next, and rows that had none; drop those before a day."""
    this, oldest = f"{today:%Y-%m}", f"{before:%Y-%m}"
    with suppress(asyncpg.LockNotAvailableError):
        async with db.connection.transaction():
            await db.connection.execute(_WAIT)
            for table, time in BY_MONTH.items():
                names = {"table": table, "other": OTHER, "time": time}
                await db.connection.execute(_ALONE.format(**names))
                made = {row[0][-7:].replace("_", "-"): row[0] for row in await db.rows(_MONTHS.format(**names))}
                last = max(made, default="")  # the first month has everything before it
                missing = {row[0] for row in await db.rows(_IN_OTHER.format(**names))}
                for month in sorted(missing.union(one for one in (this, _after(this)) if one > last)):
                    names |= {"month": month, "after": _after(month), "name": f"{table}_{month.replace('-', '_')}"}
                    await db.connection.execute(_MAKE.format(**names))
                for month, name in made.items():
                    if month < oldest:
                        await db.connection.execute(f"DROP TABLE {name}")


def _after(month: str) -> str:
    return f"{date.fromisoformat(f'{month}-28') + timedelta(days=4):%Y-%m}"
