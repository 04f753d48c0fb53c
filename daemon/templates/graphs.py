"""Graphs of nodes and edges, and the documents that they become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from actors.core.rules import EdgeName, Violation
from actors.core.template import ERROR, Flow, Kind, Tier, ToolEffect
from daemon.templates.documents import Document, Names, PolicyFields, as_tuple

BLASTS = ("low", "medium", "high")
END = "end"
AGENT = "agent"


class _GraphModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class GraphPolicy(PolicyFields):
    """The policy of a gate, as a canvas shows it."""

    role: str = "manager"


class GraphWait(_GraphModel):
    duration: str | None = None
    until: str | None = None
    message: str | None = None
    within: str | None = None


class GraphNode(_GraphModel):
    """A node of a canvas or of a bare graph; computed members are read and ignored."""

    id: str
    kind: Kind | Annotated[str, Field(pattern="^agent$")]
    label: str | None = None
    tier: Tier | None = None
    blast: str | None = None
    flow: Flow | None = None
    tool: str | None = None
    effect: ToolEffect | None = None
    reversible: bool | None = None
    question: str | None = None
    role: str | None = None
    needs: Names = ()
    dry_run: Annotated[tuple[dict[str, JsonValue], ...], BeforeValidator(as_tuple)] = ()
    signal_when: str | None = None
    outcome: str | None = None
    policy: GraphPolicy | None = None
    wait: GraphWait | None = None
    compensate: str | None = None
    compensates: bool = False
    gate: bool | None = None
    decisions: Names = ()
    judges: Names = ()
    quorum: int | None = None
    duty: str | None = None
    ends_clocks: dict[str, str] = Field(default_factory=dict)


class GraphEdge(_GraphModel):
    source: str
    target: str
    branch: str | None = None
    when: str | None = None


class Graph(_GraphModel):
    """A canvas, or a bare graph of nodes and edges."""

    vertical: str = "process"
    version: int | None = None
    digest: str | None = None
    title: str = "Process"
    start: str | None = None
    nodes: Annotated[tuple[GraphNode, ...], BeforeValidator(as_tuple), Field(min_length=1)]
    edges: Annotated[tuple[GraphEdge, ...], BeforeValidator(as_tuple)] = ()
    gates: Names = ()
    judges: Annotated[tuple[dict[str, JsonValue], ...], BeforeValidator(as_tuple)] = ()
    clocks: Annotated[tuple[dict[str, JsonValue], ...], BeforeValidator(as_tuple)] = ()
    functions: dict[str, JsonValue] = Field(default_factory=dict)
    readers: dict[str, JsonValue] | None = None
    subjects: Names = ()
    exempt: dict[str, Names] = Field(default_factory=dict)


UNSAID = "A graph says no more of the rule."


def document_of(graph: Graph, **more: Any) -> tuple[Document, list[Violation], frozenset[str]]:
    """The document of a graph, what it cannot say, and the ends that the graph leaves out.

    A graph without any end ends at each node without an edge on. `more` are members of the document
    that a graph lacks.
    """
    seats = [{name: one for name, one in seat.items() if one is not None} for seat in graph.judges]
    around = graph.model_dump(include={"functions", "readers", "subjects"}, exclude_defaults=True)
    clocks = [{name: one for name, one in clock.items() if one is not None} for clock in graph.clocks]
    rules = [
        {"id": name, "source": name, "says": UNSAID, "not_enforced": UNSAID, "exempt": ends}
        for name, ends in graph.exempt.items()
    ]
    lists = {"judges": seats, "clocks": clocks, "rules": rules}
    document: dict[str, Any] = {**{name: one for name, one in lists.items() if one}, **around, **more}
    wrong = [*_blasts(graph), *_astray(graph), *_unseated(graph, document.get("judges", ()))]
    edges = [*graph.edges]
    implied = _implied_end(graph)
    if implied is not None:
        sources = {edge.source for edge in edges}
        edges += [GraphEdge(source=node.id, target=implied) for node in graph.nodes if node.id not in sources]
    leaving: dict[str, list[GraphEdge]] = {}
    for edge in edges:
        leaving.setdefault(edge.source, []).append(edge)
    steps = [{**_step(node), **_ways(node, leaving.pop(node.id, []))} for node in graph.nodes]
    if implied is not None:
        steps.append({"id": implied, "kind": "end", "label": "End", "outcome": "done"})
    document = {
        "vertical": graph.vertical,
        "version": graph.version or 1,
        "title": graph.title,
        "description": graph.title,
        "start": graph.start or graph.nodes[0].id,
        "inputs_schema": {"type": "object"},
        "example": {},
        **document,
        "steps": steps,
    }
    return Document.model_validate(document), wrong, frozenset(() if implied is None else (implied,))


def _blasts(graph: Graph) -> Iterator[Violation]:
    for node in graph.nodes:
        if node.blast is not None and node.blast not in BLASTS:
            yield Violation("blast_refused", node.id, f"{node.blast} is none of {', '.join(BLASTS)}")


def _astray(graph: Graph) -> Iterator[Violation]:
    """Edges from nowhere, which no document can have."""
    known = {node.id for node in graph.nodes}
    for edge in graph.edges:
        if edge.source not in known:
            where = EdgeName(edge.source, edge.target, edge.branch)
            detail = f"the edge {edge.source} -> {edge.target} names no step"
            yield Violation("unknown_node", edge.source, detail, where)


def _unseated(graph: Graph, seats: Any) -> Iterator[Violation]:
    """Judges of a panel that the graph does not seat: without them the autopilot clears a step."""
    given = [seat for seat in seats if isinstance(seat, dict)] if isinstance(seats, (list, tuple)) else []
    seated = {(str(seat.get("id")), step) for seat in given for step in _steps_of(seat)}
    for node in graph.nodes:
        for judge in node.judges:
            if (judge, node.id) not in seated:
                yield Violation("judge_refused", node.id, f"judges of the graph seats no {judge} here")


def _steps_of(seat: dict[str, Any]) -> list[str]:
    steps = seat.get("steps")
    return [one for one in steps if isinstance(one, str)] if isinstance(steps, (list, tuple)) else []


def _implied_end(graph: Graph) -> str | None:
    """The id of the end that the graph leaves out."""
    if any(node.kind == "end" for node in graph.nodes):
        return None
    taken = {node.id for node in graph.nodes} | {edge.target for edge in graph.edges}
    number = next(number for number in range(1, len(taken) + 2) if _numbered(number) not in taken)
    return _numbered(number)


def _numbered(number: int) -> str:
    return END if number == 1 else f"{END}-{number}"


def _step(node: GraphNode) -> dict[str, Any]:
    """The members of a step but for its ways."""
    agent = node.kind == AGENT
    calls = agent or node.kind == "task"
    known: dict[str, Any] = {
        "id": node.id,
        "kind": "task" if agent else node.kind,
        "label": node.label or node.id or "?",
        "tier": node.tier or (node.blast if node.blast in BLASTS else None),
        "flow": node.flow,
        "tool": node.tool or (node.id or "?" if agent else None),
        "effect": _effect(node) if calls else node.effect,
        "question": node.question,
        "role": node.role or _role_asked(node.policy),
        "needs": list(node.needs) or None,
        "dry_run": [dict(one) for one in node.dry_run] or None,
        "signal_when": node.signal_when,
        "outcome": node.outcome or ("done" if node.kind == "end" else None),
        "duty": node.duty,
        "ends_clocks": node.ends_clocks or None,
        "compensate": node.compensate or (True if node.compensates else None),
        **_asked(node),
    }
    if node.wait is not None:
        wait = node.wait
        known |= {"for": wait.duration, "until": wait.until, "message": wait.message, "within": wait.within}
    return {name: value for name, value in known.items() if value is not None}


def _effect(node: GraphNode) -> str | None:
    if node.reversible is False:
        return "irreversible"
    if node.effect is None and node.reversible:
        return "reversible"
    return node.effect or ("read" if node.kind == AGENT else None)


def _asked(node: GraphNode) -> dict[str, Any]:
    """The policy of a gate but for what is the default; the role is the node's own."""
    if node.policy is None:
        return {"quorum": node.quorum}
    return node.policy.model_dump(mode="json", exclude_defaults=True, exclude={"role"})


