"""What a daemon asks the database about others, and how seldom."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import asyncpg

from actors.ports import Receipt
from daemon.stores.postgres import store as postgres_store
from daemon.stores.postgres.changes import POLL
from daemon.stores.postgres.store import PostgresStore
from daemon.stores.tables.receipts import add_receipt
from tests.cluster.footprint import COMPANY, ONLINE, Follower
from tests.histories import ACME, start
from tests.postgres import KEYS

if TYPE_CHECKING:
    import pytest

PATIENCE_S = 20.0
FAR_OFF = datetime(2999, 1, 1, tzinfo=UTC)


async def asked(store: PostgresStore, work: Any) -> list[str]:
    """What a work asks on the connections for reading."""
    found: list[str] = []

    def note(record: Any) -> None:
        found.append(record.query)

    opened = [one._db for one in store._readers if one._db is not None]
    for db in opened:
        db.add_query_logger(note)
    await work
    await asyncio.sleep(0)  # they are told of it in the loop's next turn
    for db in opened:
        db.remove_query_logger(note)
    return found


async def test_a_poll_is_one_statement_and_a_notification_asks_for_its_company_alone(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        follower = Follower(store)
        with follower.following:
            await follower.poller.poll()
            whole, positions = await asked(store, follower.poller.poll())
            assert whole == POLL
            follower.poller.notify(frozenset({COMPANY, "company-2"}))
            assert await asked(store, follower.poller.poll_named()) == [positions]
            follower.poller.notify(frozenset({"company-2"}))
            assert await asked(store, follower.poller.poll_named()) == []


async def test_deliveries_are_looked_at_where_another_daemon_wrote_some_and_committed_nothing(url: str) -> None:
    looked_at: list[str] = []
    async with PostgresStore.open(url, KEYS) as store:
        follower = Follower(store, looked_at.append)
        with follower.following:
            await follower.poller.poll()
            looked_at.clear()
            follower.poller.notify(frozenset({COMPANY}))
            await follower.poller.poll_named()
            assert looked_at == [COMPANY]
            await follower.poller.poll()
            assert looked_at == [COMPANY]


async def test_a_poll_finds_what_other_daemons_have_noted_and_whose_work_is_left(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        before = await other.poll_changes()
        assert (before.noted, before.abandoned, set(before.peers)) == (False, False, {one.epoch, other.epoch})
        async with PostgresStore.open(url, KEYS) as third:
            await third.append(start(gates=()))
            revoking = asyncio.create_task(third.revoke("token-1", FAR_OFF))
            await asyncio.sleep(0)
            async with asyncio.timeout(PATIENCE_S):
                while not (found := await other.poll_changes()).revocations:
                    pass
            await other.acknowledge(found.at)
            await one.acknowledge(found.at)
            await revoking
        found = await other.poll_changes()
        assert (found.revocations, found.noted, found.abandoned) == ({"token-1": FAR_OFF}, True, True)
        assert timedelta() < found.at - before.at < timedelta(seconds=PATIENCE_S * 2)


async def test_connections_that_nobody_uses_are_closed_and_opened_again(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        await asyncio.gather(*(store.poll_changes() for _ in range(9)))
        await store.append(start())
        watcher = await asyncpg.connect(url)
        here = f"{ONLINE} AND datname = current_database()"
        assert await watcher.fetchval(here) >= 5
        await store.refresh_state()
        assert await watcher.fetchval(here) >= 5
        monkeypatch.setattr(postgres_store, "IDLE_S", -1.0)
        async with asyncio.timeout(PATIENCE_S):
            while await watcher.fetchval(here) > 2:  # the lease, and what listens
                await store.refresh_state()
        assert await store.load(ACME, "run-1") is not None
        await watcher.close()


async def test_receipts_of_concurrent_requests_are_read_together_and_each_gets_its_own(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        for key in ("old", "new-3"):
            kept = Receipt(ACME, "/a\u2400", key, b"", None, 200, "{}", key.encode())
            await store._write(ACME, partial(add_receipt, receipt=kept, at="2026-01-01T00:00:00.000000Z"))
        await store.receipt(ACME, "/", "none")
        found: list[Receipt | None] = []

        async def look() -> None:
            found.extend(
                await asyncio.gather(*(store.receipt(ACME, "/a\x00", f"new-{number}", "old") for number in range(5)))
            )

        statements = await asked(store, look())
        assert [one and one.body for one in found] == [b"old", b"old", b"old", b"new-3", b"old"]
        assert len(statements) < len(found)
        assert await store.receipt(ACME, "/a\x00", "new-1") is None
