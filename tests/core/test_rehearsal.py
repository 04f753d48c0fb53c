"""Runs that nobody started: tried step by step, in shadow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from actors.core.preview import Act, Lapse, Rehearsal, RehearsedDelivery, RehearsedVerdict, rehearse
from actors.core.schedule import BusinessCalendar
from actors.core.template import Template
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


def test_a_message_arrives() -> None:
    waits = process(wait("hear", message="paid"), end(), ways="hear -> end")
    assert tried(waits).run.status == "waiting"
    assert tried(waits, RehearsedDelivery(name="paid", payload={"sum": 3})).run.facts["hear"]["payload"] == {"sum": 3}


def test_those_who_act_are_in_every_group_and_a_quorum_needs_several() -> None:
    quorum = process(gate("sign", quorum=2, groups=("finance",)), end(), ways="sign -> end")
    assert tried(quorum, approve("sign"), approve("sign", "bob")).run.status == "completed"
    twice = tried(quorum, approve("sign"), approve("sign"))
    assert (twice.taken, twice.rejected is not None) == (1, True)


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
