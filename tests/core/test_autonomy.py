"""Autonomy: what a company lets be cleared, and on which numbers a panel suffices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.core.autonomy import (
    NO_RECORD,
    Breakpoint,
    ClearanceDecision,
    CompanyAutonomy,
    LearnableTerms,
    PanelVerdict,
    Record,
    decide_clearance,
    lower_bound,
)
from actors.core.messages import RunStarted
from actors.core.people import Company
from actors.core.turn import Turn
from tests.conversations import MORNING, Conversation
from tests.processes import end, gate, process, task

CURVE = (Breakpoint(0.2, 0.5, 0.4), Breakpoint(0.6, 0.9, 0.8), Breakpoint(0.9, 1.0, 0.96))
KNOWN = Record(cases=200, agreed=180, recent=0.9, curve=CURVE)
TRUSTED = Record(cases=200, agreed=199, recent=1.0, curve=CURVE)
FEW = Record(cases=49, agreed=49, recent=1.0, curve=CURVE)
LEARNING = CompanyAutonomy(learnable={"refund/pay": LearnableTerms(0.9, 2)})
OFF = CompanyAutonomy(auto_resolve=False)
LINE = process(gate("signoff"), task("pay", "medium"), end(), ways="signoff -> pay -> end")


def heard(raw: float, effect: str | None = None, visit: int = 1) -> PanelVerdict:
    return PanelVerdict("run", "refund", "pay", visit, effect, raw)


def weighed(autonomy: CompanyAutonomy, record: Record, raw: float, effect: str | None = None) -> ClearanceDecision:
    """Of the visits that differ in nothing else, the first that is not a sample."""
    found = (decide_clearance(autonomy, record, heard(raw, effect, visit)) for visit in range(1, 50))
    return next(one for one in found if one.why != "sampled")


@pytest.mark.parametrize(
    ("autonomy", "record", "raw", "effect", "why"),
    [
        (CompanyAutonomy(), KNOWN, 0.7, None, "calibrated"),
        (CompanyAutonomy(), KNOWN, 0.9, "irreversible", "calibrated"),
        (CompanyAutonomy(), KNOWN, 0.7, "irreversible", "below_floor"),
        (CompanyAutonomy(confidence_floor=0.9, irreversible_floor=0.1), KNOWN, 0.7, "irreversible", "below_floor"),
        (CompanyAutonomy(), KNOWN, 0.59, None, "below_floor"),
        (CompanyAutonomy(), KNOWN, 0.1, None, "below_floor"),
        (CompanyAutonomy(), FEW, 0.95, None, "few_cases"),
        (CompanyAutonomy(), NO_RECORD, 1.0, None, "few_cases"),
        (OFF, KNOWN, 0.95, None, "off"),
        (LEARNING, TRUSTED, 0.1, None, "learned"),
        (LEARNING, TRUSTED, 0.7, None, "calibrated"),
        (LEARNING, KNOWN, 0.1, None, "below_floor"),
        (LEARNING, FEW, 0.1, None, "few_cases"),
        (
            CompanyAutonomy(irreversible_floor=0.99, learnable=LEARNING.learnable),
            TRUSTED,
            0.1,
            "irreversible",
            "below_floor",
        ),
    ],
)
def test_a_visit_is_weighed(
    autonomy: CompanyAutonomy, record: Record, raw: float, effect: str | None, why: str
) -> None:
    found = weighed(autonomy, record, raw, effect)
    assert (found.why, found.clears) == (why, why in ("calibrated", "learned"))
    assert found.reason


def test_what_would_be_cleared_is_sampled_by_the_hash_of_the_visit() -> None:
    found = [decide_clearance(LEARNING, TRUSTED, heard(0.1, visit=visit)) for visit in range(400)]
    assert [decide_clearance(LEARNING, TRUSTED, heard(0.1, visit=visit)) for visit in range(400)] == found
    assert 160 < sum(one.why == "sampled" for one in found) < 240
    assert {one.why for one in found} == {"sampled", "learned"}
    held = [decide_clearance(LEARNING, KNOWN, heard(0.1, visit=visit)).why for visit in range(50)]
    assert set(held) == {"below_floor"}, "what parks anyway is no sample"


def test_numbers_and_reason_of_a_clearing_say_the_same() -> None:
    found = weighed(LEARNING, TRUSTED, 0.1)
    assert (found.cases, found.agreed, found.calibrated, found.threshold) == (200, 199, None, 0.9)
    assert found.reason == "people agreed in 199 of 200 cases, at least 0.972 (95 %), above 0.9"
    assert (
        decide_clearance(CompanyAutonomy(), NO_RECORD, heard(1)).reason
        == "people have decided 0 such cases of the 50 that are needed"
    )


def test_one_disagreement_takes_learned_autonomy_back() -> None:
    for record, clears in (
        (Record(60, 60, 1.0), True),
        (Record(61, 60, 0.95), True),
        (Record(62, 60, 0.95), False),
        (Record(500, 498, 0.9), False),
        (Record(49, 49, 1.0), False),
    ):
        assert weighed(LEARNING, record, 0.5).clears is clears


def test_the_lower_bound_is_that_of_wilson() -> None:
    assert lower_bound(0, 0) == 0
    assert lower_bound(0, 10) == 0
    assert lower_bound(73, 73) == pytest.approx(0.95, abs=0.001)
    assert lower_bound(90, 100) == pytest.approx(0.8256, abs=0.0001)


def test_without_autonomy_of_the_company_every_step_waits_though_the_run_may_go_on() -> None:
    talk = Conversation(LINE, company=Company(solo=True, autonomy=OFF)).start()
    started = talk.history[0]
    assert isinstance(started, RunStarted)
    assert not started.auto_resolve
    talk.resume("signoff")
    assert talk.gate("pay").reason == "every step of this run waits for a human"


def test_a_run_in_flight_waits_at_its_next_step_once_the_company_clears_nothing() -> None:
    talk = Conversation(LINE).start()
    talk.company = Company(solo=True, autonomy=OFF)
    talk.resume("signoff")
    assert talk.run.auto_resolve
    assert talk.gate("pay").reason == "every step of this company waits for a human"


def test_a_turn_weighs_a_visit_on_what_is_known_of_its_step() -> None:
    talk = Conversation(LINE).start()
    visit = talk.run.parked[0]
    known: Any = {"records": {visit.step_id: TRUSTED}}
    turn = Turn(talk.run, MORNING, {}, talk.template, Company(autonomy=CompanyAutonomy()), 10, **known)
    assert turn.decide_clearance(visit, 0.95).cases == 200
    assert replace(turn, records={}).decide_clearance(visit, 0.95).why == "few_cases"
