"""BPMN 2.0 as a graph: what maps is taken, everything else is refused by name and place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from msgspec.structs import replace

from actors.core.rules.graph import STEPS_MAX
from actors.core.schedule import duration
from daemon.bpmn.graph import Imported, MalformedXml, NoProcess, TooManySteps, Ways, message, read_ways, timer
from daemon.bpmn.names import (
    CAMUNDA,
    DATA,
    ENGINES,
    EVENTS,
    EXTRA,
    GATES,
    GATEWAYS,
    OF_PROCESS,
    PARTS,
    PENSTOCK,
    SAID,
    STEPS,
    TASKS,
    WHOLE,
    WRITTEN,
    ZEEBE,
    definitions_of,
    local,
    reference,
    shortened,
    split,
    step_id,
)
from daemon.runtime.json_codec import loads
from daemon.templates.document_cost import EXPRESSIONS_MAX
from daemon.templates.graphs import Graph, document_of
from daemon.templates.publishing import Checked, NotATemplate, by_process, examined, well_formed

OWNERS = frozenset({"potentialOwner"})
READ = OWNERS | {"candidateGroups", "dueDate", "assignmentDefinition", "taskSchedule"}
_EXPRESSION = re.compile(r"[$#]\{|^\s*=")
_SHOWN = frozenset({"TaskName", "Comment", "Description", "Content", "Subject"})
"""Inputs of a task that are shown and do not say who decides, by the names of jBPM."""


class Unread(ValueError):
    """What is said cannot be taken over; the text says why."""


def read_people(found: Imported, element: Element, node: dict[str, Any], resources: Mapping[str, str]) -> None:
    """Take over groups and a due date; name all else that says who decides, or when."""
    policy: dict[str, Any] = {}
    groups: list[str] = []
    for what, text, kind in _said(element, resources):
        try:
            if kind == "groups":
                groups += _groups(text)
            elif kind == "due" and "deadline" not in policy:
                try:
                    duration(text.strip())
                except ValueError:
                    raise Unread("is no duration such as PT72H, by which the gate would have a deadline") from None
                policy["deadline"] = text.strip()
            else:
                found.refuse_part(element, what, node["id"])
        except Unread as why:
            found.refuse_part(element, what, node["id"], str(why))
    if groups:
        policy["groups"] = ()
        found.groups.append((policy, groups))
    if policy:
        node["policy"] = policy


def is_expression(text: str) -> bool:
    """Whether a text is an expression of another engine."""
    return _EXPRESSION.search(text) is not None


def _said(element: Element, resources: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """What is said of people and time: how to call it, its text, and what it is."""
    kinds = {"candidateGroups": "groups", "dueDate": "due"}
    for name, value in element.attrib.items():
        uri, plain = split(name)
        if plain in kinds:
            yield f"the attribute {plain}={shortened(value)}", value, kinds[plain] if uri in ENGINES else "strange"
    for part in element:
        if local(part) in OWNERS:
            yield from _owners(part, resources)
        elif local(part) == "dataInputAssociation":
            yield from _assigned(element, part)
        elif local(part) == "extensionElements":
            for one in part:
                if local(one) in ("assignmentDefinition", "taskSchedule"):
                    for name, value in one.attrib.items():
                        kind = kinds.get(name, "strange") if split(one.tag)[0] in (ZEEBE, "") else "strange"
                        yield f"the extension {local(one)} {name}={shortened(value)}", value, kind


def _owners(part: Element, resources: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """The groups of a potentialOwner: by an expression, or by a resource of the file."""
    texts = [one for one in part.iter() if local(one) in ("formalExpression", "expression")]
    for one in texts:
        yield f"the part {local(part)}={shortened(one.text or '')}", one.text or "", "groups"
    refs = [one for one in part if local(one) == "resourceRef"]
    for one in refs:
        name = reference((one.text or "").strip(), resources)
        named = resources.get(name or "", "")
        yield f"the part {local(part)}={shortened(one.text or '')}", named, "groups" if named else "strange"
    others = [one for one in part if local(one) not in ("resourceAssignmentExpression", "resourceRef", "documentation")]
    if others or not (texts or refs):
        yield f"the part {local(part)}", "", "strange"


def _assigned(element: Element, part: Element) -> Iterator[tuple[str, str, str]]:
    """What is assigned to an input of the task; one may say who decides (jBPM)."""
    target = next((one.text for one in part if local(one) == "targetRef"), None)
    for one in element.iter():
        if local(one) == "dataInput" and one.get("id") == target and one.get("name") not in _SHOWN:
            for given in part.iter():
                if local(given) == "from":
                    text, name = (given.text or "").strip(), one.get("name") or ""
                    yield f"the input {name}={shortened(text)}", text, "groups" if name == "GroupId" else "strange"


def _groups(text: str) -> list[str]:
    """The names of groups in a list, where each is one."""
    if is_expression(text):
        raise Unread("is an expression of another engine: name the groups in the policy of the gate")
    found = []
    for name in filter(None, map(str.strip, text.split(","))):
        inner = name[6:-1].strip() if name.startswith("group(") and name.endswith(")") else name
        if not inner or "(" in inner or ")" in inner:
            raise Unread("names no groups: here groups decide, and no single people")
        found.append(inner)
    if not found:
        raise Unread("names no group")
    return found


__all__ = ["Imported", "MalformedXml", "NoProcess", "TooManySteps", "read_bpmn"]

ELSEWHERE = DATA | PARTS["process"] | {"sequenceFlow", "startEvent", "boundaryEvent", "laneSet"}
ABOUT = frozenset({"documentation", "extensionElements", "auditing", "monitoring"})
_PLAIN = {**dict.fromkeys(TASKS, "task"), **dict.fromkeys(GATES, "gate")}
ELEMENTS_MAX = 100_000
PARTS_MAX = 10 * STEPS_MAX
_DECLARED = re.compile(r"\A\ufeff?\s*<\?xml[^>]*\?>")
_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a file says beside its process."""

    messages: Mapping[str, Element]
    resources: Mapping[str, str]


