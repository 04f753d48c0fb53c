"""The months of rows that reports count: each is a table, made ahead and dropped as a whole."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING

import asyncpg

from daemon.stores.tables.reports.following import BY_MONTH, OTHER

if TYPE_CHECKING:
    from daemon.stores.postgres.database import PostgresDatabase

_TABLES = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = '{table}'::regclass"
_IN_OTHER = "SELECT DISTINCT left({time}, 7) FROM {table}{other}"
# Reports wait for this, and so it does not wait for them: it is tried again within the hour.
_WAIT = "SET LOCAL lock_timeout = '500ms'"
_ALONE = "LOCK TABLE ONLY {table} IN SHARE UPDATE EXCLUSIVE MODE"
_MAKE = """
LOCK TABLE {table}{other} IN ACCESS EXCLUSIVE MODE;
CREATE TABLE {name} (LIKE {table});
WITH moved AS (DELETE FROM {table}{other} WHERE {time} >= '{month}' AND {time} < '{next_month}' RETURNING *)
INSERT INTO {name} SELECT * FROM moved;
ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{month}') TO ('{next_month}')
"""


async def tend_months(db: PostgresDatabase, today: date, before: date) -> None:
    """Make the tables of this month, the next, and rows that had none; drop those before a day."""
    with suppress(asyncpg.LockNotAvailableError):
        async with db.connection.transaction():
            await db.connection.execute(_WAIT)
            for table, time in BY_MONTH.items():
                await _tend(db, table, time, [_month(today), _after(_month(today))], _month(before))


async def _tend(db: PostgresDatabase, table: str, time: str, ahead: list[str], oldest: str) -> None:
    """Do what is missing, as the only one that looks: two who have looked wait for each other."""
    await db.connection.execute(_ALONE.format(table=table))
    made, dropped = await _missing(db, table, time, ahead, oldest)
    for month in made:
        name = f"{table}_{month.replace('-', '_')}"
        parts = {"table": table, "other": OTHER, "time": time, "name": name}
        await db.connection.execute(_MAKE.format(**parts, month=month, next_month=_after(month)))
    for name in dropped:
        await db.connection.execute(f"DROP TABLE {name}")


async def _missing(
    db: PostgresDatabase, table: str, time: str, ahead: list[str], oldest: str
) -> tuple[list[str], list[str]]:
    """The months without a table that need one, and the tables of months that are old."""
    rows = await db.rows(_TABLES.format(table=table))
    there = {name.removeprefix(f"{table}_").replace("_", "-"): name for (name,) in rows if not name.endswith(OTHER)}
    found = [month for (month,) in await db.rows(_IN_OTHER.format(table=table, other=OTHER, time=time))]
    made = {*found, *(month for month in ahead if month > max(there, default=""))}  # the first has all before it, too
    return sorted(made), [name for month, name in there.items() if month < oldest]


def _month(day: date) -> str:
    return day.isoformat()[:7]


def _after(month: str) -> str:
    return _month(date.fromisoformat(f"{month}-28") + timedelta(days=4))
