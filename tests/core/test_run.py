"""What each event makes of a run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from actors.core.calls import CallRequest
from actors.core.folding.evolve import evolve
from actors.core.messages import (
    CallSettled,
    Event,
    Failure,
    GateOpened,
    RunEnded,
    RunStarted,
    StepCleared,
    StepEntered,
    VerdictGiven,
)
from actors.core.run import Gate, Run, Verdict, Visit
from actors.core.template import Kind
from tests.conversations import MORNING, fold

NOON = MORNING + timedelta(hours=3)
STARTED = RunStarted(
    at=MORNING,
    run_id="run",
    company_id="acme",
    by="ann",
    vertical="process",
    template_version=1,
    template_digest="sha256:process",
    inputs={"amount": 12},
    auto_resolve=True,
)
LIVE = CallRequest(tool="pay", mode="live", method="POST", url="https://api.test/pay")
DOWN = Failure(code="connector_failed", detail="The far side answered 500.", step_id="a", attempts=3)


def entered(step_id: str, visit: int = 1, kind: Kind = "task", **how: Any) -> StepEntered:
    return StepEntered(at=MORNING, step_id=step_id, visit=visit, kind=kind, tier="low", **how)


def opened(step_id: str, visit: int = 1, **how: Any) -> GateOpened:
    told: dict[str, Any] = {
        "label": "A",
        "reason": "because",
        "decisions": ("approved", "denied"),
        "digest": "sha256:1",
    }
    return GateOpened(at=MORNING, step_id=step_id, visit=visit, **{**told, **how})


def verdict(step_id: str, decision: str = "approved", **how: Any) -> VerdictGiven:
    return VerdictGiven(at=NOON, step_id=step_id, visit=1, decision=decision, by="bob", **how)


def cleared(step_id: str, **how: Any) -> StepCleared:
    return StepCleared(at=MORNING, step_id=step_id, visit=1, reason="tier low", **how)


def settled(step_id: str, output: Any = None, **how: Any) -> CallSettled:
    return CallSettled(at=NOON, step_id=step_id, visit=1, output=output, **how)


def after(*events: Event) -> Run:
    return fold([STARTED, *events])


def only(visits: tuple[Visit, ...]) -> Visit:
    (visit,) = visits
    return visit


CALLING = (entered("a"), cleared("a", request=LIVE))
FAILED = (*CALLING, settled("a", error=DOWN))
CANCELLED = RunEnded(at=NOON, status="cancelled", by="ann", reason="no longer needed")


def test_a_started_run_executes_and_has_one_event() -> None:
    run = Run("run", "acme", "process", 1, "sha256:process", {"amount": 12}, True, "ann", MORNING, MORNING)
    assert after() == structs.replace(run, carried=len('{"amount":12}'))
    assert after().status == "executing"
    assert after().parked == ()
    assert after().error is None


def test_a_run_rests_when_it_ended_or_only_people_can_move_it() -> None:
    gate = (entered("b", kind="gate"), opened("b"))
    assert after(*gate).resting
    assert after(*FAILED, entered("join", source="a", waiting=True)).resting
    assert after(*gate, *CALLING, CANCELLED).resting
    assert not after(*gate, entered("a")).resting
    assert not after(*gate, *CALLING).resting


def test_each_event_counts_and_moves_the_time() -> None:
    run = after(*CALLING, settled("a"))
    assert (run.version, run.created_at, run.updated_at) == (4, MORNING, NOON)


def test_an_entered_step_is_ready_and_counted() -> None:
    run = after(entered("a", source="before"))
    assert run.open == (Visit("a", 1, "task", "low", "ready", MORNING, arrived=("before",)),)
    assert (run.visits, run.steps) == ({"a": 1}, 1)


def test_a_join_waits_and_then_is_ready_behind_what_opened_meanwhile() -> None:
    first, second = entered("join", source="a", waiting=True), entered("join", source="b")
    run = after(first, entered("other"))
    assert [(v.step_id, v.status) for v in run.open] == [("join", "waiting"), ("other", "ready")]
    run = evolve(run, second)
    assert [(v.step_id, v.status, v.arrived) for v in run.open] == [
        ("other", "ready", ()),
        ("join", "ready", ("a", "b")),
    ]
    assert run.visits == {"join": 1, "other": 1}


def test_a_new_visit_closes_the_one_that_failed() -> None:
    run = after(*FAILED, StepEntered(at=NOON + timedelta(hours=1), step_id="a", visit=2, kind="task", tier="low"))
    assert [(v.visit, v.status, v.ended_at) for v in run.trace] == [(1, "failed", NOON)]
    assert [(v.visit, v.status) for v in run.open] == [(2, "ready")]


def test_a_cleared_task_is_calling() -> None:
    visit = only(after(*CALLING).open)
    assert (visit.status, visit.request, visit.resolved_by, visit.reason) == ("calling", LIVE, "autopilot", "tier low")


def test_a_cleared_task_without_a_request_is_not_done_yet() -> None:
    assert only(after(entered("a"), cleared("a")).open).status == "calling"


@pytest.mark.parametrize(("branch", "output"), [("big", {"branch": "big"}), (None, {})])
def test_a_cleared_gateway_is_done(branch: str | None, output: dict[str, Any]) -> None:
    run = after(entered("a", kind="gateway"), cleared("a", branch=branch))
    assert run.open == ()
    assert (only(run.trace).status, only(run.trace).output, only(run.trace).ended_at) == ("done", output, MORNING)


@pytest.mark.parametrize(
    ("output", "signal", "fact", "signals"),
    [
        ({"x": 1}, None, {"x": 1}, ()),
        ({"x": 1}, True, {"x": 1, "signal": True}, ("a",)),
        ({"x": 1}, False, {"x": 1, "signal": False}, ()),
        ({"x": 1}, "amber", {"x": 1, "signal": "amber"}, ()),
        (["x"], None, ["x"], ()),
        (["x"], True, {"output": ["x"], "signal": True}, ("a",)),
        (None, 1, {"output": None, "signal": 1}, ()),
    ],
)
def test_a_settled_call_is_a_fact_and_only_true_is_a_hit(output: Any, signal: Any, fact: Any, signals: Any) -> None:
    run = after(*CALLING, settled("a", output, signal=signal, attempts=2))
    assert run.facts == {"a": fact}
    assert run.signals == signals
    visit = only(run.trace)
    assert (visit.status, visit.output, visit.attempts, visit.ended_at) == ("done", output, 2, NOON)


def test_a_shadowed_call_says_in_one_breath_who_cleared_it_and_what_would_have_been_sent() -> None:
    visit = only(after(entered("a"), settled("a", by="autopilot", reason="tier low", request=LIVE)).trace)
    assert (visit.resolved_by, visit.reason, visit.request, visit.status) == ("autopilot", "tier low", LIVE, "done")


def test_a_failed_call_stays_open_and_makes_no_fact() -> None:
    run = after(*FAILED)
    assert (run.status, run.error, run.facts) == ("failed", DOWN, {})
    assert only(run.open).status == "failed"


def test_a_failed_branch_comes_before_the_gate_of_another_and_does_not_hide_it() -> None:
    run = after(entered("b", kind="gate"), opened("b"), *CALLING)
    assert (run.status, len(run.parked)) == ("parked", 1)
    run = evolve(run, settled("a", error=DOWN))
    assert (run.status, [visit.step_id for visit in run.parked]) == ("failed", ["b"])


def test_an_opened_gate_parks_the_run_with_what_is_asked() -> None:
    run = after(entered("a"), opened("a", request=LIVE, role="manager"))
    visit = only(run.parked)
    assert visit.gate == Gate("A", "because", ("approved", "denied"), "sha256:1", MORNING, "manager")
    assert visit.request == LIVE
    assert run.decided("a") is None


def test_an_approved_task_is_calling_with_what_was_approved() -> None:
    run = after(entered("a"), opened("a"), verdict("a", comment="fine", request=LIVE))
    visit = only(run.open)
    assert (visit.status, visit.request, visit.resolved_by) == ("calling", LIVE, "bob")
    assert visit.verdict == Verdict("approved", "bob", NOON, "fine")
    assert run.decided("a") == visit


@pytest.mark.parametrize(
    ("kind", "decision", "status"),
    [
        ("task", "denied", "denied"),
        ("task", "retry", "failed"),
        ("gate", "approved", "done"),
        ("gate", "denied", "denied"),
        ("gateway", "retry", "done"),
        ("gateway", "done", "done"),
        ("gateway", "SAR signed", "done"),
    ],
)
def test_a_verdict_closes_a_visit(kind: Kind, decision: str, status: str) -> None:
    run = after(entered("a", kind=kind), opened("a"), verdict("a", decision))
    assert run.open == ()
    assert (only(run.trace).status, only(run.trace).ended_at) == (status, NOON)


def test_what_a_human_said_at_a_gate_is_a_fact_and_at_a_task_it_is_not() -> None:
    gate = after(entered("a", kind="gate"), opened("a"), verdict("a", "denied", comment="too much"))
    assert gate.facts == {"a": {"decision": "denied", "comment": "too much"}}
    assert after(entered("a"), opened("a"), verdict("a", "denied")).facts == {}


HIT = (*CALLING, settled("a", {}, signal=True), entered("b", kind="gate"))


def test_a_verdict_answers_the_hits_that_stood_when_its_gate_opened() -> None:
    seen = (*HIT, opened("b", signals=("a",)))
    assert after(*seen).signals == ("a",)
    assert after(*seen, verdict("b")).signals == ()


def test_a_verdict_leaves_the_hits_that_came_after_its_gate_had_opened() -> None:
    assert after(*HIT, opened("b", signals=()), verdict("b")).signals == ("a",)
    again = (entered("a", 2), CallSettled(at=NOON, step_id="a", visit=2, signal=True))
    assert after(*HIT, opened("b", signals=("a",)), *again, verdict("b")).signals == ("a",)


def test_of_two_verdicts_on_the_same_hit_one_is_enough() -> None:
    both = (*HIT, entered("c", kind="gate"), opened("b", signals=("a",)), opened("c", signals=("a",)))
    assert after(*both, verdict("b"), verdict("c")).signals == ()


def test_the_latest_verdict_of_a_step_is_what_decided_it() -> None:
    first = (entered("a", kind="gate"), opened("a"), verdict("a", "denied"))
    run = after(*first, entered("a", 2, kind="gate"), opened("a", 2))
    decided = run.decided("a")
    assert decided is not None
    assert decided.visit == 1
    assert run.decided("b") is None


def test_the_end_of_a_run_closes_what_is_open() -> None:
    waiting = entered("join", source="a", waiting=True)
    run = after(*FAILED, waiting, entered("b", kind="gate"), opened("b"), entered("end", kind="end"))
    done = evolve(run, RunEnded(at=NOON, status="completed", outcome="paid"))
    assert done.open == ()
    assert [(v.step_id, v.status) for v in done.trace] == [
        ("a", "failed"),
        ("join", "cancelled"),
        ("b", "cancelled"),
        ("end", "done"),
    ]
    assert (done.status, done.parked, done.error) == ("completed", (), None)


def test_an_end_that_a_cancelled_run_did_not_reach_is_not_done() -> None:
    run = after(entered("end", kind="end"), CANCELLED)
    assert (run.status, run.ended) == ("cancelled", CANCELLED)
    assert only(run.trace).status == "cancelled"


def test_a_run_that_ended_failed_says_why() -> None:
    limit = Failure(code="step_limit", detail="Too many.")
    assert after(RunEnded(at=NOON, status="failed", error=limit)).error == limit


@pytest.mark.parametrize(("error", "status"), [(None, "done"), (DOWN, "failed")])
def test_a_late_outcome_is_kept_in_the_trace_and_changes_nothing_else(error: Failure | None, status: str) -> None:
    ended = after(entered("b"), *CALLING, CANCELLED)
    late = evolve(ended, settled("a", {"ok": True}, signal=True, error=error))
    assert [(v.step_id, v.status, v.output) for v in late.trace] == [
        ("b", "cancelled", None),
        ("a", status, {"ok": True}),
    ]
    assert (late.status, late.facts, late.signals, late.open) == ("cancelled", {}, (), ())


@pytest.mark.parametrize("event", [entered("a"), cleared("a"), settled("a"), opened("a"), verdict("a"), CANCELLED])
def test_nothing_happens_before_the_start(event: Event) -> None:
    with pytest.raises(ValueError, match=f"{event.type} before run_started"):
        evolve(None, event)


def test_a_run_starts_only_once() -> None:
    with pytest.raises(ValueError, match="run_started again in run"):
        after(STARTED)


@pytest.mark.parametrize("event", [cleared("a"), settled("a"), opened("a"), verdict("a")])
def test_no_event_names_a_visit_that_was_never_made(event: Event) -> None:
    with pytest.raises(ValueError, match=f"{event.type} names a visit that is not open: a:1"):
        after(entered("b"), entered("a", 2), event)


@pytest.mark.parametrize("event", [cleared("a"), settled("a"), opened("a"), verdict("a")])
def test_no_event_names_a_visit_that_is_over(event: Event) -> None:
    with pytest.raises(ValueError, match=f"{event.type} names a visit that is not open: a:1"):
        after(entered("a"), settled("a"), event)


def test_a_late_outcome_names_a_visit_that_the_run_has_made() -> None:
    with pytest.raises(ValueError, match="call_settled names a visit that the run has not made: b:1"):
        after(*CALLING, CANCELLED, settled("b"))
