"""A clock that is proven is kept at the last moment, and one that is refused is not."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from actors.core.gate_policy import AnchoredDeadline
from actors.core.rules import Violation, violations
from actors.core.template import Template
from tests.property.clocked import CLOCK, STARTS, clocked, followed, rehearsed

OF_CLOCKS = {"late_by_design", "clock_unbounded", "clock_not_stopped"}


def found(template: Template) -> list[Violation]:
    """What is wrong with the clock of a template that is sound otherwise."""
    every = violations(template)
    assume(all(one.rule in OF_CLOCKS for one in every))
    return [*every]


@given(clocked(), st.data())
def test_a_clock_that_is_proven_is_kept_by_those_who_decide_at_the_last_moment(
    template: Template, data: DataObject
) -> None:
    assume(not found(template))
    for play in rehearsed(template, data.draw(st.sampled_from(STARTS)), lambda of: data.draw(st.sampled_from(of))):
        assert not play.is_late
    assert play.run is not None
    if play.run.ended is not None:
        clock = play.clock
        told = [node.ends_clocks[CLOCK] for node in template.nodes if node.ends_clocks]
        assert clock.stopped_by is not None or clock.reason in told


def hangs_on_a_clock(template: Template, step: str) -> bool:
    """Whether the time of a step counts back from when the clock is due."""
    node = template.node(step)
    return isinstance(node.policy.deadline, AnchoredDeadline) or (node.wait is not None and node.wait.until is not None)


@given(clocked(forks=False))
def test_a_clock_that_is_refused_as_late_is_late_on_the_path_that_is_named(template: Template) -> None:
    """But for steps that hang on the clock: there the proof takes the worst of each step by itself,
    though no run may meet all of it, such as several weekends, or a wait that outlasts an anchor.
    """
    late = [one for one in found(template) if one.rule == "late_by_design"]
    for one in late:
        if any(hangs_on_a_clock(template, step) for step in one.path):
            continue
        places = range(len(one.path))
        assert any(followed(template, one.path, start, eager).is_late for eager in places for start in STARTS)
