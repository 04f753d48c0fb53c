"""Rows of reports are kept by month: made ahead, found over months, dropped with their table."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from daemon.model.reports.projection import Decision
from daemon.model.reports.questions import DaySpan, DecisionQuery
from daemon.stores.migrations import read_migrations
from daemon.stores.postgres import migrations
from daemon.stores.postgres.database import PostgresDatabase
from daemon.stores.postgres.reader import reading
from daemon.stores.postgres.store import PostgresStore
from daemon.stores.tables.reports.following import DECISIONS
from daemon.stores.tables.reports.numbers import report_people
from tests.histories import ACME, OTHER
from tests.postgres import KEYS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.postgres import Server

BEFORE = 20
# 800 decisions of nine companies on each day.
FILLED = """
INSERT INTO report_decisions
SELECT 'company-' || n % 9, $1 || lpad((1 + n / 800)::text, 2, '0') || lpad(n::text, 6, '0'), 'run', 1,
    'v', 's', 1, 'l', 't', 'approved', 'b', 'person', NULL, 1, '', 1 FROM generate_series(1, 20000) AS n
"""
LONG_AGO = date(2020, 1, 1)
PLACES = "SELECT tableoid::regclass::text, decided_at FROM report_decisions ORDER BY decided_at"
TABLES = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::regclass ORDER BY 1"
TODAY = datetime.now(UTC).replace(day=15)


def month(number: int) -> datetime:
    """The middle of a month so many behind the one in which the database was made."""
    year, ordinal = divmod(TODAY.year * 12 + TODAY.month - 1 + number, 12)
    return TODAY.replace(year=year, month=ordinal + 1)


def named(number: int, table: str = "report_decisions") -> str:
    return f"{table}_{month(number):%Y_%m}"


def decision(at: datetime, company_id: str = ACME) -> Decision:
    where = ("prior-auth", "signoff", 1, "Signoff", "high", "approved", "bob", "person", None)
    return Decision(company_id, f"run-{at:%Y-%m}", 4, at, *where, True, at - timedelta(hours=1), 3_600_000_000)


async def decided(store: PostgresStore, *ones: Decision) -> None:
    async def keep(db: Any) -> None:
        await DECISIONS.insert_new(db, ones)

    await store._write(ACME, keep)


async def found(store: PostgresStore, first: datetime, last: datetime) -> list[datetime]:
    span = DaySpan(first.date(), last.date())
    return [one.decided_at for one in await store.reported_decisions(ACME, span, DecisionQuery(limit=9))]


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore.open(url, KEYS, clock=lambda: month(0)) as one:
        yield one


@pytest.fixture
async def db(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    one = await asyncpg.connect(url, statement_cache_size=0)
    yield one
    await one.close()


async def tables(db: asyncpg.Connection[asyncpg.Record], table: str = "report_decisions") -> list[str]:
    return [row[0] for row in await db.fetch(TABLES, table)]


async def test_the_next_month_is_made_ahead_once(store: PostgresStore, db: asyncpg.Connection[asyncpg.Record]) -> None:
    for _ in range(2):
        await store.drop_reports(LONG_AGO)
    for table in ("report_decisions", "report_failures"):
        assert await tables(db, table) == [named(0, table), named(1, table), f"{table}_other"]


async def test_decisions_are_found_over_months_the_newest_first(
    store: PostgresStore, db: asyncpg.Connection[asyncpg.Record]
) -> None:
    await store.drop_reports(LONG_AGO)
    times = [month(number) for number in (-3, -1, 0, 1)]
    await decided(store, *map(decision, times), *(decision(at, OTHER) for at in times))
    assert await found(store, times[0], times[-1]) == times[::-1]
    assert [row[0] for row in await db.fetch(PLACES)] == [*[named(0)] * 6, *[named(1)] * 2]


async def test_a_row_whose_month_nobody_made_is_kept_and_moved_to_it_later(
    store: PostgresStore, db: asyncpg.Connection[asyncpg.Record]
) -> None:
    late = [month(number) for number in (3, 4)]
    await decided(store, *map(decision, late))
    assert {row[0] for row in await db.fetch(PLACES)} == {"report_decisions_other"}
    await store.drop_reports(LONG_AGO)
    assert [row[0] for row in await db.fetch(PLACES)] == [named(3), named(4)]
    assert await found(store, *late) == late[::-1]
    await decided(store, *map(decision, late))
    assert len(await found(store, *late)) == len(late)


async def test_months_that_are_over_go_with_their_rows_and_later_ones_stay(
    store: PostgresStore, db: asyncpg.Connection[asyncpg.Record]
) -> None:
    store._clock = lambda: month(2)
    await decided(store, *(decision(month(number)) for number in (-2, 0, 1, 2)))
    await store.drop_reports(month(1).date())
    assert await tables(db) == [named(1), named(2), named(3), "report_decisions_other"]
    assert await found(store, month(1), month(2)) == [month(2), month(1)]
    await decided(store, decision(month(-2)))
    assert await store.drop_reports(month(1).date()) == 1
    assert len(await db.fetch(PLACES)) == 2


async def test_reports_are_not_held_up_while_somebody_reads_long(
    store: PostgresStore, db: asyncpg.Connection[asyncpg.Record]
) -> None:
    await store.drop_reports(LONG_AGO)
    async with db.transaction():
        await db.fetch(PLACES)
        await store.drop_reports(month(1).date())
        await decided(store, decision(month(0)))
        assert named(0) in await tables(db)
    await store.drop_reports(month(1).date())
    assert named(0) not in await tables(db)


async def test_daemons_that_see_to_it_at_once_make_each_month_once(
    store: PostgresStore, url: str, db: asyncpg.Connection[asyncpg.Record]
) -> None:
    await decided(store, decision(month(5)))
    async with PostgresStore.open(url, KEYS, clock=lambda: month(0)) as other:
        await asyncio.gather(*(one.drop_reports(LONG_AGO) for one in (store, other)))
    assert await tables(db) == [*map(named, (0, 1, 5)), "report_decisions_other"]


async def test_months_are_part_of_the_schema_and_what_is_hung_on_one_is_found(
    store: PostgresStore, url: str, db: asyncpg.Connection[asyncpg.Record]
) -> None:
    await decided(store, decision(month(2)))
    await store.drop_reports(month(1).date())
    assert await asyncio.to_thread(unlike_migrations, url) == []
    await db.execute(f"CREATE TRIGGER planted BEFORE INSERT ON {named(2)} EXECUTE FUNCTION penstock_stays()")
    await db.execute(f"CREATE INDEX added ON {named(1)} (label)")
    assert await asyncio.to_thread(unlike_migrations, url) == ["index added", f"trigger planted of {named(2)}"]


def unlike_migrations(url: str) -> list[str]:
    with reading(url) as look:
        return sorted(name for name, _ in look.unlike_migrations())


async def test_rows_of_the_schema_before_become_the_first_month_as_they_are(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await postgres.made()
    db = await asyncpg.connect(url, statement_cache_size=0)
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "read_migrations", lambda folder: read_migrations(folder)[:BEFORE])
        await migrations.migrate(db, "")
    times = [month(number) for number in (-2, 0, 1)]
    old = PostgresDatabase(db, KEYS)
    await DECISIONS.insert_new(old, map(decision, times))
    file = await db.fetchval("SELECT pg_relation_filenode('report_decisions')")
    async with PostgresStore.open(url, KEYS, clock=lambda: month(0)) as store:
        assert await found(store, times[0], times[-1]) == times[::-1]
        await store.drop_reports(LONG_AGO)
        await decided(store, decision(month(2)))
        await store.drop_reports(month(-1).date())
    assert await tables(db) == [*map(named, (1, 2)), "report_decisions_other"]
    assert await db.fetchval("SELECT pg_relation_filenode($1::regclass)", named(1)) == file
    assert await asyncio.to_thread(unlike_migrations, url) == []
    await db.close()
    await postgres.dropped(url)


async def test_a_report_of_a_company_reads_no_row_of_another(
    store: PostgresStore, db: asyncpg.Connection[asyncpg.Record]
) -> None:
    await db.execute(FILLED, f"{month(0):%Y-%m}-")
    await db.execute("ANALYZE report_decisions")
    plans: list[str] = []

    class Explaining:
        """A database that says how it would answer."""

        dialect = "postgres"

        async def rows(self, statement: str, *values: Any) -> list[Any]:
            plans.extend(row[0] for row in await db.fetch(f"EXPLAIN (ANALYZE, COSTS OFF) {statement}", *values))
            return []

    day = month(0).date()
    await report_people(Explaining(), "company-1", DaySpan(day, day))  # type: ignore[arg-type]
    assert any("rows=89 " in line for line in plans)
    assert [line for line in plans if "Rows Removed" in line] == []
