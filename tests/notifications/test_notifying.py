"""What happens is told once, in time, and not when it does not matter any more."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise

from daemon.model.events.company import StoredQuietHours
from daemon.notifications.service import NotificationDraft
from tests.effort import Effort
from tests.notifications.conftest import ANN, Desk, types
from tests.webhooks.conftest import Receiver, verified

HOUR = 3_600
LUNCH = StoredQuietHours(begins="11:30", ends="13:00")  # it is noon when a test begins


async def test_an_event_is_told_once_however_often_it_is_looked_at(desk: Desk, receiver: Receiver) -> None:
    one = await desk.tell(receiver.url())
    await desk.gate("run-1")
    for _ in range(3):
        await desk.later(61)
    await desk.restart()
    await desk.later(61)
    assert receiver.ids == ["msg_run-1_3"]
    assert [(each.type, each.status, each.attempts) for each in await desk.log(one)] == [
        ("gate_opened", "delivered", 1)
    ]


async def test_others_have_their_turn_between_two_notifications_of_an_event(desk: Desk) -> None:
    loop = asyncio.get_running_loop()

    async def longest(count: int) -> int:
        """The steps of the longest piece of work on an event with so many notifications more."""
        for _ in range(count):
            await desk.tell("http://127.0.0.1:9/", verticals=("another",))
        with Effort() as done:
            seen = [0]

            def turn() -> None:
                seen.append(done.steps)
                turns[0] = loop.call_soon(turn)

            turns = [loop.call_soon(turn)]
            await desk.gate(f"run-{count}")
            turns[0].cancel()
        return max(after - before for before, after in pairwise(seen))

    await desk.tell("http://127.0.0.1:9/", verticals=("another",))
    await desk.gate("run-1")  # reads the template, and those that say who may read
    few = await longest(2)
    assert await longest(200) < 1.5 * few


async def test_what_happened_while_nobody_looked_is_told_after_a_restart(desk: Desk, receiver: Receiver) -> None:
    one = await desk.tell(receiver.url())
    await desk.gate("run-1", published=False)
    await desk.restart()
    assert receiver.got == []
    await desk.later(0)
    assert [each.status for each in await desk.log(one)] == ["delivered"]


async def test_what_was_before_a_notification_is_not_told(desk: Desk, receiver: Receiver) -> None:
    await desk.tell(receiver.url("/first"))
    await desk.gate("run-1", published=False)
    await desk.tell(receiver.url("/second"))
    await desk.later(0)
    assert [got.path for got in receiver.got] == ["/first"]


async def test_nothing_is_sent_in_quiet_hours_and_all_that_still_matters_behind_them(
    desk: Desk, receiver: Receiver
) -> None:
    one = await desk.tell(receiver.url(), quiet_hours=LUNCH)
    run = await desk.gate("run-1")
    await desk.gate("run-2")
    await desk.later(HOUR - 10)
    assert receiver.got == []
    assert await desk.service.held_until(one) == desk.clock.now.replace(hour=13, minute=0, second=0, microsecond=0)
    await desk.decide(run)
    await desk.later(10)
    assert sorted(receiver.ids) == ["msg_run-1_4", "msg_run-2_3"]
    assert types(receiver) in ([["gate_opened"], ["gate_decided"]], [["gate_decided"], ["gate_opened"]])
    skipped, *_ = await desk.log(one)
    assert (skipped.status, skipped.error, skipped.attempts) == ("skipped", "The gate is closed by now.", 0)


async def test_a_digest_is_one_message_of_all_that_still_matters(desk: Desk, receiver: Receiver) -> None:
    one = await desk.tell(receiver.url(), digest="PT1H")
    runs = [await desk.gate(f"run-{number}") for number in range(30)]
    await desk.decide(runs[0])
    await desk.later(HOUR - 10)
    assert receiver.got == []
    await desk.later(20)
    (got,) = receiver.got
    assert sorted(types(receiver)[0]) == ["gate_decided"] + ["gate_opened"] * 29
    found = await desk.log(one)
    assert {each.status for each in found} == {"delivered", "skipped"}
    assert {each.attempts for each in found if each.status == "delivered"} == {1}
    await desk.later(2 * HOUR)
    assert receiver.got == [got]


async def test_a_digest_that_fails_counts_one_failure_and_is_sent_whole_again(desk: Desk, receiver: Receiver) -> None:
    one = await desk.tell(receiver.url(), digest="PT1H")
    await desk.gate("run-1")
    await desk.gate("run-2")
    receiver.answers = [500]
    await desk.later(HOUR)
    found = await desk.store.webhook(*one.key)
    assert found is not None
    assert found.failures == 1
    await desk.later(61)
    assert types(receiver) == [["gate_opened"] * 2] * 2
    assert [each.attempts for each in await desk.log(one)] == [2, 2]


async def test_a_failed_attempt_is_repeated_with_the_same_id_after_a_restart(desk: Desk, receiver: Receiver) -> None:
    one = await desk.tell(receiver.url())
    receiver.answers = [503]
    await desk.gate("run-1")
    await desk.restart()
    await desk.later(10)
    assert receiver.ids == ["msg_run-1_3"] * 2
    (delivery,) = await desk.log(one)
    assert (delivery.status, delivery.attempts) == ("delivered", 2)


async def test_what_is_decided_before_a_repeated_attempt_is_skipped(desk: Desk, receiver: Receiver) -> None:
    one = await desk.tell(receiver.url(), events=("gate_opened",))
    receiver.status = 500
    run = await desk.gate("run-1")
    await desk.decide(run)
    await desk.later(10)
    (delivery,) = await desk.log(one)
    assert (delivery.status, delivery.attempts, len(receiver.got)) == ("skipped", 1, 1)


async def test_a_change_that_was_asked_for_before_a_rotation_keeps_the_new_secret(
    desk: Desk, receiver: Receiver
) -> None:
    seen = await desk.tell(receiver.url())
    rotated = await desk.service.rotate(ANN, seen, desk.clock.now, lambda _: None)
    assert rotated is not None
    assert seen.terms is not None
    draft = NotificationDraft(
        "webhook", ("gate_opened",), seen.terms, "renamed", enabled=True, url=receiver.url("/new")
    )
    await desk.service.change(ANN, seen, draft)
    await desk.gate("run-1")
    (got,) = receiver.got
    assert got.path == "/new"
    assert verified(rotated[1], got)


async def test_a_rotation_that_was_asked_for_before_a_deletion_makes_no_secret(desk: Desk, receiver: Receiver) -> None:
    seen = await desk.tell(receiver.url())
    assert await desk.service.delete(ANN, seen)
    assert await desk.service.rotate(ANN, seen, desk.clock.now, lambda _: None) is None


async def test_a_company_without_news_for_anybody_writes_nothing(desk: Desk, receiver: Receiver) -> None:
    one = await desk.tell(receiver.url(), events=("run_failed",))
    before = await desk.store.notifier(one.company_id)
    await desk.gate("run-1")
    await desk.later(61)
    assert await desk.store.notifier(one.company_id) == before
    assert receiver.got == []


async def test_one_that_does_not_answer_holds_up_no_other(desk: Desk, receiver: Receiver) -> None:
    dead = await desk.tell("http://127.0.0.1:9/")
    await desk.tell(receiver.url())
    for number in range(3):
        await desk.gate(f"run-{number}")
    assert [each.status for each in await desk.log(dead)] == ["pending"] * 3
    assert len(receiver.got) == 3


async def test_at_rest_nothing_is_kept_but_the_company(desk: Desk, receiver: Receiver) -> None:
    await desk.tell(receiver.url())
    await desk.gate("run-1")
    assert (desk.notifier._working, desk.notifier._again, desk.deliverer._working) == ({}, {}, {})
    assert desk.notifier.companies == {"company-acme"}


async def test_the_next_attempt_is_timed_by_the_end_of_the_quiet_hours(desk: Desk, receiver: Receiver) -> None:
    await desk.tell(receiver.url(), quiet_hours=LUNCH)
    await desk.gate("run-1")
    (timer,) = desk.deliverer._timers.values()
    assert not timer.cancelled()
    await desk.later(timedelta(minutes=61).total_seconds())
    assert len(receiver.got) == 1
