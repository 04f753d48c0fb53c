"""Reads one state of a PostgreSQL database, statement by statement, for verification."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import asyncpg

from daemon.stores.migrations import POSTGRES, differences, misnamed, pending, read_migrations
from daemon.stores.postgres.connection import CONNECT_S, ERRORS, failed
from daemon.stores.postgres.hosts import hosts_of
from daemon.stores.postgres.migrations import TABLE, applied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.stores.database import Row
    from daemon.stores.migrations import Migration
    from daemon.stores.postgres.connection import Db

T = TypeVar("T")
PAGE = 500
_COLUMNS = (
    "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position"
)
# Names are those of the schema that is looked at, so that two schemas can be compared. Of
# partitions, which come and go, it is what they do not have from their table.
_OBJECTS = """
WITH ours AS (
    SELECT pg_class.oid, relname, relispartition FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v')
)
SELECT 'table ' || relname, string_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull
    || ' ' || coalesce(pg_get_expr(adbin, adrelid), ''), ', ' ORDER BY attname)
    FROM ours JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped
    LEFT JOIN pg_attrdef ON adrelid = ours.oid AND adnum = attnum WHERE NOT relispartition GROUP BY relname
UNION ALL SELECT 'index ' || pg_class.relname, pg_get_indexdef(indexrelid)
    FROM ours JOIN pg_index ON indrelid = ours.oid JOIN pg_class ON pg_class.oid = indexrelid
    WHERE NOT pg_class.relispartition
UNION ALL SELECT 'constraint ' || conname || ' of ' || relname, pg_get_constraintdef(pg_constraint.oid)
    FROM ours JOIN pg_constraint ON conrelid = ours.oid AND conparentid = 0
UNION ALL SELECT 'trigger ' || tgname || ' of ' || relname, concat(tgenabled, ' ', pg_get_triggerdef(pg_trigger.oid))
    FROM ours JOIN pg_trigger ON tgrelid = ours.oid AND NOT tgisinternal
UNION ALL SELECT 'rule ' || rulename || ' of ' || tablename, definition FROM pg_rules
    WHERE schemaname = current_schema()
UNION ALL SELECT 'policy ' || policyname || ' of ' || tablename, concat(cmd, qual, with_check) FROM pg_policies
    WHERE schemaname = current_schema()
UNION ALL SELECT 'function ' || proname || '(' || pg_get_function_identity_arguments(pg_proc.oid) || ')',
    concat(lanname, ' ', prosecdef, ' ', prosrc) FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
    WHERE pronamespace = current_schema()::regnamespace
"""


class SnapshotReader:
    """Statements within one read-only transaction."""

    dialect: Literal["postgres"] = "postgres"

    def __init__(self, runner: asyncio.Runner, db: Db, url: str) -> None:
        self._runner = runner
        self._db = db
        self._url = url

    def rows(self, statement: str, *values: Any) -> Iterator[Row]:
        cursor = self._run(self._cursor(statement, values))
        while page := self._run(cursor.fetch(PAGE)):
            yield from map(tuple, page)

    def row(self, statement: str, *values: Any) -> Row | None:
        row = self._run(self._db.fetchrow(statement, *values))
        return None if row is None else tuple(row)

    def columns(self) -> dict[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for table, column in self._run(self._db.fetch(_COLUMNS)):
            found.setdefault(table, []).append(column)
        return dict(found)

    def unlike_migrations(self) -> Iterator[tuple[str, str]]:
        """Compare with a schema that is made by the migrations and rolled back."""
        known, done = read_migrations(POSTGRES), self._run(applied(self._db))
        pending(known, done)
        yield from misnamed(known, done)
        try:
            made, later = self._run(_made(self._url, known, len(done)))
        except asyncpg.InsufficientPrivilegeError:
            yield "the schema", "it cannot be compared: this needs the right to create one, which is rolled back"
            return
        found = self._run(_objects(self._db))
        yield from differences(made, found)
        yield from ((name, "no migration is recorded that made it") for name in sorted(later & found.keys()))

    async def _cursor(self, statement: str, values: Sequence[Any]) -> Any:
        return await self._db.cursor(statement, *values)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)


@contextmanager
def reading(url: str) -> Iterator[SnapshotReader]:
    """The database in one state, beside daemons or not; StoreFailed when it cannot be read."""
    with asyncio.Runner() as runner:
        try:
            db = runner.run(_connected(url))
        except (*ERRORS, ValueError) as error:
            raise failed(error, committing=False) from error
        try:
            runner.run(db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
            yield SnapshotReader(runner, db, url)
        except ERRORS as error:
            raise failed(error, committing=False) from error
        finally:
            db.terminate()


async def _connected(url: str) -> Db:
    return (await hosts_of(url).open(_name, CONNECT_S))[0]


async def _name(db: Db) -> None:
    await db.execute("SET application_name = 'penstock verify'; SET timezone = 'UTC'")


async def _made(url: str, known: Sequence[Migration], done: int) -> tuple[dict[str, str], set[str]]:
    """What the recorded migrations make, and what the later ones would add."""
    db, schema = await _connected(url), f"penstock_verify_{secrets.token_hex(8)}"
    try:
        await db.execute(f"BEGIN; CREATE SCHEMA {schema}; SET LOCAL search_path = {schema}")
        await db.execute(TABLE)
        for migration in known[:done]:
            await db.execute(migration.sql)
        now = await _objects(db)
        for migration in known[done:]:
            await db.execute(migration.sql)
        later = set(await _objects(db)) - set(now)
    finally:
        db.terminate()
    return now, later


async def _objects(db: Db) -> dict[str, str]:
    schema = await db.fetchval("SELECT current_schema()")
    return {name: definition.replace(f"{schema}.", "") for name, definition in await db.fetch(_OBJECTS)}
