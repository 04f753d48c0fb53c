"""The rules of clocks and duties but for their proof: what they name has to be there."""

from __future__ import annotations

from collections.abc import Iterator

from actors.core.gate_policy import AnchoredDeadline
from actors.core.people import GATE_ROLES
from actors.core.rules.conditions import clocks_named
from actors.core.rules.policies import no_duration
from actors.core.rules.timing import QUESTION, limits
from actors.core.rules.violation import Violation
from actors.core.template import ClockExtension, ClockRule, Template


def clock_violations(template: Template) -> Iterator[Violation]:
    """What is wrong with clocks, with what is anchored to them, and with duties."""
    ids = [one.id for one in template.clocks]
    for one in template.clocks:
        wrong = list(_wrong(template, one))
        if ids.count(one.id) > 1:
            wrong.append("two clocks have this id")
        yield from (Violation("clock_refused", None, f"clocks/{one.id}: {why}") for why in wrong)
    yield from _anchored(template, frozenset(ids))
    yield from _duties(template)


def _wrong(template: Template, clock: ClockRule) -> Iterator[str]:
    yield from _no_start(template, clock)
    for step_id in clock.stops:
        if not template.has(step_id) or not template.node(step_id).traits.ends:
            yield from _no_act(template, "stops", step_id)
    for name in clock.pauses:
        yield from _no_pause(template, name)
    if clock.extend is not None:
        yield from _no_extension(template, clock.extend)
    yield from (f"warn: {why}" for text in clock.warn if (why := no_duration(text)) is not None)
    if clock.escalate is not None and clock.escalate not in GATE_ROLES:
        yield f"on_breach names {clock.escalate}, which is none of {', '.join(GATE_ROLES)}"
    if clock.extend is None or no_duration(clock.extend.by) is None:
        yield from _no_length(clock)


def _no_start(template: Template, clock: ClockRule) -> Iterator[str]:
    if clock.since is not None and clock.from_step is not None:
        yield "it starts from an expression or from a step, and not from both"
    for name in () if clock.since is None else clocks_named(clock.since.text):
        yield f"from names the clock {name}; it reads inputs and facts alone"
    if clock.from_step is not None:
        yield from _no_act(template, "from_step", clock.from_step)
    if clock.from_step in clock.stops:
        yield f"stops names {clock.from_step}, where it starts"


def _no_length(clock: ClockRule) -> Iterator[str]:
    if isinstance(clock.within, str):
        if (why := no_duration(clock.within)) is not None:
            yield f"within: {why}"
    elif hasattr(clock.within, "duration") and limits(clock) is None:
        yield "within has to be a choice of at most 16 durations, as in inputs.expedited ? 'PT72H' : 'P7D'"


def _no_act(template: Template, member: str, step_id: str) -> Iterator[str]:
    """Why a step cannot be one that is done."""
    if not template.has(step_id):
        yield f"{member} names {step_id}, which is no step"
        return
    node = template.node(step_id)
    if node.traits.ends or (node.traits.branches and not node.gate):
        yield f"{member} names {step_id}, which is of kind {node.kind} and no act"


def _no_pause(template: Template, name: str) -> Iterator[str]:
    step_id = name.removeprefix(QUESTION)
    if not template.has(step_id):
        yield f"pauses names {step_id}, which is no step"
    elif name != step_id and not template.node(step_id).gate:
        yield f"pauses names questions at {step_id}, which is no gate"
    elif name == step_id and not template.node(step_id).traits.waits:
        yield f"pauses names {step_id}, which is no wait; questions at a gate are {QUESTION}{step_id}"


def _no_extension(template: Template, extend: ClockExtension) -> Iterator[str]:
    if not template.has(extend.at) or not template.node(extend.at).gate:
        yield f"extend/at names {extend.at}, which is no gate"
    elif extend.decision not in template.decisions(extend.at):
        known = ", ".join(template.decisions(extend.at))
        yield f"extend/decision names {extend.decision}; at {extend.at} one decides {known}"
    if (why := no_duration(extend.by)) is not None:
        yield f"extend/by: {why}"
    yield from _no_act(template, "extend/once_done", extend.once_done)


def _anchored(template: Template, clocks: frozenset[str]) -> Iterator[Violation]:
    """Deadlines, waits and ends that name a clock which is none."""
    for node in template.nodes:
        deadline = node.policy.deadline
        if isinstance(deadline, AnchoredDeadline) and deadline.clock not in clocks:
            yield Violation("deadline_refused", node.id, f"{deadline.clock} is no clock of this template")
        if node.wait is not None and node.wait.until is not None:
            for name in clocks_named(node.wait.until.text):
                if name not in clocks:
                    yield Violation("wait_refused", node.id, f"until names {name}, which is no clock of this template")
        for name in node.ends_clocks:
            if name not in clocks:
                yield Violation("clock_refused", node.id, f"ends_clocks names {name}, which is no clock")


def _duties(template: Template) -> Iterator[Violation]:
    """Duties of no rule, and exempt steps that are no ends."""
    for node in template.nodes:
        if node.duty is not None and node.duty not in template.exempt:
            yield Violation("duty_refused", node.id, f"duty names {node.duty}, which is the id of no rule")
    for rule, ends in template.exempt.items():
        for step_id in ends:
            if not template.has(step_id) or not template.node(step_id).traits.ends:
                yield Violation("duty_refused", None, f"rules/{rule}: exempt names {step_id}, which is no end")
