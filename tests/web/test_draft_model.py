"""Processes drafted by a language model, which may lie, hang up, or take a second try."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import SecretStr

from daemon.drafting import AT_ONCE_MAX
from daemon.settings import Settings
from tests.web.people import colleague
from tests.web.support import FarSide, House, Person, assert_problem

TEXT = "Weigh the elephant, then send it home"
NODES = [
    {"id": "weigh", "kind": "task", "label": "Weigh it", "tool": "scales", "effect": "read"},
    {"id": "ask", "kind": "gate", "label": "May it go?"},
    {"id": "send", "kind": "task", "label": "Send it home", "tool": "train", "effect": "irreversible"},
    {"id": "gone", "kind": "end", "label": "Gone", "outcome": "gone"},
]
GOOD = {
    "title": "Elephants",
    "nodes": NODES,
    "edges": [
        {"source": "weigh", "target": "ask"},
        {"source": "ask", "target": "send", "branch": "approved"},
        {"source": "send", "target": "gone"},
    ],
}
UNGATED = {
    "title": "Elephants",
    "nodes": [one for one in NODES if one["id"] != "ask"],
    "edges": [{"source": "weigh", "target": "send"}, {"source": "send", "target": "gone"}],
}


@pytest.fixture
def settings(settings: Settings, far: FarSide) -> Settings:
    model = {"draft_model_url": f"{far.url}/v1/chat/completions", "draft_model_name": "small"}
    return settings.model_copy(update={**model, "draft_model_token": SecretStr("s3cret")})


def says(far: FarSide, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    far.answer = {"choices": [{"message": {"role": "assistant", "content": text}}]}


async def drafted(ann: Person, text: str = TEXT) -> list[str]:
    answer = await ann.post("/process-templates/draft-from-text", {"text": text, "generate": True})
    assert (answer.status, answer.json["matched"]) == (200, None), answer.raw
    return [node["id"] for node in answer.json["nodes"]]


async def test_a_graph_that_keeps_all_rules_counts(ann: Person, far: FarSide) -> None:
    says(far, f"Here it is:\n```json\n{json.dumps(GOOD)}\n```")
    assert await drafted(ann) == ["weigh", "ask", "send", "gone"]
    (seen,) = far.seen
    assert (seen.target, seen.headers["Authorization"]) == ("/v1/chat/completions", "Bearer s3cret")
    assert (seen.body["model"], seen.body["messages"][1]) == ("small", {"role": "user", "content": TEXT})
    assert (await ann.get("/template-drafts/")).json == []


async def test_what_breaks_a_rule_is_said_to_it_once_and_then_rules_draft_it(ann: Person, far: FarSide) -> None:
    says(far, UNGATED)
    assert await drafted(ann) != ["weigh", "send", "gone"]
    first, second = far.seen
    assert len(first.body["messages"]) == 2
    assert "ungated_irreversible" in second.body["messages"][3]["content"]


@pytest.mark.parametrize("content", ["", "no", "{", "[]", {"nodes": 1}, {"nodes": [], "edges": []}, {"title": "x"}])
async def test_what_is_no_graph_is_drafted_by_rules(ann: Person, far: FarSide, content: Any) -> None:
    says(far, content)
    assert len(await drafted(ann)) >= 3


@pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": [{"message": {"content": None}}]}, "text", []])
async def test_an_answer_of_another_form_is_no_draft(ann: Person, far: FarSide, answer: Any) -> None:
    far.answer = answer
    assert len(await drafted(ann)) >= 3
    assert len(far.seen) == 1


async def test_an_endpoint_that_fails_leaves_the_rules(ann: Person, far: FarSide) -> None:
    far.status = 500
    assert len(await drafted(ann)) >= 3


async def test_the_model_is_for_members_and_those_above(ann: Person, far: FarSide) -> None:
    vic = await colleague(ann, "vic", "viewer")
    asked = {"text": TEXT, "generate": True}
    assert_problem(await vic.post("/process-templates/draft-from-text", asked), 403, "forbidden", required="member")
    assert (await vic.post("/process-templates/draft-from-text", {"text": TEXT})).status == 200
    assert far.seen == []


async def test_a_company_asks_the_model_so_often_in_a_minute(house: House, far: FarSide) -> None:
    await house.close()
    house.settings = house.settings.model_copy(update={"company_drafts_per_minute_max": 2})
    await house.open()
    ann, says_it = await house.register("ann"), {"text": TEXT, "generate": True}
    says(far, GOOD)
    asked = [await ann.post("/process-templates/draft-from-text", says_it) for _ in range(3)]
    assert [one.status for one in asked] == [200, 200, 429]
    assert_problem(asked[2], 429, "quota_exceeded", limit=2, budget="company_drafts_per_minute")
    assert len(far.seen) == 2


@pytest.mark.one_daemon
async def test_few_are_asked_at_once(ann: Person, far: FarSide) -> None:
    far.open.clear()
    asking = [asyncio.ensure_future(drafted(ann)) for _ in range(8)]
    await far.arrived.wait()
    for _ in range(20):  # all eight have been taken in meanwhile
        await ann.get("/auth/me")
    assert len(far.seen) == AT_ONCE_MAX
    says(far, GOOD)
    far.open.set()
    await asyncio.gather(*asking)


async def test_a_close_template_needs_no_model(ann: Person, far: FarSide) -> None:
    answer = await ann.post("/process-templates/draft-from-text", {"text": "refund"})
    assert answer.status == 200
    assert (answer.json["matched"] is None) == (len(far.seen) > 0)
