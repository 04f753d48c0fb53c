"""Templates of more steps than one may have are refused before much work is done for them."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.templates.answers import unbounded
from daemon.templates.publishing import checked
from tests.effort import Effort
from tests.web.support import Person, assert_invalid, assert_problem

DRAFT = "/process-templates/large/draft"
PUBLISH = "/process-templates/large/publish"
NODES = 1_000
STEPS_MAX = 5_000_000


def document(steps: int) -> dict[str, Any]:
    """Tasks in a circle, none of which leads to an end."""
    about = {"kind": "task", "label": "T", "tool": "t", "effect": "read"}
    circle = [{"id": f"s{number}", **about, "next": f"s{(number + 1) % steps}"} for number in range(steps)]
    return {"vertical": "large", "title": "Large", "steps": circle}


def sequence() -> dict[str, Any]:
    nodes = [{"id": f"s{number}", "kind": "agent"} for number in range(NODES)]
    return {"nodes": nodes, "edges": [{"source": f"s{n}", "target": f"s{n + 1}"} for n in range(NODES - 1)]}


def blocks(*, nested: bool) -> dict[str, Any]:
    """Forks over a gate and what comes next, one behind the other or one in the other."""
    count = (NODES - 1) // 3
    parallel = [{"id": f"{kind}{n}", "kind": "gateway", "flow": "parallel"} for n in range(count) for kind in "fj"]
    nodes = [{"id": "f", "kind": "agent"}, *parallel, *({"id": f"a{n}", "kind": "gate"} for n in range(count))]
    ways = [("f", "f0"), *((f"f{n}", f"a{n}") for n in range(count)), *((f"a{n}", f"j{n}") for n in range(count))]
    for n in range(count):
        last = n == count - 1
        if nested:
            ways += [(f"f{n}", f"j{n}" if last else f"f{n + 1}"), *([] if n == 0 else [(f"j{n}", f"j{n - 1}")])]
        else:
            ways += [(f"f{n}", f"j{n}"), *([] if last else [(f"j{n}", f"f{n + 1}")])]
    return {"nodes": nodes, "edges": [{"source": source, "target": target} for source, target in ways]}


@pytest.mark.parametrize(
    "graph", [sequence(), blocks(nested=False), blocks(nested=True)], ids=["sequence", "blocks", "nested blocks"]
)
def test_a_thousand_steps_are_checked_with_five_thousand_lines_of_ours_for_each(graph: dict[str, Any]) -> None:
    with Effort() as effort, unbounded():
        assert checked(graph).violations == ()
    assert effort.steps < STEPS_MAX


async def test_a_draft_of_too_many_steps_is_kept_and_not_published(ann: Person) -> None:
    assert (await ann.put(DRAFT, document(1_002))).status == 200
    refused = assert_problem(await ann.post(PUBLISH), 422, "invalid")
    assert [one["rule"] for one in refused["violations"]] == ["too_large"]


async def test_a_template_of_too_many_conditions_is_neither_checked_nor_published(ann: Person) -> None:
    ways = [{"branch": f"b{number}", "when": f"inputs.n == {number}", "to": "e"} for number in range(2_001)]
    choice = {"id": "c", "kind": "gateway", "flow": "exclusive", "label": "C", "branches": ways}
    large = {**document(1), "steps": [choice, {"id": "e", "kind": "end", "label": "E", "outcome": "done"}]}
    found = (await ann.post("/process-templates/validate", large)).json
    assert [one["rule"] for one in found["violations"]] == ["too_large"]
    assert (await ann.put(DRAFT, large)).status == 200
    refused = assert_problem(await ann.post(PUBLISH), 422, "invalid")
    assert [one["rule"] for one in refused["violations"]] == ["too_large"]


async def test_a_template_that_is_large_is_checked_drafted_published_and_drawn_as_small_ones_are(ann: Person) -> None:
    ends = [{"id": f"e{number}", "kind": "end", "label": "E" * 80, "outcome": "done"} for number in range(900)]
    fork = {"id": "f", "kind": "gateway", "flow": "exclusive", "label": "F"}
    ways = [{"branch": f"b{number}", "when": f"inputs.n == {number}", "to": f"e{number}"} for number in range(899)]
    large = {**document(1), "steps": [{**fork, "branches": [*ways, {"branch": "x", "to": "e899"}]}, *ends]}
    found = (await ann.post("/process-templates/validate", large)).json
    assert (found["valid"], len(found["canvas"]["nodes"]), len(found["steps"])) == (True, 901, 901)
    assert (await ann.put(DRAFT, large)).status == 200
    assert (await ann.post(PUBLISH, {})).status == 201
    drawn = await ann.get("/process-templates/large/bpmn")
    read = (await ann.post("/process-templates/import-bpmn", {"xml": drawn.raw.decode()})).json
    assert (read["violations"], len(read["nodes"])) == ([], 901)
    tried = await ann.post("/process-templates/try", {"document": large, "inputs": {"n": 7}, "acts": []})
    assert tried.json["run"]["outcome"] == "done"


async def test_a_large_body_that_is_no_template_is_answered_with_the_place(ann: Person) -> None:
    large = {**document(400), "title": 1}
    assert_invalid(await ann.post("/process-templates/validate", large), "/title")
    assert_invalid(await ann.put(DRAFT, {**document(400), "strange": 1}), "/strange")


async def test_a_draft_of_far_too_many_steps_is_not_kept(ann: Person) -> None:
    large = {**document(1), "steps": [{"id": "s"}] * 10_001}
    assert_invalid(await ann.put(DRAFT, large), "/steps")
    assert_problem(await ann.get(DRAFT), 404, "not_found")
