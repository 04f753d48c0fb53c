"""A run that ended in shadow is made again, live, and its calls are compared with the recorded."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.calls import SHOWN_MAX, Difference, Missing
from actors.core.commands.promotions import compared, recorded
from actors.core.messages import CallEffect, Rejected, Start
from tests.conversations import MORNING, NOT_SENT, Conversation
from tests.processes import connector, end, gate, process, task

PAY = {"amount": "inputs.amount"}
TEMPLATE = process(
    task("look"), gate("signoff"), task("pay", "medium", "irreversible"), end(), ways="look -> signoff -> pay -> end"
)
PLAIN = process(task("pay"), task("tell"), end(), ways="pay -> tell -> end")


def shadowed(template: Any = PLAIN, **inputs: Any) -> Conversation:
    """A run that has ended in shadow, with connectors that are not live."""
    shadow = {tool: connector(tool, body_map=PAY, reversible=False) for tool in ("pay", "tell", "look")}
    return Conversation(template, shadow).start({"amount": 7, **inputs})


def promoted(before: Conversation, **inputs: Any) -> Conversation:
    """The same run again, with live connectors."""
    live = {tool: connector(tool, 2, body_map=PAY) for tool in ("pay", "tell", "look")}
    talk = Conversation(before.template, live)
    talk.say(
        Start(
            run_id="again",
            company_id="acme",
            by="ann",
            inputs={**before.run.inputs, **inputs},
            promoted_from=before.run.id,
            recorded=recorded(before.run),
            at=MORNING,
        )
    )
    return talk


def sent(talk: Conversation) -> list[tuple[str, str, int]]:
    """The calls that the last message let out: tool, step and visit."""
    return [(one.request.tool, one.step_id, one.visit) for one in talk.done.effects if isinstance(one, CallEffect)]


def why(talk: Conversation) -> str:
    assert isinstance(talk.last, Rejected)
    assert talk.last.code == "not_promotable"
    return talk.last.detail


def test_a_run_names_the_one_that_makes_it_again_and_is_promoted_once() -> None:
    talk = shadowed()
    talk.promote("again")
    assert talk.events == ("run_promoted",)
    assert (talk.run.promoted_to, talk.run.status) == ("again", "completed")
    talk.promote("another")
    assert "promoted before" in why(talk)
    assert talk.refusal.more == {"promoted_to": "again"}


def test_a_run_that_has_not_ended_or_was_cancelled_is_not_promoted() -> None:
    talk = shadowed(TEMPLATE)
    talk.promote("again")
    assert "parked" in why(talk)
    talk.cancel()
    talk.promote("again")
    assert "cancelled" in why(talk)


def test_a_run_that_has_called_something_is_not_promoted() -> None:
    talk = Conversation(PLAIN, {"pay": connector("pay")}).start()
    talk.returned("pay")
    talk.promote("again")
    assert "live calls" in why(talk)


def test_calls_that_match_the_recorded_ones_are_sent() -> None:
    talk = promoted(shadowed())
    assert sent(talk) == [("pay", "pay", 1)]
    talk.returned("pay")
    talk.returned("tell")
    assert talk.run.status == "completed"
    assert talk.run.promoted_from == "run"


def test_a_call_that_differs_waits_for_a_human_who_sees_the_difference() -> None:
    talk = promoted(shadowed(), amount=8)
    asked = talk.gate("pay")
    assert asked.reason == "the call is not the one that shadow recorded: /body/amount"
    assert asked.differences == (Difference(pointer="/body/amount", recorded="7", now="8"),)
    talk.resume("pay")
    assert sent(talk) == [("pay", "pay", 1)]


def test_a_step_that_shadow_never_called_waits_for_a_human() -> None:
    talk = Conversation(PLAIN, {"pay": connector("pay")})
    talk.say(Start(run_id="again", company_id="acme", by="ann", inputs={}, promoted_from="run", at=MORNING))
    asked = talk.gate("pay")
    assert (asked.reason, asked.differences) == ("shadow recorded no such call", (Difference(pointer=""),))


def test_a_step_without_a_live_connector_is_shadowed_again_and_compared_with_nothing() -> None:
    talk = Conversation(PLAIN)
    talk.say(Start(run_id="again", company_id="acme", by="ann", inputs={}, promoted_from="run", at=MORNING))
    assert talk.run.status == "completed"


def test_people_decide_anew_and_a_call_that_they_approved_is_compared_all_the_same() -> None:
    before = shadowed(TEMPLATE)
    before.resume("signoff")
    assert before.run.status == "completed"
    talk = promoted(before, amount=8)
    assert talk.run.parked[0].step_id == "look"
    talk.resume("look")
    talk.returned("look")
    talk.resume("signoff")
    assert talk.gate("pay").differences
    talk.resume("pay")
    assert sent(talk) == [("pay", "pay", 1)]


def test_a_failed_call_that_is_tried_again_is_compared_with_the_same_recorded_call() -> None:
    talk = promoted(shadowed())
    talk.failed("pay", error=NOT_SENT)
    talk.retry()
    assert sent(talk) == [("pay", "pay", 2)]


def test_what_is_undone_is_compared_with_nothing() -> None:
    template = process(task("pay", compensate="refund"), gate("signoff"), end(), ways="pay -> signoff -> end")
    before = shadowed(template)
    before.resume("signoff")
    talk = promoted(before)
    talk.connectors["refund"] = connector("refund")
    talk.returned("pay")
    talk.cancel(compensate=True)
    assert sent(talk) == [("refund", "pay", 2)]


def test_a_call_that_lacks_a_key_is_not_compared() -> None:
    talk = Conversation(PLAIN, {"pay": connector("pay", body_map=PAY)})
    talk.say(Start(run_id="again", company_id="acme", by="ann", inputs={}, promoted_from="run", at=MORNING))
    assert talk.gate("pay").differences == ()
    assert isinstance(talk.run.parked[0].request, Missing | None)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"amount": {"sum": 1, "a/b": 2}}, {"amount": {"sum": 1, "a/b": 3}}, ["/body/amount/a~1b"]),
        ({"amount": {"sum": 1}}, {"amount": {"sum": 1, "more": 1}}, ["/body/amount/more"]),
        ({"amount": [1, 2]}, {"amount": [1, 3]}, ["/body/amount"]),
        ({"amount": True}, {"amount": 1}, ["/body/amount"]),
        ({"amount": "x" * 300}, {"amount": 1}, ["/body/amount"]),
    ],
)
def test_a_difference_names_the_smallest_place(before: Any, after: Any, found: list[str]) -> None:
    talk = promoted(shadowed(**before), **after)
    differences = talk.gate("pay").differences
    assert [one.pointer for one in differences] == found
    assert all(len(one.recorded or "") <= SHOWN_MAX for one in differences)


def test_each_call_stands_beside_the_recorded_one() -> None:
    talk = promoted(shadowed())
    talk.failed("pay", error=NOT_SENT)
    talk.retry()
    talk.returned("pay", 2)
    pay, tell = compared(talk.run)
    assert (pay.step_id, pay.visit, pay.differences) == ("pay", 2, ())
    assert pay.recorded is not None
    assert pay.sent is not None
    assert pay.recorded.body == pay.sent.body == {"amount": 7}
    assert (tell.step_id, tell.visit, tell.sent is None) == ("tell", 1, False)


def test_a_call_that_waits_for_its_decision_is_not_sent_and_says_who_decided_later() -> None:
    talk = promoted(shadowed(), amount=8)
    pay, tell = compared(talk.run)
    assert (pay.sent, [one.pointer for one in pay.differences]) == (None, ["/body/amount"])
    assert (tell.visit, tell.sent) == (None, None)
    talk.resume("pay", by="bob")
    pay, _ = compared(talk.run)
    assert (pay.sent is None, pay.decided_by) == (False, "bob")