def read_bpmn(xml: str) -> Imported:
    """Read a process; MalformedXml, NoProcess or TooManySteps when there is none to read."""
    root = _parsed(xml)
    processes = [one for one in root.iter() if local(one) == "process"]
    process = max(processes, key=lambda one: (_runs(one) and _steps(one) > 0, _steps(one)), default=None)
    if process is None or not len(process):
        raise NoProcess("there is no process with anything in it")
    if _steps(process) > STEPS_MAX or len(process) > PARTS_MAX:
        raise TooManySteps(f"the process has more than {STEPS_MAX} steps, or more than {PARTS_MAX} parts")
    if sum(local(part) == "conditionExpression" for one in process for part in one) > EXPRESSIONS_MAX:
        raise TooManySteps(f"the process has more than {EXPRESSIONS_MAX} conditions")
    found = Imported(process.get("name") or "Process")
    _read_others(found, root, process)
    _read_process(found, process)
    file = FileFacts(
        {one.get("id", ""): one for one in root.iter() if local(one) == "message"},
        {one.get("id", ""): one.get("name", "") for one in root if local(one) == "resource"},
    )
    ways = Ways.from_process(found, process)
    for element in process:
        _race(found, element, ways)
    for element in process:
        _step(found, element, file, ways)
    if not found.nodes:
        refused = next((f": {one.detail}" for one in found.violations), "")
        raise NoProcess(f"there is no step in the process{refused}")
    read_ways(ways)
    found.settle_names()
    return found


def _runs(process: Element) -> bool:
    return process.get("isExecutable", "").strip() in ("true", "1")


def _steps(process: Element) -> int:
    """How many parts of a process become steps."""
    return sum(local(one) in STEPS for one in process)


def _read_others(found: Imported, root: Element, process: Element) -> None:
    """Name other processes that are to run, and a pool that there are several of."""
    for one in root.iter():
        other = local(one) == "process" and one is not process and _draws(one)
        if other and (_runs(one) or not _runs(process)):
            found.refuse(one, why="is a second process")
        elif local(one) == "participantMultiplicity":
            found.refuse(one)


def _draws(process: Element) -> bool:
    """Whether a process has more than starts and what stands beside its way."""
    return any(local(one) not in ELSEWHERE | ABOUT for one in process if local(one))


