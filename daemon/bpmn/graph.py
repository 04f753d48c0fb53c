"""The graph that a BPMN file becomes: its flows as edges, and all that did not map."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from xml.etree.ElementTree import Element

from actors.core.rules import EdgeName, Violation
from actors.core.schedule import duration
from actors.core.template import APPROVED, DENIED, ERROR, MESSAGE, TIMEOUT, ConditionFailed
from daemon.bpmn.names import DATA, apart, definitions_of, free, latin, local, reference, slug, strange
from daemon.templates.cel import compile_condition, compile_moment

NAMED_MAX = 80


class MalformedXml(ValueError):
    """The text is no XML, or has a document type."""


class NoProcess(ValueError):
    """There is no process in the document."""


class TooManySteps(ValueError):
    """The process has more steps or flows than a template may have."""


@dataclass(slots=True)
class Imported:
    """A graph, what did not map, and the members of a document that a graph has not."""

    title: str
    start: str | None = None
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    """The step of each element by the element's id."""
    taken: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    """Elements that only lead on."""
    closing: dict[str, str] = field(default_factory=dict)
    """The end behind a step that is both."""
    more: dict[str, Any] = field(default_factory=dict)
    outcomes: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    """Ends whose outcome is their name."""
    messages: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    """Waits for a message, by the name that the file gives it."""
    groups: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)
    """Policies of gates, and the groups that the file names."""

    def refuse(self, element: Element, where: str | None = None, why: str = "has no counterpart") -> None:
        """Name an element that does not map."""
        self.violations.append(Violation("unsupported_element", where, f"the element {_called(element)} {why}"))

    def refuse_strange(self, element: Element, where: str | None = None, read: frozenset[str] = frozenset()) -> None:
        """Name the attributes and parts of an element that do not map."""
        for what in strange(element, read):
            self.refuse_part(element, what, where)

    def refuse_part(
        self, element: Element, what: str, where: str | None = None, why: str = "has no counterpart"
    ) -> None:
        """Name an attribute or a part of an element that does not map."""
        detail = f"{what} of the element {_called(element)} {why}"
        self.violations.append(Violation("unsupported_element", where, detail))

    def add(self, node: dict[str, Any], wanted: str) -> dict[str, Any]:
        """Add a step that the file implies; its id begins with what is wanted."""
        node["id"] = free(wanted, self.taken)
        self.taken.add(node["id"])
        self.nodes.append(node)
        return node

    def settle_names(self) -> None:
        """Give messages, groups and outcomes legal names that differ where those of the file do."""
        messages = apart((name for _, name in self.messages), lambda name: slug(name, "message"))
        for wait, name in self.messages:
            wait["message"] = messages[name]
        groups = apart((one for _, names in self.groups for one in names), _group)
        for policy, names in self.groups:
            policy["groups"] = [*dict.fromkeys(groups[one] for one in names)]
        outcomes = apart((name for _, name in self.outcomes), lambda name: name.lower() or "done", " ")
        for node, name in self.outcomes:
            node["outcome"] = outcomes[name]


def _group(name: str) -> str:
    return latin(name)[:58].strip("-") or "group"


def _called(element: Element) -> str:
    """An element by its kind, its id and its name."""
    name = " ".join(element.get("name", "").split())[:NAMED_MAX]
    kind = f"{local(element)} {element.get('id', '')[:NAMED_MAX]}".strip()
    return kind + (f" ({name})" if name else "")


_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T.*)?")


def timer(found: Imported, element: Element, definition: Element) -> dict[str, str]:
    """The wait for a time; one that says none that can come is named, and waits for nothing."""
    found.refuse_strange(definition, read=frozenset({"timeCycle"}))
    times = [(local(one), (one.text or "").strip(), one) for one in definition if local(one).startswith("time")]
    wait: dict[str, str] = {}
    for kind, text, one in times:
        found.refuse_strange(one)
        if wait or kind == "timeCycle":
            found.refuse_part(element, f"{kind} {text[:80]}")
            continue
        try:
            if kind == "timeDuration" and text:
                duration(text)
                wait = {"duration": text}
            elif kind == "timeDate" and text:
                wait = {"until": _moment(text)}
        except ValueError as why:
            found.refuse_part(element, f"{kind} {text[:80]}", None, f"is no time here, and was dropped: {why}")
            return {}
    return wait


