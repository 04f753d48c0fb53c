"""Processes as BPMN 2.0: what is written is read as it was, what others write is taken or named."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings

from actors.core.template import Template
from daemon.bpmn.reading import Imported, MalformedXml, NoProcess, TooManySteps, graph_of, read_bpmn
from daemon.templates.answers import unbounded
from daemon.templates.graphs import Graph, document_of
from daemon.templates.loading import CatalogEntry, check, load_json
from daemon.templates.publishing import NotATemplate, checked
from daemon.web.resources.templates.catalog import canvas_json
from daemon.web.resources.templates.drafts import serialize_bpmn
from tests.bpmn.graphs import graphs
from tests.shelf import shipped

FIXTURES = Path(__file__).parent / "fixtures"
UI = Path(__file__).parents[2] / "daemon" / "ui"
MODDLE = UI / "node_modules" / "bpmn-moddle"
READS = """
import {BpmnModdle} from 'bpmn-moddle';
import fs from 'node:fs';
const found = {};
const of = (plane, kind) => plane.filter(e => e.$type === `bpmndi:BPMN${kind}` && e.bpmnElement).length;
for (const file of process.argv.slice(1)) {
  const {rootElement, warnings} = await new BpmnModdle().fromXML(fs.readFileSync(file, 'utf8'));
  const plane = rootElement.diagrams[0].plane.planeElement;
  found[file] = {warnings: warnings.map(w => w.message), shapes: of(plane, 'Shape'), edges: of(plane, 'Edge')};
}
console.log(JSON.stringify(found));
"""
RANDOM = 200
KEPT = ("title", "start", "nodes", "edges", "gates", "judges")


def bpmn(entry: CatalogEntry) -> str:
    with unbounded():
        return serialize_bpmn(entry)


def canvas(template: Template) -> dict[str, Any]:
    """A canvas as a caller sees it."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(canvas_json(template)))
    return found


def entry_of(found: Imported) -> CatalogEntry:
    """The template of what was read."""
    value = {"title": found.title, "start": found.start, "nodes": found.nodes, "edges": found.edges}
    return check(document_of(Graph.model_validate(value), **found.more)[0])[0]


def drawn(found: Imported) -> dict[str, Any]:
    """The canvas of what was read."""
    return canvas(entry_of(found).template)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in KEPT)


def read(name: str) -> Imported:
    return read_bpmn((FIXTURES / f"{name}.bpmn").read_text(encoding="utf-8"))


def refused(found: Imported) -> list[tuple[str, str | None, str]]:
    return [(one.rule, one.node, one.detail) for one in found.violations]


# ---------------------------------------------------------------------------------- there and back


@pytest.mark.parametrize("entry", shipped(), ids=lambda entry: entry.template.vertical)
def test_every_shipped_process_is_read_as_the_document_that_was_bpmn(entry: CatalogEntry) -> None:
    xml = bpmn(entry)
    assert xml == bpmn(entry)
    found = read_bpmn(xml)
    assert found.violations == []
    read = entry_of(found)
    assert read.document == entry.document
    assert json.dumps(read.inputs_schema) == json.dumps(entry.inputs_schema)  # in the same order
    assert canvas(read.template) == canvas(entry.template)


@pytest.mark.parametrize("entry", shipped(), ids=lambda entry: entry.template.vertical)
def test_a_canvas_keeps_its_judges_when_it_is_validated_as_it_was_answered(entry: CatalogEntry) -> None:
    before = canvas(entry.template)
    found = checked(before)
    assert found.violations == ()
    assert same(canvas(load_json(found.document or "").template), before)


def test_a_panel_whose_judges_are_left_out_is_named() -> None:
    entry = next(one for one in shipped() if one.judges)
    alone = {name: value for name, value in canvas(entry.template).items() if name != "judges"}
    assert {one.rule for one in checked(alone).violations} == {"judge_refused"}


