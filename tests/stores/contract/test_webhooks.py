"""A company's events in the order of their commits, webhooks and their deliveries: alike in every
store.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actors.ports import ReceiptTaken
from daemon.model.audit_events import Logged, LoggedOut
from daemon.model.chain import text_of_hash
from daemon.model.event_log import BEGINNING, LoggedEvent, Position
from daemon.model.evidence import StoredCheckpoint
from daemon.model.webhooks import (
    KEPT_MAX,
    REVIVED_FROM,
    WEBHOOKS_MAX,
    StoredDelivery,
    StoredWebhook,
    TooManyWebhooks,
    subscription_changed,
)
from daemon.stores.store import Store
from tests.histories import ACME, NOON, OTHER, Clock, append, decide, receipt, start, work

ID = "hook-1"
LATER = NOON + timedelta(hours=1)


def hook(webhook_id: str = ID, company_id: str = ACME, **fields: Any) -> StoredWebhook:
    own = {"url": "https://hooks.test/in", "events": ("run_ended",), "description": None, "sealed_secret": b"\x00s\xff"}
    times = {"created_at": NOON, "updated_at": NOON, "updated_by": "ann"}
    return StoredWebhook(company_id=company_id, id=webhook_id, **{**own, **times, **fields})


def log_of(one: StoredWebhook, *, gone: bool = False) -> Logged:
    return Logged(
        one.company_id, subscription_changed(one if gone else None, None if gone else one, NOON, "ann", "session")
    )


async def added(store: Store, **fields: Any) -> StoredWebhook:
    one = hook(**fields)
    await store.add_webhook(one, log_of(one), None)
    kept = await store.webhook(*one.key)
    assert kept is not None
    return kept


async def line(store: Store, at: Any = NOON, limit: int = 100) -> Any:
    queue = await store.webhook_queue(ACME, ID, at, limit)
    assert queue is not None
    return queue


async def told(
    store: Store, company_id: str = ACME, after: Position = BEGINNING, limit: int = 100
) -> list[LoggedEvent]:
    return list(await store.read_after(company_id, after, limit))


def short(found: list[LoggedEvent]) -> list[tuple[str, int, str]]:
    return [(one.run_id, one.seq, one.event.type) for one in found]


def sign(company: str, size: int, root: bytes, previous: str | None) -> StoredCheckpoint:
    return StoredCheckpoint(
        at="now", company=company, key_id="k", previous=previous, root=text_of_hash(root), signature="s", size=size
    )


async def three_runs(store: Store, sealed: int = 0) -> None:
    """Two runs of a company in turn, one of another, somebody who logs out in between; the first
    turns are sealed.
    """
    one, two, other = start("run-1"), start("run-2"), start("run-3", OTHER)
    for number, turn in enumerate((one, other, two, work(one.run), decide(two.run)), 1):
        await append(store, turn)
        if number == sealed:
            await store.seal(sign)
        await store.log(Logged(ACME, LoggedOut(at=NOON, by="ann", token="t", via="session")))


ALL = [
    *(("run-1", seq, kind) for seq, kind in enumerate(("run_started", "step_entered", "gate_opened"), 1)),
    *(("run-2", seq, kind) for seq, kind in enumerate(("run_started", "step_entered", "gate_opened"), 1)),
    *(("run-1", seq, kind) for seq, kind in enumerate(("step_entered", "step_cleared", "call_settled"), 4)),
    *(("run-2", seq, kind) for seq, kind in enumerate(("verdict_given", "run_ended"), 4)),
]


@pytest.mark.parametrize("sealed", range(6))
async def test_the_events_of_a_company_stand_in_the_order_of_their_commits(store: Store, sealed: int) -> None:
    await three_runs(store, sealed)
    found = await told(store)
    assert short(found) == ALL
    assert sorted({one.position for one in found}) == [one.position for one in found]
    assert {one.run_id for one in await told(store, OTHER)} == {"run-3"}
    assert await told(store, "company-none") == []


@pytest.mark.parametrize("sealed", range(6))
async def test_from_every_place_the_rest_is_found_page_by_page(store: Store, sealed: int) -> None:
    await three_runs(store, sealed)
    whole = await told(store)
    for seen in range(len(whole)):
        assert await told(store, after=whole[seen].position) == whole[seen + 1 :]
        assert await told(store, after=whole[seen].position, limit=2) == whole[seen + 1 : seen + 3]
    assert await told(store, limit=0) == []
    assert await told(store, after=Position(10**18 - 1, 0)) == []


async def test_behind_the_present_is_what_comes_later_and_nothing_else(store: Store) -> None:
    await three_runs(store)
    now = await store.log_end(ACME)
    assert await told(store, after=now) == []
    await store.append(start("run-9"))
    assert {one.run_id for one in await told(store, after=now)} == {"run-9"}


async def test_a_new_webhook_begins_at_the_present(store: Store) -> None:
    await three_runs(store)
    kept = await added(store)
    assert kept == replace(hook(), cursor=kept.cursor)
    assert await told(store, after=kept.cursor) == []
    await store.append(start("run-9"))
    assert len(await told(store, after=kept.cursor)) == 3


async def test_a_webhook_belongs_to_its_company_alone(store: Store) -> None:
    kept = await added(store)
    assert await store.webhook(OTHER, ID) is None
    assert await store.webhooks_of(OTHER) == []
    assert await store.webhook_queue(OTHER, ID, NOON, 9) is None
    assert await store.put_webhook(hook(company_id=OTHER), log_of(hook(company_id=OTHER))) is False
    assert await store.delete_webhook(OTHER, ID, log_of(hook(company_id=OTHER), gone=True)) is False
    assert await store.webhooks_of(ACME) == [kept]


async def test_a_webhook_whose_request_was_answered_already_is_not_made(store: Store) -> None:
    await store.add_webhook(hook(), log_of(hook()), receipt())
    with pytest.raises(ReceiptTaken):
        await store.add_webhook(hook("hook-2"), log_of(hook("hook-2")), receipt())
    assert [one.id for one in await store.webhooks_of(ACME)] == [ID]


async def test_a_company_has_no_more_webhooks_than_it_may_however_many_are_added_at_once(store: Store) -> None:
    await added(store, company_id=OTHER)
    wanted = [hook(f"hook-{number:02}") for number in range(WEBHOOKS_MAX + 5)]
    done = await asyncio.gather(*(store.add_webhook(one, log_of(one), None) for one in wanted), return_exceptions=True)
    assert Counter(map(type, done)) == {type(None): WEBHOOKS_MAX, TooManyWebhooks: 5}
    assert len(await store.webhooks_of(ACME)) == WEBHOOKS_MAX
    first = (await store.webhooks_of(ACME))[0]
    assert await store.delete_webhook(*first.key, log_of(first, gone=True)) is True
    await store.add_webhook(first, log_of(first), None)


async def test_a_webhook_too_many_leaves_no_receipt_and_a_repeat_counts_as_one(store: Store) -> None:
    await store.add_webhook(hook(), log_of(hook()), receipt("first"))
    for number in range(WEBHOOKS_MAX - 1):
        await added(store, webhook_id=f"more-{number:02}")
    with pytest.raises(TooManyWebhooks):
        await store.add_webhook(hook("hook-2"), log_of(hook("hook-2")), receipt("second"))
    assert await store.receipt(ACME, receipt().path, "second") is None
    with pytest.raises(ReceiptTaken):
        await store.add_webhook(hook("hook-2"), log_of(hook("hook-2")), receipt("first"))


async def test_a_change_enables_a_webhook_and_leaves_its_cursor(store: Store) -> None:
    kept = await added(store, enabled=False, reason="gone", failures=3)
    assert list(await store.enabled_webhooks(("", ""), 9)) == []
    wanted = hook(url="https://else.test", events=None, description="new", updated_by="bob", updated_at=LATER)
    assert await store.put_webhook(wanted, log_of(wanted)) is True
    assert await store.webhook(ACME, ID) == replace(wanted, cursor=kept.cursor)
    assert list(await store.enabled_webhooks(("", ""), 9)) == [(ACME, ID)]


async def test_enabled_webhooks_are_listed_page_by_page(store: Store) -> None:
    for n in range(5):
        await added(store, webhook_id=f"hook-{n}")
    first = list(await store.enabled_webhooks(("", ""), 3))
    assert first == [(ACME, f"hook-{n}") for n in range(3)]
    assert list(await store.enabled_webhooks(first[-1], 3)) == [(ACME, "hook-3"), (ACME, "hook-4")]


async def enqueued(store: Store, **fields: Any) -> tuple[StoredWebhook, list[LoggedEvent]]:
    """A webhook with one delivery per event of a run."""
    kept = await added(store, **fields)
    await store.append(start())
    found = await told(store, after=kept.cursor)
    await store.enqueue(kept, found, found[-1].position, NOON)
    return kept, found


async def test_events_become_deliveries_with_the_move_of_the_cursor(store: Store) -> None:
    kept, found = await enqueued(store)
    queue = await line(store)
    assert queue.webhook == replace(kept, cursor=found[-1].position)
    assert (queue.pending, queue.next_at) == (3, NOON)
    assert [(one.number, one.id, one.position, one.seq, one.type) for one in queue.due] == [
        (n, f"msg_run-1_{n}", one.position, n, one.event.type) for n, one in enumerate(found, 1)
    ]
    assert list(await store.deliveries(ACME, ID, None, 9)) == list(reversed(queue.due))
    assert [one.number for one in await store.deliveries(ACME, ID, 3, 1)] == [2]
    assert list(await store.deliveries(OTHER, ID, None, 9)) == []


async def test_what_is_in_line_already_is_not_put_there_again(store: Store) -> None:
    kept, found = await enqueued(store)
    await store.enqueue(kept, found, found[-1].position, LATER)
    await store.enqueue(kept, found[:1], found[0].position, LATER)
    assert (await line(store)).pending == 3
    gone = hook("gone")
    await store.enqueue(gone, found, found[-1].position, NOON)
    assert list(await store.deliveries(*gone.key, None, 9)) == []


async def settle(store: Store, one: StoredDelivery, **fields: Any) -> None:
    """End an attempt at a delivery as it stands."""
    (before,) = [now for now in await store.deliveries(ACME, ID, None, 9) if now.id == one.id]
    after = replace(one, attempts=one.attempts + 1, tries=one.tries + 1, **fields)
    await store.settle_deliveries(([(before, after)], NOON, None))


async def test_what_is_settled_is_not_due_and_what_failed_is_due_later(store: Store) -> None:
    await enqueued(store)
    first, second, third = (await line(store)).due
    await settle(store, first, status="delivered", next_at=None, last_at=NOON, status_code=204, latency_ms=3)
    await settle(store, second, next_at=LATER, last_at=NOON, status_code=500, error="It broke.")
    queue = await line(store)
    assert (list(queue.due), queue.pending, queue.webhook.failures) == ([third], 2, 1)
    again = await line(store, LATER)
    assert [one.id for one in again.due] == [third.id, second.id]
    assert again.due[1] == replace(
        second, attempts=1, tries=1, next_at=LATER, last_at=NOON, status_code=500, error="It broke."
    )


async def test_a_success_ends_the_failures_and_after_many_makes_all_due(store: Store) -> None:
    await enqueued(store)
    first, second, third = (await line(store)).due
    for _ in range(REVIVED_FROM - 1):
        await settle(store, first, next_at=LATER)
    await settle(store, third, status="delivered", next_at=None)
    assert ((await line(store)).webhook.failures, list((await line(store)).due)) == (0, [second])
    for _ in range(REVIVED_FROM):
        await settle(store, second, next_at=LATER)
    await settle(store, third, status="delivered", next_at=None)
    assert [one.id for one in (await line(store)).due] == [first.id, second.id]


async def test_who_wants_no_more_is_disabled_once(store: Store) -> None:
    kept, _ = await enqueued(store)
    for one in (await line(store)).due:
        await store.settle_deliveries(
            ([(one, replace(one, status="failed", next_at=None))], NOON, ("It said so.", log_of(kept)))
        )
    found = await store.webhook(ACME, ID)
    assert found is not None
    assert (found.enabled, found.reason) == (False, "It said so.")
    await store.seal(sign)
    logged = [one for one in await store.entries(ACME, 0, 99) if one.stream == ACME]
    assert len(logged) == 2
    assert all(b'"type":"webhook_changed"' in one.events for one in logged)


async def test_a_delivery_can_be_made_due_again_by_its_company_alone(store: Store) -> None:
    await enqueued(store)
    first, *_ = (await line(store)).due
    await settle(store, first, status="delivered", next_at=None, status_code=200)
    assert await store.redeliver(OTHER, ID, first.id, LATER) is None
    assert await store.redeliver(ACME, ID, "msg_none", LATER) is None
    again = await store.redeliver(ACME, ID, first.id, LATER)
    assert again == replace(first, attempts=1, next_at=LATER, status_code=200)
    assert (await line(store, LATER)).pending == 3


async def test_a_delivery_that_is_asked_for_again_during_an_attempt_stays_due(store: Store) -> None:
    await enqueued(store)
    first, *_ = (await line(store)).due
    await store.redeliver(ACME, ID, first.id, LATER)
    last = replace(first, status="failed", attempts=10, tries=10, next_at=None, status_code=500)
    for _ in range(2):  # as after an answer of the database that was lost
        await store.settle_deliveries(([(first, last)], NOON, None))
    (again,) = [one for one in (await line(store, LATER)).due if one.id == first.id]
    assert again == replace(first, attempts=10, tries=0, next_at=LATER, status_code=500)


async def test_a_deleted_webhook_leaves_no_deliveries(store: Store) -> None:
    kept, _ = await enqueued(store)
    assert await store.delete_webhook(ACME, ID, log_of(kept, gone=True)) is True
    assert await store.delete_webhook(ACME, ID, log_of(kept, gone=True)) is False
    assert await store.webhook(ACME, ID) is None
    assert list(await store.deliveries(ACME, ID, None, 9)) == []
    assert await store.redeliver(ACME, ID, "msg_run-1_1", NOON) is None


async def test_old_settled_deliveries_are_dropped_and_pending_ones_never(store: Store) -> None:
    await enqueued(store)
    first, second, _ = (await line(store)).due
    await settle(store, first, status="delivered", next_at=None)
    await settle(store, second, status="failed", next_at=None)
    assert await store.drop_deliveries(NOON) == 0
    assert await store.drop_deliveries(LATER) == 2
    assert [one.number for one in await store.deliveries(ACME, ID, None, 9)] == [3]


async def test_what_was_told_of_approvals_stays_for_eight_days_however_many_they_are(
    store: Store, clock: Clock
) -> None:
    kept, found = await enqueued(store, kind="aap")
    for one in (await line(store)).due:
        await settle(store, one, status="delivered", next_at=None)
    many = [replace(found[-1], seq=n, position=Position(10**9 + n, 1)) for n in range(10, 9 + KEPT_MAX)]
    await store.enqueue(kept, many, many[-1].position, NOON)
    clock.forward(days=8)
    assert await store.drop_deliveries(clock.now) == 0
    assert len(await store.deliveries(ACME, ID, None, 2 * KEPT_MAX)) == KEPT_MAX + 2
    clock.forward(seconds=1)
    assert await store.drop_deliveries(clock.now) == 3


async def test_a_webhook_keeps_a_bounded_number_of_settled_deliveries(store: Store) -> None:
    kept, found = await enqueued(store)
    for one in (await line(store)).due[:2]:
        await settle(store, one, status="delivered", next_at=None)
    many = [replace(found[-1], seq=n, position=Position(10**9 + n, 1)) for n in range(10, 8 + KEPT_MAX)]
    await store.enqueue(kept, many, many[-1].position, NOON)
    numbers = sorted(one.number for one in await store.deliveries(ACME, ID, None, 2 * KEPT_MAX))
    assert numbers == list(range(2, KEPT_MAX + 2))
