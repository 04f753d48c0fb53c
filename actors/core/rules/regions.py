"""The branches of parallel gateways that steps stand in, where forks and joins belong together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from actors.core.template import DENIED, ClockRule, Edge, Template, reached

T = TypeVar("T")


class WayOut(NamedTuple):
    """An edge, whether a step is done that is left over it, and whether the run ends there."""

    edge: Edge
    does: bool
    ends: bool


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
    """What all clocks of a template share: the branch of each step, its ways on, and its order."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.of: dict[str, Region | None] = {}
        self.into: dict[tuple[str, str], Region | None] = {}
        """The branch that each edge comes from by which a join is reached."""
        self.joins: dict[str, str] = {}
        """The join of each fork."""
        self.branches: dict[str, list[Region]] = {}
        self.ways = {one.id: tuple(map(self._way, template.leaving(one.id))) for one in template.nodes}
        self.stands = frozenset(one.id for one in template.nodes if one.gate or one.traits.waits)
        """Steps at which people or a wait hold a run up."""
        ahead = {step: [way.edge.target for way in ways] for step, ways in self.ways.items()}
        parts = [*components(ahead)][::-1]
        self.order = {step: number for number, part in enumerate(parts) for step in part}
        """Steps that lead to each other have one number, and all behind them a higher one."""
        self.ahead: dict[str, str] = {}
        """Of each step the first from it on at which anything may happen to a clock."""
        self._idle: dict[str, frozenset[str]] = {}
        self._walk()
        self._look_ahead()

    def _way(self, edge: Edge) -> WayOut:
        return WayOut(edge, does(self.template, edge), self.template.node(edge.target).traits.ends)

    def _walk(self) -> None:
        waiting: list[tuple[str, Region | None]] = [(self.template.start, None)]
        while waiting:
            step, region = waiting.pop()
            if step in self.of or self.template.node(step).traits.ends:
                continue
            self.of[step] = region
            waiting.extend(self._onward(step, region))

    def _look_ahead(self) -> None:
        named: set[str | None] = set()
        for clock in self.template.clocks:
            named.update((*clock.stops, clock.from_step))
            named.update(() if clock.extend is None else (clock.extend.at, clock.extend.once_done))
        for step in sorted(self.order, key=self.order.__getitem__, reverse=True):
            self.ahead[step] = step
            if len(self.ways[step]) == 1 and step not in named and step not in self.stands:
                edge, done, ends = self.ways[step][0]
                joins = self.template.joins(step) or self.template.joins(edge.target)
                if done and not (ends or joins) and self.order[edge.target] > self.order[step]:
                    self.ahead[step] = self.ahead[edge.target]

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


def components(ahead: Mapping[T, Iterable[T]]) -> Iterator[list[T]]:
    """The strongly connected components of a graph, each behind all that it leads to (Tarjan)."""
    number: dict[T, int] = {}
    low: dict[T, int] = {}
    open_states: list[T] = []
    inside: set[T] = set()
    walking: list[tuple[T, Iterator[T]]] = []

    def begin(state: T) -> None:
        number[state] = low[state] = len(number)
        open_states.append(state)
        inside.add(state)
        walking.append((state, iter(ahead[state])))

    for root in ahead:
        if root not in number:
            begin(root)
        while walking:
            state, targets = walking[-1]
            target = next(targets, None)
            if target is not None:
                if target not in number:
                    begin(target)
                elif target in inside:
                    low[state] = min(low[state], number[target])
                continue
            walking.pop()
            if walking:
                low[walking[-1][0]] = min(low[walking[-1][0]], low[state])
            if low[state] == number[state]:
                part = _popped(open_states, state)
                inside.difference_update(part)
                yield part


def _popped(states: list[T], first: T) -> list[T]:
    """Take the states from one on off the end."""
    found: list[T] = []
    while not found or found[-1] != first:
        found.append(states.pop())
    return found