def check_round_trip(graph: dict[str, Any]) -> None:
    """A process is the same after canvas, YAML, canvas, BPMN and canvas."""
    document, _, _ = document_of(Graph.model_validate(graph))
    first = canvas(check(document)[0].template)
    text = yaml.dump(
        document_of(Graph.model_validate(first))[0].model_dump(mode="json", by_alias=True), Dumper=yaml.CSafeDumper
    )
    second = check(type(document).model_validate(yaml.load(text, Loader=yaml.CSafeLoader)))[0]
    assert same(canvas(second.template), first)
    found = read_bpmn(bpmn(second))
    assert found.violations == []
    assert entry_of(found).document == second.document


@settings(max_examples=100)
@given(graphs())
def test_a_random_process_survives_canvas_yaml_canvas_bpmn_canvas(graph: dict[str, Any]) -> None:
    check_round_trip(graph)


@pytest.mark.skipif(not MODDLE.exists() or shutil.which("node") is None, reason="npm ci in daemon/ui")
def test_bpmn_moddle_reads_every_export_without_a_warning(tmp_path: Path) -> None:
    entries = [*shipped()]

    @settings(max_examples=RANDOM, deadline=None, database=None)
    @given(graphs())
    def draw(graph: dict[str, Any]) -> None:
        entries.append(check(document_of(Graph.model_validate(graph))[0])[0])

    draw()
    assert len(entries) >= RANDOM
    files = {}
    for number, entry in enumerate(entries):
        file, one = tmp_path / f"{number}.bpmn", canvas(entry.template)
        file.write_text(bpmn(entry), encoding="utf-8")
        files[str(file)] = {"warnings": [], "shapes": len(one["nodes"]) + 1, "edges": len(one["edges"]) + 1}
    words = ["node", "--input-type=module", "--eval", READS, "--", *files]
    done = subprocess.run(words, cwd=UI, capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == files


# -------------------------------------------------------------------------------- what others write


def test_a_diagram_of_bpmn_js_is_taken_with_ids_made_of_its_names() -> None:
    found = read("bpmn-js")
    assert refused(found) == []
    assert (found.start, [node["id"] for node in found.nodes]) == (
        "check-the-order",
        ["check-the-order", "sign-off", "ship-it", "shipped", "refused"],
    )
    ship = found.nodes[2]
    assert (ship["effect"], ship["tool"]) == ("irreversible", "ship-it")
    assert [(edge["source"], edge["branch"], edge["target"]) for edge in found.edges] == [
        ("check-the-order", None, "sign-off"),
        ("sign-off", "approved", "ship-it"),
        ("sign-off", "denied", "refused"),
        ("ship-it", None, "shipped"),
    ]


def test_a_diagram_of_camunda_is_taken_but_for_what_has_no_counterpart() -> None:
    found = read("camunda-modeler")
    assert [(rule, node) for rule, node, _ in refused(found)] == [
        ("unsupported_element", "pay"),
        ("unsupported_element", None),
        ("condition_refused", "amount"),
        ("unsupported_element", "pay"),
    ]
    assert next(node for node in found.nodes if node["id"] == "approve")["policy"] == {"groups": ["finance"]}
    said = " ".join(detail for _, _, detail in refused(found))
    for name in ("multiInstanceLoopCharacteristics", "callActivity told (Tell the customer)", "boundaryEvent late"):
        assert name in said
    assert "=amount > 100" in said
    ways = {(edge["source"], edge["branch"]): edge["target"] for edge in found.edges}
    assert ways["pay", "error"] == "by-hand"
    assert next(node for node in found.nodes if node["id"] == "pause")["wait"] == {"duration": "P2D"}


def test_a_diagram_of_signavio_with_a_pool_a_lane_and_a_data_object_is_taken() -> None:
    found = read("signavio")
    assert refused(found) == []
    assert [node["id"] for node in found.nodes] == [
        *("record-the-invoice", "sid-g1", "check-the-amount", "check-the-goods", "sid-g2", "invoice-recorded")
    ]
    assert drawn(found)["gates"] == ["check-the-amount", "check-the-goods"]


def test_a_diagram_of_bizagi_is_taken_from_the_process_that_has_steps() -> None:
    found = read("bizagi")
    assert (found.title, found.start) == ("Leave request", "boss-approves")
    assert [detail for _, _, detail in refused(found)] == ["the element subProcess Id_6 (Hand over) has no counterpart"]
    (granted,) = [edge["when"] for edge in found.edges if edge["branch"] == "Yes"]
    assert granted == "has(inputs.days) && inputs.days < 20"


def test_a_file_without_namespaces_is_understood() -> None:
    found = read_bpmn("<definitions><process><startEvent id='s'/><userTask id='ok' name='OK'/></process></definitions>")
    assert [(node["id"], node["kind"]) for node in found.nodes] == [("ok", "gate"), ("end", "end")]


@pytest.mark.parametrize(
    "xml",
    [
        "no xml",
        "<process><task id='a'></process>",
        "<!DOCTYPE process><process><task id='a'/></process>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><process><task id='a' name='&a;'/></process>",
        "<a:process/>",
    ],
)
def test_what_is_no_xml_or_has_a_document_type_is_refused(xml: str) -> None:
    with pytest.raises(MalformedXml):
        read_bpmn(xml)


@pytest.mark.parametrize("xml", ["<definitions/>", "<process/>", "<process><startEvent id='s'/></process>"])
def test_without_a_step_there_is_no_process(xml: str) -> None:
    with pytest.raises(NoProcess):
        read_bpmn(xml)


def test_steps_without_ids_and_names_get_ids_of_their_own() -> None:
    found = read_bpmn(f"<process>{'<task/>' * 4}<task id='step-2'/></process>")
    assert [node["id"] for node in found.nodes] == [*("step", "step-2", "step-3", "step-4", "step-2-2", "end")]


@pytest.mark.parametrize(
    "parts",
    [
        "<task id='{}'/>" * 1_001,
        "<task/>" * 45_000,
        "<task/>" + "<sequenceFlow/>" * 10_000,
        "<task/>" + "<sequenceFlow><conditionExpression>true</conditionExpression></sequenceFlow>" * 2_001,
    ],
    ids=["steps", "many steps", "flows", "conditions"],
)
def test_a_process_with_too_many_parts_is_refused_before_anything_is_made_of_it(parts: str) -> None:
    with pytest.raises(TooManySteps):
        read_bpmn(f"<process>{parts.format(*range(1_001))}</process>")


def test_a_wait_for_a_time_and_for_a_message_is_taken_and_a_cycle_is_not() -> None:
    found = read_bpmn("""<definitions><message id="m" name="Papers came"/><process>
      <intermediateCatchEvent id="a"><timerEventDefinition><timeDate>2027-01-01T00:00:00Z</timeDate>
      </timerEventDefinition></intermediateCatchEvent>
      <intermediateCatchEvent id="b"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
      <intermediateCatchEvent id="c"><timerEventDefinition><timeCycle>R3/PT1H</timeCycle></timerEventDefinition>
      </intermediateCatchEvent></process></definitions>""")
    assert [node["wait"] for node in found.nodes if node["kind"] == "wait"] == [
        {"until": 'timestamp("2027-01-01T00:00:00Z")'},
        {"message": "papers-came"},
        {},
    ]
    detail = "timeCycle R3/PT1H of the element intermediateCatchEvent c has no counterpart"
    assert refused(found) == [("unsupported_element", "c", detail)]


def test_what_this_service_wrote_and_somebody_changed_is_refused_and_not_taken_on_trust() -> None:
    for said in ("no json", '{"kind": "end"}', "[]"):
        xml = f"<process xmlns:p='urn:penstock:bpmn:1'><userTask id='a'><p:step>{said}</p:step></userTask></process>"
        assert [rule for rule, _, _ in refused(read_bpmn(xml))] == ["unsupported_element"]


@pytest.mark.parametrize("said", ['{"judges": 5}', '{"judges": [{"id": [], "steps": ["a"]}]}', '{"judges": null}'])
def test_judges_of_another_form_are_refused(said: str) -> None:
    own = f"<extensionElements><p:process xmlns:p='urn:penstock:bpmn:1'>{said}</p:process></extensionElements>"
    with pytest.raises(NotATemplate):
        graph_of(f"<process>{own}<userTask id='a'/></process>")
