"""Gates in front of what cannot be undone, and gates that a version makes laxer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from itertools import chain
from operator import and_, or_

from actors.core.gate_policy import Asked, GateTerms, Loosened, approvals_asked, laxer
from actors.core.people import rank
from actors.core.template import ClockRule, Template, reached

Guards = dict[str, tuple[str, ...]]
"""The gates that every path from the start to a step passes, in the order of the document."""


def ungated(template: Template) -> Iterator[str]:
    """The irreversible tasks that a path from the start, or a loop, reaches past no gate.

    To the call of an action a rule of the company has consented.
    """
    gates = frozenset(template.gates)
    open_ways = reached(template, (template.start,), gates)
    looped: frozenset[str] | None = None
    for node in template.nodes:
        if node.effect == "irreversible" and not node.gate and node.consent is None:
            if node.id not in open_ways and looped is None:
                looped = _looped(template, gates)
            if node.id in open_ways or (looped is not None and node.id in looped):
                yield node.id


def guards(template: Template) -> Guards:
    """The gates that dominate each irreversible task; a task that is a gate guards itself.

    Behind a join stand those of all its branches, since it waits for each. Sets of gates are bits
    of a number, so that a thousand steps take milliseconds.
    """
    gates = template.gates
    bit = {step_id: 1 << number for number, step_id in enumerate(gates)}
    order = _forwards(template, template.start, frozenset())
    every = (1 << len(gates)) - 1
    passed = dict.fromkeys(order, every)
    passed[template.start] = bit.get(template.start, 0)
    changed = True
    while changed:
        changed = False
        for step in order:
            if step == template.start:
                continue
            ways = [passed[edge.source] for edge in template.entering(step) if edge.source in passed]
            # A join waits for all of its branches, any other step for one of its ways in.
            before = reduce(or_ if template.joins(step) else and_, ways)
            now = before | bit.get(step, 0)
            if now != passed[step]:
                passed[step], changed = now, True
    irreversible = [node.id for node in template.nodes if node.effect == "irreversible" and node.id in passed]
    return {step: tuple(gate for gate in gates if passed[step] & bit[gate]) for step in irreversible}


def _looped(template: Template, closed: frozenset[str]) -> frozenset[str]:
    """The steps that a loop past no closed step leads back to (Kosaraju's algorithm)."""
    placed = set(closed)
    parts: list[list[str]] = []
    for node in template.nodes:
        if node.id not in placed:
            parts.append(_forwards(template, node.id, placed))
            placed.update(parts[-1])
    found: set[str] = set()
    done: set[str] = set()
    for step in chain.from_iterable(reversed(parts)):
        if step in done:
            continue
        group, waiting = set[str](), [step]
        while waiting:
            one = waiting.pop()
            if one not in group and one not in done:
                group.add(one)
                waiting.extend(edge.source for edge in template.entering(one) if edge.source not in closed)
        done |= group
        itself = any(edge.target == step for edge in template.leaving(step))
        if len(group) > 1 or itself:
            found |= group
    return frozenset(found)


def _forwards(template: Template, start: str, closed: AbstractSet[str]) -> list[str]:
    """The steps reached from one past no closed one, each before those that only it leads to."""
    order: list[str] = []
    seen = {start}
    waiting = [(start, iter(_targets(template, start, closed)))]
    while waiting:
        step, targets = waiting[-1]
        target = next((one for one in targets if one not in seen), None)
        if target is None:
            waiting.pop()
            order.append(step)
        else:
            seen.add(target)
            waiting.append((target, iter(_targets(template, target, closed))))
    order.reverse()
    return order


def _targets(template: Template, step: str, closed: AbstractSet[str]) -> Sequence[str]:
    return [edge.target for edge in template.leaving(step) if edge.target not in closed]


def published(before: Template, after: Template, by: str, origin: Template | None = None) -> tuple[Loosened, ...]:
    """The gates that somebody's version makes laxer.

    A gate is compared with how it stood before this person's versions began to follow one another,
    in the `origin` where those are several: neither another version nor a small return ends what
    the first one did, and what two of them do counts as if one did. With a version of another
    person the comparison begins anew.
    """
    earlier = {one.step_id: _terms(one) for one in before.loosened if one.by == (by,)}
    weakened = {} if origin is None else dict(_weakened({}, origin, after))
    weakened.update(_weakened(earlier, before, after))
    return tuple([_loosened(step_id, (by,), terms) for step_id, terms in weakened.items()])


def migrated(standing: tuple[Loosened, ...], before: Template, after: Template, by: str) -> tuple[Loosened, ...]:
    """The gates of a run that all who migrated it made laxer, after somebody migrates it."""
    earlier, people = {one.step_id: _terms(one) for one in standing}, {one.step_id: one.by for one in standing}
    return tuple(
        [
            _loosened(step_id, tuple(dict.fromkeys((*people.get(step_id, ()), by))), terms)
            for step_id, terms in _weakened(earlier, before, after)
        ]
    )


def _loosened(step_id: str, by: tuple[str, ...], terms: GateTerms) -> Loosened:
    return Loosened(step_id, by, terms.policy, terms.breach_role)


def _terms(one: Loosened) -> GateTerms:
    return GateTerms(one.before, one.breach_role)


def _weakened(earlier: Mapping[str, GateTerms], before: Template, after: Template) -> Iterator[tuple[str, GateTerms]]:
    """The steps that are laxer gates than before, or none any more, with what they asked then.

    One that was no gate before is compared with those that are none any more.
    """
    stood, stands = _gates(before), _gates(after)
    gone = _apart(terms for step_id, terms in stood.items() if step_id not in stands)
    lost: dict[Asked, GateTerms | None] = {}
    for step_id in dict.fromkeys((*earlier, *stood, *stands)):
        known = earlier.get(step_id) or stood.get(step_id)
        if known is not None:
            terms = known if laxer(known, stands.get(step_id)) else None
        else:
            now = stands[step_id]
            if approvals_asked(now) not in lost:  # gates that ask the same are compared once
                lost[approvals_asked(now)] = next((one for one in gone if laxer(one, now)), None)
            terms = lost[approvals_asked(now)]
        if terms is not None:
            yield step_id, terms


def _apart(terms: Iterable[GateTerms]) -> list[GateTerms]:
    """The first of those that ask the same."""
    found: dict[Asked, GateTerms] = {}
    for one in terms:
        found.setdefault(approvals_asked(one), one)
    return [*found.values()]


def _gates(template: Template) -> dict[str, GateTerms]:
    gates = [node for node in template.nodes if node.gate]
    return {node.id: GateTerms(node.policy, breach_role(template, node.id, template.clocks)) for node in gates}


def breach_role(template: Template, step_id: str, breached: Iterable[ClockRule]) -> str | None:
    """The least role that these clocks, once breached, open a gate to that stands in their way."""
    rules = [(one.escalate, one.stops) for one in breached if one.escalate is not None]
    ahead = template.downstream(step_id) if rules else frozenset()
    return min((role for role, stops in rules if not ahead.isdisjoint(stops)), key=rank, default=None)
