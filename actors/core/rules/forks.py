"""The rules of parallel branches: each fork has one join, which waits for its branches alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from actors.core.rules.violation import Violation
from actors.core.template import Edge, Template, reached

WALKED_MAX = 500_000
"""So many steps are walked to find the joins of all forks; a thousand in order need few of them."""


class TooEntangled(Exception):
    """It would take too long to find the joins of all forks."""


def fork_violations(template: Template) -> Iterator[Violation]:
    """The forks and joins that do not belong together."""
    forks = [node.id for node in template.nodes if node.flow == "parallel" and len(template.onward(node.id)) > 1]
    joins = [node.id for node in template.nodes if template.joins(node.id)]
    joined: set[str | None] = set()
    walk = _Walk(template, frozenset(joins))
    try:
        found = {fork: walk.join_of(fork) for fork in forks}
    except TooEntangled:
        yield Violation("too_large", None, "steps: forks and joins are too entangled to say which belong together")
        return
    for fork in forks:
        joined.add(found[fork])
        if found[fork] is None:
            detail = "no join collects exactly the branches that this fork alone opens"
            yield Violation("fork_without_join", fork, detail)
    for join in joins:
        if join not in joined:
            yield Violation("join_without_fork", join, "no fork opens the branches that this join waits for")


def leading_to(template: Template, steps: Iterable[str]) -> frozenset[str]:
    """The steps, and all from which a path leads to one of them."""
    found: set[str] = set()
    waiting = list(steps)
    while waiting:
        step = waiting.pop()
        if step not in found:
            found.add(step)
            waiting.extend(edge.source for edge in template.entering(step))
    return frozenset(found)


@dataclass(slots=True)
class _Walk:
    """Looks for the joins of forks, and counts the steps that it walks."""

    template: Template
    joins: frozenset[str]
    walked: int = 0
    leading: dict[str, frozenset[str]] = field(default_factory=dict)

    def join_of(self, fork: str) -> str | None:
        """The nearest join that collects the branches of a fork."""
        ways = len(self.template.onward(fork))
        near = (step for step in self._nearest(fork) if step in self.joins)
        alike = (join for join in near if len(self.template.entering(join)) == ways)
        return next((join for join in alike if self._collects(fork, join)), None)

    def _nearest(self, fork: str) -> Iterator[str]:
        """The steps behind a fork, breadth first."""
        seen, waiting = {fork}, deque([fork])
        while waiting:
            for edge in self.template.leaving(waiting.popleft()):
                if edge.target not in seen:
                    self._count(1)
                    seen.add(edge.target)
                    waiting.append(edge.target)
                    yield edge.target

    def _collects(self, fork: str, join: str) -> bool:
        """Whether each branch of the fork leads to the join once and touches no other branch."""
        sources = [edge.source for edge in self.template.entering(join)]
        touched: set[str] = {fork, join}
        for edge in self.template.onward(fork):
            branch = self._branch(edge, join)
            if branch & touched or sum(s in branch or (s == fork and edge.target == join) for s in sources) != 1:
                return False
            if self._has_another_way_in(edge, branch, join):
                return False
            touched |= branch
        return True

    def _branch(self, edge: Edge, join: str) -> frozenset[str]:
        steps = reached(self.template, (edge.target,), frozenset({join}))
        self._count(len(steps))
        return frozenset(i for i in steps if not self.template.node(i).traits.ends)

    def _has_another_way_in(self, way: Edge, branch: frozenset[str], join: str) -> bool:
        """Whether the steps that lead to the join can be reached past the fork's own edge."""
        if join not in self.leading:
            self.leading[join] = leading_to(self.template, (join,))
            self._count(len(self.leading[join]))
        inside = branch & self.leading[join]
        ways_in = (edge for step in inside for edge in self.template.entering(step))
        return self.template.start in inside or any(e is not way and e.source not in branch for e in ways_in)

    def _count(self, steps: int) -> None:
        self.walked += steps
        if self.walked > WALKED_MAX:
            raise TooEntangled