def message(
    found: Imported, element: Element, given: str | None, messages: Mapping[str, Element]
) -> dict[str, str] | None:
    """The wait for a message, by its name, or else by that of the step; None for an unknown one."""
    if given is None:
        named = element.get("name", "")
    else:
        known = reference(given, messages)
        if known is None or known not in messages:
            return None
        named = messages[known].get("name", "") or known
        found.refuse_strange(messages[known], read=frozenset({"itemRef"}))
    wait = {"message": "message"}
    found.messages.append((wait, " ".join(named.split()) or element.get("id") or "message"))
    return wait


def _moment(text: str) -> str:
    """An expression for a time; ValueError where it can never be one."""
    if _DATE.fullmatch(text):
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            raise ValueError("it has no zone, such as Z or +01:00")
        stamp = re.sub(r"\+00:00$", "Z", at.isoformat())
        return f"timestamp({json.dumps(text if _exact(text) else stamp)})"
    moment = compile_moment(text)
    if not re.search(r"\b(?:inputs|facts|clocks)\b", text):
        try:
            moment.time({}, {})
        except ConditionFailed as failed:
            raise ValueError(str(failed)) from None
    return text


def _exact(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", text) is not None


_ENTERED_BY_NONE = DATA | {"startEvent", "boundaryEvent"}
_OWN_WAYS = frozenset({APPROVED, DENIED, ERROR, MESSAGE, TIMEOUT})
_SEVERAL = 2


@dataclass(slots=True, eq=False)
class Flow:
    """A sequence flow with the ids of the elements at its ends."""

    element: Element
    source: str
    target: str

    @property
    def name(self) -> str | None:
        return self.element.get("name") or None

    @property
    def condition(self) -> Element | None:
        """Its condition, where it says one."""
        for one in self.element:
            if local(one) == "conditionExpression" and ((one.text or "").strip() or _elsewhere(one)):
                return one
        return None


def _elsewhere(condition: Element) -> bool:
    """Whether a condition without a text names a script or so."""
    return any(name.rpartition("}")[2] not in ("id", "type", "language") for name in condition.attrib)


@dataclass(slots=True)
class Ways:
    """The flows of a process by their source, and what stands at their ends."""

    found: Imported
    process: Element
    parts: dict[str, Element]
    leaving: dict[str, list[Flow]] = field(default_factory=lambda: defaultdict(list))
    entered: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    edges: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    known: dict[str, str | None] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    """The timer that limits the wait for a message, by the wait."""
    end: str | None = None

    @classmethod
    def from_process(cls, found: Imported, process: Element) -> Ways:
        """Read the flows; one that leads from or to nothing is named."""
        parts = {one.get("id", ""): one for one in process if one.get("id")}
        self = cls(found, process, parts)
        for one in process:
            if local(one) != "sequenceFlow":
                continue
            found.refuse_strange(one)
            source, target = reference(one.get("sourceRef"), parts), reference(one.get("targetRef"), parts)
            if source is None or target is None or source not in parts or target not in parts:
                found.refuse(one, why="leads from or to nothing in this process")
                continue
            if local(parts[target]) in _ENTERED_BY_NONE or local(parts[source]) in DATA:
                found.refuse(
                    one, why=f"leads from {local(parts[source])} to {local(parts[target])}, which no flow does"
                )
                continue
            self.leaving[source].append(Flow(one, source, target))
            self.entered[target] += 1
        return self

    def lead(self, source: str, target: str, branch: str | None = None, when: str | None = None) -> None:
        edge = {"source": source, "target": target, "branch": branch, "when": when}
        self.found.edges.append(edge)
        self.edges[source].append(edge)

    def reached(self, flow: Flow) -> str | None:
        """The step that a flow leads to past what only leads on; None where that was refused."""
        seen, target = dict[str, None](), flow.target
        while target in self.found.passed and target not in self.known and target not in seen:
            seen[target] = None
            onward = self.leaving[target]
            if not onward:
                self.known[target] = self.implied_end()
            else:
                target = onward[0].target
        if target in seen and target not in self.known:
            self.found.refuse(self.parts[target], why="leads in a circle without a step")
            self.known[target] = None
        step = self.known[target] if target in self.known else self.found.ids.get(target)
        self.known |= dict.fromkeys(seen, step)
        return step

    def reached_by(self, flows: list[Flow]) -> list[str]:
        return [step for flow in flows if (step := self.reached(flow)) is not None]

    def implied_end(self) -> str:
        """The end of all paths that end without one."""
        if self.end is None:
            node = {"kind": "end", "label": "End", "outcome": "done"}
            self.end = str(self.found.add(node, "end")["id"])
        return self.end


def read_ways(ways: Ways) -> None:
    """The edges of all steps, and what events at the start and at the border of steps mean."""
    found, parts = ways.found, ways.parts
    _passed(ways)
    nodes = {node["id"]: node for node in found.nodes}
    starts = [one for one in ways.process if local(one) == "startEvent"]
    for given, step in [*found.ids.items()]:
        if given in parts:
            _leave(ways, parts[given], nodes[step])
    for node in nodes.values():
        if node["kind"] != "end" and not ways.edges[node["id"]] and node["id"] not in found.ids.values():
            ways.lead(node["id"], ways.implied_end())
    _starts(ways, starts)
    for event in parts.values():
        if local(event) == "boundaryEvent":
            _border(ways, event, nodes)
    _terminates(ways)


def _passed(ways: Ways) -> None:
    """A condition at the only way on has no meaning here."""
    borders = [given for given, one in ways.parts.items() if local(one) == "boundaryEvent"]
    for given in dict.fromkeys((*ways.found.passed, *ways.limits, *borders)):
        for flow in ways.leaving[given]:
            if flow.condition is not None and ways.parts[given].get("default") != flow.element.get("id"):
                ways.found.refuse(flow.element, why="has a condition, and is the only way on")


def _starts(ways: Ways, starts: list[Element]) -> None:
    """The first step; what else a start says is named."""
    found = ways.found
    for event in starts:
        definitions = definitions_of(event)
        for one in definitions:
            why = f"at {event.get('id')} has no counterpart: a run is started by a caller"
            found.refuse(one, why=why)
        found.refuse_strange(event, read=frozenset(map(local, definitions)))
        flows = ways.leaving[event.get("id", "")]
        for flow in flows:
            if flow.condition is not None:
                found.refuse(flow.element, why="has a condition, and leads from the start")
        targets = ways.reached_by(flows)
        if len(targets) >= _SEVERAL and found.start is None:
            targets = [_fork(ways, "start", event.get("name"), targets)]
        for target, flow in zip(targets, flows, strict=False):
            if found.start is None:
                found.start = target
            elif found.start != target:
                found.refuse(flow.element, why="leads from the start as well")
    if found.start is None and not starts:
        entered = {edge["target"] for edge in found.edges}
        found.start = next((node["id"] for node in found.nodes if node["id"] not in entered), None)


def _fork(ways: Ways, wanted: str, label: str | None, targets: list[str], flow: str = "parallel") -> str:
    node = {"kind": "gateway", "flow": flow, "label": label or "All of these"}
    fork = str(ways.found.add(node, f"{wanted[:50]}-fork")["id"])
    for target in targets:
        ways.lead(fork, target)
    return fork


def _leave(ways: Ways, element: Element, node: dict[str, Any]) -> None:
    """The edges out of a step."""
    found, flows = ways.found, ways.leaving[element.get("id", "")]
    late = ways.limits.get(element.get("id", ""))
    if late is not None:
        for word, onward in ((MESSAGE, flows), (TIMEOUT, ways.leaving[late])):
            for step in ways.reached_by(onward) if onward else [ways.implied_end()]:
                ways.lead(node["id"], step, word)
        return
    default = _default(ways, element, flows)
    if node.get("flow") == "exclusive":
        _choose(ways, node, flows, default)
        return
    if not flows and node["kind"] != "end":
        ways.lead(node["id"], found.closing.get(node["id"]) or ways.implied_end())
        return
    plain = all(flow.name is None and flow.condition is None for flow in flows)
    if len(flows) >= _SEVERAL and plain and node["kind"] != "end" and node.get("flow") is None:
        targets = ways.reached_by(flows)
        ways.lead(node["id"], _fork(ways, node["id"], None, targets))
        return
    if default is not None and len(flows) == _SEVERAL and node.get("flow") is None:
        gateway = {"kind": "gateway", "flow": "exclusive", "label": node["label"]}
        ways.lead(node["id"], str(found.add(gateway, f"{node['id'][:50]}-choice")["id"]))
        _choose(ways, gateway, flows, default)
        return
    for flow in flows:
        target = ways.reached(flow)
        if target is not None:
            branch = _word(flow, node, alone=len(flows) == 1)
            ways.lead(node["id"], target, branch, _condition(ways, flow, EdgeName(node["id"], target, branch)))


def _word(flow: Flow, node: Mapping[str, Any], *, alone: bool) -> str | None:
    """The branch that a flow is; the name of the only way on says nothing."""
    name = flow.name
    plain = (name or "").strip().lower()
    if plain in _OWN_WAYS:
        return plain
    return None if alone or node.get("flow") == "parallel" else name


def _default(ways: Ways, element: Element, flows: list[Flow]) -> Flow | None:
    """The flow that is taken otherwise."""
    given = element.get("default")
    if given is None:
        return None
    known = {flow.element.get("id", ""): flow for flow in flows}
    found = known.get(reference(given, known) or "")
    if found is None:
        ways.found.refuse_part(element, f"the attribute default={given[:60]}", why="names no flow from there")
    return found


def _choose(ways: Ways, node: Mapping[str, Any], flows: list[Flow], default: Flow | None) -> None:
    """The branches of a choice: each with a label, and the default last and without a condition."""
    steps = {step["id"]: step for step in ways.found.nodes}
    taken, counts = {flow.name for flow in flows}, dict[str, int]()
    for flow in sorted(flows, key=lambda one: one is default):
        target = ways.reached(flow)
        if target is None:
            continue
        label = "otherwise" if flow is default else steps[target]["label"] if target in steps else "End"
        branch = flow.name or _unused(label, taken, counts)
        taken.add(branch)
        name = EdgeName(node["id"], target, branch)
        ways.lead(node["id"], target, branch, None if flow is default else _condition(ways, flow, name))


def _unused(label: str, taken: set[str | None], counts: dict[str, int]) -> str:
    while (found := label if counts.get(label, 0) == 0 else f"{label} {counts[label] + 1}") in taken:
        counts[label] = counts.get(label, 0) + 1
    return found


def _condition(ways: Ways, flow: Flow, edge: EdgeName) -> str | None:
    """The condition of a flow where it is CEL; another is dropped and named."""
    said = flow.condition
    if said is None:
        return None
    text = (said.text or "").strip()
    ways.found.refuse_strange(said, edge.source)
    language = said.get("language", "")
    why = f"its language is {language[:60]}, and here it is CEL"
    if not language or "cel" in language.lower():
        try:
            compile_condition(text)
        except ValueError as failed:
            why = str(failed)
        else:
            return text
    detail = f"{text[:80] or 'what stands elsewhere'} is no condition here, and was dropped: {why}"
    ways.found.violations.append(Violation("condition_refused", edge.source, detail, edge))
    return None


def _border(ways: Ways, event: Element, nodes: Mapping[str, dict[str, Any]]) -> None:
    """An event at the border: an error of a task, a deadline of a gate, the time of a wait."""
    found = ways.found
    definitions = definitions_of(event)
    attached = reference(event.get("attachedToRef"), found.ids)
    node = nodes.get(found.ids.get(attached or "", ""))
    targets = ways.reached_by(ways.leaving[event.get("id", "")])
    kinds = [local(one) for one in definitions]
    if node is None or len(targets) != 1:
        found.refuse(event, None if node is None else node["id"])
        return
    if kinds == ["errorEventDefinition"] and node["kind"] in ("task", "gate"):
        ways.lead(node["id"], targets[0], ERROR)
        found.refuse_strange(definitions[0], node["id"])
    elif kinds != ["timerEventDefinition"] or not _timed(ways, definitions[0], node, targets[0]):
        found.refuse(event, node["id"])
        return
    found.refuse_strange(event, node["id"], frozenset(kinds))


def _timed(ways: Ways, definition: Element, node: dict[str, Any], target: str) -> bool:
    """Whether a timer is the deadline of a gate, which denies, or that of a message."""
    texts = [(one.text or "").strip() for one in definition if local(one) == "timeDuration"]
    try:
        duration(texts[0] if len(texts) == 1 else "")
    except ValueError:
        return False
    ways.found.refuse_strange(definition, node["id"])
    edges = ways.edges[node["id"]]
    denied = [edge["target"] for edge in edges if edge["branch"] == DENIED]
    if node["kind"] == "gate" and denied == [target] and not (node.get("policy") or {}).get("deadline"):
        node["policy"] = node.get("policy") or {}
        node["policy"] |= {"deadline": texts[0], "on_deadline": DENIED}
        return True
    wait = node.get("wait") or {}
    if node["kind"] == "wait" and wait.get("message") and not wait.get("within") and len(edges) == 1:
        wait["within"], edges[0]["branch"] = texts[0], MESSAGE
        ways.lead(node["id"], target, TIMEOUT)
        return True
    return False


def _terminates(ways: Ways) -> None:
    """An end that ends all branches at once is no other where there is one branch."""
    forks = [node["id"] for node in ways.found.nodes if node.get("flow") == "parallel"]
    if not any(len(ways.edges[fork]) >= _SEVERAL for fork in forks):
        return
    for given, step in ways.found.ids.items():
        element = ways.parts[given]
        if local(element) == "endEvent" and definitions_of(element):
            ways.found.refuse(element, step, "ends all branches at once, and here an end ends its own alone")
