"""What a run asks of the outside, and what it makes of the answers: calls, failures, retries,
cancels and limits.
"""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.approvals import OUTCOME_UNKNOWN
from actors.core.decider import TurnResult, outstanding
from actors.core.kinds import TURN_STEPS_MAX
from actors.core.messages import CallEffect, Rejected, StepCleared, StepEntered, Wake
from actors.core.run import EVENT_BYTES, RUN_BYTES_MAX
from actors.core.template import Template
from tests.conversations import DOWN, LOST, Conversation, fold
from tests.processes import ALWAYS, NEVER, choice, connector, end, gate, parallel, process, task

LOOK = process(task("look"), end(), ways="look -> end")
PAY = process(gate("signoff"), task("pay", effect="irreversible"), end(), ways="signoff -> pay -> end")
GATED = process(task("pay", "critical", "irreversible"), end(), ways="pay -> end")
BLOCK_WAYS = "fork -> look -> join -> end\nfork -> legal -> join"
BLOCK = process(parallel("fork"), task("look"), gate("legal"), parallel("join"), end(), ways=BLOCK_WAYS)
STOPPABLE = process(*BLOCK.nodes, end("no", "refused"), ways=f"{BLOCK_WAYS}\nlegal -[denied]-> no")


def live(template: Template, **how: Any) -> Conversation:
    """A conversation whose every tool is called for real."""
    tools = [node.tool for node in template.nodes if node.tool is not None]
    return Conversation(template, {tool: connector(tool, **how) for tool in tools}).start()


def unknown(template: Template) -> Conversation:
    """A run whose irreversible call was sent, and nobody knows what came of it."""
    talk = live(template)
    talk.resume(template.start)
    talk.failed("pay", unknown=True)
    return talk


# ------------------------------------------------------------------------------------------ calls


def test_a_live_call_is_outstanding_until_it_returned() -> None:
    talk = live(LOOK)
    request = talk.visit("look").request
    assert request is not None
    assert talk.done.effects == (CallEffect("acme", "run", "look", 1, request, repeatable=True),)
    assert (talk.run.status, talk.calls) == ("executing", ("run:look:1",))
    talk.returned("look", output={"found": 3})
    assert (talk.run.status, talk.calls, talk.run.facts) == ("completed", (), {"look": {"found": 3}})


@pytest.mark.parametrize(
    ("effect", "idempotent", "repeatable"),
    [
        ("read", False, True),
        ("reversible", False, True),
        ("irreversible", False, False),
        ("irreversible", True, True),
    ],
)
def test_a_call_may_be_repeated_when_it_does_no_harm(effect: Any, idempotent: bool, repeatable: bool) -> None:
    talk = live(process(gate("a"), task("pay", effect=effect), end(), ways="a -> pay -> end"), idempotent=idempotent)
    talk.resume("a")
    (call,) = talk.done.effects
    assert isinstance(call, CallEffect)
    assert call.repeatable is repeatable


def test_what_is_outstanding_follows_from_the_run_alone() -> None:
    talk = live(BLOCK)
    assert outstanding(fold(talk.history), BLOCK) == talk.done.effects
    assert talk.calls == ("run:look:1",)
    assert talk.parked == ["legal"]


def test_a_call_that_failed_fails_the_run_and_leaves_what_was_done() -> None:
    talk = live(process(task("check"), task("look"), end(), ways="check -> look -> end"))
    talk.returned("check", output={"ok": 1})
    talk.failed("look")
    assert (talk.run.status, talk.run.error, talk.calls) == ("failed", DOWN, ())
    assert (talk.run.facts, talk.visit("look").attempts) == ({"check": {"ok": 1}}, 3)


def test_retry_is_a_new_visit_of_the_failed_step_and_nothing_else_runs_again() -> None:
    talk = live(process(task("check"), task("look"), end(), ways="check -> look -> end"))
    talk.returned("check")
    talk.failed("look")
    failed_at = talk.visit("look").ended_at
    talk.retry()
    assert (talk.run.status, talk.calls) == ("executing", ("run:look:2",))
    talk.returned("look", 2)
    assert talk.steps() == ["check:1 done", "look:1 failed", "look:2 done", "end:1 done"]
    assert talk.visit("look").ended_at == failed_at


def test_the_history_says_who_had_a_step_tried_again() -> None:
    talk = live(process(task("look"), end(), ways="look -> end"))
    talk.failed("look")
    again = talk.retry()
    assert isinstance(again, TurnResult)
    assert [(event.step_id, event.by) for event in again.events if isinstance(event, StepEntered)] == [("look", "ann")]


