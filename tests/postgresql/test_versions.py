"""Two versions on one database: the new one waits for the old ones, and an old one gives way."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING

import aiohttp
import asyncpg
import pytest

from actors.ports import StoreFailed
from daemon.model.reports.questions import DaySpan, DecisionQuery
from daemon.runtime import exit_codes
from daemon.stores.migrations import POSTGRES, Migration, read_migrations
from daemon.stores.postgres import migrations
from daemon.stores.postgres.store import PostgresStore
from tests.histories import ACME, NOON, append, decide, start
from tests.postgres import KEYS
from tests.programs import announced

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 60.0
LATER = Migration(len(read_migrations(POSTGRES)) + 1, "later", "CREATE TABLE later (x int)")
RECORD = "INSERT INTO migrations VALUES ($1, 'later', 'x', '')"


async def schemas(url: str) -> list[int]:
    db = await asyncpg.connect(url)
    rows = await db.fetch("SELECT number FROM migrations ORDER BY number")
    await db.close()
    return [row[0] for row in rows]


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on whoever opens a database is of the next version."""
    monkeypatch.setattr(migrations, "read_migrations", lambda folder: (*read_migrations(folder), LATER))


async def test_a_new_version_does_not_migrate_while_another_daemon_lives(
    url: str, request: pytest.FixtureRequest
) -> None:
    async with PostgresStore.open(url, KEYS) as old:
        request.getfixturevalue("newer")
        with pytest.raises(StoreFailed, match=rf"this version brings schema {LATER.number}.*Stop them, then start"):
            async with PostgresStore.open(url, KEYS):
                pass
        assert LATER.number not in await schemas(url)
        await old.lease.renew()
        assert old.state == "ok"
    async with PostgresStore.open(url, KEYS):
        assert (await schemas(url))[-1] == LATER.number


async def test_a_migration_has_no_limit_of_time_as_a_statement_has(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "CREATE TABLE later AS SELECT current_setting('statement_timeout') AS migrating"
    unlimited = Migration(LATER.number, LATER.name, sql)
    monkeypatch.setattr(migrations, "read_migrations", lambda folder: (*read_migrations(folder), unlimited))
    async with PostgresStore.open(url, KEYS) as store:
        limits = "SELECT migrating, current_setting('statement_timeout') FROM later"
        assert await store._read(lambda db: db.row(limits)) == ("0", "6s")


async def test_a_version_that_daemons_can_be_rolled_to_migrates_beside_them_and_they_go_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    sql = f"-- rolls from {LATER.number - 1}: it adds a table.\n{LATER.sql}"
    rolled = Migration(LATER.number, LATER.name, sql)
    async with PostgresStore.open(url, KEYS, on_superseded=lambda: ended.append("superseded")) as old:
        monkeypatch.setattr(migrations, "read_migrations", lambda folder: (*read_migrations(folder), rolled))
        async with PostgresStore.open(url, KEYS) as new:
            assert (await schemas(url))[-1] == LATER.number
            await old.lease.renew()
            await old.append(start())
            await append(new, decide(start().run))
    assert ended == []


async def test_what_a_daemon_of_0_1_0_passes_over_in_reports_is_counted_by_this_version(url: str) -> None:
    moved = "UPDATE report_cursors SET position = 1 WHERE company_id = $1 AND position = 0"
    async with PostgresStore.open(url, KEYS) as store:
        begun = start()
        await store.append(begun)
        await store._write(ACME, lambda db: db.execute("INSERT INTO report_cursors VALUES ($1, 0)", ACME))
        assert await store._write(ACME, lambda db: db.execute(moved, ACME)) == 0
        await append(store, decide(begun.run))
        await asyncio.gather(*(store.follow_commits(ACME, 9, NOON.date()) for _ in range(3)))
        assert await store.reports_behind() == []
        assert len(await store.reported_decisions(ACME, DaySpan(NOON.date(), NOON.date()), DecisionQuery(9))) == 1


async def test_where_it_is_told_to_it_migrates_and_the_old_daemon_serves_nothing_more(
    url: str, request: pytest.FixtureRequest
) -> None:
    ended: list[str] = []

    def superseded() -> None:
        ended.append("superseded")

    async with PostgresStore.open(url, KEYS, on_superseded=superseded) as old:
        request.getfixturevalue("newer")
        with pytest.raises(StoreFailed):
            async with PostgresStore.open(url, KEYS):
                pass
        db = await asyncpg.connect(url)
        await migrations.migrate(db, "", beside_others=True)
        await db.close()
        await old.lease.renew()
        assert (ended, old.state, old.held) == (["superseded"], "failed", False)
        await old.lease.keep()
        assert ended == ["superseded"]


async def test_a_daemon_whose_database_was_migrated_ends_with_a_code_of_its_own(url: str, tmp_path: Path) -> None:
    env = {**os.environ, "PENSTOCK_DATABASE_URL": url, "PENSTOCK_LEASE_S": "1", "PENSTOCK_DATA_DIR": str(tmp_path)}
    async with announced("daemon", "serve", "--port", "0", env=env, log=tmp_path / "log") as (process, port):
        db = await asyncpg.connect(url)
        await db.execute(RECORD, LATER.number)
        await db.close()
        answers = set()
        async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE_S):
            while process.returncode is None:
                try:
                    async with session.get(f"http://127.0.0.1:{port}/health") as answer:
                        answers.add(answer.status)
                except aiohttp.ClientError:
                    break
            assert await process.wait() == exit_codes.SUPERSEDED
    assert answers <= {200, 503}
    lines = [
        json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines() if line[:1] == "{"
    ]
    (told,) = [line for line in lines if line["event"] == "schema_superseded"]
    assert (told["schema"], told["known"]) == (LATER.number, LATER.number - 1)
    assert not any(line["event"] == "history_broken" for line in lines)


async def test_by_hand_a_start_without_its_database_is_refused_at_once(tmp_path: Path) -> None:
    env = {**os.environ, "PENSTOCK_DATABASE_URL": "postgresql://penstock@127.0.0.1:1/penstock"}
    serve = (sys.executable, "-m", "daemon", "serve", "--port", "0", "--data-dir", str(tmp_path / "data"))
    process = await asyncio.create_subprocess_exec(*serve, env=env, stderr=asyncio.subprocess.PIPE)
    _, errors = await process.communicate()
    assert process.returncode == exit_codes.STORE_FAILED, errors
