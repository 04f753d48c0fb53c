"""The rules of gate policies, waits, ways out of failures, and readers in a template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

from actors.core.autonomy import PanelRule
from actors.core.gate_policy import (
    EARLIER_GATE,
    FOUR_EYES,
    AnchoredDeadline,
    CodeRule,
    CommentRule,
    Escalation,
    GatePolicy,
    lets_in,
)
from actors.core.people import GATE_ROLES, GROUP_NAME, ROLES
from actors.core.rules.regions import does
from actors.core.rules.violation import Violation
from actors.core.schedule import duration
from actors.core.template import APPROVED, DENIED, MESSAGE, TIMEOUT, ClockRule, Node, Template

PEOPLE_MAX = 100
"""The largest quorum."""
REMINDERS_MAX = 20
_GROUP = re.compile(GROUP_NAME)


def policy_violations(template: Template) -> Iterator[Violation]:
    """What is wrong with functions, policies, waits and compensation."""
    for name, function in template.functions.items():
        if function.role not in GATE_ROLES:
            detail = f"functions/{name}: {function.role} is none of {', '.join(GATE_ROLES)}"
            yield Violation("function_refused", None, detail)
    for node in template.nodes:
        if node.gate:
            yield from _counted(node, node.policy)
            yield from _four_eyes(template, node)
            yield from _function(template, node.id, node.policy.function)
            yield from _verdicts(node, node.policy)
            yield from _deadline(template, node, node.policy)
        if node.traits.waits:
            yield from _wait(template, node)
        if node.panel is not None:
            yield from _seated(node, node.panel)
        if (node.compensate is not None and not node.traits.calls) or (node.compensates and node.kind != "end"):
            yield Violation("compensate_refused", node.id, "a task names a tool, an end says true")


def _function(template: Template, step_id: str, name: str | None) -> Iterator[Violation]:
    if name is not None and name not in template.functions:
        known = f"; those are: {', '.join(template.functions)}" if template.functions else ""
        yield Violation("function_refused", step_id, f"{name} is no function of this template{known}")


def policy_warnings(template: Template) -> Iterator[Violation]:
    """What a template may say, and has no effect."""
    running: dict[str, frozenset[str]] = {}
    for node in template.nodes:
        outcome, deadline = node.policy.on_deadline, node.policy.deadline
        if node.gate and isinstance(outcome, Escalation) and not lets_in(node.policy):
            detail = f"on_deadline lets {outcome.escalate} decide, whom the gate lets decide from the start"
            yield Violation("escalates_to_nobody", node.id, detail)
        if node.gate and isinstance(deadline, AnchoredDeadline):
            running = running or {clock.id: _while_it_runs(template, clock) for clock in template.clocks}
            if node.id not in running.get(deadline.clock, (node.id,)):
                detail = f"the clock {deadline.clock} never runs when this gate opens, which has no deadline then"
                yield Violation("deadline_without_clock", node.id, detail)


def _while_it_runs(template: Template, clock: ClockRule) -> frozenset[str]:
    """The steps that a run may come to while a clock runs."""
    found: set[str] = set()
    waiting = [template.start]
    if (since := clock.from_step) is not None:
        waiting = [edge.target for edge in template.leaving(since) if does(template, edge)]
    while waiting:
        step = waiting.pop()
        if step not in found:
            found.add(step)
            goes_on = (edge for edge in template.leaving(step) if step not in clock.stops or not does(template, edge))
            waiting.extend(edge.target for edge in goes_on)
    return frozenset(found)


def _seated(node: Node, panel: PanelRule) -> Iterator[Violation]:
    """Judges clear no step that a human has to see, and none that an autopilot clears alone."""
    if node.tier != "medium" or not node.traits.calls:
        detail = f"judges sit at tasks of the tier medium, and this is a {node.kind} of the tier {node.tier}"
        yield Violation("judge_refused", node.id, detail)
    elif not 1 <= panel.quorum <= len(panel.judges):
        detail = f"the quorum has to be between 1 and the number of its judges, which is {len(panel.judges)}"
        yield Violation("quorum_refused", node.id, detail)


def _counted(node: Node, policy: GatePolicy) -> Iterator[Violation]:
    for name, value in (("quorum", policy.quorum), ("denials", policy.denials)):
        if not 1 <= value <= PEOPLE_MAX:
            yield Violation("quorum_refused", node.id, f"{name} has to be between 1 and {PEOPLE_MAX}")


def _four_eyes(template: Template, node: Node) -> Iterator[Violation]:
    for word in node.policy.four_eyes:
        earlier = word.removeprefix(EARLIER_GATE)
        if earlier != word:
            other = template.node(earlier) if template.has(earlier) and earlier != node.id else None
            if other is None or not (other.gate or other.duty):
                yield Violation("four_eyes_refused", node.id, f"{earlier} is no other gate of this template")
        elif word not in FOUR_EYES:
            known = ", ".join((*FOUR_EYES, f"{EARLIER_GATE}<step-id>"))
            yield Violation("four_eyes_refused", node.id, f"{word} is none of {known}")


def _verdicts(node: Node, policy: GatePolicy) -> Iterator[Violation]:
    if policy.comment not in get_args(CommentRule):
        yield Violation("comment_refused", node.id, f"comment is one of {', '.join(get_args(CommentRule))}")
    if policy.code not in get_args(CodeRule):
        yield Violation("comment_refused", node.id, f"code is one of {', '.join(get_args(CodeRule))}")
    if policy.code == "required" and not policy.denial_codes:
        yield Violation("comment_refused", node.id, "a code is required, and there are no denial_codes")


def _deadline(template: Template, node: Node, policy: GatePolicy) -> Iterator[Violation]:
    before = policy.deadline.before if isinstance(policy.deadline, AnchoredDeadline) else policy.deadline
    for text in (before, *policy.remind):
        if text is not None and (why := no_duration(text)) is not None:
            yield Violation("deadline_refused", node.id, why)
    if len(policy.remind) > REMINDERS_MAX:
        yield Violation("deadline_refused", node.id, f"there are more than {REMINDERS_MAX} reminders")
    if (policy.deadline is None) != (policy.on_deadline is None):
        detail = "a deadline says in on_deadline what happens then, and nothing else does"
        yield Violation("on_deadline_refused", node.id, detail)
    outcome = policy.on_deadline
    if isinstance(outcome, Escalation):
        if outcome.escalate not in GATE_ROLES:
            yield Violation("on_deadline_refused", node.id, f"{outcome.escalate} is none of {', '.join(GATE_ROLES)}")
        if outcome.again is not None and (why := no_duration(outcome.again)) is not None:
            yield Violation("on_deadline_refused", node.id, why)
        if (outcome.again is None) != (outcome.then is None):
            yield Violation("on_deadline_refused", node.id, "again and then stand together")
        outcome = outcome.then
    allowed = [one for one in template.decisions(node.id) if one != APPROVED]
    if outcome is not None and outcome not in allowed:
        detail = f"a deadline never approves; it may decide {' or '.join(allowed)}"
        yield Violation("on_deadline_refused", node.id, detail)


def _wait(template: Template, node: Node) -> Iterator[Violation]:
    wait = node.wait
    asked = () if wait is None else [one for one in (wait.duration, wait.until, wait.message) if one is not None]
    if wait is None or len(asked) != 1:
        yield Violation("wait_refused", node.id, "a wait has exactly one of for, until and message")
        return
    for text in (wait.duration, wait.within):
        if text is not None and (why := no_duration(text)) is not None:
            yield Violation("deadline_refused", node.id, why)
    labels = {edge.branch for edge in template.leaving(node.id)}
    if wait.within is not None and wait.message is None:
        yield Violation("wait_refused", node.id, "only a wait for a message has within")
    both = labels == {MESSAGE, TIMEOUT} and wait.within is not None
    alone = len(template.leaving(node.id)) == 1 and labels <= {None, *([MESSAGE] if wait.message else [])}
    if labels - {DENIED} and not both and not (alone and wait.within is None):
        detail = "a message within a time leads on by message and timeout, any other wait by one way"
        yield Violation("wait_refused", node.id, detail)


def no_duration(text: str) -> str | None:
    """Why a text is no duration."""
    try:
        duration(text)
    except ValueError as failed:
        return str(failed)
    return None


def reader_violations(template: Template) -> Iterator[Violation]:
    """Readers that nobody can be."""
    rule = template.readers
    if rule is not None:
        yield from _refused(
            [
                f"readers/functions: {one} is no function of the template"
                for one in rule.functions
                if one not in template.functions
            ]
        )
        yield from _refused(
            [f"readers/groups: {one} is no name of a group" for one in rule.groups if not _GROUP.fullmatch(one)]
        )
        if rule.role is not None and rule.role not in ROLES:
            yield from _refused([f"readers/role: {rule.role} is no role"])


def _refused(details: list[str]) -> Iterator[Violation]:
    for detail in details:
        yield Violation("readers_refused", None, detail)