def _role_asked(policy: GraphPolicy | None) -> str | None:
    """The role that only the policy of a node says, where it is not the one of all gates."""
    return None if policy is None or policy.role == GraphPolicy.model_fields["role"].default else policy.role


def _ways(node: GraphNode, edges: Sequence[GraphEdge]) -> dict[str, Any]:
    """The edges out of a step, in the plainest form that says them."""
    found: dict[str, Any] = {}
    if node.kind in (AGENT, "task"):
        failing = [edge for edge in edges if edge.branch == ERROR and edge.when is None]
        if len(failing) == 1:
            found["on_error"] = failing[0].target
            edges = [edge for edge in edges if edge is not failing[0]]
    labels = [edge.branch for edge in edges]
    plain = all(edge.when is None for edge in edges)
    if not edges:
        return found
    if plain and labels == [None]:
        found["next"] = edges[0].target
    elif plain and set(labels) == {None}:
        found["next"] = [edge.target for edge in edges]
    elif plain and node.flow != "exclusive" and None not in labels and len(set(labels)) == len(labels):
        found["next"] = {str(edge.branch): edge.target for edge in edges}
    elif node.kind == "end":
        found["next"] = [edge.target for edge in edges]
    else:
        ways = ({"branch": edge.branch, "when": edge.when, "to": edge.target} for edge in edges)
        found["branches"] = [{name: value for name, value in way.items() if value is not None} for way in ways]
    return found
