"""Whether people can avoid an act of duty by denying it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from actors.core.gate_policy import EARLIER_GATE
from actors.core.people import rank
from actors.core.rules.regions import Regions
from actors.core.rules.violation import Violation
from actors.core.rules.walk import Budget, TooLong
from actors.core.template import DENIED, Edge, Node, Template

FINDINGS_MAX = 50
"""So many denials are told of."""


def duty_violations(template: Template) -> Iterator[Violation]:
    """The first denials behind which an act of duty is not done, and nobody else is asked."""
    duteous = [node for node in template.nodes if node.duty is not None]
    if not duteous:
        return
    budget, regions = Budget(), Regions(template)
    duties = (_Duty(template, node, regions, budget) for node in duteous)
    try:
        yield from islice(chain.from_iterable(one.violations() for one in duties), FINDINGS_MAX)
    except TooLong:
        yield Violation("too_large", None, "steps: too many gates come before too many duties")


class _Avoided(NamedTuple):
    """How a denial avoids a duty."""

    path: tuple[str, ...]
    why: str


class _Duty:
    """A step that somebody has to do, and the gates before it and beside it."""

    def __init__(self, template: Template, node: Node, regions: Regions, budget: Budget) -> None:
        self.template = template
        self.node = node
        self.regions = regions
        self.budget = budget
        self.within = {one.fork: one for one in regions.around(node.id)}
        self.exempt = template.exempt.get(node.duty or "", ())
        self.leading = self._leading()

    def violations(self) -> Iterator[Violation]:
        """Each gate at which a denial avoids the duty, with a path that shows it."""
        for gate in self._gates():
            found = self._avoided(gate)
            if found is not None:
                detail = f"a denial at {gate.id} avoids {self.node.id}, the duty of {self.node.duty}: {found.why}"
                yield Violation("duty_avoidable", gate.id, detail, path=found.path)

    def _leading(self) -> frozenset[str]:
        """The steps from which a path leads to the duty."""
        found: set[str] = set()
        waiting = [self.node.id]
        while waiting:
            step = waiting.pop()
            if step not in found:
                found.add(step)
                self.budget.take(1)
                waiting.extend(edge.source for edge in self.template.entering(step))
        return frozenset(found)

    def _gates(self) -> Iterator[Node]:
        """The gates that a run may come to before the duty is done, and that may deny."""
        seen: set[str] = set()
        waiting = [self.template.start]
        while waiting:
            step = waiting.pop()
            if step in seen or not self._comes(step):
                continue
            seen.add(step)
            node, edges = self.template.node(step), self.template.leaving(step)
            self.budget.take(1 + len(edges))
            waiting.extend(edge.target for edge in edges if step != self.node.id or edge.branch == DENIED)
            if (node.gate or step == self.node.id) and DENIED in self.template.decisions(step):
                yield node

    def _comes(self, step: str) -> bool:
        """Whether a run may come to a step before the duty is done."""
        return step in self.leading or self._join(step) is not None

    def _join(self, step: str) -> str | None:
        """The join of a branch beside the duty that holds a step; None for others."""
        for one in self.regions.around(step):
            if (duty := self.within.get(one.fork)) is not None:
                return None if duty is one else self.regions.joins[one.fork]
        return None

    def _avoided(self, gate: Node) -> _Avoided | None:
        """How a denial at a gate avoids the duty; None where somebody else has to agree."""
        denied = [edge for edge in self.template.leaving(gate.id) if edge.branch == DENIED]
        return self._behind(gate, denied) if denied else _Avoided((gate.id,), "it leads nowhere")

    def _behind(self, gate: Node, edges: Sequence[Edge]) -> _Avoided | None:
        """How the duty is avoided over these edges out of a gate."""
        came: dict[str, str | None] = {edge.target: None for edge in edges}
        done = {self.node.id, self._join(gate.id)}
        for step in (waiting := [*came]):  # grows while it is walked
            node, onward = self.template.node(step), self.template.leaving(step)
            self.budget.take(1 + len(onward))
            if step in done:
                continue
            path = (gate.id, *_path(came, step))
            if (why := self._wrong(gate, node)) is not None:
                return _Avoided(path, why)
            if node.gate:
                above = self._behind(node, self._lost(node))
                if above is not None:
                    return _Avoided((*path, *above.path[1:]), above.why)
                continue
            for edge in onward:
                if edge.target not in came:
                    came[edge.target] = step
                    waiting.append(edge.target)
        return None

    def _lost(self, gate: Node) -> list[Edge]:
        """The ways on from a gate of a higher role by which the run comes to the duty no more.

        Its own denial is looked at by itself where the gate comes before the duty is done.
        """
        before = self._comes(gate.id)
        edges = self.template.leaving(gate.id)
        return [one for one in edges if one.target not in self.leading and not (before and one.branch == DENIED)]

    def _wrong(self, gate: Node, node: Node) -> str | None:
        """Why a step behind a denial avoids the duty."""
        if node.traits.ends:
            return None if node.id in self.exempt else f"the run ends at {node.id}, which is not exempt"
        if not node.gate:
            return None
        if rank(node.policy.role) <= rank(gate.policy.role):
            return f"{node.id} asks for the role {node.policy.role}, which is no higher one"
        if f"{EARLIER_GATE}{gate.id}" not in node.policy.four_eyes:
            return f"who denies may decide at {node.id}, too: its four_eyes lack gate:{gate.id}"
        denies = DENIED in self.template.decisions(node.id) and not self._comes(node.id)
        if denies and not any(edge.branch == DENIED for edge in self.template.leaving(node.id)):
            return f"a denial at {node.id} leads nowhere"
        return None


def _path(came: dict[str, str | None], step: str) -> tuple[str, ...]:
    found: list[str] = []
    at: str | None = step
    while at is not None:
        found.append(at)
        at = came[at]
    return tuple(reversed(found))
