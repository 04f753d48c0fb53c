"""The fence: a daemon whose lease was ended writes, claims and serves nothing, and none is ended
under a commit.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import asyncpg
import pytest

from daemon.model.audit_events import Logged
from daemon.model.webhooks import StoredWebhook, subscription_changed
from daemon.stores.postgres.lease import Fenced, remove_expired
from daemon.stores.postgres.store import PostgresStore
from tests.histories import ACME, NOON, append, decide, start
from tests.postgres import KEYS
from tests.stores.contract.test_notifications import logged, note

PATIENCE_S = 20.0


async def buried(url: str, store: PostgresStore) -> None:
    """End a daemon's lease as another one would do that finds it run out."""
    async with PostgresStore.open(url, KEYS) as other:
        epoch = store.lease.epoch
        await other._readers[0].use(lambda db: db.execute("DELETE FROM daemons WHERE epoch = $1", epoch))


async def run_out(store: PostgresStore) -> None:
    """Let a daemon's lease run out, as when it was frozen."""
    store.lease._over = True  # it renews no more
    over = "UPDATE daemons SET until = clock_timestamp() WHERE epoch = $1"
    await store._readers[0].use(lambda db: db.execute(over, store.epoch))


async def buried_by(store: PostgresStore) -> list[int]:
    """Whose leases this daemon ends now."""
    return list(await store._readers[0].use(lambda db: remove_expired(db, store.epoch, 0.0)))


async def test_a_daemon_whose_lease_was_ended_writes_nothing_more_and_is_told_so(url: str) -> None:
    lost = asyncio.Event()
    async with PostgresStore.open(url, KEYS, on_failed=lost.set) as store:
        begun = start()
        await store.append(begun)
        await buried(url, store)
        for write in (append(store, decide(begun.run)), store.append(start("run-2")), store.ping()):
            with pytest.raises(Fenced):
                await write
        assert lost.is_set()
        assert not store.held
        assert await store.load(ACME, "run-1") == begun.run
        assert await store.load(ACME, "run-2") is None


async def test_a_lease_is_not_ended_under_a_commit_and_none_follows_when_it_was(url: str) -> None:
    under_way, finish = asyncio.Event(), asyncio.Event()

    async def slowly(_db: object) -> None:
        under_way.set()
        await finish.wait()

    async with PostgresStore.open(url, KEYS) as slow, PostgresStore.open(url, KEYS, lease_s=60.0) as other:
        await run_out(slow)
        writing = asyncio.create_task(slow._write(ACME, slowly))
        await under_way.wait()
        meanwhile = await buried_by(other)
        finish.set()
        await writing
        assert (meanwhile, await buried_by(other)) == ([], [slow.epoch])
        with pytest.raises(Fenced):
            await slow.append(start())


async def test_a_lease_is_not_ended_under_a_verdict_that_waits_for_its_turn(url: str) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with PostgresStore.open(url, KEYS) as slow, PostgresStore.open(url, KEYS, lease_s=60.0) as other:
        begun = start()
        await slow.append(begun)
        await run_out(slow)
        db = await asyncpg.connect(url)
        async with db.transaction():
            await db.execute("SELECT FROM clocks WHERE company_id = $1 FOR UPDATE", ACME)
            deciding = asyncio.create_task(append(slow, decide(begun.run)))
            while not await db.fetchval(waiting):
                pass
            meanwhile = await buried_by(other)
        await db.close()
        await deciding
        assert (meanwhile, await buried_by(other)) == ([], [slow.epoch])
        with pytest.raises(Fenced):
            await slow.append(start("run-2"))


async def test_no_lease_is_ended_that_has_not_run_out(url: str) -> None:
    async with PostgresStore.open(url, KEYS, lease_s=60.0) as one, PostgresStore.open(url, KEYS, lease_s=60.0) as other:
        assert await buried_by(one) == await buried_by(other) == []
        await run_out(one)
        assert await buried_by(one) == []  # not its own either
        assert await buried_by(other) == [one.epoch]


async def test_a_daemon_whose_lease_was_ended_takes_nothing_over(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        async with PostgresStore.open(url, KEYS) as gone:
            await gone.append(start(gates=()))
        await buried(url, one)
        with pytest.raises(Fenced):
            async with asyncio.timeout(PATIENCE_S):
                await one.claim()
        assert list(await other.claim()) == [(ACME, "run-1")]


async def test_whoever_was_cut_off_itself_ends_nobodys_lease_at_first(url: str) -> None:
    async with PostgresStore.open(url, KEYS, lease_s=30.0) as one, PostgresStore.open(url, KEYS, lease_s=30.0) as other:
        connection = one._readers[0]
        await connection.use(lambda db: db.execute("UPDATE daemons SET until = clock_timestamp() - interval '1 s'"))
        await one.lease.renew()  # as after a restart of the database: it comes first
        assert (await one.poll_changes()).peers == {one.epoch, other.epoch}
        assert list(await connection.use(lambda db: remove_expired(db, one.epoch, 0.0))) == [other.epoch]


async def test_a_webhook_that_is_enabled_again_is_served_by_who_is_asked_first(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        hook = StoredWebhook(ACME, "hook-1", "https://hooks.test", None, None, b"sealed", NOON, NOON, "ann")
        await one.add_webhook(hook, Logged(ACME, subscription_changed(None, hook, NOON, "ann", "session")), None)
        assert await one.webhook_queue(*hook.key, NOON, 9) is not None
        paused = replace(hook, enabled=False)
        for changed in (paused, hook, hook):
            event = subscription_changed(hook, changed, NOON, "ann", "session")
            assert await other.put_webhook(changed, Logged(ACME, event))
            found = await other.webhook_queue(*hook.key, NOON, 9)
            assert (found is None) == (changed is paused)
        assert await one.webhook_queue(*hook.key, NOON, 9) is None


async def test_a_daemon_whose_lease_was_ended_serves_no_webhook_and_another_one_does(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        hook = StoredWebhook(ACME, "hook-1", "https://hooks.test", None, None, b"sealed", NOON, NOON, "ann")
        await one.add_webhook(hook, Logged(ACME, subscription_changed(None, hook, NOON, "ann", "session")), None)
        assert await one.webhook_queue(*hook.key, NOON, 9) is not None
        assert await other.webhook_queue(*hook.key, NOON, 9) is None
        await buried(url, one)
        assert await one.webhook_queue(*hook.key, NOON, 9) is None
        assert await other.webhook_queue(*hook.key, NOON, 9) is not None
        assert await one.webhook_queue(*hook.key, NOON, 9) is None


async def test_a_daemon_whose_lease_was_ended_notifies_nobody_and_another_one_does(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        await one.add_webhook(note(), logged(note()), None)
        begun = await one.notifier(ACME)
        assert begun is not None
        assert await other.notifier(ACME) is None
        assert await other.notifying_companies("", 9) == []
        await buried(url, one)
        assert await one.notifier(ACME) is None
        assert await other.notifying_companies("", 9) == [ACME]
        assert await other.notifier(ACME) == begun
        assert await one.notifier(ACME) is None
