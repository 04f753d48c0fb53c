"""Every shipped template over HTTP, along its clean and its escalated path, with and without the
autopilot.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys import JOURNEYS, Human, Journey
from tests.templates.test_shipped import ENTRIES, brought
from tests.web.support import Person

VERDICTS_MAX = 100


async def walked(ann: Person, journey: Journey, *, auto: bool) -> tuple[Any, list[tuple[str, str]]]:
    """The run at its end, and the verdicts that it asked for."""
    run, human = await ann.start(journey.vertical, journey.inputs, auto=auto), Human(journey)
    given: list[tuple[str, str]] = []
    while run["status"] == "parked":
        gate = run["parked_at"]
        verdict = (gate, human.decide(gate))
        policy = ENTRIES[journey.vertical].template.node(gate).policy
        brings = {"gate": gate, "decision": verdict[1], **brought(policy, verdict[1])}
        answer = await ann.post(f"/process-runs/{run['id']}/resume", brings)
        assert answer.status == 200, answer.raw
        given, run = [*given, verdict], answer.json
        assert len(given) < VERDICTS_MAX
    return run, given


@pytest.mark.parametrize("journey", JOURNEYS, ids=str)
async def test_the_autopilot_stops_at_the_gates_of_the_journey_only(ann: Person, journey: Journey) -> None:
    run, given = await walked(ann, journey, auto=True)
    assert (run["status"], run["outcome"]) == ("completed", journey.outcome)
    assert tuple(given) == journey.verdicts
    assert {visit["mode"] for visit in run["trace"]} <= {"shadow", None}


@pytest.mark.parametrize("journey", JOURNEYS, ids=str)
async def test_without_the_autopilot_every_step_is_decided_by_a_human(ann: Person, journey: Journey) -> None:
    run, given = await walked(ann, journey, auto=False)
    assert (run["status"], run["outcome"]) == ("completed", journey.outcome)
    decided = [visit for visit in run["trace"] if visit["kind"] != "end"]
    assert len(given) == len(decided)
    assert {visit["resolved_by"] for visit in decided} == {ann.email}
