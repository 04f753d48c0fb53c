"""The resolver: what the autopilot may clear on its own, what needs a human, and which human may decide."""

from __future__ import annotations

from actors.calls import Missing, look_up
from actors.run import Run
from actors.template import GATE_TIERS, Condition, ConditionFailed, Edge, Node, Template
from actors.values import value

ROLES = ("member", "manager", "owner")


@value
class Cleared:
    """The autopilot may go on, why, and at an exclusive gateway over which branch."""

    reason: str
    branch: str | None = None


@value
class Held:
    """A human has to decide, and why."""

    reason: str


_CLEARED = {tier: Cleared(f"tier {tier} is cleared by the autopilot") for tier in ("low", "medium")}


def resolve(run: Run, node: Node, template: Template) -> Cleared | Held:
    """Whether a step that the run has come to may go on without a human; the reason is one sentence."""
    if node.gate:
        high = node.tier in GATE_TIERS
        return Held(f"tier {node.tier} needs a human verdict" if high else "this step is a human sign-off")
    if not run.auto_resolve and node.kind != "end":
        return Held("every step of this run waits for a human")
    if run.signals:
        return Held(f"the signal of {', '.join(run.signals)} is not decided yet")
    for key in node.needs:
        if isinstance(look_up(key, run.inputs, run.facts), Missing):
            return Held(f"the input {key} is missing")
    if node.flow == "exclusive":
        return _branch(run, template.leaving(node.id))
    return _CLEARED[node.tier]


def may_decide(role: str, needed: str | None) -> bool:
    """Whether a person of this role may decide where that role is needed; an unknown role may nothing."""
    if role not in ROLES:
        return False
    return needed is None or (needed in ROLES and ROLES.index(role) >= ROLES.index(needed))


def _branch(run: Run, edges: tuple[Edge, ...]) -> Cleared | Held:
    """The first branch whose condition holds; a condition without a clear answer clears nothing."""
    for edge in edges:
        if edge.when is None:
            return Cleared("no other branch applies", edge.branch)
        answer = _answer(edge.when, run)
        if isinstance(answer, Held):
            return answer
        if answer:
            return Cleared(f"{edge.when.text} holds", edge.branch)
    return Held("the condition of no branch holds")


def _answer(condition: Condition, run: Run) -> bool | Held:
    try:
        return condition.holds(run.inputs, run.facts)
    except ConditionFailed as failed:
        return Held(f"the condition {condition.text} has no clear answer: {failed}")
