"""A clock that is proven is kept at the last moment, and one that is refused is not."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from msgspec.structs import replace

from actors.core.rules import Violation, violations
from actors.core.template import Template
from tests.property.clocked import CLOCK, COMPANY, ELSEWHERE, ONE_UNIT, STARTS, clocked, followed, rehearsed

OF_CLOCKS = {"late_by_design", "clock_unbounded", "clock_not_stopped"}


def found(template: Template) -> list[Violation]:
    """What is wrong with the clock of a template that is sound otherwise."""
    every = violations(template)
    assume(all(one.rule in OF_CLOCKS for one in every))
    return [*every]


@given(clocked(units=(*ONE_UNIT, "mixed", "mixed")), st.data())
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


@given(clocked(forks=False, units=("business",)), st.data())
def test_a_clock_of_business_days_on_a_way_of_business_days_is_kept_on_any_calendar(
    template: Template, data: DataObject
) -> None:
    assume(str(template.clocks[0].within).endswith("BD") and not found(template))
    company = replace(COMPANY, calendar=ELSEWHERE)
    start = data.draw(st.sampled_from(STARTS)) + timedelta(weeks=data.draw(st.sampled_from(range(5))))
    for play in rehearsed(template, start, lambda of: data.draw(st.sampled_from(of)), company):
        assert not play.is_late


@given(clocked(forks=False))
def test_a_clock_that_is_refused_as_late_is_late_on_the_path_that_is_named(template: Template) -> None:
    late = [one for one in found(template) if one.rule == "late_by_design"]
    for one in late:
        places = range(len(one.path))
        assert any(followed(template, one.path, start, eager).is_late for eager in places for start in STARTS)
