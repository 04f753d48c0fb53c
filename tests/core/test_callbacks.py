"""Calls that are answered later, within a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actors.core.approvals import OUTCOME_UNKNOWN
from actors.core.commands.callbacks import CALLBACK_TIMEOUT
from tests.conversations import Conversation
from tests.core.test_decider_calls import GATED, LOOK, live
from tests.processes import connector, end, gate, process, task

HOUR = timedelta(hours=1)
UNDONE = process(
    task("book", compensate="unbook"), task("look"), end("done", compensates=True), ways="book -> look -> done"
)


def accepted(**how: Any) -> Conversation:
    """A run whose call was taken, and is answered within an hour."""
    talk = live(LOOK, **how)
    talk.awaits_answer("look")
    return talk


def test_a_call_that_was_taken_waits_for_its_answer_and_is_not_sent_again() -> None:
    talk = accepted()
    assert (talk.events, talk.run.status, talk.calls) == (("wait_began",), "waiting", ())
    assert talk.run.wake_at == talk.visit("look").wait.until  # type: ignore[union-attr]
    talk.answered_later("look", output={"found": 3})
    assert (talk.run.status, talk.run.facts, talk.events[0]) == ("completed", {"look": {"found": 3}}, "call_settled")
    assert talk.visit("look").wait is None


def test_an_answer_may_be_a_hit() -> None:
    talk = accepted()
    talk.answered_later("look", signal=True)
    assert talk.run.signals == ("look",)


def test_an_answer_that_is_faster_than_the_response_counts() -> None:
    talk = live(LOOK)
    talk.answered_later("look", output={"found": 3})
    assert talk.run.status == "completed"
    talk.awaits_answer("look")
    assert talk.events == ()


def test_a_second_answer_is_refused() -> None:
    talk = accepted()
    talk.answered_later("look")
    talk.answered_later("look")
    assert (talk.refusal.code, talk.refusal.more) == ("not_awaited", {"run_status": "completed"})


@pytest.mark.parametrize(("step", "visit"), [("look", 2), ("nowhere", 1), ("end", 1)])
def test_an_answer_to_what_was_not_asked_is_refused(step: str, visit: int) -> None:
    talk = accepted()
    talk.answered_later(step, visit)
    assert talk.refusal.code == "not_awaited"


def test_before_its_time_is_over_nothing_is_due() -> None:
    talk = accepted()
    talk.due(timedelta(minutes=30))
    assert (talk.events, talk.run.status) == ((), "waiting")


def test_without_an_answer_a_harmless_call_fails_and_can_be_tried_again() -> None:
    talk = accepted()
    talk.due(HOUR)
    assert talk.run.status == "failed"
    assert talk.run.error is not None
    assert (talk.run.error.code, talk.run.error.maybe_sent) == (CALLBACK_TIMEOUT, True)
    talk.answered_later("look")
    assert talk.refusal.code == "not_awaited"
    talk.retry()
    assert talk.calls == ("run:look:2",)


@pytest.mark.parametrize("idempotent", [False, True])
def test_without_an_answer_nobody_knows_what_an_irreversible_call_did(idempotent: bool) -> None:
    talk = live(GATED, idempotent=idempotent)
    talk.resume("pay")
    talk.awaits_answer("pay")
    talk.due(HOUR)
    if idempotent:
        assert talk.run.status == "failed"
    else:
        assert (talk.parked, talk.gate("pay", 2).reason) == (["pay"], OUTCOME_UNKNOWN)
        assert talk.gate("pay", 2).decisions == ("retry", "done", "denied")


def test_an_answer_after_the_cancel_is_recorded_once_and_moves_nothing() -> None:
    talk = accepted()
    talk.cancel()
    assert talk.steps() == ["look:1 cancelled"]
    talk.answered_later("look", output={"found": 3})
    assert (talk.run.status, talk.steps(), talk.visit("look").output) == ("cancelled", ["look:1 done"], {"found": 3})
    talk.answered_later("look")
    assert talk.refusal.code == "not_awaited"


def test_what_is_undone_waits_for_the_answers_that_are_out() -> None:
    talk = Conversation(UNDONE, {tool: connector(tool) for tool in ("book", "unbook", "look")}).start()
    talk.returned("book")
    talk.awaits_answer("look")
    talk.cancel(compensate=True)
    assert (talk.run.status, talk.calls) == ("compensating", ())
    talk.answered_later("look")
    assert talk.calls == ("run:book:2",)
    talk.awaits_answer("book", 2)
    talk.due(HOUR)
    assert (talk.parked, talk.gate("book", 3).reason) == (["book"], OUTCOME_UNKNOWN)


def test_a_run_that_waits_for_an_answer_stays_with_its_tool() -> None:
    talk = accepted()
    other = process(task("look", tool="another"), end(), ways="look -> end")
    talk.migrate(replace(other, version=2, digest="sha256:2"))
    assert talk.refusal.code == "not_migratable"


def test_a_message_is_no_answer() -> None:
    talk = Conversation(process(gate("ask"), end(), ways="ask -> end")).start()
    talk.awaits_answer("ask")
    assert talk.events == ()
    talk.answered_later("ask")
    assert talk.refusal.code == "not_awaited"
