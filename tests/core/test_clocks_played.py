"""The proof of clocks where the worst of each step by itself is more than any run can meet."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from actors.core.gate_policy import AnchoredDeadline, Escalation
from actors.core.rules import played
from actors.core.rules.proof import clock_proofs
from actors.core.template import ClockExtension, Template
from tests.core.test_clock_proof import Found, Text, clock, limited, proven, timed, told
from tests.effort import Effort
from tests.processes import choice, gate, parallel, task, wait


def anchored(before: str, outcome: Any = "denied") -> dict[str, Any]:
    return {"deadline": AnchoredDeadline("notice", before), "on_deadline": outcome}


def after(first: str, within: str = "P7D", **rule: Any) -> Found:
    """A wait, and a gate at which only who comes in time has three days more."""
    nodes = (wait("first", duration=first), gate("a", **anchored("P2D")), wait("more", duration="P3D"))
    ways = "first -> a -> more -> send\na -[denied]-> send"
    return told(timed(*nodes, ways=ways, clocks=(clock(within, **rule),)))


LATE = [("late_by_design", "send")]


def test_a_way_that_nobody_can_take_in_time_is_not_late() -> None:
    assert after("P6D") == []
    assert after("P5D") == LATE
    assert after("P5DT1S") == []


@pytest.mark.parametrize(
    ("first", "within", "rule"),
    [
        ("P6D", "P7D", {"since": Text("inputs.since")}),
        ("P6D", Text("inputs.a ? 'P7D' : 'P7D'"), {}),
        ("P1M", "P7D", {}),
        ("P6BD", "P7D", {"pauses": ("question:a",)}),
    ],
    ids=["start", "length", "months", "pause of business days"],
)
def test_where_nobody_can_tell_the_days_the_worst_of_each_step_counts(first: str, within: Any, rule: Any) -> None:
    assert ("late_by_design", "send") in after(first, within, **rule)


@pytest.mark.parametrize(
    ("lasting", "within", "kept"),
    [
        ("P1D P2BD P3BD", "P8D", True),
        ("P1D P2BD P3BD", "P7D", False),
        ("P3BD PT12H PT12H", "P4BD", True),
        ("P3BD PT12H PT13H", "P4BD", False),
        ("P1BD P1D P1BD", "P4D", False),
        ("P2BD P2BD P2D", "P8D", True),
        ("P2BD P2D P2BD", "P9D", False),
    ],
)
def test_waits_have_the_weekends_that_one_run_meets(lasting: str, within: str, *, kept: bool) -> None:
    nodes = [wait(f"w{number}", duration=one) for number, one in enumerate(lasting.split())]
    ways = "\n".join(f"{one.id} -> {other.id}" for one, other in pairwise([*nodes, task("send")]))
    assert told(timed(*nodes, ways=ways, clocks=(clock(within),))) == ([] if kept else LATE)


def test_people_who_decide_late_on_a_friday_have_the_monday() -> None:
    """After a wait of a day at noon on Saturday it would be noon on Monday."""
    ways = "a -> b -> send\na -[denied]-> b"
    last = wait("b", duration="P1BD")
    assert told(timed(gate("a", **limited("PT12H")), last, ways=ways, clocks=(clock("PT84H"),))) == []
    assert told(timed(gate("a", **limited("PT12H")), last, ways=ways, clocks=(clock("PT83H"),))) == LATE


def test_the_worst_days_of_one_way_are_not_added_to_the_worst_hours_of_another() -> None:
    def split(first: str, second: str) -> Found:
        nodes = (
            choice("which", "high", **anchored("P4BD", "one")),
            wait("a", duration=first),
            wait("b", duration=second),
        )
        return told(timed(*nodes, ways="which -[one]-> a -> send\nwhich -[two]-> b -> send", clocks=(clock("P13D"),)))

    assert split("P3BD", "P4D") == []
    assert split("P3BD", "P7D") == LATE


def test_a_way_that_is_late_is_named_where_the_longest_one_is_not() -> None:
    nodes = (
        *(choice("c", "high", **limited("P1D", "short")), wait("long", duration="P8D")),
        *(wait("slow", duration="P6D"), gate("a", **anchored("P2D")), wait("more", duration="P9D")),
    )
    ways = "c -[short]-> slow -> a -> more -> send\na -[denied]-> send\nc -[long]-> long -> send"
    late = proven(timed(*nodes, ways=ways))
    assert late is not None
    assert late.path == ("c", "long", "send")


def test_a_message_that_does_not_come_takes_its_time() -> None:
    nodes = (wait("m", message="word", within="P6D"), gate("a", **anchored("P2D")), wait("more", duration="P3D"))
    ways = "m -[timeout]-> a -> more -> send\na -[denied]-> send\nm -[message]-> {}"
    assert told(timed(*nodes, ways=ways.format("send"))) == []
    assert told(timed(*nodes, ways=ways.format("a"))) == LATE


def test_an_escalation_of_an_anchored_gate_takes_its_time_from_when_the_gate_opens_late() -> None:
    again = anchored("P3D", Escalation("admin", "P1D", "denied"))
    ways = "w -> a -> b -> send\na -[denied]-> send\nb -[denied]-> send"

    def of(first: str) -> Found:
        return told(timed(wait("w", duration=first), gate("a", **again), gate("b", **anchored("P1D")), ways=ways))

    assert of("P6D") == []
    assert of("P6DT1S") == LATE


def test_branches_are_played_unless_something_moves_the_clock_in_them() -> None:
    nodes = (
        *(parallel("f"), parallel("j"), wait("x", duration="P1D")),
        *(wait("first", duration="P6D"), gate("a", **anchored("P2D")), wait("more", duration="P3D")),
    )
    ways = "f -> first -> a -> more -> j\na -[denied]-> send\nf -> x -> j\nj -> send"
    assert told(timed(*nodes, ways=ways)) == []
    assert ("late_by_design", "send") in told(timed(*nodes, ways=ways, clocks=(clock(pauses=("x",)),)))


def test_more_time_that_is_told_in_time_is_played() -> None:
    nodes = (
        *(choice("more", "high", **anchored("P2D", "no")), task("tell")),
        *(wait("first", duration="P20D"), gate("a", **anchored("P2D")), wait("on", duration="P3D")),
    )
    ways = "more -[more]-> tell -> first -> a -> on -> send\nmore -[no]-> send\na -[denied]-> send"
    rule = clock(extend=ClockExtension("more", "more", "P14D", "tell"))
    assert told(timed(*nodes, ways=ways, clocks=(rule,))) == LATE
    late = structs.replace(rule, within="P7D", extend=ClockExtension("more", "more", "P19D", "tell"))
    assert told(timed(*nodes, ways=ways, clocks=(late,))) == LATE


def test_what_takes_too_long_to_play_keeps_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    assert after("P6D") == []
    monkeypatch.setattr("actors.core.rules.proof.PLAYED_MAX", played.TO_BEGIN + 1)
    assert after("P6D") == LATE


def large(within: str, ending: str, lasting: str = "P1BD") -> Template:
    """A thousand steps with 20 clocks, a fifth of them gates and waits."""
    nodes, ways = [], []
    for number in range(999):
        name, following = f"s{number}", "send" if number == 998 else f"s{number + 1}"
        ways.append(f"{name} -> {following}")
        if number % 10 == 0:
            nodes.append(gate(name, **limited(ending)))
            ways.append(f"{name} -[denied]-> send")
        else:
            nodes.append(task(name) if number % 5 else wait(name, duration=lasting))
    clocks = tuple(clock(within, id=f"c{number}") for number in range(20))
    return timed(*nodes, ways="\n".join(ways), clocks=clocks)


@pytest.mark.parametrize(
    "refused",
    [large("P199D", "P1D", "P1D"), large("P199BD", "P1BD"), large("P19D", "PT1H")],
    ids=["days", "business days", "hours"],
)
def test_a_thousand_steps_are_played_as_often_as_is_allowed_and_no_longer(
    refused: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lines of ours do is counted, and on how much C works for them."""
    plays = played_bytes = 0

    def counted(name: str) -> None:
        play = getattr(played.PlayedRuns, name)

        def played_once(runs: played.PlayedRuns, *given: Any, **named: Any) -> Any:
            nonlocal plays, played_bytes
            plays += 1
            played_bytes += max(one.bit_length() // 8 for one in given if isinstance(one, int))
            return play(runs, *given, **named)

        monkeypatch.setattr(played.PlayedRuns, name, played_once)

    counted("_left")
    counted("_moved")
    assert len([*clock_proofs(refused)]) == 20
    assert 0 < plays <= played.PLAYED_MAX
    assert 0 < played_bytes <= played.PLAYED_MAX * played.BYTES_A_PLAY


def test_steps_of_time_that_are_too_fine_to_play_are_not_even_begun() -> None:
    nodes = (wait("a", duration="PT10M"), wait("b", duration="P4BD"))
    with Effort() as effort:
        assert [*clock_proofs(timed(*nodes, ways="a -> b -> send", clocks=(clock("P5D"),)))] != []
    assert effort.steps < 3_000
