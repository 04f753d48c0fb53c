"""People are told of the actions of agents in words of the service: hostile words are not sent."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.settings import Settings
from tests.aap.support import ALLOWS, agent_of
from tests.aap.test_decisions import outcome_within
from tests.post_office import PostOffice
from tests.web.asking import ASKS, Agent, ruled
from tests.web.support import FarSide, House, Person
from tests.web.test_gates_of_actions import answers, asked
from tests.web.test_notifications import settled, told

EVIL = "Your account is locked: https://evil.test/?a=<b>&c @channel"


@pytest.fixture
def settings(settings: Settings, office: PostOffice) -> Settings:
    return settings.model_copy(update=office.settings)


def facts(far: FarSide, place: int = 0) -> Any:
    (notice,) = far.seen[place].body["data"]["notifications"]
    return notice


async def test_a_gate_says_which_agent_asks_and_why_and_nothing_that_the_agent_says(
    house: House, ann: Person, far: FarSide, office: PostOffice
) -> None:
    budget = {"count": True, "max": 0, "per": "P1D"}
    await ruled(ann, {**ASKS, "decision": "allow", "tool": "*", "budget": budget})
    helper = await Agent.named(house, ann)
    hook = await told(ann, "webhook", url=far.url, events=["gate_opened"])
    mail = await told(ann, "email", events=["gate_opened"])
    tool = f"refund {EVIL}\r\nBcc: all@evil.test"
    await helper.asks({"note": EVIL}, tool=tool, reasoning=EVIL, context={"said": EVIL})
    for one in (hook, mail):
        await settled(ann, one)
    notice = facts(far)
    assert (notice["agent"], notice["asked_because"]) == ("helper", "the budget of the rule does not suffice")
    [sent] = office.received
    lines = sent.text.splitlines()
    assert {"Agent: helper", "Asked because: the budget of the rule does not suffice"} <= set(lines)
    said = f"{sent.message['Subject']} {sent.text} {notice['label']}"
    assert "evil.test" not in said
    assert sent.message["Bcc"] is None
    assert said.count("locked") == 3  # the name of the tool, once in subject, text and label


async def test_a_call_whose_outcome_is_not_told_is_told_of_as_in_doubt(ann: Person, far: FarSide) -> None:
    one = await told(ann, "webhook", url=far.url, events=["gate_opened"])
    async with agent_of(ann) as agent:
        await agent.rules(ALLOWS)
        await outcome_within(ann, "PT1S")
        found = await agent.asks()
        await agent.client.consume(found.id, "k")
        await ann.until({"id": found.id}, "parked")
        await settled(ann, one)
        assert (facts(far)["headline"], facts(far)["run_id"]) == (
            "In doubt: stripe. refund may have happened",
            found.id,
        )


async def test_who_asked_an_agent_is_told_that_it_has_answered_and_not_what(
    house: House, ann: Person, far: FarSide
) -> None:
    await ruled(ann, ASKS)
    helper = await Agent.named(house, ann)
    one = await told(ann, "webhook", url=far.url, events=["question_answered"])
    run = await helper.asks()
    question = (await asked(ann, run.id)).json["id"]
    assert (await answers(helper.person, run.id, question, EVIL)).status == 200
    await settled(ann, one)
    assert facts(far)["headline"] == "The agent has answered: stripe. refund"
    assert "evil" not in str(far.seen[0].body)
