"""Process templates."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from daemon.contract.base import Response

# Words that a newer service may add to are strings for the client, and listed in the contract.
Kind = Annotated[str, Field(json_schema_extra={"enum": ["task", "gate", "gateway", "wait", "end"]})]
TIERS = ("low", "medium", "high", "critical")
Tier = Annotated[str, Field(json_schema_extra={"enum": [*TIERS]})]
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


class Escalation(Response):
    """At the deadline people of a role may decide, too; `again` later `then` is decided."""

    escalate: str
    again: str | None = None
    then: str | None = None


class GatePolicy(Response):
    """Who decides at a gate, how many, by when, and what a verdict has to bring.

    Durations are ISO 8601 and count from the opening of the gate; `P3BD` is three business days.
    """

    role: str = "manager"
    groups: tuple[str, ...] = ()
    quorum: int = 1
    denials: int = 1
    four_eyes: tuple[str, ...] = ()
    comment: Annotated[str, Field(json_schema_extra={"enum": ["optional", "on-denial", "always"]})] = "optional"
    denial_codes: tuple[str, ...] = ()
    code: Annotated[str, Field(json_schema_extra={"enum": ["optional", "required"]})] = "optional"
    form: dict[str, Any] | None = Field(None, description="The JSON Schema of the form.")
    deadline: str | None = None
    remind: tuple[str, ...] = ()
    on_deadline: str | Escalation | None = None


class Wait(Response):
    """What a step waits for."""

    duration: str | None = None
    until: str | None = None
    message: str | None = None
    within: str | None = None


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
    policy: GatePolicy | None = Field(None, description="Where a human always decides.")
    wait: Wait | None = None
    compensate: str | None = Field(None, description="The tool that undoes a task.")
    compensates: bool = Field(default=False, description="Whether all is undone at this end.")


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
