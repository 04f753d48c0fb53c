"""Synchronous replication: what no standby has confirmed is neither acknowledged nor visible."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress

import asyncpg
import pytest

from actors.ports import StoreFailed
from daemon.stores.postgres.connection import Db, PostgresConnection
from tests.postgres import Server, server

LIMIT_S = 0.5
PATIENCE_S = 20.0
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
COUNT = "SELECT count(*) FROM kept"
INSERT = "INSERT INTO kept VALUES (1)"


@pytest.fixture(scope="module")
def alone() -> Iterator[Server]:
    """A server whose commits wait for a standby that is not there."""
    with server() as one:
        asyncio.run(_await_standby(one))
        yield one


async def _await_standby(one: Server) -> None:
    await one.told("CREATE TABLE kept (number integer)")
    await one.told("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    await one.told("SELECT pg_reload_conf()")


@pytest.fixture
async def reader(alone: Server) -> AsyncIterator[Db]:
    db = await asyncpg.connect(alone.url())
    yield db
    await db.close()


async def in_statement(db: Db) -> None:
    await db.execute(INSERT)


async def in_transaction(db: Db) -> None:
    async with db.transaction():
        await db.execute(INSERT)


async def waiting(reader: Db, number: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await reader.fetchval(WAITING) != number:
            pass


@pytest.mark.parametrize("work", [in_statement, in_transaction])
@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_commit_that_no_standby_confirms_is_unknown_and_stays_invisible(
    alone: Server, reader: Db, work: Callable[[Db], Awaitable[None]], *, cancelled: bool
) -> None:
    before = await reader.fetchval(WAITING)
    connection = PostgresConnection(alone.url(), command_s=PATIENCE_S if cancelled else LIMIT_S)
    writing = asyncio.create_task(connection.use(work, writing=True))
    await waiting(reader, before + 1)
    if cancelled:
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
    else:
        with pytest.raises(StoreFailed, match="no answer within") as told:
            await writing
        assert told.value.outcome == "unknown"
    # Another round trip, after which a cancel request would have had its effect.
    other = PostgresConnection(alone.url())
    assert await other.use(lambda db: db.fetchval(WAITING)) == before + 1
    assert await reader.fetchval(COUNT) == 0
    assert b"canceling wait for synchronous replication" not in (alone.folder / "log").read_bytes()
    await other.close()
    await connection.close()


@pytest.mark.parametrize(
    ("asked", "used"),
    [("off", "on"), ("local", "on"), ("remote_write", "on"), ("on", "on"), ("remote_apply", "remote_apply")],
)
async def test_what_an_operator_asks_of_standbys_is_raised_and_never_lowered(
    postgres: Server, url: str, asked: str, used: str
) -> None:
    name = url.rpartition("/")[2]
    await postgres.told(f"ALTER DATABASE {name} SET synchronous_commit = {asked}")
    connection = PostgresConnection(url)
    assert await connection.use(lambda db: db.fetchval("SHOW synchronous_commit")) == used
    await connection.close()
