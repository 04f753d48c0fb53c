"""The steps that follow each decision at a gate, up to the next human or the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from daemon.client import Canvas, Edge, Gate, Node

DENIED = "denied"


@dataclass(frozen=True)
class Ahead:
    """A step that a decision leads to; `certain` unless a condition between may lead elsewhere."""

    node: Node
    certain: bool
    asks: bool


def ahead(graph: Canvas, gate: Gate, decision: str, *, every_step_waits: bool) -> Iterator[Ahead]:
    """The steps behind a decision in order, nearest first; none where the branch ends with it."""
    nodes = {node.id: node for node in graph.nodes}
    here = nodes[gate.step_id]
    if here.kind == "task" and decision in ("approved", "retry"):
        yield Ahead(here, certain=True, asks=False)
    waiting = deque((nodes[edge.target], True) for edge in _taken(graph, here, decision))
    seen: set[str] = set()
    while waiting:
        node, certain = waiting.popleft()
        if node.id in seen:
            continue
        seen.add(node.id)
        asks = node.kind != "end" and (node.gate or every_step_waits)
        yield Ahead(node, certain, asks)
        if not asks:
            edges = [edge for edge in graph.edges if edge.source == node.id]
            if node.flow != "exclusive":
                edges = [edge for edge in edges if edge.branch != DENIED]
            waiting.extend((nodes[edge.target], certain and node.flow != "exclusive") for edge in edges)


def _taken(graph: Canvas, here: Node, decision: str) -> list[Edge]:
    edges = [edge for edge in graph.edges if edge.source == here.id]
    if here.flow == "exclusive" or decision == DENIED:
        return [edge for edge in edges if edge.branch == decision]
    return [edge for edge in edges if edge.branch != DENIED]
