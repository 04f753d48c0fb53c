"""A canvas as BPMN 2.0 with its diagram, the same bytes each time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from daemon.bpmn.names import (
    BPMN,
    DIAGRAM,
    EXTRA,
    LINES,
    OF_PROCESS,
    PENSTOCK,
    PREFIXES,
    SAID,
    SHAPES,
    START,
    WHOLE,
    WRITTEN,
)

SIZES = {"start": (36, 36), "end": (36, 36), "wait": (36, 36), "gateway": (50, 50)}
BOX = (120, 80)
COLUMN, ROW, LEFT, TOP = 180, 120, 160, 80
AROUND = 30


class Box(NamedTuple):
    """A shape by its upper left corner and its size, in pixels."""

    x: int
    y: int
    width: int
    height: int


Point = tuple[int, int]


def boxes(kinds: Mapping[str, str], edges: Sequence[tuple[str, str]], start: str) -> dict[str, Box]:
    """The shape of each step, by id; `kinds` are in the order of the document."""
    layers = _layers(kinds, edges, start)
    rows: dict[int, int] = {}
    found: dict[str, Box] = {}
    for step, kind in kinds.items():
        layer = layers[step]
        row = rows[layer] = rows.get(layer, -1) + 1
        width, height = SIZES.get(kind, BOX)
        x = LEFT + layer * COLUMN + (BOX[0] - width) // 2
        y = TOP + row * ROW + (BOX[1] - height) // 2
        found[step] = Box(x, y, width, height)
    return found


def line(source: Box, target: Box) -> list[Point]:
    """The way from one shape to another; one that leads back goes above both."""
    begin = (source.x + source.width, source.y + source.height // 2)
    finish = (target.x, target.y + target.height // 2)
    if begin[0] < finish[0]:
        if begin[1] == finish[1]:
            return [begin, finish]
        middle = (begin[0] + finish[0]) // 2
        return [begin, (middle, begin[1]), (middle, finish[1]), finish]
    above = min(source.y, target.y) - AROUND
    return [
        (source.x + source.width // 2, source.y),
        (source.x + source.width // 2, above),
        (target.x + target.width // 2, above),
        (target.x + target.width // 2, target.y),
    ]


def _layers(kinds: Mapping[str, str], edges: Sequence[tuple[str, str]], start: str) -> dict[str, int]:
    """The length of the longest way to each step that leads back nowhere."""
    leaving: dict[str, list[str]] = {step: [] for step in kinds}
    for source, target in edges:
        leaving[source].append(target)
    order = _order(leaving, [start, *kinds])
    place = {step: number for number, step in enumerate(order)}
    layers = dict.fromkeys(kinds, 0)
    for step in order:
        for target in leaving[step]:
            if place[target] > place[step]:
                layers[target] = max(layers[target], layers[step] + 1)
    return layers


def _order(leaving: Mapping[str, Sequence[str]], roots: Sequence[str]) -> list[str]:
    """The steps so that each stands before those behind it, loops apart."""
    done: list[str] = []
    seen: set[str] = set()
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        waiting = [(root, iter(leaving[root]))]
        while waiting:
            step, targets = waiting[-1]
            target = next((one for one in targets if one not in seen), None)
            if target is None:
                waiting.pop()
                done.append(step)
            else:
                seen.add(target)
                waiting.append((target, iter(leaving[target])))
    return done[::-1]


DEFAULTS: Mapping[str, Any] = {"tier": "low", "compensates": False, "ends_clocks": {}}
GATEWAYS = {"exclusive": "exclusiveGateway", "parallel": "parallelGateway", None: "exclusiveGateway"}
ELEMENTS = {"task": "serviceTask", "gate": "userTask", "wait": "intermediateCatchEvent", "end": "endEvent"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

for prefix, uri in PREFIXES.items():
    ET.register_namespace(prefix, uri)


def export_bpmn(canvas: Mapping[str, Any], document: Mapping[str, Any]) -> bytes:
    """The process of a canvas and of its document in the form of their JSON, with a diagram."""
    root = ET.Element(
        _q(BPMN, "definitions"), {"id": "_definitions", "targetNamespace": PENSTOCK, "exporter": "Penstock"}
    )
    messages = _messages(root, canvas)
    name = {"id": "_process", "name": _text(canvas["title"]), "isExecutable": "false"}
    process = ET.SubElement(root, _q(BPMN, "process"), name)
    _say(process, WHOLE, {name: document[name] for name in OF_PROCESS if name in document})
    ET.SubElement(process, _q(BPMN, "startEvent"), {"id": START})
    written = {step["id"]: step for step in document.get("steps", ())}
    flows = [(f"_flow-{number}", edge) for number, edge in enumerate(canvas["edges"], 1)]
    for node in canvas["nodes"]:
        said = written.get(node["id"], {})
        judged = node["policy"] is None
        more = {name: said[name] for name in WRITTEN if name in said and (name != "quorum" or judged)}
        _step(process, {**_without_stand_in(node, said), **more}, flows, messages)
    ET.SubElement(
        process, _q(BPMN, "sequenceFlow"), {"id": "_flow-0", "sourceRef": START, "targetRef": canvas["start"]}
    )
    for flow_id, edge in flows:
        _flow(process, flow_id, edge)
    _diagram(root, canvas, flows)
    ET.indent(root)
    text: str = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _without_stand_in(node: Mapping[str, Any], said: Mapping[str, Any]) -> Mapping[str, Any]:
    """A node without the role that its function gives it, where the step names none itself."""
    if "function" not in said or "role" in said:
        return node
    policy = None if node["policy"] is None else {name: one for name, one in node["policy"].items() if name != "role"}
    return {**node, "role": None, "policy": policy}


def _messages(root: ET.Element, canvas: Mapping[str, Any]) -> dict[str, str]:
    """The messages that steps wait for, each with an id."""
    waits = (node["wait"] for node in canvas["nodes"] if node["wait"] is not None)
    names = dict.fromkeys(wait["message"] for wait in waits if wait["message"] is not None)
    found = {name: f"_message-{number}" for number, name in enumerate(names, 1)}
    for name, message_id in found.items():
        ET.SubElement(root, _q(BPMN, "message"), {"id": message_id, "name": name})
    return found


def _step(
    process: ET.Element, node: Mapping[str, Any], flows: list[tuple[str, Any]], messages: Mapping[str, str]
) -> None:
    kind = GATEWAYS[node["flow"]] if node["kind"] == "gateway" else ELEMENTS[node["kind"]]
    about = {"id": node["id"], "name": _text(node["label"])}
    leaving = [(flow_id, edge) for flow_id, edge in flows if edge["source"] == node["id"]]
    otherwise = [flow_id for flow_id, edge in leaving if edge["when"] is None]
    if kind == "exclusiveGateway" and not node["gate"] and len(otherwise) == 1:
        about["default"] = otherwise[0]
    step = ET.SubElement(process, _q(BPMN, kind), about)
    said = {name: node.get(name) for name in (*SAID, *WRITTEN)}
    extra = {name: value for name, value in said.items() if value is not None and value != DEFAULTS.get(name)}
    # A gateway that only leads on is one all the same: what others draw so becomes an edge.
    if extra or (node["kind"] == "gateway" and len(leaving) < 2):  # noqa: PLR2004 - a choice
        _say(step, EXTRA, dict(sorted(extra.items())))
    if node["kind"] == "wait" and node["wait"] is not None:
        _awaited(step, node["wait"], messages)


def _say(element: ET.Element, name: str, value: Mapping[str, Any]) -> None:
    """What BPMN has no word for, as JSON in an extension element."""
    said = ET.SubElement(ET.SubElement(element, _q(BPMN, "extensionElements")), _q(PENSTOCK, name))
    said.text = json.dumps(value, ensure_ascii=True)


def _awaited(step: ET.Element, wait: Mapping[str, Any], messages: Mapping[str, str]) -> None:
    step_id = step.attrib["id"]
    if wait["message"] is not None:
        about = {"id": f"_awaits-{step_id}", "messageRef": messages[wait["message"]]}
        ET.SubElement(step, _q(BPMN, "messageEventDefinition"), about)
        return
    timer = ET.SubElement(step, _q(BPMN, "timerEventDefinition"), {"id": f"_awaits-{step_id}"})
    word, value = ("timeDuration", wait["duration"]) if wait["duration"] is not None else ("timeDate", wait["until"])
    ET.SubElement(timer, _q(BPMN, word)).text = _text(value or "")


def _flow(process: ET.Element, flow_id: str, edge: Mapping[str, Any]) -> None:
    about = {"id": flow_id, "sourceRef": edge["source"], "targetRef": edge["target"]}
    if edge["branch"] is not None:
        about["name"] = _text(edge["branch"])
    flow = ET.SubElement(process, _q(BPMN, "sequenceFlow"), about)
    if edge["when"] is not None:
        ET.SubElement(flow, _q(BPMN, "conditionExpression")).text = _text(edge["when"])


def _diagram(root: ET.Element, canvas: Mapping[str, Any], flows: list[tuple[str, Any]]) -> None:
    diagram = ET.SubElement(root, _q(DIAGRAM, "BPMNDiagram"), {"id": "_diagram"})
    plane = ET.SubElement(diagram, _q(DIAGRAM, "BPMNPlane"), {"id": "_plane", "bpmnElement": "_process"})
    ways = [(edge["source"], edge["target"]) for _, edge in flows]
    kinds = {START: "start", **{node["id"]: node["kind"] for node in canvas["nodes"]}}
    found = boxes(kinds, [(START, canvas["start"]), *ways], START)
    for step, box in found.items():
        shape = ET.SubElement(plane, _q(DIAGRAM, "BPMNShape"), {"id": f"_shape-{step}", "bpmnElement": step})
        numbers = {name: str(value) for name, value in box._asdict().items()}
        ET.SubElement(shape, _q(SHAPES, "Bounds"), numbers)
    for number, (source, target) in enumerate([(START, canvas["start"]), *ways]):
        about = {"id": f"_line-{number}", "bpmnElement": f"_flow-{number}"}
        edge = ET.SubElement(plane, _q(DIAGRAM, "BPMNEdge"), about)
        for x, y in line(found[source], found[target]):
            ET.SubElement(edge, _q(LINES, "waypoint"), {"x": str(x), "y": str(y)})


def _q(uri: str, name: str) -> str:
    return f"{{{uri}}}{name}"


def _text(value: str) -> str:
    """A text without the characters that XML has not."""
    return _NOT_XML.sub("\ufffd", value)