def _parsed(xml: str) -> Element:
    try:
        root: Element = fromstring(_DECLARED.sub("", xml), forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as failed:
        raise MalformedXml(str(failed) or type(failed).__name__) from None
    if sum(1 for _ in root.iter()) > ELEMENTS_MAX:
        raise MalformedXml("there are too many elements")
    return root


def _read_process(found: Imported, process: Element) -> None:
    """What a process says of itself, and what this service wrote of its document."""
    found.refuse_strange(process, read=frozenset(local(one) for one in process if local(one) not in ABOUT))
    for part in process:
        if local(part) == "laneSet":
            for lane in part.iter():
                if local(lane) in ("laneSet", "lane"):
                    found.refuse_strange(lane)
        elif local(part) == "extensionElements":
            for one in part:
                if _own(one, WHOLE):
                    said = _json(one)
                    if said is None or not said.keys() <= {*OF_PROCESS}:
                        found.refuse(one, why="is not what this service wrote")
                    else:
                        found.more |= said


def _step(found: Imported, element: Element, file: FileFacts, ways: Ways) -> None:
    kind = local(element)
    if (
        not kind
        or kind in ELSEWHERE
        or kind in ABOUT
        or element.get("id") in found.passed
        or _passes(found, element, ways)
    ):
        return
    name = " ".join(element.get("name", "").split())
    limit = ways.limits.get(element.get("id", ""))
    before = len(found.violations)
    node = _node(found, element, file)
    if node is None:
        why = "calls another process, and has no counterpart" if kind == "callActivity" else "has no counterpart"
        found.refuse(element, why=why)
        if limit is not None:
            found.refuse(ways.parts[limit])
        return
    given = element.get("id", "")
    node["id"] = step_id(given, name, found.taken)
    if given:
        found.ids[given] = node["id"]
    found.taken.add(node["id"])
    found.nodes.append(node)
    found.violations[before:] = [replace(one, node=node["id"]) for one in found.violations[before:]]
    node["label"] = element.get("name") or node["id"]
    if limit is not None and node.get("wait") is not None:
        late = ways.parts[limit]
        node["wait"]["within"] = timer(found, late, definitions_of(late)[0]).get("duration")
        found.refuse_strange(late, node["id"], frozenset({"timerEventDefinition"}))
    _read_step(found, element, node, file)


def _read_step(found: Imported, element: Element, node: dict[str, Any], file: FileFacts) -> None:
    """What an element says of its step; what does not map is named."""
    kind, name = local(element), " ".join(element.get("name", "").split())
    read = frozenset(map(local, definitions_of(element) if kind in EVENTS else ())) | {EXTRA}
    if kind in GATES:
        read_people(found, element, node, file.resources)
        read |= READ
    if kind in TASKS:
        read |= _tool(found, element, node)
    _read_extra(found, element, node)
    if node["kind"] == "task":
        node.setdefault("tool", node["id"])
        node.setdefault("effect", "irreversible")
        if kind == "endEvent":
            end = found.add({"kind": "end", "label": node["label"]}, f"{node['id'][:50]}-end")
            found.closing[node["id"]] = end["id"]
            found.outcomes.append((end, name))
    elif node["kind"] == "end" and "outcome" not in node:
        found.outcomes.append((node, name))
    for definition in definitions_of(element):
        if local(definition) != "timerEventDefinition":  # which is read where its time is
            found.refuse_strange(definition, node["id"])
    found.refuse_strange(element, node["id"], read)


def _passes(found: Imported, element: Element, ways: Ways) -> bool:
    """Whether an element only leads on: a milestone, and a gateway with one way on."""
    kind, given = local(element), element.get("id", "")
    leaving, entering = len(ways.leaving[given]), ways.entered[given]
    if not given or any(_own(one, EXTRA) for one in element.iter()):
        return False
    bare = kind == "intermediateThrowEvent" and not definitions_of(element) and leaving <= 1
    merges = kind == "exclusiveGateway" and leaving <= 1 and entering and not _before_join(given, ways)
    alone = kind == "parallelGateway" and leaving <= 1 and entering == 1
    if not (bare or merges or alone):
        return False
    found.passed.add(given)
    found.refuse_strange(element)
    return True


def _race(found: Imported, element: Element, ways: Ways) -> None:
    """A gateway that waits for a message or a time is one wait, with the time as its limit."""
    given = element.get("id", "")
    if local(element) != "eventBasedGateway" or element.get("instantiate", "false") not in ("false", "0"):
        return
    flows = ways.leaving[given]
    alone = [one for one in flows if ways.entered[one.target] == 1 and len(ways.leaving[one.target]) <= 1]
    kinds = [_caught(ways.parts[flow.target]) for flow in alone]
    if sorted(kinds) != ["message", "timer"]:
        return
    found.refuse_strange(element)
    heard, late = flows if kinds[0] == "message" else reversed(flows)
    ways.leaving[given] = [heard]
    ways.limits[heard.target] = late.target
    found.passed |= {given, late.target}


def _caught(element: Element) -> str:
    what = [local(one).removesuffix("EventDefinition") for one in definitions_of(element)]
    if local(element) == "receiveTask":
        return "message"
    return what[0] if local(element) == "intermediateCatchEvent" and len(what) == 1 else ""


def _before_join(given: str, ways: Ways) -> bool:
    """Whether a merge leads to a join, which would wait for each of the ways that it merges."""
    onward = ways.leaving[given]
    if ways.entered[given] <= 1 or not onward:
        return False
    target = ways.parts[onward[0].target]
    return local(target) == "parallelGateway" and ways.entered[onward[0].target] > 1


def _node(found: Imported, element: Element, file: FileFacts) -> dict[str, Any] | None:
    kind, definitions = local(element), definitions_of(element)
    what = [local(one) for one in definitions]
    if kind in _PLAIN:
        return {"kind": _PLAIN[kind]}
    if kind in GATEWAYS:
        return {"kind": "gateway", "flow": GATEWAYS[kind]}
    if kind == "endEvent" and not {*what} - {"terminateEventDefinition"}:
        return {"kind": "end"}
    if kind in ("endEvent", "intermediateThrowEvent") and what == ["messageEventDefinition"]:
        return {"kind": "task"}
    if kind == "intermediateCatchEvent" and what == ["timerEventDefinition"]:
        return {"kind": "wait", "wait": timer(found, element, definitions[0])}
    if kind == "receiveTask" or (kind == "intermediateCatchEvent" and what == ["messageEventDefinition"]):
        says = element if kind == "receiveTask" else definitions[0]
        wait = message(found, element, says.get("messageRef"), file.messages)
        return None if wait is None else {"kind": "wait", "wait": wait}
    return None


def _tool(found: Imported, element: Element, node: dict[str, Any]) -> frozenset[str]:
    """The tool of a task by the type of its job; the names of what was read, or refused."""
    jobs = [one for one in element.iter() if split(one.tag) == (ZEEBE, "taskDefinition")]
    given = [one.get("type", "") for one in jobs]
    for one in jobs:
        for name, value in one.attrib.items():
            if name != "type" and (name, value) != ("retries", "3"):
                found.refuse_part(element, f"the extension taskDefinition {name}={value[:60]}", node["id"])
    if element.get(f"{{{CAMUNDA}}}type") == "external" and element.get(f"{{{CAMUNDA}}}topic"):
        given.append(element.get(f"{{{CAMUNDA}}}topic", ""))
    for name in given[1:] if given and _TOOL.fullmatch(given[0]) else given:
        found.refuse_part(element, f"the type {name[:60]}", node["id"], "is no name of a tool here")
    if given and _TOOL.fullmatch(given[0]):
        node["tool"] = given[0]
    script = [one for one in element if local(one) == "script"]
    if any((one.text or "").strip() for one in script):
        return frozenset({"taskDefinition", *(("type", "topic") if given and not jobs else ())})
    return frozenset({"taskDefinition", "script", *(("type", "topic") if given and not jobs else ())})


def _read_extra(found: Imported, element: Element, node: dict[str, Any]) -> None:
    """What this service wrote about a step; a time or a message that BPMN says counts before it."""
    for one in element.iter():
        if not _own(one, EXTRA):
            continue
        said = _json(one)
        parts = [] if said is None else [said.get("policy"), said.get("wait")]
        if (
            said is None
            or not said.keys() <= {*SAID, *WRITTEN}
            or any(not isinstance(p, (dict, type(None))) for p in parts)
        ):
            found.refuse(one, node["id"], "is not what this service wrote")
            continue
        if "policy" in said and "policy" in node:
            found.refuse(one, node["id"], "says who decides, and other words of the file say it, too")
        wait = said.get("wait")
        if isinstance(wait, dict) and node.get("wait"):
            node["wait"]["within"] = wait.get("within")
            del said["wait"]
        node.update(said)


def _own(one: Element, name: str) -> bool:
    """Whether an element is one that this service writes, if need be without a namespace."""
    return local(one) == name and split(one.tag)[0] in (PENSTOCK, "")


def _json(one: Element) -> dict[str, Any] | None:
    try:
        said = loads((one.text or "").encode())
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


KINDS = {MalformedXml: "malformed_xml", NoProcess: "no_process", TooManySteps: "too_large"}
"""Why there is no graph, as the kind of a fault."""
INLINE_CHARS_MAX = 8 * 1024


def graph_of(xml: str) -> Checked:
    """The graph of a BPMN document and its violations; NotATemplate where there is none."""
    if len(xml) > INLINE_CHARS_MAX:
        return by_process("bpmn", None, xml, partial(graph_here, xml))
    found = graph_here(xml)
    if found.faults:
        raise NotATemplate(found.faults)
    return found


def graph_here(xml: str) -> Checked:
    """The same, here; what is none has faults."""
    try:
        found = read_bpmn(xml)
        value = {"title": found.title, "start": found.start, "nodes": found.nodes, "edges": found.edges}
        with well_formed():  # what this service wrote may have been changed since
            document, astray, implied = document_of(Graph.model_validate(value), **found.more)
    except (MalformedXml, NoProcess, TooManySteps) as none:
        return Checked(faults=(((), KINDS[type(none)], str(none)),))
    except NotATemplate as other:
        return Checked(faults=other.faults)
    checked = examined(document, astray, implied)
    return replace(checked, violations=(*found.violations, *checked.violations))
