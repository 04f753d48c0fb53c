"""Process templates."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from daemon.contract.base import Response

# Words that a newer service may add to are strings for the client, and listed in the contract.
Kind = Annotated[str, Field(json_schema_extra={"enum": ["task", "gate", "gateway", "end"]})]
Tier = Annotated[str, Field(json_schema_extra={"enum": ["low", "medium", "high", "critical"]})]
Effect = Annotated[str, Field(json_schema_extra={"enum": ["read", "reversible", "irreversible"]})]
Flow = Annotated[str, Field(json_schema_extra={"enum": ["exclusive", "parallel"]})]


class Template(Response):
    """A process template in a list."""

    vertical: str
    title: str
    description: str
    version: int
    digest: str
    gates: tuple[str, ...]
    steps: int


class TemplateDetail(Template):
    """A process template with the JSON Schema of its inputs and an example of them."""

    inputs_schema: dict[str, Any]
    inputs: dict[str, Any]


class Node(Response):
    """A step of a template with its governance."""

    id: str
    kind: Kind
    label: str
    tier: Tier
    tool: str | None = None
    effect: Effect | None = None
    gate: bool
    decisions: tuple[str, ...] = ()
    role: str | None = None
    flow: Flow | None = None
    outcome: str | None = None
    signal_when: str | None = None


class Edge(Response):
    """A way from one step to another."""

    source: str
    target: str
    branch: str | None = None
    when: str | None = None


class Canvas(Response):
    """A template as a graph."""

    vertical: str
    version: int
    digest: str
    title: str
    start: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    gates: tuple[str, ...]
