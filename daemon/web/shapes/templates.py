"""The shapes of templates."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict


class TemplateShape(TypedDict):
    """A process template in a list."""

    vertical: str
    title: str
    description: str
    version: int
    digest: str
    gates: list[str]
    steps: int


class TemplateDetailShape(TemplateShape):
    """A process template with the schema of its inputs and an example of them."""

    inputs_schema: dict[str, Any]
    inputs: dict[str, Any]


class NodeShape(TypedDict):
    """A step of a template, with its governance."""

    id: str
    kind: Literal["task", "gate", "gateway", "end"]
    label: str
    tier: Literal["low", "medium", "high", "critical"]
    tool: str | None
    effect: Literal["read", "reversible", "irreversible"] | None
    gate: bool
    decisions: list[str]
    role: str | None
    flow: Literal["exclusive", "parallel"] | None
    outcome: str | None
    signal_when: str | None


class EdgeShape(TypedDict):
    """A way from one step to another."""

    source: str
    target: str
    branch: str | None
    when: str | None


class CanvasShape(TypedDict):
    """A template as a graph."""

    vertical: str
    version: int
    digest: str
    title: str
    start: str
    nodes: list[NodeShape]
    edges: list[EdgeShape]
    gates: list[str]