def test_retry_asks_again_where_a_human_had_to_be_asked() -> None:
    talk = live(GATED)
    talk.resume("pay")
    talk.failed("pay")
    talk.retry()
    assert (talk.parked, talk.calls, talk.run.parked[0].visit) == (["pay"], (), 2)


def test_only_a_failed_run_can_be_retried() -> None:
    for talk in (live(LOOK), live(PAY)):
        talk.retry()
        assert talk.refusal.code == "not_retryable"
    talk = live(LOOK)
    talk.failed("look")
    talk.cancel()
    talk.retry()
    assert talk.refusal.more == {"run_status": "cancelled"}


def test_a_failed_branch_may_be_retried_before_the_gate_of_the_other_is_decided() -> None:
    talk = live(BLOCK)
    talk.failed("look")
    talk.retry()
    assert (talk.parked, talk.calls) == (["legal"], ("run:look:2",))
    talk.resume("legal")
    talk.returned("look", 2)
    assert talk.run.status == "completed"


def test_a_gate_stays_decidable_while_another_branch_has_failed() -> None:
    talk = live(BLOCK)
    talk.failed("look")
    assert (talk.run.status, talk.parked) == ("failed", ["legal"])
    talk.resume("look")
    assert talk.refusal.code == "gate_mismatch"
    assert (talk.refusal.more["run_status"], talk.refusal.more["parked_at"]) == ("failed", "legal")
    talk.resume("legal")
    assert (talk.run.status, talk.parked) == ("failed", [])
    talk.resume("legal")
    assert talk.refusal.code == "not_parked"
    talk.retry()
    talk.returned("look", 2)
    assert talk.run.status == "completed"


# --------------------------------------------------------------------------------- stale outcomes


def silent(talk: Conversation) -> None:
    """The last message was no news: no refusal, no event, the run as it was."""
    assert not isinstance(talk.last, Rejected)
    assert talk.done.events == ()


@pytest.mark.parametrize(("step_id", "visit"), [("look", 2), ("look", 0), ("check", 1), ("end", 1), ("ghost", 1)])
def test_an_outcome_of_another_visit_is_no_news(step_id: str, visit: int) -> None:
    talk = live(process(task("check"), task("look"), end(), ways="check -> look -> end"))
    talk.returned("check")
    for say in (talk.returned, talk.failed):
        say(step_id, visit)
        silent(talk)
        assert talk.calls == ("run:look:1",)


def test_an_outcome_counts_once() -> None:
    talk = live(process(task("look"), gate("legal"), end(), ways="look -> legal -> end"))
    talk.returned("look")
    talk.returned("look")
    silent(talk)
    talk.failed("look", unknown=True)
    silent(talk)


def test_the_outcome_of_a_failed_call_comes_too_late() -> None:
    talk = live(LOOK)
    talk.failed("look")
    talk.returned("look")
    silent(talk)
    assert talk.run.status == "failed"


def test_no_outcome_is_expected_of_a_call_that_waits_at_its_gate() -> None:
    talk = live(GATED)
    talk.returned("pay")
    silent(talk)
    assert talk.parked == ["pay"]


# -------------------------------------------------------------------------------- unknown outcome


@pytest.mark.parametrize("template", [PAY, GATED], ids=["behind a gate", "its own gate"])
def test_a_call_whose_outcome_nobody_knows_parks_its_step_again(template: Template) -> None:
    talk = unknown(template)
    assert talk.events == ("call_settled", "step_entered", "gate_opened")
    assert (talk.run.status, talk.parked, talk.calls) == ("parked", ["pay"], ())
    first, second = talk.visit("pay"), talk.visit("pay", 2)
    assert (first.status, first.error) == ("failed", LOST)
    assert (second.status, second.request) == ("parked", first.request)
    assert talk.gate("pay", 2).reason == OUTCOME_UNKNOWN
    assert talk.gate("pay", 2).decisions == ("retry", "done", "denied")


def test_a_verdict_that_was_meant_for_the_call_says_nothing_about_its_outcome() -> None:
    talk = live(GATED)
    seen, first = talk.gate("pay").digest, talk.at
    talk.resume("pay", by="bob", digest=seen)
    talk.failed("pay", unknown=True)
    talk.resume("pay", "denied", by="eve", digest=seen)
    assert talk.refusal.code == "stale"
    talk.resume("pay", "approved")
    assert talk.refusal.code == "decision_not_allowed"
    verdict = talk.visit("pay").verdict
    assert verdict is not None
    assert (verdict.by, verdict.at) == ("bob", first)


