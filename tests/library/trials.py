"""What random runs of a process find: ways that nothing takes, and answers that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from actors.core.template import DENIED
from tests.library import values
from tests.library.checks import Finding
from tests.library.documents import Property, Vertical
from tests.library.expressions import Path
from tests.library.outputs import read_paths
from tests.library.plays import CALM, CLEAN, UNUSUAL, Change, DeadEnd, Play, Stage, Temper

TRIES = 300
"""So many runs may pass before an answer that changes nothing counts as one that no run needs."""
TELLING = 5
"""So many runs in which an answer decides are tried without it."""
SHOWN_MAX = 3


class Played(NamedTuple):
    """What came of the random runs of a process."""

    runs: int
    ends: frozenset[str]
    found: list[Finding]


def played(vertical: Vertical, runs: int) -> Played:
    """Let so many random runs happen, and try each answer of each tool."""
    stage, name = Stage(vertical), str(vertical)
    outcomes, edges, dead = set[str](), set[tuple[str, str]](), dict[str, int]()
    for seed in range(runs):
        play = Play(stage, seed)
        try:
            play.finish()
        except DeadEnd as failed:
            dead.setdefault(str(failed), seed)
        edges.update(play.edges)
        outcomes.update(filter(None, [play.outcome]))
    found = [Finding(name, "dead_end", f"{why} (seed {seed})") for why, seed in [*dead.items()][:SHOWN_MAX]]
    found += [Finding(name, *one) for one in _untaken(vertical, edges)]
    found += [Finding(name, *one) for tool in vertical.tools for one in _answers(stage, tool)]
    return Played(runs, frozenset(outcomes), found)


def _untaken(vertical: Vertical, edges: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The ends that no run reached, and the ways that no run took."""
    reached = {target for _, target in edges}
    template = vertical.template
    for node in template.nodes:
        if node.traits.ends and node.id not in reached:
            yield "end_never_reached", f"no run came to {node.id}"
    for edge in template.edges:
        refusal = edge.branch == DENIED and not template.node(edge.source).gate
        if (edge.source, edge.target) not in edges and not refusal:
            yield "way_never_taken", f"no run went from {edge.source} to {edge.target}"


def _answers(stage: Stage, tool: str) -> Iterator[tuple[str, str]]:
    """What is wrong with how the members of a tool's output are read."""
    read = {*read_paths(stage.vertical, tool)}
    for one in stage.vertical.outputs(tool):
        leaf = not (one.schema.get("properties") or one.schema.get("items"))
        if one.shown or not leaf:
            continue
        if not _is_felt(stage, tool, one):
            yield "unfelt", f"{tool}.{one.name} changes no run, whatever it is"
        elif any(path[: len(one.path)] == one.path for path in read) and (why := _clean_without(stage, tool, one)):
            yield "clean_on_missing", why


def _is_felt(stage: Stage, tool: str, one: Property) -> bool:
    """Whether a run goes another way with another answer, if only beside other unusual ones."""
    for temper, seed in product((CALM, UNUSUAL), range(TRIES)):
        first, second = (_value(stage, tool, one, seed, nth) for nth in (0, 1))
        before = _path(stage, seed, Change(tool, one.path, first), temper)
        after = _path(stage, seed, Change(tool, one.path, second), temper)
        if first != second and before is not None and before != after:
            return True
    return False


def _clean_without(stage: Stage, tool: str, one: Property) -> str | None:
    """How a run goes unattended over the branch of the clean answer where there is none."""
    steps = [step["id"] for step in stage.vertical.steps if step.get("tool") == tool]
    known = next(
        (found for step in steps if (found := values.get(stage.clean[step], one.path)) is not values.GONE), None
    )
    if known is None:
        return None
    telling = 0
    for seed in range(TRIES):
        play = _finished(stage, seed, Change(tool, one.path, known), CLEAN)
        if play is None or not play.changed_at or not play.unattended_after(play.changed_at[0]):
            continue
        other = _value(stage, tool, one, seed, 0)
        if other == known or _path(stage, seed, Change(tool, one.path, other), CLEAN) in (None, play.path):
            continue
        telling += 1
        for spoilt in values.spoiled(known):
            if _path(stage, seed, Change(tool, one.path, spoilt), CLEAN) == play.path:
                said = "left out" if spoilt is values.GONE else repr(spoilt)
                return f"{tool}.{one.name} is {said}, and the run goes on as with {known!r} (seed {seed})"
        if telling == TELLING:
            break
    return None


def _value(stage: Stage, tool: str, one: Property, seed: int, nth: int) -> Any:
    """One of the values that a member may have; the second of a yes or no is the other."""
    random = Play(stage, seed, CALM).random("value", tool, one.name)
    if one.schema.get("type") == "boolean":
        return (random.random() < 0.5) ^ bool(nth)
    path: Path = one.path
    found = [values.value(one.schema, random, stage.pools.get(tool, {}), path) for _ in range(nth + 1)]
    return found[-1]


def _finished(stage: Stage, seed: int, change: Change, temper: Temper) -> Play | None:
    try:
        return Play(stage, seed, temper, change).finish()
    except DeadEnd:
        return None


def _path(stage: Stage, seed: int, change: Change, temper: Temper = CALM) -> tuple[Any, ...] | None:
    play = _finished(stage, seed, change, temper)
    return None if play is None else play.path
