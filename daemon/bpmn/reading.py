"""BPMN 2.0 as a graph: what maps is taken, everything else is refused by name and place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from actors.core.rules import EdgeName, Violation
from actors.core.rules.graph import STEPS_MAX
from actors.core.template import ERROR
from daemon.bpmn.names import EXTRA, GATES, GATEWAYS, SAID, TASKS, step_id
from daemon.templates.cel import compile_condition
from daemon.templates.costs import EXPRESSIONS_MAX

IGNORED = frozenset(
    [
        "documentation",
        "extensionElements",
        "incoming",
        "outgoing",
        "textAnnotation",
        "association",
        "group",
        "laneSet",
        "sequenceFlow",
        "startEvent",
        "boundaryEvent",
        "conditionExpression",
    ]
)
"""What says nothing of the way, or is read elsewhere."""
STEPS = TASKS | GATES | {*GATEWAYS, "endEvent", "intermediateCatchEvent"}
ELEMENTS_MAX = 100_000
PARTS_MAX = 10 * STEPS_MAX
_DECLARED = re.compile(r"\A\ufeff?\s*<\?xml[^>]*\?>")
_SLUG = re.compile(r"[^a-z0-9]+")


class MalformedXml(ValueError):
    """The text is no XML, or has a document type."""


class NoProcess(ValueError):
    """There is no process in the document."""


class TooManySteps(ValueError):
    """The process has more steps or flows than a template may have."""


@dataclass(slots=True)
class Imported:
    """A graph, and what did not map."""

    title: str
    start: str | None = None
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def refuse(self, element: Element, where: str | None = None, why: str = "has no counterpart") -> None:
        """Name an element that does not map."""
        name = element.get("name")
        called = f"{_local(element)} {element.get('id', '')}".strip() + (f" ({name})" if name else "")
        self.violations.append(Violation("unsupported_element", where, f"the element {called} {why}"))


def imported(xml: str) -> Imported:
    """Read a process; MalformedXml, NoProcess or TooManySteps when there is none to read."""
    root = _parsed(xml)
    processes = [one for one in root.iter() if _local(one) == "process"]
    process = max(processes, key=_steps, default=None)
    if process is None or not len(process):
        raise NoProcess("there is no process with anything in it")
    if _steps(process) > STEPS_MAX or len(process) > PARTS_MAX:
        raise TooManySteps(f"the process has more than {STEPS_MAX} steps, or more than {PARTS_MAX} parts")
    if sum(_local(part) == "conditionExpression" for one in process for part in one) > EXPRESSIONS_MAX:
        raise TooManySteps(f"the process has more than {EXPRESSIONS_MAX} conditions")
    messages = {one.get("id"): one.get("name") for one in root.iter() if _local(one) == "message"}
    found = Imported(process.get("name") or "Process")
    for other in processes:
        if other is not process and _steps(other):
            found.refuse(other, why="is a second process")
    for one in root.iter():
        if _local(one) == "messageFlow":
            found.refuse(one)
    for element in process:
        _step(found, element, messages)
    if not found.nodes:
        raise NoProcess("there is no step in the process")
    _ways(found, process)
    return found


def _steps(process: Element) -> int:
    """How many parts of a process become steps."""
    return sum(_local(one) in STEPS for one in process)


def _parsed(xml: str) -> Element:
    try:
        root: Element = fromstring(_DECLARED.sub("", xml), forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as failed:
        raise MalformedXml(str(failed) or type(failed).__name__) from None
    if sum(1 for _ in root.iter()) > ELEMENTS_MAX:
        raise MalformedXml("there are too many elements")
    return root


def _step(found: Imported, element: Element, messages: dict[Any, Any]) -> None:
    kind = _local(element)
    if kind in IGNORED:
        if kind == "laneSet":
            for lane in [one for one in element.iter() if _local(one) == "lane"][1:]:
                found.refuse(lane)
        return
    node = _node(element, messages)
    if node is None:
        found.refuse(element)
        return
    given, name = element.get("id", ""), " ".join(element.get("name", "").split())
    node["id"] = found.ids[given] = step_id(given, name, found.taken)
    found.taken.add(node["id"])
    node["label"] = element.get("name") or node["id"]
    _read_extra(found, element, node)
    if node["kind"] == "task":
        node.setdefault("tool", node["id"])
        node.setdefault("effect", "irreversible")
    if node["kind"] == "end":
        node.setdefault("outcome", _SLUG.sub(" ", name.casefold()).strip() or "done")
    for part in element:
        if _local(part).endswith(("LoopCharacteristics", "ioSpecification")):
            found.refuse(part, node["id"])
    found.nodes.append(node)


def _node(element: Element, messages: dict[Any, Any]) -> dict[str, Any] | None:
    kind = _local(element)
    definitions = [one for one in element if _local(one).endswith("EventDefinition")]
    if kind in TASKS:
        return {"kind": "task"}
    if kind in GATES:
        return {"kind": "gate"}
    if kind in GATEWAYS:
        return {"kind": "gateway", "flow": GATEWAYS[kind]}
    if kind == "endEvent" and all(_local(one) == "terminateEventDefinition" for one in definitions):
        return {"kind": "end"}
    if kind == "intermediateCatchEvent" and len(definitions) == 1:
        wait = _wait(definitions[0], messages)
        return None if wait is None else {"kind": "wait", "wait": wait}
    return None


def _wait(definition: Element, messages: dict[Any, Any]) -> dict[str, str] | None:
    texts = {_local(one): (one.text or "").strip() for one in definition}
    if texts.get("timeDuration"):
        return {"duration": texts["timeDuration"]}
    if texts.get("timeDate"):
        given = texts["timeDate"]
        return {"until": given if "(" in given or "." in given else f"timestamp({json.dumps(given)})"}
    name = messages.get(definition.get("messageRef"))
    if _local(definition) == "messageEventDefinition" and name:
        return {"message": _SLUG.sub("-", name.casefold()).strip("-")}
    return None


def _read_extra(found: Imported, element: Element, node: dict[str, Any]) -> None:
    """What this service itself wrote about a step."""
    for one in element.iter():
        if _local(one) == EXTRA:
            try:
                said = json.loads(one.text or "")
            except (ValueError, RecursionError):
                said = None
            if not isinstance(said, dict) or not said.keys() <= {*SAID}:
                found.refuse(one, node["id"], "is not what this service wrote")
                continue
            node.update(said)


def _ways(found: Imported, process: Element) -> None:
    """The edges; those of start and boundary events become what these mean."""
    aside = dict(_events(found, process))
    for flow in process:
        if _local(flow) != "sequenceFlow":
            continue
        source, target = flow.get("sourceRef", ""), found.ids.get(flow.get("targetRef", ""))
        if target is None:
            continue  # its end was refused, and named
        if aside.get(source) == "":
            if found.start is None:
                found.start = target
            elif found.start != target:
                found.refuse(flow, why="leads from the start as well")
            continue
        branch = flow.get("name") or None
        if source in aside:
            source, branch = aside[source], ERROR
        elif source in found.ids:
            source = found.ids[source]
        else:
            continue
        when = _condition(found, flow, EdgeName(source, target, branch))
        found.edges.append({"source": source, "target": target, "branch": branch, "when": when})


def _events(found: Imported, process: Element) -> Iterator[tuple[str, str]]:
    """Start events lead from nowhere, boundary events of errors from their task."""
    for event in process:
        kind, definitions = _local(event), [one for one in event if _local(one).endswith("EventDefinition")]
        if kind == "startEvent":
            for one in definitions:
                found.refuse(one, why=f"at {event.get('id')} has no counterpart: a run is started by a caller")
            yield event.get("id", ""), ""
        elif kind == "boundaryEvent":
            task = found.ids.get(event.get("attachedToRef", ""))
            if task is not None and [_local(one) for one in definitions] == ["errorEventDefinition"]:
                yield event.get("id", ""), task
            else:
                found.refuse(event, task)


def _condition(found: Imported, flow: Element, edge: EdgeName) -> str | None:
    """The condition of a flow where it is CEL; another is dropped and named."""
    said = next((one.text for one in flow if _local(one) == "conditionExpression"), None)
    text = (said or "").strip()
    if not text:
        return None
    try:
        compile_condition(text)
    except ValueError as failed:
        detail = f"{text[:80]} is no condition here, and was dropped: {failed}"
        found.violations.append(Violation("condition_refused", edge.source, detail, edge))
        return None
    return text


def _local(element: Element) -> str:
    """The name of an element without its namespace; comments have none."""
    tag: Any = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