def test_to_retry_is_to_send_the_same_call_under_a_new_key() -> None:
    talk = unknown(PAY)
    sent = talk.visit("pay").request
    talk.resume("pay", "retry", by="eve", digest=talk.gate("pay", 2).digest)
    assert talk.calls == ("run:pay:3",)
    assert talk.visit("pay", 3).request == sent
    cleared = talk.done.events[-1]
    assert isinstance(cleared, StepCleared)
    assert (cleared.by, cleared.reason) == ("eve", "eve decided to send the call again")
    talk.returned("pay", 3)
    assert talk.steps()[1:] == ["pay:1 failed", "pay:2 failed", "pay:3 done", "end:1 done"]


def test_a_call_that_was_sent_again_may_be_lost_again() -> None:
    talk = unknown(PAY)
    talk.resume("pay", "retry")
    talk.failed("pay", 3, unknown=True)
    assert (talk.parked, talk.run.parked[0].visit) == (["pay"], 4)


def test_to_say_done_is_to_go_on_without_sending() -> None:
    talk = unknown(PAY)
    talk.resume("pay", "done")
    assert (talk.run.status, talk.run.facts["pay"], talk.calls) == ("completed", {}, ())
    assert talk.visit("pay", 2).resolved_by == "bob"


def test_who_says_done_may_say_what_the_tool_had_answered() -> None:
    talk = unknown(PAY)
    talk.resume("pay", "done", output={"reference": "R-7"})
    assert talk.run.facts["pay"] == {"reference": "R-7"}
    assert talk.visit("pay", 2).output == {"reference": "R-7"}


@pytest.mark.parametrize(("more", "outcome"), [("", "denied"), ("\npay -[denied]-> no", "refused")])
def test_to_say_denied_is_to_take_that_way(more: str, outcome: str) -> None:
    nodes = (*PAY.nodes, end("no", "refused")) if more else PAY.nodes
    talk = unknown(process(*nodes, ways=f"signoff -> pay -> end{more}"))
    talk.resume("pay", "denied")
    assert talk.run.ended is not None
    assert talk.run.ended.outcome == outcome


def test_the_true_outcome_no_longer_counts_once_a_human_is_asked() -> None:
    talk = unknown(PAY)
    for visit in (1, 2):
        talk.returned("pay", visit)
        silent(talk)


def test_other_branches_go_on_while_an_outcome_is_unknown() -> None:
    talk = live(BLOCK)
    talk.failed("look", unknown=True)
    assert talk.parked == ["legal", "look"]
    seen = talk.gate("look", 2).digest
    talk.resume("legal")
    talk.resume("look", "done", digest=seen)
    assert talk.refusal.code == "stale"
    assert talk.gate("look", 2).reason == OUTCOME_UNKNOWN
    talk.resume("look", "done")
    assert talk.run.status == "completed"


# ----------------------------------------------------------------------------------------- cancel


@pytest.mark.parametrize(
    ("step", "status"), [("executing", "cancelled"), ("parked", "cancelled"), ("failed", "failed")]
)
def test_a_run_can_be_cancelled_wherever_it_stands(step: str, status: str) -> None:
    talk = live(GATED if step == "parked" else LOOK)
    if step == "failed":
        talk.failed("look")
    assert talk.run.status == step
    talk.cancel("no longer needed")
    assert talk.run.ended is not None
    assert (talk.run.status, talk.run.ended.by, talk.run.ended.reason) == ("cancelled", "ann", "no longer needed")
    assert (talk.calls, talk.run.open, talk.run.trace[-1].status) == ((), (), status)


def test_a_run_that_has_ended_cannot_be_cancelled() -> None:
    talk = live(LOOK)
    talk.returned("look")
    talk.cancel()
    assert talk.refusal == Rejected("not_cancellable", "The run is completed already.", {"run_status": "completed"})
    talk.elapsed("look")
    silent(talk)


@pytest.mark.parametrize("lost", [True, False])
def test_an_outcome_after_the_cancel_is_recorded_once_and_moves_nothing(lost: bool) -> None:
    talk = live(GATED)
    talk.resume("pay")
    talk.cancel()
    talk.failed("pay", unknown=True) if lost else talk.returned("pay", output={"paid": 1})
    assert talk.events == ("call_settled",)
    assert (talk.run.status, talk.calls, talk.parked) == ("cancelled", (), [])
    assert talk.steps() == ["pay:1 failed" if lost else "pay:1 done"]
    talk.returned("pay")
    silent(talk)


