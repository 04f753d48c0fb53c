"""The rules of parallel branches: each fork has one join, which waits for its branches alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from actors.core.rules.violation import Violation
from actors.core.template import Template

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
    targets: dict[str, list[str]] = field(init=False)
    sources: dict[str, list[str]] = field(init=False)
    ends: frozenset[str] = field(init=False)
    balance: dict[str, int] = field(init=False)
    """How many more edges lead into a step than from it to steps that are no ends."""

    def __post_init__(self) -> None:
        nodes = self.template.nodes
        self.targets = {node.id: [edge.target for edge in self.template.leaving(node.id)] for node in nodes}
        self.sources = {node.id: [edge.source for edge in self.template.entering(node.id)] for node in nodes}
        self.ends = frozenset(node.id for node in nodes if node.traits.ends)
        onward = {step: sum(target not in self.ends for target in targets) for step, targets in self.targets.items()}
        self.balance = {step: len(sources) - onward[step] for step, sources in self.sources.items()}

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
        touched: set[str] = {fork, join}
        for edge in self.template.onward(fork):
            branch = self._branch(edge.target, join)
            straight = edge.target == join
            comes = sum(one in branch or (straight and one == fork) for one in self.sources[join])
            if comes != 1 or branch & touched:
                return False
            # All edges into a branch but one come from it, and one of its own goes to the join.
            closed = sum(map(self.balance.__getitem__, branch)) + comes == 1
            if (not closed or self.template.start in branch) and self._has_another_way_in(branch, join):
                return False
            touched |= branch
        return True

    def _branch(self, first: str, join: str) -> set[str]:
        """The steps of a branch up to the join, ends apart."""
        seen, waiting, targets = {join}, [first], self.targets
        while waiting:
            step = waiting.pop()
            if step not in seen:
                seen.add(step)
                waiting += targets[step]
        self._count(len(seen))
        return seen - self.ends - {join}

    def _has_another_way_in(self, branch: set[str], join: str) -> bool:
        """Whether the steps that lead to the join can be reached past the fork's own edge.

        A way to the join that begins in the branch stays in it, so nothing else is walked.
        """
        inside: set[str] = set()
        ways_in, waiting, sources = 0, [join], self.sources
        while waiting:
            step = waiting.pop()
            for source in sources[step]:
                if source not in branch:
                    ways_in += step != join
                elif source not in inside:
                    inside.add(source)
                    waiting.append(source)
        self._count(len(inside))
        return ways_in > 1 or self.template.start in inside

    def _count(self, steps: int) -> None:
        self.walked += steps
        if self.walked > WALKED_MAX:
            raise TooEntangled
