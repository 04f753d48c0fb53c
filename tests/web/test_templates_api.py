"""Section 3: the templates, each with its canvas."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.shelf import shipped
from tests.web.support import Person, assert_invalid, assert_problem

SUMMARY = {"calls", "vertical", "title", "description", "version", "digest", "gates", "steps", "own", "pack"}
NODE = {"id", "kind", "label", "tool", "tier", "effect", "gate", "decisions", "role"}
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


async def canvas(ann: Person, vertical: str) -> Any:
    return (await ann.get(f"/process-templates/{vertical}/canvas")).json


def nodes(one: Any) -> dict[str, Any]:
    return {node["id"]: node for node in one["nodes"]}


async def test_the_list_has_every_template_by_vertical(ann: Person) -> None:
    listed = (await ann.get("/process-templates/?limit=200")).json
    verticals = [one["vertical"] for one in listed]
    assert verticals == sorted({*verticals, *(entry.template.vertical for entry in shipped()), "line"})
    assert all(set(one) == SUMMARY for one in listed)
    line = next(one for one in listed if one["vertical"] == "line")
    assert (line["title"], line["version"], line["gates"], line["steps"]) == ("A line", 1, ["signoff"], 5)
    assert DIGEST.fullmatch(line["digest"])


async def test_a_template_adds_its_schema_and_example_inputs(ann: Person) -> None:
    listed = (await ann.get("/process-templates/?limit=200")).json
    for summary in listed:
        one = (await ann.get(f"/process-templates/{summary['vertical']}")).json
        assert set(one) == {*SUMMARY, "inputs_schema", "inputs", "tools", "rules"}
        assert {name: one[name] for name in SUMMARY} == summary
        assert one["inputs_schema"]["type"] == "object"


async def test_the_example_inputs_of_every_template_start_a_run(ann: Person) -> None:
    for summary in (await ann.get("/process-templates/?limit=200")).json:
        one = (await ann.get(f"/process-templates/{summary['vertical']}")).json
        run = await ann.start(one["vertical"], one["inputs"])
        assert run["template"] == {"version": one["version"], "digest": one["digest"]}


async def test_the_canvas_of_a_template_is_its_graph_with_its_governance(ann: Person) -> None:
    one = await canvas(ann, "line")
    around = {"judges", "clocks", "functions", "readers", "subjects", "exempt"}
    assert set(one) == {"vertical", "version", "digest", "title", "start", "nodes", "edges", "gates", *around}
    assert (one["vertical"], one["version"], one["title"], one["start"]) == ("line", 1, "A line", "look")
    assert one["gates"] == ["signoff"]
    look = {"id": "look", "kind": "task", "label": "Look it up", "tool": "lookup", "tier": "low", "effect": "read"}
    assert nodes(one)["look"].items() >= {**look, "gate": False, "role": None}.items()
    assert nodes(one)["look"]["decisions"] == []
    signoff = {"id": "signoff", "kind": "gate", "label": "The sign-off", "tier": "high", "tool": None, "effect": None}
    assert nodes(one)["signoff"].items() >= {**signoff, "gate": True, "role": "manager"}.items()
    assert nodes(one)["signoff"]["decisions"] == ["approved", "denied"]
    assert nodes(one)["paid"]["outcome"] == "paid"
    assert one["edges"] == [
        {"source": "look", "target": "signoff", "branch": None, "when": None},
        {"source": "signoff", "target": "pay", "branch": "approved", "when": None},
        {"source": "signoff", "target": "refused", "branch": "denied", "when": None},
        {"source": "pay", "target": "paid", "branch": None, "when": None},
    ]


async def test_a_human_gateway_decides_by_its_branch_labels(ann: Person) -> None:
    again = nodes(await canvas(ann, "loop"))["again"]
    assert (again["gate"], again["kind"], again["decisions"]) == (True, "gateway", ["once more", "enough"])


async def test_a_task_of_a_high_tier_is_a_gate(ann: Person) -> None:
    transfer = nodes(await canvas(ann, "direct"))["transfer"]
    assert (transfer["kind"], transfer["gate"], transfer["tier"]) == ("task", True, "critical")
    assert (transfer["tool"], transfer["effect"]) == ("transfer", "irreversible")


async def test_a_condition_is_shown_at_its_edge(ann: Person) -> None:
    edges = (await canvas(ann, "prior-auth"))["edges"]
    whens = {edge["branch"]: edge["when"] for edge in edges if edge["source"] == "criteria"}
    assert "match-criteria" in whens["criteria met"]
    assert whens["more information needed"] is None


async def test_what_is_a_hit_is_shown_at_its_task(ann: Person) -> None:
    known = nodes(await canvas(ann, "invoice-approval"))
    assert known["check-duplicate"]["signal_when"] == "output.look_alike != null"
    assert known["release"]["signal_when"] is None


async def test_every_canvas_is_whole(ann: Person) -> None:
    for summary in (await ann.get("/process-templates/?limit=200")).json:
        one = await canvas(ann, summary["vertical"])
        known = nodes(one)
        assert len(known) == len(one["nodes"]) == summary["steps"]
        assert one["digest"] == summary["digest"]
        assert one["start"] in known
        assert all(set(node) >= NODE for node in one["nodes"])
        assert all({edge["source"], edge["target"]} <= set(known) for edge in one["edges"])
        assert one["gates"] == summary["gates"] == [node["id"] for node in one["nodes"] if node["gate"]]
        for node in one["nodes"]:
            assert node["kind"] in {"task", "gate", "gateway", "wait", "end"}
            assert node["tier"] in {"low", "medium", "high", "critical"}
            assert node["gate"] == (node["kind"] == "gate" or node["tier"] in {"high", "critical"})
            assert bool(node["decisions"]) == node["gate"]
            assert (node["effect"] in {"read", "reversible", "irreversible"}) == (node["kind"] == "task")


async def test_an_unknown_template_is_404_and_cannot_be_started(ann: Person) -> None:
    for path in ("/process-templates/unknown", "/process-templates/unknown/canvas", "/process-templates/Line"):
        assert_problem(await ann.get(path), 404, "not_found")
    start = await ann.post("/process-runs/", {"vertical": "unknown"})
    assert_problem(start, 404, "not_found", detail="There is no template with this vertical.")


async def test_the_canvas_of_a_run_stays_when_its_template_has_changed(ann: Person, tmp_path: Path) -> None:
    run = await ann.start("line", {"amount": 1})
    before = await canvas(ann, "line")
    text = (ann.house.settings.templates_dir or tmp_path).joinpath("line.yaml").read_text(encoding="utf-8")
    (tmp_path / "line.yaml").write_text(text.replace("version: 1", "version: 2").replace("Look it up", "Look again"))
    ann.house.settings = ann.house.settings.model_copy(update={"templates_dir": tmp_path})
    await ann.house.restart()
    now = await canvas(ann, "line")
    assert (now["version"], nodes(now)["look"]["label"]) == (2, "Look again")
    path = "/process-templates/line/canvas?digest="
    assert (await ann.get(path + run["template"]["digest"])).json == before
    assert (await ann.get(path + now["digest"])).json == now


async def test_a_digest_that_names_no_version_of_the_template_is_not_found(ann: Person) -> None:
    other = (await canvas(ann, "fork"))["digest"]
    for digest in (f"sha256:{'0' * 64}", other):
        answer = await ann.get(f"/process-templates/line/canvas?digest={digest}")
        assert_problem(answer, 404, "not_found")
    assert_invalid(await ann.get("/process-templates/line/canvas?digest=none"), "/digest")
