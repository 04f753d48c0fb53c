"""The outbox is the journal: a commit writes nothing for webhooks, and what one run does wrong
holds up no other.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.histories import append, decide, start
from tests.webhooks.conftest import KEY, Post, Receiver

# What a commit may have to keep up to date; whatever is added here makes every commit dearer.
KEPT = {
    "runs": {
        "sqlite_autoindex_runs_1",
        "runs_by_status",
        "runs_unfinished",
        "runs_forgotten",
        "runs_by_clock",
        "runs_due",
        "runs_reviewed",
        "runs_by_business_key",
        "runs_by_creation",
        "runs_by_vertical",
        "runs_to_archive",
    },
    "commits": {"sqlite_autoindex_commits_1", "commits_without_head", "commits_without_mac"},
    "snapshots": set[str](),
}


async def changes(post: Post, run_id: str) -> int:
    """How many rows two commits write: a start that parks four with its gate in the inbox, and an
    end three, since it leaves the snapshot as it was.
    """

    async def total(db: Any) -> int:
        changes: int = db.connection.total_changes
        return changes

    before: int = await post.store._writer.submit(total)
    begun = start(run_id)
    await post.store.append(begun)
    await append(post.store, decide(begun.run))
    after: int = await post.store._writer.submit(total)
    return after - before


async def test_a_commit_writes_the_same_rows_with_webhooks_and_without(post: Post, receiver: Receiver) -> None:
    without = await changes(post, "run-1")
    for _ in range(5):
        await post.hook(receiver.url())
    assert await changes(post, "run-2") == without == 7


async def test_no_index_and_no_trigger_of_a_commits_tables_is_for_webhooks_or_streams(post: Post) -> None:
    await post.store.ping()
    with closing(sqlite3.connect(post.path)) as db:
        for table, known in KEPT.items():
            statement = "SELECT name FROM sqlite_schema WHERE tbl_name = ? AND type IN ('index', 'trigger')"
            assert {name for (name,) in db.execute(statement, (table,))} == known


async def test_nothing_is_written_for_events_that_nobody_asked_for(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url(), ("call_settled",))
    before = await post.book.one(*hook.key)
    await post.happen("run-1")
    await post.rest()
    assert await post.book.one(*hook.key) == before
    assert receiver.got == []
    assert await post.log(hook) == []


async def test_a_deliverer_at_rest_keeps_no_task(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url())
    await post.happen("run-1")
    await post.rest()
    assert (post.deliverer._working, post.deliverer._timers) == ({}, {})
    await post.book.delete(KEY, hook.id)
    await post.happen("run-2")
    await post.rest()
    assert (post.deliverer._known, post.deliverer._seen) == ({}, {})


async def test_what_cannot_be_noted_is_not_sent_again_and_again(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    receiver.open.clear()
    await post.happen("run-1")
    assert await receiver.holding(1, post) == 1
    engine: Any = post.store._writer._engine
    engine._free_bytes_min = 10**18  # so much room no disk has
    receiver.open.set()
    await post.rest()
    for _ in range(5):
        await post.later(60)
    assert [one.status for one in await post.log(hook)] == ["pending"]
    engine._free_bytes_min = 0
    await post.later(60)
    assert [(one.status, one.attempts) for one in await post.log(hook)] == [("delivered", 1)]
    assert receiver.ids == ["msg_run-1_5"]


async def test_a_history_that_was_tampered_with_is_not_told_and_holds_up_no_other(
    post: Post, receiver: Receiver
) -> None:
    await post.hook(receiver.url("/acme"))
    await post.hook(receiver.url("/other"), company="company-other")
    await post.deliverer.drain(0)
    await post.happen("run-1")
    await post.happen("run-2", "company-other")
    await post.close()
    with closing(sqlite3.connect(post.path)) as db, db:
        changed = "CAST(replace(CAST(events AS TEXT), 'ann', 'eve') AS BLOB)"
        where = "WHERE run_id = 'run-1' AND first_seq = 1"
        assert db.execute(f"UPDATE commits SET events = {changed} {where}").rowcount == 1  # noqa: S608
    await post.open()
    await post.deliverer.sweep()
    await post.rest()
    assert {one.path for one in receiver.got} == {"/other"}
    assert len(receiver.got) == 5


async def test_a_sweep_reads_one_webhook_at_a_time_however_many_companies_have_some(
    post: Post, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    companies = [f"company-{number:02}" for number in range(40)]
    for company in companies:
        await post.hook(receiver.url(), company=company)
    await post.restart()
    read, reading, most = post.store.webhook_queue, 0, 0

    async def watched(*asked: Any) -> Any:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        try:
            return await read(*asked)
        finally:
            reading -= 1

    monkeypatch.setattr(post.store, "webhook_queue", watched)
    await post.deliverer.sweep()
    await post.rest()
    assert (most, post.deliverer.companies) == (1, set(companies))
    await post.happen("run-1", companies[7])
    await post.rest()
    assert len(receiver.got) == 5


async def test_what_happened_while_nobody_looked_is_told_by_the_next_sweep(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    begun = start("run-1")
    await post.store.append(begun)
    await append(post.store, decide(begun.run))
    await post.deliverer.sweep()
    await post.rest()
    assert [one.status for one in await post.log(hook)] == ["delivered"]
