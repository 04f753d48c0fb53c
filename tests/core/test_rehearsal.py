"""Runs that nobody started: tried step by step, in shadow."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from actors.core.gate_policy import Escalation
from actors.core.preview import DUE_MAX, Act, Lapse, Rehearsal, RehearsedDelivery, RehearsedVerdict, rehearse
from actors.core.schedule import BusinessCalendar
from actors.core.template import FunctionRule, Template
from tests.conversations import MORNING
from tests.processes import ALWAYS, choice, end, gate, process, task, wait

PAID = process(
    task("look"), gate("signoff"), task("pay", effect="irreversible"), end(), ways="look -> signoff -> pay -> end"
)


def tried(template: Template, *acts: Act, **inputs: Any) -> Rehearsal:
    return rehearse(template, inputs, acts, by="ann", at=MORNING, calendar=BusinessCalendar())


def approve(gate: str, by: str = "ann", **more: Any) -> RehearsedVerdict:
    return RehearsedVerdict(gate=gate, decision="approved", by=by, **more)


def test_a_run_goes_as_far_as_its_first_gate_and_on_by_a_verdict() -> None:
    first = tried(PAID)
    assert (first.run.status, [visit.step_id for visit in first.run.parked]) == ("parked", ["signoff"])
    done = tried(PAID, approve("signoff"))
    assert (done.run.status, [visit.step_id for visit in done.run.trace]) == (
        "completed",
        ["look", "signoff", "pay", "end"],
    )
    assert {visit.request.mode for visit in done.run.trace if visit.request is not None} == {"shadow"}


def test_an_act_that_is_refused_ends_it_there_and_says_why() -> None:
    found = tried(PAID, approve("pay"), approve("signoff"))
    assert (found.taken, found.run.status) == (0, "parked")
    assert found.rejected is not None
    assert found.rejected.code == "gate_mismatch"


def test_time_passes_to_what_is_due_next() -> None:
    waits = process(gate("ask", deadline="PT2H", on_deadline="denied"), end(), ways="ask -> end")
    found = tried(waits, Lapse())
    assert (found.run.status, found.run.ended is not None and found.run.ended.outcome) == ("completed", "denied")
    assert found.at == MORNING + timedelta(hours=2)
    assert tried(PAID, Lapse()).at == MORNING


def test_so_much_time_passes_with_all_that_is_due_meanwhile() -> None:
    asks = process(
        gate("ask", deadline="P2D", remind=("P1D",), on_deadline=Escalation(escalate="admin")), end(), ways="ask -> end"
    )
    for days, escalated in ((1, None), (2, "admin"), (9, "admin")):
        found = tried(asks, Lapse(f"P{days}D"))
        (visit,) = found.run.parked
        assert (found.at, visit.gate and visit.gate.escalated) == (MORNING + timedelta(days=days), escalated)
        assert (found.taken, found.rejected) == (1, None)


def test_a_run_that_waits_in_circles_is_ended_by_a_long_lapse_in_pieces() -> None:
    circle = process(
        wait("pause", duration="PT1S"),
        choice("again"),
        end(),
        ways="pause -> again\nagain -[yes]-> pause\nagain -[no]-> end",
        when={"yes": ALWAYS},
    )
    whole = tried(circle, Lapse("P1D"))
    assert (whole.run.status, whole.at, whole.taken) == ("failed", MORNING + timedelta(days=1), 1)
    known: Any = {"by": "ann", "at": MORNING, "calendar": BusinessCalendar(), "most": 1}
    piece, pieces = rehearse(circle, {}, (Lapse("P1D"),), **known), 1
    assert (piece.taken, piece.at, piece.until) == (0, MORNING + timedelta(seconds=DUE_MAX), whole.at)
    while piece.until is not None:
        piece, pieces = rehearse(circle, {}, (Lapse("P1D"),), before=piece, **known), pieces + 1
    assert piece == whole
    assert pieces > 10


def test_who_acts_fills_the_functions_that_are_named_alone() -> None:
    asks = process(gate("sign", function="cfo"), end(), ways="sign -> end")
    asks = replace(asks, functions={name: FunctionRule(name, "manager") for name in ("cfo", "clerk")})
    for filled in (None, ("cfo",)):
        assert tried(asks, approve("sign", "bob", functions=filled)).run.status == "completed"
    for others in ((), ("clerk",)):
        refused = tried(asks, approve("sign", "bob", functions=others)).rejected
        assert refused is not None
        assert refused.more["reason"] == "function"


def test_a_message_arrives() -> None:
    waits = process(wait("hear", message="paid"), end(), ways="hear -> end")
    assert tried(waits).run.status == "waiting"
    assert tried(waits, RehearsedDelivery(name="paid", payload={"sum": 3})).run.facts["hear"]["payload"] == {"sum": 3}


def test_those_who_act_are_in_every_group_and_a_quorum_needs_several() -> None:
    quorum = process(gate("sign", quorum=2, groups=("finance",)), end(), ways="sign -> end")
    assert tried(quorum, approve("sign"), approve("sign", "bob")).run.status == "completed"
    twice = tried(quorum, approve("sign"), approve("sign"))
    assert (twice.taken, twice.rejected is not None) == (1, True)


def test_who_acts_is_in_the_groups_that_are_named_alone() -> None:
    asks = process(gate("sign", groups=("finance",)), end(), ways="sign -> end")
    assert tried(asks, approve("sign", groups=("finance",))).run.status == "completed"
    refused = tried(asks, approve("sign", groups=())).rejected
    assert refused is not None
    assert refused.more["reason"] == "group"


def test_a_run_that_goes_in_circles_is_ended() -> None:
    circle = process(choice("again"), end(), ways="again -[yes]-> again\nagain -[no]-> end", when={"yes": ALWAYS})
    found = tried(circle)
    assert (found.run.status, found.run.error is not None) == ("failed", True)


def test_one_act_after_the_other_leads_to_where_all_at_once_do() -> None:
    acts = (approve("signoff"), approve("pay"), approve("signoff"))
    known: Any = {"by": "ann", "at": MORNING, "calendar": BusinessCalendar()}
    for most in range(len(acts) + 1):
        one = rehearse(PAID, {}, acts, most=0, **known)
        for each in range(1, most + 1):
            one = rehearse(PAID, {}, acts, before=one, most=each, **known)
        assert one == rehearse(PAID, {}, acts[:most], **known)
