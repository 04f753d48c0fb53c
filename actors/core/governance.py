"""What the autopilot may clear, what needs a human, and which human may decide."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from actors.core.autonomy import ClearanceDecision
from actors.core.calls import CallRequest, Missing, look_up
from actors.core.run import Run
from actors.core.template import GATE_TIERS, ConditionFailed, Edge, Moment, Node, Template, pointer, sentence


class Cleared(Struct, frozen=True):
    """The autopilot may go on, why, and at an exclusive gateway over which branch.

    `weighed` has the numbers of a panel that was heard.
    """

    reason: str
    branch: str | None = None
    weighed: ClearanceDecision | UnsetType = UNSET


class Held(Struct, frozen=True):
    """A human has to decide, and why; `missing` are JSON pointers of missing inputs."""

    reason: str
    missing: tuple[str, ...] = ()


_CLEARED = {tier: Cleared(f"tier {tier} is cleared by the autopilot") for tier in ("low", "medium")}


def resolve(
    run: Run, node: Node, template: Template, call: CallRequest | Missing | None = None, *, autonomous: bool = True
) -> Cleared | Held:
    """Whether a step may go on without a human; `call` is what a task would send.

    Where the company is not `autonomous`, nothing is cleared.
    """
    why = _rule(run, node, autonomous=autonomous)
    if (node.needs or isinstance(call, Missing)) and (keys := lacking(node, template, call, run.inputs, run.facts)):
        return _held(keys, template, why)
    if why is not None:
        return Held(why)
    if node.flow == "exclusive":
        return _branch(run, template, template.leaving(node.id))
    if node.wait is not None and node.wait.until is not None:
        return _moment(run, template, node.wait.until)
    return _CLEARED[node.tier]


def lacking(
    node: Node, template: Template, call: CallRequest | Missing | None, inputs: dict[str, Any], facts: dict[str, Any]
) -> tuple[str, ...]:
    """The keys that a step or its call needs and that are nowhere."""
    keys = [key for key in node.needs if isinstance(look_up(key, inputs, facts), Missing)]
    if isinstance(call, Missing):
        keys += [key for key in call.keys if pointer(key, template) is not None]
    return tuple(keys)


def _rule(run: Run, node: Node, *, autonomous: bool) -> str | None:
    """Why a step needs a human whatever its inputs are, in one sentence; None if it does not."""
    if node.gate:
        high = node.tier in GATE_TIERS
        return f"tier {node.tier} needs a human verdict" if high else "this step is a human sign-off"
    if not run.auto_resolve and not node.traits.ends:
        return "every step of this run waits for a human"
    if not autonomous and not node.traits.ends:
        return "every step of this company waits for a human"
    if run.signals:
        return f"the signal of {', '.join(run.signals)} is not decided yet"
    return None


def _held(keys: tuple[str, ...], template: Template, why: str | None = None) -> Held:
    """What is missing as a reason, behind another if there is one, and by its pointers."""
    sentences = dict.fromkeys(sentence(key, template) for key in keys)
    said = " and ".join(sentences)
    missing = dict.fromkeys(found for key in keys if (found := pointer(key, template)) is not None)
    return Held(said if why is None else f"{why}, and {said}", tuple(missing))


def _branch(run: Run, template: Template, edges: tuple[Edge, ...]) -> Cleared | Held:
    """The first branch whose condition holds; a condition without a clear answer clears nothing."""
    for edge in edges:
        if edge.when is None:
            return Cleared("no other branch applies", edge.branch)
        try:
            holds = edge.when.holds(run.inputs, run.facts)
        except ConditionFailed as failed:
            return _unclear(run, template, edges, f"the condition {edge.when.text} has no clear answer: {failed}")
        if holds:
            return Cleared(f"{edge.when.text} holds", edge.branch)
    return Held("the condition of no branch holds")


def _moment(run: Run, template: Template, until: Moment) -> Cleared | Held:
    """A wait goes on where the time that it waits for is clear."""
    try:
        until.time(run.inputs, run.facts, run.clock_times)
    except ConditionFailed as failed:
        return _lacking(run, template, until.reads, f"the time {until.text} has no clear answer: {failed}")
    return Cleared(f"it waits until {until.text}")


def _unclear(run: Run, template: Template, edges: tuple[Edge, ...], why: str) -> Held:
    reads = tuple(key for edge in edges if edge.when is not None for key in edge.when.reads)
    return _lacking(run, template, reads, why)


def _lacking(run: Run, template: Template, read: tuple[str, ...], why: str) -> Held:
    """Hold what has no clear answer: for missing inputs, or for another reason."""
    reads = [f"inputs.{key}" for key in read]
    keys = tuple(key for key in reads if isinstance(look_up(key, run.inputs, run.facts), Missing))
    return _held(keys, template) if keys else Held(why)
