"""Notifications as each store keeps them: beside webhooks, with one cursor for each company."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from daemon.model.audit_events import Logged
from daemon.model.events.company import NotificationTerms, StoredQuietHours
from daemon.model.webhooks import WEBHOOKS_MAX, WINDOW_MAX, StoredWebhook, TooManyWebhooks, Wanted, subscription_changed
from daemon.stores.store import Store
from daemon.stores.tables.webhooks import ENQUEUED_MAX, enqueue_notifications, in_pieces
from tests.histories import ACME, NOON, OTHER, start
from tests.stores.contract.test_webhooks import hook

if TYPE_CHECKING:
    from daemon.model.event_log import Position

ID, LATER = "note-1", NOON + timedelta(hours=1)
TERMS = NotificationTerms(
    member_id="user-ann",
    verticals=("prior-auth",),
    quiet_hours=StoredQuietHours(begins="22:00", ends="07:00", timezone="Europe/Vienna"),
    digest="PT1H",
)


def note(name: str = ID, company_id: str = ACME, **fields: Any) -> StoredWebhook:
    one = StoredWebhook(
        company_id=company_id,
        id=name,
        url="https://hooks.test/…",
        events=("gate_opened",),
        description=None,
        sealed_secret=b"\x00sealed",
        created_at=NOON,
        updated_at=NOON,
        updated_by="ann",
        kind="slack",
        terms=TERMS,
    )
    return replace(one, **fields)


def logged(one: StoredWebhook, before: StoredWebhook | None = None) -> Logged:
    return Logged(one.company_id, subscription_changed(before, one, NOON, "ann", "session"))


async def added(store: Store, name: str = ID, company_id: str = ACME) -> StoredWebhook:
    one = note(name, company_id)
    await store.add_webhook(one, logged(one), None)
    found = await store.webhook(*one.key)
    assert found is not None
    return found


async def cursor(store: Store, company_id: str = ACME) -> Position:
    found = await store.notifier(company_id)
    assert found is not None
    return found


async def wanted(store: Store, *names: str, recipient: str | None = None) -> list[Wanted]:
    """Each event of a new run, for each of these notifications."""
    begun = await cursor(store)
    await store.append(start())
    found = await store.read_after(ACME, begun, 99)
    return [Wanted(name, one, "gate_opened", LATER, recipient) for one in found for name in names]


async def test_notifications_and_webhooks_are_listed_apart(store: Store) -> None:
    one = await added(store)
    await store.add_webhook(hook(), Logged(ACME, subscription_changed(None, hook(), NOON, "ann", "session")), None)
    assert await store.notifications_of(ACME) == [one]
    assert [each.id for each in await store.webhooks_of(ACME)] == [hook().id]
    assert (one.kind, one.terms) == ("slack", TERMS)
    assert await store.notifications_of(OTHER) == []


async def test_notifications_and_webhooks_count_apart(store: Store) -> None:
    for number in range(WEBHOOKS_MAX):
        await added(store, f"note-{number:02}")
    await store.add_webhook(hook(), Logged(ACME, subscription_changed(None, hook(), NOON, "ann", "session")), None)
    with pytest.raises(TooManyWebhooks):
        await store.add_webhook(note("more"), logged(note("more")), None, WEBHOOKS_MAX)


async def test_a_change_keeps_kind_and_cursor_and_may_pause(store: Store) -> None:
    before = await added(store)
    terms = NotificationTerms(group="desk")
    after = replace(before, url="https://else.test/…", terms=terms, sealed_secret=b"other", enabled=False)
    assert await store.put_webhook(after, logged(after, before)) is True
    assert await store.webhook(ACME, ID) == after


async def test_a_company_has_one_cursor_which_begins_with_its_first_notification(store: Store) -> None:
    assert await store.notifier(ACME) is None
    one = await added(store)
    begun = await cursor(store)
    assert one.cursor == begun
    await store.append(start())
    second = await added(store, "note-2")
    assert (await cursor(store), second.cursor > begun) == (begun, True)
    await added(store, "note-3", OTHER)
    assert await store.notifying_companies("", 9) == [ACME, OTHER]
    assert await store.notifying_companies(ACME, 9) == [OTHER]
    assert await store.notifying_companies("", 1) == [ACME]


async def test_events_become_deliveries_of_several_with_the_move_of_the_cursor(store: Store) -> None:
    for name in (ID, "note-2"):
        await added(store, name)
    found = await wanted(store, ID, "note-2")
    position = found[-1].event.position
    await store.enqueue_notifications(ACME, found, position, NOON)
    assert await cursor(store) == position
    for name in (ID, "note-2"):
        deliveries = list(reversed(await store.deliveries(ACME, name, None, 9)))
        assert [one.id for one in deliveries] == [f"msg_run-1_{n}" for n in (1, 2, 3)]
        assert {(one.type, one.next_at, one.created_at, one.recipient) for one in deliveries} == {
            ("gate_opened", LATER, NOON, None)
        }
    await store.enqueue_notifications(ACME, found, position, NOON)
    assert len(await store.deliveries(ACME, ID, None, 9)) == 3


async def test_a_mail_to_a_group_has_a_delivery_for_each_recipient(store: Store) -> None:
    await added(store)
    ann = (await wanted(store, ID, recipient="ann"))[0]
    both = [ann, replace(ann, recipient="bob")]
    await store.enqueue_notifications(ACME, both, ann.event.position, NOON)
    deliveries = await store.deliveries(ACME, ID, None, 9)
    assert {(one.id, one.recipient) for one in deliveries} == {
        ("msg_run-1_1_ann", "ann"),
        ("msg_run-1_1_bob", "bob"),
    }


async def test_one_of_which_many_are_pending_gets_no_more(store: Store) -> None:
    await added(store)
    one = (await wanted(store, ID))[0]
    many = [replace(one, event=replace(one.event, seq=seq)) for seq in range(1, WINDOW_MAX + 9)]
    await store.enqueue_notifications(ACME, many, one.event.position, NOON)
    queue = await store.webhook_queue(ACME, ID, LATER, 1)
    assert queue is not None
    assert queue.pending == WINDOW_MAX


async def test_many_deliveries_are_added_in_pieces_and_a_piece_again_adds_nothing(store: Store) -> None:
    names = [f"note-{number}" for number in range(10)]
    for name in names:
        await added(store, name)
    one = (await wanted(store, names[0]))[0]
    found = [
        replace(one, webhook_id=name, event=replace(one.event, seq=seq))
        for seq in range(ENQUEUED_MAX)
        for name in names
    ]
    pieces = in_pieces(found)
    assert [len(piece) for piece in pieces] == [ENQUEUED_MAX] * len(names)
    more: dict[str, Any] = {"company_id": ACME, "cursor": one.event.position, "at": NOON}
    await store._write(ACME, partial(enqueue_notifications, found=pieces[0], last=False, **more))
    assert await cursor(store) < one.event.position  # and now the daemon is killed
    await store.enqueue_notifications(ACME, found, one.event.position, NOON)
    await store._write(ACME, partial(enqueue_notifications, found=pieces[1], last=False, **more))
    for name in names:
        assert len({each.id for each in await store.deliveries(ACME, name, None, 9_999)}) == ENQUEUED_MAX
    assert await cursor(store) == one.event.position


async def test_one_that_is_deleted_meanwhile_gets_no_deliveries(store: Store) -> None:
    for name in (ID, "note-2"):
        await added(store, name)
    found = await wanted(store, ID, "note-2")
    gone = Logged(ACME, subscription_changed(note(), None, NOON, "ann", "session"))
    assert await store.delete_webhook(ACME, ID, gone) is True
    await store.enqueue_notifications(ACME, found, found[-1].event.position, NOON)
    assert await store.deliveries(ACME, ID, None, 9) == []
    assert len(await store.deliveries(ACME, "note-2", None, 9)) == 3


async def test_several_are_settled_as_one_attempt_and_what_is_skipped_is_no_failure(store: Store) -> None:
    await added(store)
    found = await wanted(store, ID)
    await store.enqueue_notifications(ACME, found, found[-1].event.position, NOON)
    queue = await store.webhook_queue(ACME, ID, LATER, 9)
    assert queue is not None
    first, *rest = queue.due
    await store.settle_deliveries(
        ([(first, replace(first, status="skipped", next_at=None, error="It is over."))], NOON, None)
    )
    await store.settle_deliveries(([(one, replace(one, attempts=1, next_at=LATER)) for one in rest], NOON, None))
    queue = await store.webhook_queue(ACME, ID, LATER, 9)
    assert queue is not None
    assert (queue.webhook.failures, [one.id for one in queue.due]) == (1, [one.id for one in rest])
    (skipped,) = [one for one in await store.deliveries(ACME, ID, None, 9) if one.status == "skipped"]
    assert (skipped.error, skipped.next_at) == ("It is over.", None)
