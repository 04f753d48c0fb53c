"""The rules of parallel branches: each fork has one join, which waits for its branches alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from actors.core.rules.violation import Violation
from actors.core.template import Edge, Template, reached


def fork_violations(template: Template) -> Iterator[Violation]:
    """The forks and joins that do not belong together."""
    forks = [node.id for node in template.nodes if node.flow == "parallel" and len(template.onward(node.id)) > 1]
    joins = {node.id: leading_to(template, (node.id,)) for node in template.nodes if template.joins(node.id)}
    joined: set[str] = set()
    for fork in forks:
        near = (step for step in _nearest(template, fork) if step in joins)
        found = next((join for join in near if _is_join_of(template, fork, join, joins[join])), None)
        if found is None:
            detail = "no join collects exactly the branches that this fork alone opens"
            yield Violation("fork_without_join", fork, detail)
        else:
            joined.add(found)
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


def _nearest(template: Template, fork: str) -> Iterator[str]:
    """The steps behind a fork, breadth first."""
    seen, waiting = {fork}, deque([fork])
    while waiting:
        for edge in template.leaving(waiting.popleft()):
            if edge.target not in seen:
                seen.add(edge.target)
                waiting.append(edge.target)
                yield edge.target


def _is_join_of(template: Template, fork: str, join: str, leading: frozenset[str]) -> bool:
    """Whether each branch of the fork leads to the join once and touches no other branch."""
    sources = [edge.source for edge in template.entering(join)]
    exits = template.onward(fork)
    if len(sources) != len(exits):
        return False
    touched: set[str] = {fork, join}
    for edge in exits:
        branch = _branch(template, edge, join)
        if branch & touched or sum(s in branch or (s == fork and edge.target == join) for s in sources) != 1:
            return False
        if _has_another_way_in(template, edge, branch, leading):
            return False
        touched |= branch
    return True


def _branch(template: Template, edge: Edge, join: str) -> frozenset[str]:
    steps = reached(template, (edge.target,), frozenset({join}))
    return frozenset(i for i in steps if not template.node(i).traits.ends)


def _has_another_way_in(template: Template, way: Edge, branch: frozenset[str], leading: frozenset[str]) -> bool:
    """Whether the steps that lead to the join can be reached past the fork's own edge."""
    inside = branch & leading
    ways_in = (edge for step in inside for edge in template.entering(step))
    return template.start in inside or any(edge is not way and edge.source not in branch for edge in ways_in)
