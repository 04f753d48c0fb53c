"""The gate of an action over HTTP: what it shows, changed arguments, and questions to the agent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.web.asking import ARGUMENTS, ASKS, Agent, ruled
from tests.web.people import colleague
from tests.web.support import House, Person, assert_invalid, assert_problem

NOWHERE = "01900000-0000-7000-8000-000000000000"


@pytest.fixture
async def helper(house: House, ann: Person) -> Agent:
    await ruled(ann, ASKS)
    return await Agent.named(house, ann)


async def gate(person: Person, run_id: str) -> Any:
    answer = await person.get(f"/process-runs/{run_id}/gates/refunds")
    assert answer.status == 200, answer.raw
    return answer.json


async def decides(person: Person, run_id: str, **said: Any) -> Any:
    body = {"gate": "refunds", "decision": "approved", **said}
    return await person.post(f"/process-runs/{run_id}/resume", body)


async def asked(person: Person, run_id: str, text: str = "Which charge?", **said: Any) -> Any:
    return await person.post(f"/process-runs/{run_id}/gates/refunds/questions", {"to": "agent", "text": text, **said})


async def answers(person: Person, run_id: str, question_id: str, text: str = "The second.") -> Any:
    path = f"/process-runs/{run_id}/gates/refunds/questions/{question_id}/answer"
    return await person.post(path, {"text": text})


async def test_the_gate_shows_the_call_and_whose_word_is_what(ann: Person, helper: Agent) -> None:
    context = {"ticket": "T-1"}
    first = await helper.asks({"amount": 1}, context=context)
    await helper.asks({"amount": 2}, context={"ticket": "T-2"})
    run = await helper.asks(reasoning="charged twice", context=context, server="pay")
    found = await gate(ann, run.id)
    shown = found["gate"]["action"]
    assert (await ann.get(f"/process-runs/{run.id}")).json["gate"] == found["gate"]
    rule = shown.pop("rule")
    assert (rule["id"], rule["version"]) == ("refunds", 1)
    assert shown == {
        "tool": "stripe.refund",
        "server": "pay",
        "arguments": ARGUMENTS,
        "asked": None,
        "editable": ["/amount"],
        "agent": "helper",
        "model": None,
        "reasoning": "charged twice",
        "context": context,
        "said_by_agent": ["reasoning", "context"],
        "way": "penstock",
        "why": None,
        "amount": None,
        "spent": None,
        "expires": "PT10M",
        "changed": None,
    }
    (earlier,) = found["earlier"]
    assert (earlier["id"], earlier["tool"], earlier["status"]) == (first.id, "stripe.refund", "parked")


async def test_a_gate_of_no_action_shows_none(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5000})
    found = (await ann.get(f"/process-runs/{run['id']}/gates/{run['parked_at']}")).json
    assert (found["gate"]["action"], found["gate"]["questions"], found["earlier"]) == (None, [], [])


async def test_the_gate_shows_what_was_spent_of_a_budget(ann: Person, helper: Agent) -> None:
    budget = {"sum": "arguments.amount", "max": 100, "per": "P1D"}
    await ruled(ann, {**ASKS, "decision": "allow", "budget": budget})
    await helper.asks({"amount": 60})
    run = await helper.asks({"amount": 50.5})
    shown = (await gate(ann, run.id))["gate"]["action"]
    assert (shown["why"], shown["amount"]) == ("budget", 50_500_000)
    assert shown["spent"] == {"count": 1, "sum": 60_000_000, "max": 100_000_000}


async def test_an_approval_may_change_what_the_rule_lets_it(ann: Person, helper: Agent) -> None:
    run = await helper.asks()
    digest = (await gate(ann, run.id))["gate"]["digest"]
    changed = {**ARGUMENTS, "amount": 2000}
    done = await decides(ann, run.id, digest=digest, arguments=changed)
    assert (done.status, done.json["status"], done.json["inputs"]) == (200, "completed", changed)
    events = (await ann.get(f"/process-runs/{run.id}/events")).json
    assert events[0]["inputs"] == ARGUMENTS
    (verdict,) = [one for one in events if one["type"] == "verdict_given"]
    assert verdict["arguments"] == changed


@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        ({"charge": "ch_2", "amount": 1}, "/arguments/charge"),
        ({"amount": 1}, "/arguments/charge"),
        ({"charge": "ch_1", "amount": 1, "to": "me"}, "/arguments/to"),
    ],
)
async def test_what_the_rule_does_not_let_be_changed_is_refused(
    ann: Person, helper: Agent, arguments: Any, pointer: str
) -> None:
    run = await helper.asks()
    assert_invalid(await decides(ann, run.id, arguments=arguments), pointer)
    assert (await gate(ann, run.id))["verdicts"] == []


async def test_an_approval_that_the_agent_uses_itself_is_exact(ann: Person, helper: Agent) -> None:
    run = await helper.asks(way="aap")
    assert_invalid(await decides(ann, run.id, arguments={**ARGUMENTS, "amount": 1}), "/arguments")
    assert_problem(await asked(ann, run.id), 409, "not_for_aap")


async def test_the_second_of_a_quorum_approves_the_changed_call(ann: Person, helper: Agent) -> None:
    await ruled(ann, {**ASKS, "gate": {"quorum": 2, "editable": ["/amount"]}})
    bob, run = await colleague(ann, "bob", "manager"), await helper.asks()
    first, changed = await gate(ann, run.id), {**ARGUMENTS, "amount": 2000}
    given = await decides(ann, run.id, digest=first["gate"]["digest"], arguments=changed)
    assert given.status == 202, given.raw
    assert_problem(await decides(bob, run.id, digest=first["gate"]["digest"]), 412, "stale")
    now = (await gate(bob, run.id))["gate"]
    assert (now["action"]["arguments"], now["action"]["asked"]) == (changed, ARGUMENTS)
    done = await decides(bob, run.id, digest=now["digest"])
    assert (done.status, done.json["inputs"]) == (200, changed)


async def test_a_question_is_answered_by_the_asking_key_once_and_decided_on_anew(
    ann: Person, house: House, helper: Agent
) -> None:
    run = await helper.asks()
    before = (await gate(ann, run.id))["gate"]["digest"]
    question = await asked(ann, run.id)
    assert (question.status, question.json["text"], question.json["by"]) == (201, "Which charge?", ann.email)
    assert (await gate(ann, run.id))["gate"]["questions"] == [question.json]
    other = await Agent.named(house, ann, "other")
    for person in (other.person, ann):
        assert_problem(await answers(person, run.id, question.json["id"]), 404, "not_found")
    assert_problem(await answers(helper.person, run.id, NOWHERE), 404, "not_found")
    told = await answers(helper.person, run.id, question.json["id"])
    assert (told.status, told.json["answer"], told.json["answered_by"]) == (200, "The second.", "helper")
    assert_problem(await answers(helper.person, run.id, question.json["id"]), 409, "already_answered")
    now = (await gate(ann, run.id))["gate"]
    assert now["questions"] == [told.json]
    assert now["digest"] != before
    assert_problem(await decides(ann, run.id, digest=before), 412, "stale")
    assert (await decides(ann, run.id, digest=now["digest"])).status == 200


async def test_of_answers_at_once_one_counts(ann: Person, helper: Agent) -> None:
    run = await helper.asks()
    question = (await asked(ann, run.id)).json["id"]
    told = await asyncio.gather(*(answers(helper.person, run.id, question, f"no. {n}") for n in range(5)))
    assert sorted(one.status for one in told) == [200, 409, 409, 409, 409]


async def test_only_who_may_decide_asks_and_only_the_agent_is_asked(ann: Person, helper: Agent) -> None:
    run = await helper.asks()
    others: tuple[Any, ...] = ({"starter": True}, {"member": "m"}, "starter")
    for to in others:
        assert_invalid(await asked(ann, run.id, to=to), "/to")
    more: dict[str, Any] = {"due": "PT1H", "form": {"type": "object"}, "slots": [], "text": ""}
    for name, one in more.items():
        assert_invalid(await asked(ann, run.id, **{name: one}), f"/{name}")
    bob = await colleague(ann, "bob", "member")
    for person in (bob, helper.person):
        assert (await asked(person, run.id)).status == 403
    plain = await ann.start("line", {"amount": 5000})
    path = f"/process-runs/{plain['id']}/gates/{plain['parked_at']}/questions"
    assert_invalid(await ann.post(path, {"to": "agent", "text": "Why?"}), "/to")
    assert (await decides(ann, run.id)).status == 200
    assert_problem(await asked(ann, run.id), 409, "not_parked")


async def test_a_repeat_asks_and_answers_nothing_twice(ann: Person, helper: Agent) -> None:
    run = await helper.asks()
    path, body = f"/process-runs/{run.id}/gates/refunds/questions", {"to": "agent", "text": "Why?"}
    one, two = [await ann.post(path, body, Idempotency_Key="ask") for _ in range(2)]
    assert (one.status, one.json) == (two.status, two.json)
    place = f"{path}/{one.json['id']}/answer"
    said = [await helper.person.post(place, {"text": "So."}, Idempotency_Key="say") for _ in range(2)]
    assert [each.status for each in said] == [200, 200]
    assert len((await gate(ann, run.id))["gate"]["questions"]) == 1


async def test_an_agent_that_waits_is_told_what_it_is_asked(ann: Person, helper: Agent) -> None:
    body = {"tool": "stripe.refund", "arguments": ARGUMENTS}
    run_id = (await helper.person.post("/actions/", body, Idempotency_Key="k")).json["id"]
    assert (await helper.person.get(f"/actions/{run_id}")).json["question"] is None
    first, second = [(await asked(ann, run_id, text)).json for text in ("Why?", "When?")]
    waiting = (await helper.person.get(f"/actions/{run_id}")).json["question"]
    assert waiting == {"id": first["id"], "text": "Why?"}
    assert (await answers(helper.person, run_id, first["id"])).status == 200
    assert (await helper.person.get(f"/actions/{run_id}")).json["question"] == {"id": second["id"], "text": "When?"}
    denied = await decides(ann, run_id, decision="denied", comment="Ask her first.")
    assert denied.status == 200
    found = (await helper.person.get(f"/actions/{run_id}")).json
    assert (found["outcome"], found["reason"], found["question"]) == ("denied", "Ask her first.", None)


# --------------------------------------------------------------------------- proposals and batches


async def test_other_agents_say_at_the_same_gate_what_they_would_decide(
    ann: Person, house: House, helper: Agent
) -> None:
    run = await helper.asks()
    before, said = (await gate(ann, run.id))["gate"]["digest"], {"gate": "refunds", "decision": "denied"}
    for name, confidence in (("checker", 0.9), ("second checker", 0.6)):
        checker = (await Agent.named(house, ann, name)).person
        told = await checker.post(f"/process-runs/{run.id}/proposals", {**said, "confidence": confidence})
        assert (told.status, told.json["by"], told.json["by_kind"]) == (201, name, "agent")
    found = (await gate(ann, run.id))["gate"]
    assert [(one["by"], one["confidence"]) for one in found["proposals"]] == [("checker", 0.9), ("second checker", 0.6)]
    assert found["digest"] == before
    for person in (helper.person, (await Agent.named(house, ann, "third")).person):
        assert_problem(await decides(person, run.id), 403, "forbidden", reason="machine")
    assert (await decides(ann, run.id, digest=before)).json["outcome"] == "made"


@pytest.mark.parametrize(
    ("rule", "batch", "statuses"),
    [
        ({}, "allowed", [200, 200]),
        ({"gate": {"batch": "never"}}, "never", [409, 409]),
        ({"tier": "critical"}, "never", [409, 409]),
    ],
)
async def test_a_rule_says_whether_its_actions_are_decided_together(
    ann: Person, helper: Agent, rule: Any, batch: str, statuses: list[int]
) -> None:
    await ruled(ann, {**ASKS, **rule})
    verdicts = []
    for amount in (1, 2):
        run = await helper.asks({"amount": amount})
        shown = (await gate(ann, run.id))["gate"]
        assert shown["policy"]["batch"] == batch
        verdicts.append({"run_id": run.id, "gate": "refunds", "decision": "approved", "digest": shown["digest"]})
    told = (await ann.post("/gates/verdicts", {"verdicts": verdicts})).json["results"]
    assert [one["status"] for one in told] == statuses


async def test_a_call_that_would_be_sent_is_decided_alone_unless_its_rule_says_otherwise(
    ann: Person, helper: Agent
) -> None:
    live = {"base_url": "http://127.0.0.1:9", "method": "POST", "path": "/refunds", "reversible": True}
    assert (await ann.put("/connectors/stripe.refund", live)).status == 201
    shown: list[str] = []
    for policy in ({}, {"batch": "allowed"}):
        await ruled(ann, {**ASKS, "gate": policy})
        run = await helper.asks({"amount": len(shown)})
        shown.append((await gate(ann, run.id))["gate"]["policy"]["batch"])
    assert shown == ["never", "allowed"]
