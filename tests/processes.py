"""Templates in a few lines: `process(task("check"), gate("signoff"), end(), ways="check -> signoff
-> end")`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from actors.core.autonomy import Judge, PanelRule
from actors.core.calls import Connector
from actors.core.gate_policy import GatePolicy
from actors.core.template import (
    Condition,
    ConditionFailed,
    DryRun,
    Edge,
    Form,
    Node,
    OutputCondition,
    Template,
    Tier,
    ToolEffect,
    Wait,
)

Facts = dict[str, Any]
ARROW = re.compile(r"\s+-(?:\[([^\]]*)\]-)?>\s+")


@dataclass(frozen=True)
class When:
    """A condition made of a Python function; where that finds no key or no boolean there is no
    clear answer.
    """

    text: str
    answer: Callable[[Facts, Facts], Any]
    reads: tuple[str, ...] = ()

    def holds(self, inputs: Facts, facts: Facts) -> bool:
        return clear(self.answer, inputs, facts)


@dataclass(frozen=True)
class Finding:
    """A question about an output, made of a Python function in the same way."""

    text: str
    answer: Callable[[Any], Any]

    def holds(self, output: Any) -> bool:
        return clear(self.answer, output)


def clear(question: Callable[..., Any], *about: Any) -> bool:
    """The answer of a function, which has to be a boolean."""
    try:
        answer = question(*about)
    except (KeyError, TypeError) as error:
        raise ConditionFailed(repr(error)) from error
    if not isinstance(answer, bool):
        raise ConditionFailed(f"{answer!r} is neither true nor false")
    return answer


ALWAYS = When("true", lambda _inputs, _facts: True)
NEVER = When("false", lambda _inputs, _facts: False)
UNCLEAR = When("inputs.unknown", lambda inputs, _facts: inputs["unknown to everybody"])
MATCHED = Finding('output.match != "none"', lambda output: output["match"] != "none")


def above(key: str, least: int) -> When:
    """Whether an input is more than that."""
    return When(f"inputs.{key} > {least}", lambda inputs, _facts: inputs[key] > least, (key,))


def task(
    step_id: str,
    tier: Tier = "low",
    effect: ToolEffect = "read",
    *,
    tool: str | None = None,
    needs: tuple[str, ...] = (),
    dry_run: tuple[DryRun, ...] = (),
    signal_when: OutputCondition | None = None,
    role: str | None = None,
    compensate: str | None = None,
) -> Node:
    """A task whose tool has the name of the step unless another is given."""
    how: dict[str, Any] = {"needs": needs, "dry_run": dry_run, "signal_when": signal_when, "role": role}
    how["compensate"] = compensate
    return Node(step_id, "task", label(step_id), tier, None, tool or step_id, effect, **how)


def acting(rule: str, tier: Tier, *, handed: bool = False, **policy: Any) -> Node:
    """The call of an action that a rule decides about; it may be `handed` over to the agent."""
    tool = "aap:stripe.refund" if handed else "stripe.refund"
    asked = GatePolicy(**policy)
    call = Node(rule, "task", "stripe.refund", tier, None, tool, "irreversible", policy=asked)
    return replace(call, consent=rule, handed=handed)


def gate(step_id: str, tier: Tier = "high", role: str | None = None, form: Form | None = None, **policy: Any) -> Node:
    """A human sign-off with a policy."""
    asked = GatePolicy(role=role or "manager", **policy)
    return Node(step_id, "gate", label(step_id), tier, role=role, policy=asked, form=form)


def choice(step_id: str, tier: Tier = "low", **policy: Any) -> Node:
    """An exclusive gateway: a human's choice when the tier is high or critical."""
    return Node(step_id, "gateway", label(step_id), tier, "exclusive", policy=GatePolicy(**policy))


def wait(step_id: str, **what: Any) -> Node:
    """A step that waits for a `duration`, `until` a time, or for a `message` `within` one."""
    return Node(step_id, "wait", label(step_id), wait=Wait(**what))


def parallel(step_id: str) -> Node:
    """A parallel gateway: a fork, a join or both."""
    return Node(step_id, "gateway", label(step_id), flow="parallel")


def end(step_id: str = "end", outcome: str = "done", *, compensates: bool = False) -> Node:
    """An end of the process."""
    return Node(step_id, "end", label(step_id), outcome=outcome, compensates=compensates)


def label(step_id: str) -> str:
    """A display label that nobody could take for the step-id."""
    return step_id.replace("-", " ").capitalize() + " step"


@dataclass(frozen=True)
class Ruling:
    """The rule of a judge, made of a Python function in the same way."""

    text: str
    answer: Callable[[Facts, Facts, Facts], Any]

    def holds(self, inputs: Facts, facts: Facts, call: Facts) -> bool:
        return clear(self.answer, inputs, facts, call)


def ruling(judge: str, answer: Callable[[Facts, Facts, Facts], Any] | bool, confidence: float = 1.0) -> Judge:
    """A judge that is a rule, or says the same each time."""
    rule = Ruling(f"{judge} says so", (lambda *_: answer) if isinstance(answer, bool) else answer)
    return Judge(judge, label(judge), rule, None, confidence)


def asking(judge: str) -> Judge:
    """A judge that is a tool of the same name."""
    return Judge(judge, label(judge), None, judge)


def seated(node: Node, *judges: Judge, quorum: int | None = None) -> Node:
    """A step with a panel; without a quorum all have to clear it."""
    return replace(node, panel=PanelRule(judges, len(judges) if quorum is None else quorum))


def edges(ways: str, when: dict[str, Condition] | None = None) -> tuple[Edge, ...]:
    """The edges of lines like `a -> b -[denied]-> c`; conditions are named by the label of their
    branch.
    """
    found: list[Edge] = []
    for line in filter(None, map(str.strip, ways.splitlines())):
        first, *rest = ARROW.split(line)
        for branch, target in zip(rest[::2], rest[1::2], strict=True):
            found.append(Edge(first, target, branch, (when or {}).get(branch or "")))
            first = target
    return tuple(found)


def process(*nodes: Node, ways: str, when: dict[str, Condition] | None = None, start: str | None = None) -> Template:
    """A template that starts at its first node unless told otherwise."""
    first = start or nodes[0].id
    return Template("process", 1, "sha256:process", "A process", first, nodes, edges(ways, when))


def connector(tool: str, version: int = 1, **how: Any) -> Connector:
    """A live connector, unless `reversible` is given as False."""
    given: dict[str, Any] = {"base_url": "https://api.test", "method": "POST", "path": f"/{tool}", "reversible": True}
    return Connector(tool, version, **{**given, **how})
