"""What a receiver gets: every event at least once, signed, in spite of failures, restarts and other
receivers.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from daemon.model.audit_events import HistoryRewound, Logged
from daemon.model.event_log import BEGINNING, Position
from daemon.model.webhooks import EndedAttempt, WebhookDraft
from daemon.verification.stores import verify_store
from daemon.webhooks.deliverer import DeliveryLimits
from daemon.webhooks.sender import PAUSES_S
from tests.histories import ACME, NOON, OTHER, append, decide, start
from tests.webhooks.conftest import KEY, PATIENCE_S, Post, Receiver, verified

FIVE = ["run_started", "step_entered", "gate_opened", "verdict_given", "run_ended"]


def ids(run_id: str, *seqs: int) -> list[str]:
    return [f"msg_{run_id}_{seq}" for seq in seqs or range(1, 6)]


async def test_every_event_is_sent_signed_with_the_secret_that_was_shown(post: Post, receiver: Receiver) -> None:
    hook, secret = await post.hook(receiver.url("/in?x=1"))
    await post.happen("run-1")
    await post.rest()
    assert sorted(receiver.ids) == ids("run-1")
    by_id = {one.id: one for one in receiver.got}
    assert [by_id[one].json["type"] for one in ids("run-1")] == FIVE
    assert all(verified(secret, one) for one in receiver.got)
    other = await post.hook(receiver.url())
    assert not any(verified(other[1], one) for one in receiver.got)
    assert [(one.status, one.attempts, one.status_code) for one in await post.log(hook)] == [("delivered", 1, 200)] * 5


async def test_a_message_says_what_happened_when_and_where(post: Post, receiver: Receiver) -> None:
    await post.hook(receiver.url(), ("run_ended",))
    await post.happen("run-1")
    await post.rest()
    (got,) = receiver.got
    (placed,) = [one for one in await post.store.read_after(ACME, BEGINNING, 99) if one.seq == 5]
    assert got.json.keys() == {"type", "timestamp", "data"}
    assert (got.json["type"], got.json["timestamp"]) == ("run_ended", "2026-03-02T12:00:00.250001Z")
    data = got.json["data"]
    assert (data["id"], data["run_id"], data["seq"]) == (
        post.store.event_ids.encode(ACME, placed.position, placed.mark),
        "run-1",
        5,
    )
    assert (data["event"]["type"], data["event"]["outcome"], data["event"]["seq"]) == ("run_ended", "done", 5)
    assert got.headers["content-type"] == "application/json"
    assert got.headers["webhook-timestamp"] == str(int(NOON.timestamp()))


async def test_what_others_have_closed_is_known_before_each_message(
    post: Post, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: set[str] = set()

    async def fresh() -> None:
        closed.add("run-1")

    async def is_closed(_: str, run_id: str) -> bool:
        return run_id in closed

    monkeypatch.setattr(post.deliverer, "fresh", fresh)
    monkeypatch.setattr(post.deliverer._events, "_is_closed", is_closed)
    await post.hook(receiver.url(), ("run_ended",))
    await post.happen("run-1")
    await post.rest()
    (got,) = receiver.got
    assert got.json["data"]["withheld"]


async def test_a_new_webhook_is_told_nothing_of_what_was_before(post: Post, receiver: Receiver) -> None:
    await post.happen("run-1")
    await post.hook(receiver.url())
    await post.happen("run-2")
    await post.rest()
    assert sorted(receiver.ids) == ids("run-2")


async def test_a_company_is_told_of_its_own_runs_alone(post: Post, receiver: Receiver) -> None:
    await post.hook(receiver.url("/acme"))
    await post.hook(receiver.url("/other"), company=OTHER)
    await post.happen("run-1")
    await post.happen("run-2", OTHER)
    await post.rest()
    assert sorted((one.path, one.id) for one in receiver.got) == [
        *(("/acme", one) for one in ids("run-1")),
        *(("/other", one) for one in ids("run-2")),
    ]


async def test_what_fails_is_sent_again_with_growing_pauses_and_then_given_up(post: Post, receiver: Receiver) -> None:
    hook, secret = await post.hook(receiver.url(), ("run_ended",))
    receiver.status = 500
    await post.happen("run-1")
    await post.rest()
    for number, pause_s in enumerate(PAUSES_S, 1):
        (one,) = await post.log(hook)
        assert (one.status, one.attempts, one.status_code) == ("pending", number, 500)
        assert one.next_at == post.clock() + timedelta(seconds=pause_s)
        await post.later(pause_s - 1)
        assert len(receiver.got) == number
        await post.later(1)
        assert len(receiver.got) == number + 1
    (one,) = await post.log(hook)
    assert (one.status, one.attempts, one.next_at) == ("failed", len(PAUSES_S) + 1, None)
    assert one.error == "The far side answered 500."
    await post.later(10 * 86_400)
    assert len(receiver.got) == len(PAUSES_S) + 1
    assert set(receiver.ids) == {"msg_run-1_5"}
    assert len({one.headers["webhook-timestamp"] for one in receiver.got}) == len(receiver.got)
    assert all(verified(secret, one) for one in receiver.got)


async def test_what_succeeds_in_the_end_is_not_sent_any_more(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    receiver.answers = [500, 302, 404, 200]
    await post.happen("run-1")
    for pause_s in PAUSES_S:
        await post.later(pause_s)
    (one,) = await post.log(hook)
    assert (one.status, one.attempts, one.error, len(receiver.got)) == ("delivered", 4, None, 4)


@pytest.mark.parametrize(("asked", "pause_s"), [("90", 90), ("1", 5), ("Mon, 02 Mar 2026 12:02:00 GMT", 119.749999)])
async def test_the_receiver_may_ask_for_a_longer_pause(
    post: Post, receiver: Receiver, asked: str, pause_s: float
) -> None:
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    receiver.status, receiver.headers = 503, {"Retry-After": asked}
    await post.happen("run-1")
    await post.rest()
    (one,) = await post.log(hook)
    assert one.next_at == post.clock() + timedelta(seconds=pause_s)


async def test_no_redirect_is_followed(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    receiver.status, receiver.headers = 307, {"Location": receiver.url("/else")}
    await post.happen("run-1")
    await post.rest()
    assert [one.path for one in receiver.got] == ["/in"]
    assert (await post.log(hook))[0].error == "The far side answered 307; redirects are not followed."


async def test_an_answer_that_breaks_off_behind_its_status_counts(post: Post, receiver: Receiver) -> None:
    receiver.headers = {"Content-Length": "9", "Connection": "close"}
    hook, _ = await post.hook(receiver.url())
    await post.happen("run-1")
    await post.rest()
    assert {(one.status, one.status_code, one.attempts) for one in await post.log(hook)} == {("delivered", 200, 1)}


async def test_messages_that_follow_one_another_share_connections(post: Post, receiver: Receiver) -> None:
    post.limits = DeliveryLimits(attempts_per_webhook_max=4)
    await post.restart()
    await post.hook(receiver.url())
    await commit_runs(post, range(4))
    await post.rest()
    assert len(receiver.got) == 20
    assert len(receiver.connections) <= 4


async def test_410_disables_the_webhook_and_says_why(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url())
    receiver.status = 410
    await post.happen("run-1")
    await post.rest()
    found = await post.book.one(*hook.key)
    assert found is not None
    assert (found.enabled, found.reason) == (False, "The receiver answered 410: it wants no more.")
    sent = len(receiver.got)
    await post.happen("run-2")
    await post.later(86_400)
    assert len(receiver.got) == sent <= 4


async def test_410_of_an_earlier_url_does_not_disable_the_webhook(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    receiver.answers = [410]
    receiver.open.clear()
    await post.happen("run-1")
    assert await receiver.holding(1, post) == 1
    await post.book.change(WebhookDraft(ACME, receiver.url("/else"), ("run_ended",), None, "ann", "session"), hook.id)
    receiver.open.set()
    await post.happen("run-2")
    await post.rest()
    assert [(one.status, one.status_code) for one in await post.log(hook)] == [("failed", 410), ("delivered", 200)]
    assert receiver.got[-1].path == "/else"


async def test_an_enabled_webhook_goes_on_where_it_stood(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url())
    receiver.status = 410
    await post.happen("run-1")
    await post.rest()
    refused = set(receiver.ids)
    await post.happen("run-2")
    receiver.status = 200
    receiver.got.clear()
    await post.book.change(WebhookDraft(ACME, receiver.url(), None, None, "ann", "session"), hook.id)
    await post.rest()
    assert sorted(receiver.ids) == sorted({*ids("run-1"), *ids("run-2")} - refused)


async def test_a_change_of_events_sends_none_of_those_passed_over(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url(), ("call_settled",))
    await post.happen("run-1")
    await post.rest()
    await post.restart()
    await post.book.change(WebhookDraft(ACME, receiver.url(), None, None, "ann", "session"), hook.id)
    await post.happen("run-2")
    await post.rest()
    assert sorted(receiver.ids) == ids("run-2")


async def test_a_private_target_is_not_called(post: Post, receiver: Receiver) -> None:
    post.networks = ""
    await post.restart()
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    await post.happen("run-1")
    await post.rest()
    assert receiver.got == []
    (one,) = await post.log(hook)
    assert (one.status, one.status_code) == ("pending", None)
    assert one.error == "127.0.0.1 is a loopback address, which may not be called from here."
    tested = await post.book.test(*hook.key)
    assert tested is not None
    assert (tested.ok, tested.status_code, tested.error) == (False, None, one.error)


async def test_a_restart_in_the_middle_loses_nothing(post: Post, receiver: Receiver) -> None:
    await post.hook(receiver.url())
    receiver.open.clear()
    await post.happen("run-1")
    async with asyncio.timeout(PATIENCE_S):
        await receiver.arrived.wait()
    await post.happen("run-2")
    await post.restart()
    receiver.open.set()
    cut_off = set(receiver.ids)
    assert cut_off
    await post.happen("run-3")
    await post.deliverer.sweep()
    await post.rest()
    assert set(receiver.ids) == {*ids("run-1"), *ids("run-2"), *ids("run-3")}
    repeated = {one for one in receiver.ids if receiver.ids.count(one) > 1}
    assert repeated == cut_off


async def test_what_was_committed_while_nobody_looked_is_sent_after_a_restart(post: Post, receiver: Receiver) -> None:
    await post.hook(receiver.url())
    await post.deliverer.drain(0)
    for number in range(20):
        await post.happen(f"run-{number}")
    await post.restart()
    await post.deliverer.sweep()
    await post.rest()
    assert sorted(receiver.ids) == sorted(one for number in range(20) for one in ids(f"run-{number}"))


async def test_a_drain_waits_for_what_is_under_way(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    receiver.open.clear()
    await post.happen("run-1")
    async with asyncio.timeout(PATIENCE_S):
        await receiver.arrived.wait()
    draining = asyncio.create_task(post.deliverer.drain(PATIENCE_S))
    await asyncio.sleep(0)
    receiver.open.set()
    await draining
    assert [one.status for one in await post.log(hook)] == ["delivered"]


async def test_a_slow_receiver_does_not_hold_up_another(post: Post, receiver: Receiver) -> None:
    slow = Receiver()
    await slow.server.start_server(shutdown_timeout=0.01)
    slow.open.clear()
    await post.hook(slow.url())
    quick, _ = await post.hook(receiver.url())
    for number in range(5):
        await post.happen(f"run-{number}")
    assert await slow.holding(DeliveryLimits().attempts_first, post) == DeliveryLimits().attempts_first
    async with asyncio.timeout(PATIENCE_S):
        while len(receiver.got) < 25:
            receiver.arrived.clear()
            await receiver.arrived.wait()
    assert slow.inside == DeliveryLimits().attempts_first
    slow.open.set()
    await post.rest()
    assert {one.status for one in await post.log(quick)} == {"delivered"}
    await slow.server.close()


async def test_so_many_attempts_are_under_way_at_once_and_no_more(post: Post, receiver: Receiver) -> None:
    post.limits = DeliveryLimits(attempts_max=3)
    await post.restart()
    for _ in range(4):
        await post.hook(receiver.url())
    receiver.open.clear()
    await post.happen("run-1")
    assert await receiver.holding(3, post) == 3
    receiver.open.set()
    await post.rest()
    assert (receiver.inside_max, len(receiver.got)) == (3, 20)


async def test_what_waits_for_its_turn_follows_a_change_and_a_deletion(post: Post, receiver: Receiver) -> None:
    post.limits = DeliveryLimits(attempts_max=1)
    await post.restart()
    hooks = {path: (await post.hook(receiver.url(path), ("run_ended",)))[0] for path in ("/a", "/b", "/c")}
    receiver.open.clear()
    await post.happen("run-1")
    assert await receiver.holding(1, post) == 1
    del hooks[receiver.got[0].path]
    moves, ends = hooks.values()
    await post.book.change(WebhookDraft(ACME, receiver.url("/new"), ("run_ended",), None, "ann", "session"), moves.id)
    await post.book.delete(KEY, ends.id)
    receiver.open.set()
    await post.rest()
    assert [one.path for one in receiver.got][1:] == ["/new"]


async def test_receivers_of_one_company_that_hang_leave_room_for_another(post: Post, receiver: Receiver) -> None:
    slow = Receiver()
    await slow.server.start_server(shutdown_timeout=0.01)
    post.limits = DeliveryLimits(attempts_max=4)
    await post.restart()
    for _ in range(2):
        await post.hook(slow.url())
    await post.hook(receiver.url(), company=OTHER)
    slow.open.clear()
    await post.happen("run-1")
    assert await slow.holding(3, post) == 3
    await post.happen("run-2", OTHER)
    async with asyncio.timeout(PATIENCE_S):
        while len(receiver.got) < 5:
            receiver.arrived.clear()
            await receiver.arrived.wait()
    assert slow.inside == 3
    slow.open.set()
    await post.rest()
    await slow.server.close()


async def test_a_receiver_that_is_unwell_gets_one_at_a_time_and_all_when_it_is_well(
    post: Post, receiver: Receiver
) -> None:
    hook, _ = await post.hook(receiver.url())
    receiver.status = 503
    await post.happen("run-1")
    await post.rest()
    receiver.open.clear()
    await post.happen("run-2")
    assert await receiver.holding(1, post) == 1
    receiver.status = 200
    receiver.open.set()
    await post.happen("run-3")
    await post.rest()
    assert {one.status for one in await post.log(hook)} == {"delivered"}
    assert len(await post.log(hook)) == 15


async def test_a_full_line_waits_in_the_journal_and_loses_nothing(post: Post, receiver: Receiver) -> None:
    post.limits = DeliveryLimits(window_max=6, page_max=4)
    await post.restart()
    hook, _ = await post.hook(receiver.url(), ("run_started", "run_ended"))
    receiver.status = 500
    for number in range(10):
        await post.happen(f"run-{number}")
    await post.rest()
    assert len(await post.log(hook)) == 6
    receiver.status = 200
    await post.later(PAUSES_S[0])
    wanted = sorted(one for number in range(10) for one in ids(f"run-{number}", 1, 5))
    assert sorted(set(receiver.ids)) == wanted
    assert [one.status for one in await post.log(hook)] == ["delivered"] * 20


async def test_redelivering_sends_the_same_message_again(post: Post, receiver: Receiver) -> None:
    hook, secret = await post.hook(receiver.url(), ("run_ended",))
    await post.happen("run-1")
    await post.rest()
    await post.book.redeliver(*hook.key, "msg_run-1_5")
    await post.rest()
    first, second = receiver.got
    assert (first.id, first.raw) == (second.id, second.raw)
    assert verified(secret, second)
    (one,) = await post.log(hook)
    assert (one.status, one.attempts) == ("delivered", 2)


async def test_redelivering_during_the_last_attempt_sends_once_more(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    receiver.status = 500
    await post.happen("run-1")
    await post.rest()
    for pause_s in PAUSES_S[:-1]:
        await post.later(pause_s)
    receiver.open.clear()
    post.clock.forward(seconds=PAUSES_S[-1])
    post.deliverer.wake(*hook.key)
    assert await receiver.holding(1, post) == 1
    post.clock.forward(seconds=1)
    await post.book.redeliver(*hook.key, "msg_run-1_5")
    receiver.answers = [500, 200]
    receiver.open.set()
    await post.rest()
    (one,) = await post.log(hook)
    assert (one.status, one.attempts) == ("delivered", len(PAUSES_S) + 2)


async def test_a_test_is_signed_and_leaves_nothing_behind(post: Post, receiver: Receiver) -> None:
    hook, secret = await post.hook(receiver.url())
    tested = await post.book.test(*hook.key)
    assert tested is not None
    assert (tested.ok, tested.status_code, tested.error) == (True, 200, None)
    (got,) = receiver.got
    assert verified(secret, got)
    assert (got.json["type"], got.json["data"]) == ("webhook.test", {"webhook_id": hook.id})
    assert await post.log(hook) == []


async def test_a_deleted_webhook_is_told_nothing_more(post: Post, receiver: Receiver) -> None:
    hook, _ = await post.hook(receiver.url())
    receiver.status = 500
    await post.happen("run-1")
    await post.rest()
    sent = len(receiver.got)
    assert await post.book.delete(KEY, hook.id)
    await post.happen("run-2")
    await post.later(86_400)
    assert len(receiver.got) == sent


@pytest.mark.parametrize("asked", ["9" * 400, "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"])
async def test_an_odd_pause_is_one_failed_attempt_and_no_endless_repetition(
    post: Post, receiver: Receiver, asked: str
) -> None:
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    receiver.status, receiver.headers = 503, {"Retry-After": asked}
    await post.happen("run-1")
    await post.rest()
    (one,) = await post.log(hook)
    assert (one.attempts, one.status_code, one.next_at) == (1, 503, post.clock() + timedelta(seconds=5))


async def test_a_fault_of_our_own_counts_as_an_attempt(
    post: Post, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise OverflowError

    monkeypatch.setattr("daemon.webhooks.sender.signature", broken)
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    await post.happen("run-1")
    await post.rest()
    (one,) = await post.log(hook)
    assert (one.attempts, one.error) == (1, "The attempt broke inside the service.")


async def commit_runs(post: Post, numbers: range) -> None:
    """Commit runs of five events each, of which the deliverer is told at the end."""
    for number in numbers:
        begun = start(f"run-{number}")
        await post.store.append(begun)
        await append(post.store, decide(begun.run))
    post.deliverer.committed(ACME)


async def test_a_receiver_that_is_quick_gets_more_at_once(post: Post, receiver: Receiver) -> None:
    await post.hook(receiver.url())
    await commit_runs(post, range(2))
    await post.rest()
    first = DeliveryLimits().attempts_first
    assert receiver.inside_max <= first
    receiver.open.clear()
    await commit_runs(post, range(2, 20))
    assert await receiver.holding(2 * first, post) == 2 * first
    receiver.open.set()
    await post.rest()
    assert len(set(receiver.ids)) == len(receiver.got) == 100


@pytest.mark.parametrize("why", ["slow", "unwell"])
async def test_a_receiver_that_is_not_quick_gets_no_more_at_once(post: Post, receiver: Receiver, why: str) -> None:
    post.limits = DeliveryLimits(quick_ms=-1) if why == "slow" else DeliveryLimits()
    await post.restart()
    await post.hook(receiver.url())
    receiver.answers = [200] * 8 + [500] if why == "unwell" else []
    await commit_runs(post, range(2))
    await post.rest()
    receiver.open.clear()
    await commit_runs(post, range(2, 20))
    first = DeliveryLimits().attempts_first
    assert await receiver.holding(first, post) == first
    receiver.open.set()
    await post.rest()
    assert len(set(receiver.ids)) == 100


async def test_attempts_that_end_together_are_noted_together(
    post: Post, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, _ = await post.hook(receiver.url())
    settle, noted = post.store.settle_deliveries, 0

    async def counted(*attempts: EndedAttempt) -> None:
        nonlocal noted
        noted += 1
        await settle(*attempts)

    monkeypatch.setattr(post.store, "settle_deliveries", counted)
    await commit_runs(post, range(40))
    await post.rest()
    assert [one.status for one in await post.log(hook)] == ["delivered"] * 200
    assert noted < 150


async def test_a_lost_history_is_told_to_whom_it_may_concern_and_again_until_it_is_heard(
    post: Post, receiver: Receiver
) -> None:
    hook, secret = await post.hook(receiver.url())
    asked, _ = await post.hook(receiver.url("/asked"), ("run_ended", "history_rewound"))
    await post.hook(receiver.url("/other"), ("run_ended",))
    await post.hook(receiver.url("/elsewhere"), company=OTHER)
    receiver.status = 500
    rewound = HistoryRewound(at=NOON, commits=3, first=2, via="failover")
    await post.store.log_rewound(Logged(ACME, rewound), NOON)
    await post.deliverer.tell_now(PATIENCE_S)
    receiver.status = 200
    await post.later(PAUSES_S[0])
    (id_,) = {one.id for one in receiver.got}
    assert sorted(one.path for one in receiver.got) == ["/asked", "/asked", "/in", "/in"]
    assert all(verified(secret, one) for one in receiver.got if one.path == "/in")
    assert receiver.got[0].json == {
        "type": "history_rewound",
        "timestamp": "2026-03-02T12:00:00.250001Z",
        "data": {"commits": 3, "first": await post.store.place_id(ACME, Position(2, 0))},
    }
    again = await post.book.redeliver(*asked.key, id_)
    assert again is not None
    await post.rest()
    assert receiver.got[-1].json == receiver.got[0].json
    [delivery] = await post.log(hook)
    assert (delivery.id, delivery.run_id, delivery.status, delivery.attempts) == (id_, ACME, "delivered", 2)
    assert "delivery" not in {one.kind for one in verify_store(post.path, {})}


async def test_events_of_a_history_that_a_failover_has_shortened_are_sent(
    post: Post, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody wanted was passed over in memory, and may have been lost since."""
    hook, _ = await post.hook(receiver.url(), ("run_ended",))
    post.deliverer._seen[hook.key] = Position(99, 1)
    monkeypatch.setattr(type(post.store), "failovers", 1)
    await post.happen("run-1")
    await post.rest()
    assert receiver.ids == ids("run-1", 5)
