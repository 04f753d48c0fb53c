"""The branches of parallel gateways that steps stand in, where forks and joins belong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from actors.core.template import DENIED, ClockRule, Edge, Template, reached


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A branch of a fork, by the number of its edge; None stands for the steps of no branch."""

    fork: str
    branch: int
    outer: Region | None
    depth: int


def does(template: Template, edge: Edge) -> bool:
    """Whether a step is done where a run leaves it over this edge."""
    return edge.branch != DENIED and edge is not template.on_error(edge.source)


def is_fork(template: Template, step_id: str) -> bool:
    """Whether a step opens several branches."""
    return template.node(step_id).flow == "parallel" and len(template.onward(step_id)) > 1


class Regions:
    """The branch of each step of a template."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.of: dict[str, Region | None] = {}
        self.into: dict[tuple[str, str], Region | None] = {}
        """The branch that each edge comes from by which a join is reached."""
        self.joins: dict[str, str] = {}
        """The join of each fork."""
        self.branches: dict[str, list[Region]] = {}
        self._idle: dict[str, frozenset[str]] = {}
        self._walk()

    def _walk(self) -> None:
        waiting: list[tuple[str, Region | None]] = [(self.template.start, None)]
        while waiting:
            step, region = waiting.pop()
            if step in self.of or self.template.node(step).traits.ends:
                continue
            self.of[step] = region
            waiting.extend(self._onward(step, region))

    def _onward(self, step: str, region: Region | None) -> Iterator[tuple[str, Region | None]]:
        forks = is_fork(self.template, step)
        for number, edge in enumerate(self.template.leaving(step)):
            inner = region
            if forks and edge.branch != DENIED:
                inner = Region(step, number, region, 1 if region is None else region.depth + 1)
                self.branches.setdefault(step, []).append(inner)
            if self.template.joins(edge.target):
                self.into[step, edge.target] = inner
                self.joins |= {} if inner is None else {inner.fork: edge.target}
                inner = None if inner is None else inner.outer
            yield edge.target, inner

    def idle(self, clock: ClockRule) -> frozenset[str]:
        """The steps at which a clock may have stopped, or not begun."""
        found = self._idle.get(clock.id)
        if found is None:
            found = self._idle[clock.id] = self._before(clock) | self._behind(clock)
        return found

    def _before(self, clock: ClockRule) -> frozenset[str]:
        since = clock.from_step
        if since is None:
            return frozenset()
        undone = [edge.target for edge in self.template.leaving(since) if not does(self.template, edge)]
        return reached(self.template, (self.template.start, *undone), frozenset({since}))

    def _behind(self, clock: ClockRule) -> frozenset[str]:
        """The steps behind its acts, and in branches beside them."""
        acts = [step for step in clock.stops if step in self.of]
        after = [edge.target for step in acts for edge in self.template.leaving(step) if does(self.template, edge)]
        beside = {
            edge.target
            for region in {region for step in acts for region in self.around(step)}
            for number, edge in enumerate(self.template.leaving(region.fork))
            if number != region.branch
        }
        return reached(self.template, (*after, *beside), frozenset())

    def around(self, step: str) -> Iterator[Region]:
        """The branches that a step stands in, from the inside."""
        return outwards(self.of.get(step))


def outwards(region: Region | None) -> Iterator[Region]:
    """A branch, and those around it."""
    while region is not None:
        yield region
        region = region.outer
