"""A clock that begins in a branch is proven by it, where that surely stops the clock."""

from __future__ import annotations

import dataclasses

from actors.core.rules.proof import clock_proofs
from actors.core.template import ClockRule, Template
from tests.processes import end, gate, parallel, process, task

WAYS = """fork -> decide -> confirm -> file -> join -> end
          fork -> slow -> join
          decide -[denied]-> file
          confirm -[denied]-> file
          slow -[denied]-> join"""
CLOCK = ClockRule(id="disclosure", label="Disclosure", within="P4D", stops=("file",), from_step="decide")


def forked(deadline: str | None) -> Template:
    """Two branches: in one a clock begins and stops, in the other nobody has to decide."""
    drawn = process(
        parallel("fork"),
        gate("decide"),
        gate("confirm", deadline=deadline, on_deadline=None if deadline is None else "denied"),
        task("file"),
        gate("slow"),
        parallel("join"),
        end(outcome="filed"),
        ways=WAYS,
    )
    return dataclasses.replace(drawn, clocks=(CLOCK,))


def test_a_branch_in_which_a_clock_begins_and_surely_stops_makes_good_what_others_lack() -> None:
    assert [*clock_proofs(forked("P3D"))] == []


def test_a_branch_that_is_late_by_itself_makes_nothing_good() -> None:
    late = [one.rule for one in clock_proofs(forked("P5D"))]
    assert "late_by_design" in late
    unbounded = [one for one in clock_proofs(forked(None)) if one.rule == "clock_unbounded"]
    assert {one.node for one in unbounded} == {"confirm", "slow"}
