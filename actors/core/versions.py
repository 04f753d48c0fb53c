"""What another version of a template would change for a run in flight."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from actors.core.run import Run
from actors.core.template import Edge, Node, Template

Way = dict[str, tuple[Node, tuple[Edge, ...]]]


def goes_otherwise(run: Run, before: Template, onto: Template) -> bool:
    """Whether the way that a run still has to go differs in another version."""
    steps = [visit.step_id for visit in run.open]
    return not all(map(onto.has, steps)) or _way(before, steps) != _way(onto, steps)


def _way(template: Template, steps: Iterable[str]) -> Way:
    """The steps that are open, and all behind them; a form counts by its schema."""
    found = frozenset(ahead for step in steps for ahead in template.downstream(step))
    return {step: (replace(template.node(step), form=None), template.leaving(step)) for step in found}