def test_an_outcome_after_another_branch_has_ended_the_run_is_recorded_too() -> None:
    talk = live(STOPPABLE)
    talk.resume("legal", "denied")
    assert (talk.run.status, talk.calls) == ("completed", ())
    talk.returned("look")
    assert talk.steps() == ["fork:1 done", "legal:1 denied", "look:1 done", "no:1 done"]


def test_a_failure_that_was_recorded_before_the_cancel_stays_what_it_is() -> None:
    talk = live(LOOK)
    talk.failed("look")
    talk.cancel()
    talk.returned("look")
    silent(talk)
    assert talk.steps() == ["look:1 failed"]


def test_a_call_that_was_never_approved_has_no_late_outcome() -> None:
    talk = live(GATED)
    talk.cancel()
    talk.returned("pay")
    silent(talk)
    assert talk.steps() == ["pay:1 cancelled"]


# ----------------------------------------------------------------------------------------- limits

SPIN = process(
    choice("a"), choice("b"), end(), ways="a -[b]-> b\na -[x]-> end\nb -[a]-> a\nb -[y]-> end",
    when={"b": ALWAYS, "x": NEVER, "a": ALWAYS, "y": NEVER},
)  # fmt: skip


def test_a_runaway_run_does_its_share_of_a_turn_and_asks_to_be_woken() -> None:
    talk = Conversation(SPIN).start()
    assert talk.run.steps == TURN_STEPS_MAX + 1
    assert talk.run.status == "executing"
    assert talk.done.effects == (Wake("acme", "run", "a", TURN_STEPS_MAX // 2 + 1),)
    assert talk.calls == ("run:a:101",)
    talk.elapsed("a", 101)
    assert talk.run.steps == 2 * TURN_STEPS_MAX + 1
    assert talk.calls == ("run:a:201",)


def test_a_wake_up_where_nothing_is_to_do_is_no_news() -> None:
    talk = live(GATED)
    talk.elapsed("pay")
    silent(talk)


@pytest.mark.parametrize("steps_max", [1, 7, 200, 450])
def test_a_run_that_enters_too_many_steps_fails_with_the_limit(steps_max: int) -> None:
    talk = Conversation(SPIN, steps_max=steps_max).start()
    while talk.run.ended is None:
        talk.elapsed("a")
    assert talk.run.error is not None
    assert (talk.run.status, talk.run.error.code) == ("failed", "step_limit")
    assert talk.run.error.detail == f"The run entered more than {steps_max} steps."
    assert talk.run.steps == steps_max + 1
    assert talk.calls == ()
    talk.retry()
    assert talk.refusal.code == "not_retryable"
    talk.cancel()
    assert talk.refusal.code == "not_cancellable"


def test_a_run_that_has_grown_too_large_makes_no_further_call_and_keeps_what_it_has() -> None:
    talk = live(process(task("look"), task("again"), end(), ways="look -> again -> end")).start()
    answer = {"text": "x" * (RUN_BYTES_MAX // 2)}
    talk.returned("look", output=answer)
    assert talk.run.size_bytes > RUN_BYTES_MAX
    assert talk.run.error is not None
    assert (talk.run.status, talk.run.error.code, talk.run.error.step_id) == ("failed", "size_limit", "again")
    assert talk.run.facts["look"] == answer
    assert talk.calls == ()


def test_a_run_that_has_grown_too_large_still_reaches_its_end() -> None:
    talk = live(LOOK).start()
    talk.returned("look", output={"text": "x" * RUN_BYTES_MAX})
    assert talk.run.status == "completed"


def test_a_run_weighs_what_it_brings_and_a_little_for_each_event() -> None:
    talk = live(LOOK).start()
    before = talk.run.size_bytes
    talk.returned("look", output={"text": "x" * 1_000})
    assert before < 10 * EVENT_BYTES
    assert 2_000 < talk.run.size_bytes - before < 3_000


def test_a_loop_over_a_human_is_limited_too() -> None:
    loop = process(gate("a"), end(), ways="a -> end\na -[denied]-> a")
    talk = Conversation(loop, steps_max=3).start()
    for _ in range(3):
        talk.resume("a", "denied")
    assert talk.run.error is not None
    assert talk.run.error.code == "step_limit"
