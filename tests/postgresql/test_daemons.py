"""Two daemons on one database: whose work is whose, and what happens when one is gone."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from actors.core.calls import CallRequest
from actors.core.messages import CallEffect, Effect
from actors.ports import StoreFailed, VersionConflict
from daemon.engine.ownership import OwnEffects, SharedJournal
from daemon.model.audit_events import Logged
from daemon.model.webhooks import WEBHOOKS_MAX, StoredWebhook, TooManyWebhooks, subscription_changed
from daemon.stores.postgres.store import PostgresStore
from tests.histories import ACME, NOON, append, commit, decide, start, work
from tests.postgres import KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.core.run import Run
    from actors.ports import Commit
    from tests.postgres import Server

PATIENCE_S = 20.0
LEASE_S = 1.0


def busy(run_id: str = "run-1") -> Commit:
    """A run that is not at rest."""
    return start(run_id, gates=())


async def until_claimed(store: PostgresStore) -> list[tuple[str, str]]:
    async with asyncio.timeout(PATIENCE_S):
        while not (claimed := list(await store.claim())):  # noqa: ASYNC110 - the database has no event for it
            await asyncio.sleep(0.05)
    return claimed


async def test_of_two_daemons_on_one_version_the_second_is_a_conflict(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        begun = start()
        await one.append(begun)
        outcomes = await asyncio.gather(
            append(one, decide(begun.run)), append(other, decide(begun.run)), return_exceptions=True
        )
        assert {type(outcome) for outcome in outcomes} == {type(None), VersionConflict}


async def test_what_is_outstanding_stays_with_the_daemon_that_began_it(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        begun = busy()
        performs, head = await one.append_owned(begun)
        assert performs.epoch == one.epoch
        moved = replace(commit(begun.run, *work(begun.run).events, resting=False), follows=head)
        assert (await other.append_owned(moved))[0].epoch == one.epoch
        assert set((await one.poll_changes()).strayed) == {(ACME, "run-1")}
        assert (await other.poll_changes()).strayed == {}
        assert list(await other.needs_recovery(("", ""), 9)) == []
        assert list(await one.needs_recovery(("", ""), 9)) == [(ACME, "run-1")]


async def test_a_run_at_rest_is_seen_to_by_whoever_wakes_it(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        begun = start()
        head = await one.append(begun)
        woken = replace(commit(begun.run, *work(begun.run).events, resting=False), follows=head)
        assert (await other.append_owned(woken))[0].epoch == other.epoch


async def test_the_work_of_a_daemon_that_lives_is_not_claimed(url: str) -> None:
    opened = partial(PostgresStore.open, url, KEYS, lease_s=LEASE_S)
    async with opened() as one, opened() as other:
        await one.append(busy())
        await asyncio.sleep(2 * LEASE_S)
        assert list(await other.claim()) == []


async def test_the_work_of_a_daemon_that_left_is_claimed_at_once_and_by_one_alone(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        async with PostgresStore.open(url, KEYS) as third:
            for number in range(20):
                await append(third, busy(f"run-{number:02}"))
        claimed = await asyncio.gather(one.claim(), other.claim())
        found = [key for some in claimed for key in some]
        assert sorted(found) == [(ACME, f"run-{number:02}") for number in range(20)]
        standing = await one.load_owned(ACME, "run-00")
        assert standing is not None
        assert standing.performs.epoch in (one.epoch, other.epoch)
        assert standing.performs.claimed == standing.run.version


async def test_the_work_of_a_daemon_that_fell_silent_is_claimed(url: str) -> None:
    opened = partial(PostgresStore.open, url, KEYS, lease_s=LEASE_S)
    async with opened() as other, opened() as silent:
        await silent.append(busy())
        silent.lease._over = True
        assert await until_claimed(other) == [(ACME, "run-1")]


class Hands:
    """Notes what is to be performed."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], bool]] = []

    def perform(self, effects: Sequence[Effect], *, recovered: bool) -> None:
        self.asked.append(([effect.key for effect in effects], recovered))

    def forget(self, company_id: str, run_id: str) -> None:
        raise AssertionError


def call(run: Run) -> CallEffect:
    return CallEffect(
        run.company_id, run.id, "work", 1, request=CallRequest(tool="tool", mode="live"), repeatable=False
    )


