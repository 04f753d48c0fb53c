"""The names that BPMN 2.0 and this service have for the same things."""

from __future__ import annotations

import re
from collections.abc import Container

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DIAGRAM = "http://www.omg.org/spec/BPMN/20100524/DI"
SHAPES = "http://www.omg.org/spec/DD/20100524/DC"
LINES = "http://www.omg.org/spec/DD/20100524/DI"
PENSTOCK = "urn:penstock:bpmn:1"
"""The namespace of what BPMN has no word for; a step's is JSON in one element."""
PREFIXES = {"bpmn": BPMN, "bpmndi": DIAGRAM, "dc": SHAPES, "di": LINES, "penstock": PENSTOCK}
EXTRA = "step"
START = "_start"
"""No step-id begins with a dash below, so that what is added cannot clash with one."""
GATEWAYS = {"exclusiveGateway": "exclusive", "parallelGateway": "parallel"}
TASKS = frozenset({"serviceTask", "task", "sendTask", "businessRuleTask"})
GATES = frozenset({"userTask", "manualTask"})
SAID = (
    "tier",
    "tool",
    "effect",
    "role",
    "outcome",
    "signal_when",
    "policy",
    "wait",
    "compensate",
    "compensates",
    "question",
)
"""The members of a node that BPMN has no word for."""
_LEGAL = re.compile(r"[a-z][a-z0-9-]{0,63}")
_OTHER = re.compile(r"[^a-z0-9]+")


def step_id(given: str, name: str, taken: Container[str]) -> str:
    """The id as it is where it may be a step's, else one made of the name."""
    if _LEGAL.fullmatch(given) and given not in ("inputs", "facts") and given not in taken:
        return given
    plain = _OTHER.sub("-", (name or given).casefold()).strip("-")[:58]
    plain = plain if plain[:1].isalpha() and plain not in ("inputs", "facts") else f"step-{plain}".strip("-")[:58]
    number, found = 1, plain
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    return found