async def test_only_the_daemon_whose_work_it_is_performs_it(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        mine, theirs = SharedJournal(one), SharedJournal(other)
        begun = busy()
        await mine.append(begun)
        hands, others = Hands(), Hands()
        OwnEffects(mine, hands).perform([call(begun.run)], recovered=False)
        await theirs.load_committed(ACME, "run-1")
        OwnEffects(theirs, others).perform([call(begun.run)], recovered=True)
        assert (len(hands.asked), others.asked) == (1, [])
        assert hands.asked[0][1] is False


async def test_what_was_taken_over_counts_as_begun_once(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        async with PostgresStore.open(url, KEYS) as gone:
            begun = busy()
            await gone.append(begun)
        journal, hands = SharedJournal(store), Hands()
        effects = OwnEffects(journal, hands)
        assert list(await journal.claim()) == [(ACME, "run-1")]
        assert journal.claimed == {(ACME, "run-1")}
        await journal.load_committed(ACME, "run-1")
        effects.perform([call(begun.run)], recovered=True)
        moved = commit(begun.run, *work(begun.run).events, resting=False)
        await append(journal, moved)
        effects.perform([call(begun.run)], recovered=False)
        assert [recovered for _, recovered in hands.asked] == [True, False]
        assert journal.claimed == set()


async def test_what_was_claimed_counts_as_begun_though_the_claim_was_not_heard_of(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as store, PostgresStore.open(url, KEYS) as third:
        async with PostgresStore.open(url, KEYS) as gone:
            begun = busy()
            await gone.append(begun)
        await store.claim()
        journal, hands = SharedJournal(store), Hands()
        assert set((await store.poll_changes()).strayed) == {(ACME, "run-1")}
        await append(third, commit(begun.run, *work(begun.run).events, resting=False))
        await journal.load_committed(ACME, "run-1")
        OwnEffects(journal, hands).perform([call(begun.run)], recovered=True)
        assert [recovered for _, recovered in hands.asked] == [True]


async def revoked_long_ago(one: PostgresStore, other: PostgresStore, *, heard_s: int) -> None:
    """A token that was revoked at one a minute ago, and what the other has acknowledged since."""
    await one.revoke("token", NOON)
    await one._write("", lambda db: db.execute("UPDATE revocations SET noted_at = noted_at - interval '1 minute'"))
    told = "UPDATE daemons SET heard = clock_timestamp() - make_interval(secs => $2) WHERE epoch = $1"
    await one._write("", lambda db: db.execute(told, other.epoch, heard_s))


async def test_a_daemon_that_did_not_look_for_long_hears_all_that_it_has_not_acknowledged(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        await revoked_long_ago(one, other, heard_s=120)
        found = await other.poll_changes()
        assert set(found.revocations) == {"token"}
        await other.acknowledge(found.at)
        assert (await other.poll_changes()).revocations == {}


async def test_what_a_daemon_has_acknowledged_is_told_no_more(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        await revoked_long_ago(one, other, heard_s=30)
        assert (await other.poll_changes()).revocations == {}


async def test_a_daemon_that_others_have_taken_over_from_learns_nothing_more_and_ends(url: str) -> None:
    ended: list[str] = []
    async with (
        PostgresStore.open(url, KEYS) as one,
        PostgresStore.open(url, KEYS, on_failed=lambda: ended.append("lost")) as other,
    ):
        await one._write("", lambda db: db.execute("DELETE FROM daemons WHERE epoch = $1", other.epoch))
        with pytest.raises(StoreFailed):
            await other.poll_changes()
        assert (ended, other.held) == (["lost"], False)


async def test_counts_of_who_came_hold_for_all_daemons_together(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        found = [await store.hit("ann", 3, 60.0) for store in (one, other, one, other, one)]
        assert found[:3] == [None] * 3
        assert all(wait_s is not None and 0 < wait_s <= 60 for wait_s in found[3:])
        assert await one.hit("bob", 3, 60.0) is None
        assert await one.hit("short", 1, 0.0) is None
        assert await other.hit("short", 1, 0.0) is None


async def test_a_company_has_no_more_webhooks_than_it_may_whichever_daemons_are_asked(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one, PostgresStore.open(url, KEYS) as other:
        hooks = [
            StoredWebhook(ACME, f"hook-{number:02}", "https://hooks.test", None, None, b"sealed", NOON, NOON, "ann")
            for number in range(WEBHOOKS_MAX + 10)
        ]
        adding = (
            (one, other)[number % 2].add_webhook(
                hook, Logged(ACME, subscription_changed(None, hook, NOON, "ann", "session")), None
            )
            for number, hook in enumerate(hooks)
        )
        done = await asyncio.gather(*adding, return_exceptions=True)
        assert Counter(map(type, done)) == {type(None): WEBHOOKS_MAX, TooManyWebhooks: 10}
        assert len(await one.webhooks_of(ACME)) == WEBHOOKS_MAX


async def test_a_connection_that_is_lost_is_made_anew_and_commits_go_on(url: str, postgres: Server) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        await store.append(start("run-1"))
        await postgres.told(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'penstock' AND datname = current_database()",
            url.rpartition("/")[2],
        )
        with suppress(StoreFailed):  # unless it was noticed before
            await store.append(start("run-2"))
        await store.append(start("run-3"))
        assert await store.load(ACME, "run-3") is not None


async def test_a_daemon_that_cannot_reach_the_database_knows_it_though_nobody_asks(url: str, postgres: Server) -> None:
    name = url.rpartition("/")[2]

    async def until(store: PostgresStore, state: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while store.state != state:
                await store.refresh_state()
                await asyncio.sleep(0.01)

    async with PostgresStore.open(url, KEYS, lease_s=LEASE_S) as store:
        assert store.state == "ok"
        await postgres.told(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
        await postgres.told(f"{ended} '{name}'")
        await until(store, "failed")
        await postgres.told(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        await until(store, "ok")
        await store.append(start())
