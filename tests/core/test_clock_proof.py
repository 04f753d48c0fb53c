"""The proof of clocks at publishing, one path at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pytest
from msgspec import structs

from actors.core.gate_policy import AnchoredDeadline, Escalation
from actors.core.rules import Violation, violations
from actors.core.rules.proof import clock_proofs, slowest_paths
from actors.core.rules.violation import SlowestPath
from actors.core.template import ClockExtension, ClockRule, Node, Template
from tests.processes import When, choice, end, gate, parallel, process, task, wait

Found = list[tuple[str, str | None]]


@dataclass(frozen=True)
class Text:
    """An expression of which the text alone counts."""

    text: str
    reads: tuple[str, ...] = ()

    def time(self, *_: Any) -> datetime:
        raise NotImplementedError

    def duration(self, *_: Any) -> str:
        raise NotImplementedError


def limited(days: str, outcome: str = "denied") -> dict[str, Any]:
    """A deadline that leads on."""
    return {"deadline": days, "on_deadline": outcome}


def clock(within: Any = "P7D", **rule: Any) -> ClockRule:
    return ClockRule(**{"id": "notice", "label": "Notice", "within": within, "stops": ("send",), **rule})


def timed(*nodes: Node, ways: str, clocks: tuple[ClockRule, ...] = (clock(),), **more: Any) -> Template:
    """A process with clocks, an act and its end."""
    return replace(process(*nodes, task("send"), end(), ways=f"{ways}\nsend -> end", **more), clocks=clocks)


def proven(template: Template) -> Violation | None:
    """The only thing that is wrong, if anything is."""
    every = violations(template)
    assert len(every) <= 1, every
    return every[0] if every else None


def told(template: Template) -> Found:
    return [(one.rule, one.node) for one in violations(template)]


def test_deadlines_on_the_way_are_added_up_to_their_outcomes() -> None:
    ways = "a -> b -> send\na -[denied]-> send\nb -[denied]-> send"
    again: dict[str, Any] = {"deadline": "P3D", "on_deadline": Escalation("admin", "P1D", "denied")}
    assert proven(timed(gate("a", **limited("P3D")), gate("b", **again), ways=ways)) is None
    late = proven(timed(gate("a", **limited("P3DT1H")), gate("b", **again), ways=ways))
    assert late is not None
    assert (late.rule, late.node, late.clock) == ("late_by_design", "send", "notice")
    assert (late.path, late.takes, late.within) == (("a", "b", "send"), "P7DT1H", "P7D")
    assert late.detail == "the clock notice: send is done after up to P7DT1H, and P7D is allowed"


def test_the_slowest_path_of_a_clock_that_is_kept_is_told() -> None:
    ways = "a -> b -> send\na -[denied]-> send\nb -[denied]-> send"
    kept = timed(gate("a", **limited("P1D")), gate("b", **limited("P3DT1H")), ways=ways)
    assert [*slowest_paths(kept)] == [SlowestPath("notice", ("a", "b", "send"), "P4DT1H", "P7D")]
    anchored = limited("P1D") | {"deadline": AnchoredDeadline("notice", "P2D")}
    assert [one.takes for one in slowest_paths(timed(gate("a", **anchored), ways="a -> send\na -[denied]-> send"))] == [
        "P5D"
    ]
    within = Text("inputs.urgent ? 'P2D' : 'P7D'", ("inputs.urgent",))
    (urgent,) = slowest_paths(
        timed(gate("a", **limited("P1D")), ways="a -> send\na -[denied]-> send", clocks=(clock(within),))
    )
    assert (urgent.takes, urgent.within) == ("P1D", "P2D")
    unread = clock(Text("'P' + 'D'"))
    assert not [
        *slowest_paths(timed(gate("a", **limited("P1D")), ways="a -> send\na -[denied]-> send", clocks=(unread,)))
    ]


@pytest.mark.parametrize(
    "policy", [{}, {"deadline": "P1D", "on_deadline": Escalation("admin")}], ids=["none", "escalation"]
)
def test_a_gate_without_an_end_of_its_own_is_unbounded_unless_it_is_anchored(policy: dict[str, Any]) -> None:
    ways = "a -> send\na -[denied]-> send"
    assert told(timed(gate("a", **policy), ways=ways)) == [("clock_unbounded", "a")]
    anchored: dict[str, Any] = {"deadline": AnchoredDeadline("notice", "P1D"), "on_deadline": Escalation("admin")}
    assert told(timed(gate("a", **anchored), ways=ways)) == []


def test_behind_an_anchored_gate_there_is_as_much_time_as_lies_before_the_clock_is_due() -> None:
    ways = "a -> b -> c -> send\na -[denied]-> send\nc -[denied]-> send"

    def spent(earlier: str, later: str) -> Found:
        nodes = (gate("a", **limited(earlier)), wait("b", until=Text("clocks.notice.due_at - duration('48h')")))
        return told(timed(*nodes, gate("c", **limited(later)), ways=ways))

    assert spent("P5D", "P2D") == []
    assert spent("P5D", "P2DT1S") == [("late_by_design", "send")]
    assert spent("P6D", "P2D") == [("late_by_design", "send")]


@pytest.mark.parametrize("text", ["inputs.hearing", "clocks.other.due_at", "clocks.notice.due_at - duration('2x')"])
def test_a_wait_for_a_time_that_nobody_can_tell_is_unbounded(text: str) -> None:
    other = clock(id="other", since=Text("inputs.since"))
    found = told(timed(wait("a", until=Text(text)), ways="a -> send", clocks=(clock(), other)))
    assert ("clock_unbounded", "a") in found


def test_a_wait_behind_the_time_at_which_the_clock_is_due_is_late() -> None:
    text = 'timestamp(clocks["notice"].due_at) + duration("1h30m")'
    assert told(timed(wait("a", until=Text(text)), ways="a -> send")) == [("late_by_design", "send")]


def test_waits_take_their_longest_and_pauses_nothing() -> None:
    nodes = (wait("a", message="m", within="P6D"), wait("b", duration="P2D"), wait("c", message="m"))
    ways = "a -[message]-> b -> c -> send\na -[timeout]-> send"
    assert told(timed(*nodes, ways=ways)) == [("clock_unbounded", "c"), ("late_by_design", "send")]
    assert told(timed(*nodes, ways=ways, clocks=(clock(pauses=("a", "c")),))) == []


LOOP = "ask -[ask]-> w -> ask -[go]-> send"


def test_a_loop_that_passes_something_anchored_ends_where_its_time_is_past() -> None:
    asking = choice("ask", "high", deadline=AnchoredDeadline("notice", "P2D"), on_deadline="go")
    assert told(timed(asking, wait("w", duration="P2D"), ways=LOOP)) == []
    late = proven(timed(asking, wait("w", duration="P3D"), ways=LOOP))
    assert late is not None
    assert (late.path, late.takes) == (("ask", "w", "ask", "send"), "P8D")


@pytest.mark.parametrize(
    "policy",
    [limited("P1D", "go"), {"deadline": AnchoredDeadline("notice", "P2D"), "on_deadline": Escalation("admin")}],
    ids=["nothing anchored", "people go round"],
)
def test_any_other_loop_that_takes_time_has_no_end(policy: dict[str, Any]) -> None:
    found = proven(timed(choice("ask", "high", **policy), wait("w", duration="P1D"), ways=LOOP))
    assert found is not None
    assert (found.rule, found.path) == ("clock_unbounded", ("ask", "w", "ask"))


def test_a_loop_past_an_anchored_gate_that_takes_no_time_is_kept() -> None:
    policy: dict[str, Any] = {"deadline": AnchoredDeadline("notice", "P2D"), "on_deadline": Escalation("admin")}
    rule = clock(pauses=("w",))
    asking = choice("ask", "high", **policy)
    assert told(timed(asking, wait("w", message="m"), ways=LOOP, clocks=(rule,))) == []
    slow = "first -> ask\nfirst -[denied]-> send\n" + LOOP
    nodes = (gate("first", **limited("P8D")), asking, wait("w", message="m"))
    late = proven(timed(*nodes, ways=slow, clocks=(rule,)))
    assert late is not None
    assert (late.rule, late.path[0], late.path[-1]) == ("late_by_design", "first", "send")


def test_a_loop_that_goes_round_by_itself_once_its_time_is_past_has_no_end() -> None:
    policy: dict[str, Any] = {"deadline": AnchoredDeadline("notice", "P2D"), "on_deadline": "denied"}
    assert told(timed(gate("a", **policy), ways="a -> send\na -[denied]-> a")) == [("clock_unbounded", "a")]
    nodes = (wait("w", until=Text("clocks.notice.due_at")), choice("c"))
    again = {"again": When("inputs.again", lambda *_: True)}
    assert told(timed(*nodes, ways="w -> c -[again]-> w\nc -[on]-> send", when=again)) == [("clock_unbounded", "w")]
    held = (gate("a", **policy), wait("w", message="m"))
    assert told(timed(*held, ways="a -> send\na -[denied]-> w -> a", clocks=(clock(pauses=("w",)),))) == []
    until = (gate("a", **policy), wait("w", until=Text("inputs.hearing")))
    rounds = timed(*until, ways="a -> send\na -[denied]-> w -> a", clocks=(clock(pauses=("w",)),))
    assert told(rounds) == [("clock_unbounded", "a")], "the hearing was long ago"


def test_a_loop_of_calls_alone_passes_nothing_anchored() -> None:
    again = {"again": When("inputs.again", lambda *_: True)}
    nodes = (task("a"), choice("c"))
    found = told(timed(*nodes, ways="a -> c -[again]-> a\nc -[on]-> send", when=again))
    assert found == [("clock_unbounded", "a")]


def test_a_loop_without_end_is_named_beside_what_is_late_behind_it() -> None:
    nodes = (gate("a", **limited("P5D")), wait("b", duration="P8D"))
    found = told(timed(*nodes, ways="a -> b -> send\na -[denied]-> a"))
    assert found == [("clock_unbounded", "a"), ("late_by_design", "send")]


def test_an_end_without_an_act_says_why_the_law_asks_for_nothing() -> None:
    ways = "a -> send\na -[denied]-> none"
    nodes = (gate("a", **limited("P5D")), end("none"))
    found = proven(timed(*nodes, ways=ways))
    assert found is not None
    assert (found.rule, found.node, found.path, found.clock) == ("clock_not_stopped", "none", ("a", "none"), "notice")
    exempt = structs.replace(end("none"), ends_clocks={"notice": "it was withdrawn"})
    assert told(timed(nodes[0], exempt, ways=ways)) == []
    slow = told(timed(gate("a", **limited("P8D")), exempt, ways=ways))
    assert sorted(slow) == [("late_by_design", "none"), ("late_by_design", "send")]
    assert told(timed(*nodes, ways=ways, clocks=(clock(stops=("send", "none")),))) == []


def test_a_denial_that_leads_nowhere_ends_the_run_without_an_act() -> None:
    assert told(timed(gate("a", **limited("P5D")), ways="a -> send")) == [("clock_not_stopped", "a")]


def test_an_act_that_is_denied_or_fails_stops_nothing() -> None:
    acts = clock(stops=("act",))
    high = task("act", "high")
    decided = structs.replace(high, policy=gate("x", **limited("P8D")).policy)
    ways = "act -> end\nact -[denied]-> end\nact -[error]-> end"
    template = process(decided, end(), ways=ways)
    found = told(replace(template, clocks=(acts,)))
    assert found == [("late_by_design", "act"), ("late_by_design", "end"), ("clock_not_stopped", "end")]


def test_a_clock_of_a_step_counts_from_when_that_is_done() -> None:
    nodes = (gate("a", **limited("P30D")), gate("b", **limited("P8D")))
    late = proven(
        timed(*nodes, ways="a -> b -> send\na -[denied]-> end\nb -[denied]-> send", clocks=(clock(from_step="a"),))
    )
    assert late is not None
    assert (late.path, late.takes) == (("a", "b", "send"), "P8D")


def test_a_path_has_the_steps_at_which_nothing_happens_to_a_clock() -> None:
    nodes = (*map(task, ("t1", "t2", "t3", "t4", "t5")), gate("a", **limited("P8D")), gate("b", **limited("P1D")))
    ways = "t1 -> t2 -> b -> t3 -> a -> t4 -> t5 -> send\na -[denied]-> t4\nb -[denied]-> t3"
    late = proven(timed(*nodes, ways=ways))
    assert late is not None
    assert late.path == ("t1", "t2", "b", "t3", "a", "t4", "t5", "send")
    since = proven(timed(*nodes, ways=ways, clocks=(clock(from_step="b"),)))
    assert since is not None
    assert since.path == ("b", "t3", "a", "t4", "t5", "send")


def test_calls_that_lead_to_each_other_without_end_are_walked_once() -> None:
    nodes = (task("t1"), task("t2"), task("t3"))
    ways = "t1 -> t2 -> t3 -> t2\nt1 -[error]-> send"
    (found,) = clock_proofs(timed(*nodes, ways=ways))
    assert (found.rule, found.path) == ("clock_unbounded", ("t1", "t2", "t3", "t2"))


def test_a_run_that_ends_where_its_clock_starts_stops_nothing() -> None:
    found = proven(timed(gate("a"), ways="a -> end\na -[denied]-> send", clocks=(clock(from_step="a"),)))
    assert found is not None
    assert (found.rule, found.node, found.path) == ("clock_not_stopped", "end", ("a", "end"))


def test_a_loop_is_not_named_beside_a_step_of_it_that_has_no_end() -> None:
    assert told(timed(gate("a"), ways="a -> send\na -[denied]-> a")) == [("clock_unbounded", "a")]


def extended(policy: dict[str, Any], later: str, by: str = "P14D") -> Template:
    nodes = (choice("more", "high", **policy), task("tell"), gate("last", **limited(later)))
    ways = "more -[more]-> tell -> last -> send\nmore -[no]-> send\nlast -[denied]-> send"
    rule = clock(extend=ClockExtension("more", "more", by, "tell"))
    return timed(*nodes, ways=ways, clocks=(rule,))


def test_an_extension_counts_where_it_was_granted_and_its_notice_is_done() -> None:
    anchored: dict[str, Any] = {"deadline": AnchoredDeadline("notice", "P2D"), "on_deadline": "no"}
    assert proven(extended(anchored, "P16D")) is None
    late = proven(extended(anchored, "P17D"))
    assert late is not None
    assert (late.takes, late.within) == ("P22D", "P21D")
    mixed = proven(extended(anchored, "P17D", "P10BD"))
    assert mixed is not None
    assert (mixed.takes, mixed.within) == ("P22D", "P19D")


def test_a_notice_that_comes_when_the_time_is_over_gives_no_more() -> None:
    found = told(extended(limited("P8D", "no"), "P1D"))
    assert found == [("late_by_design", "tell"), ("late_by_design", "send")]


SPEED = "has(inputs.urgent) && inputs.urgent == true ? 'PT72H' : 'P7D'"
URGENT = {"urgent": When("has(inputs.urgent) && inputs.urgent", lambda *_: True)}


def hurried(within: str, when: dict[str, Any]) -> Found:
    nodes = (choice("c"), gate("a", **limited("PT72H")), gate("b", **limited("P7D")))
    ways = "c -[urgent]-> a -> send\nc -[else]-> b -> send\na -[denied]-> send\nb -[denied]-> send"
    return told(timed(*nodes, ways=ways, when=when, clocks=(clock(Text(within)),)))


def test_the_smallest_length_counts_unless_the_path_fixes_its_condition() -> None:
    assert hurried(SPEED, URGENT) == []
    assert hurried("!has(inputs.urgent) || inputs.urgent != true ? 'P7D' : 'PT72H'", URGENT) == []
    assert hurried("inputs.other ? 'PT72H' : 'P7D'", URGENT) == [("late_by_design", "send")]
    assert hurried("facts.a.urgent ? 'PT72H' : 'P7D'", URGENT) == [("late_by_design", "send")]


def test_an_input_that_is_neither_true_nor_false_takes_the_way_of_neither() -> None:
    assert hurried("inputs.urgent == false ? 'P7D' : 'PT72H'", asks("inputs.urgent == true")) == [
        ("late_by_design", "send")
    ]


def asks(text: str) -> dict[str, Any]:
    return {"urgent": When(text, lambda *_: True)}


@pytest.mark.parametrize("text", ["inputs.urgent", "!(inputs.urgent == false)", "inputs.urgent in ['yes', 'now']"])
def test_where_an_input_is_missing_the_shortest_length_counts_until_a_gateway_asks_for_it(text: str) -> None:
    within, guarded = f"{text} ? 'PT72H' : 'P7D'", asks(f"has(inputs.urgent) && {text}")
    assert hurried(within, asks(text)) == []
    assert hurried(within, guarded) == [("late_by_design", "send")], "it goes on without the input"
    assert hurried(f"has(inputs.urgent) && {within}", guarded) == []


def test_a_gateway_that_asks_for_a_missing_input_comes_in_the_shortest_time() -> None:
    def first(days: int) -> Found:
        nodes = (gate("a", **limited(f"P{days}D")), choice("c"), gate("b", **limited("P2D")))
        ways = "a -> c\na -[denied]-> c\nc -[urgent]-> send\nc -[else]-> b -> send\nb -[denied]-> send"
        rule = clock(Text("inputs.urgent ? 'P3D' : 'P7D'"))
        return told(timed(*nodes, ways=ways, when=asks("inputs.urgent"), clocks=(rule,)))

    assert first(3) == []
    assert first(4) == [("late_by_design", "send"), ("late_by_design", "c")]


def test_an_input_that_comes_later_leads_where_the_clock_has_not_counted_with() -> None:
    large = "has(inputs.large) && inputs.large"
    nodes = (choice("c"), gate("a", **limited("P30D")), gate("b", **limited("P7D")))
    ways = "c -[large]-> a -> send\nc -[else]-> b -> send\na -[denied]-> send\nb -[denied]-> send"
    when = {"large": When(large, lambda *_: True)}

    def within(text: str) -> Violation | None:
        return proven(timed(*nodes, ways=ways, when=when, clocks=(clock(Text(text)),)))

    late = within(f"{large} ? 'P30D' : 'P7D'")
    assert late is not None
    assert (late.path, late.within) == (("c", "a", "send"), "P7D")
    assert within(f"{large} ? 'P30D' : 'P30D'") is None


def test_what_the_shortest_length_is_may_depend_on_the_calendar() -> None:
    when = asks("has(inputs.urgent) && inputs.urgent")
    nodes = (choice("c"), gate("a", **limited("P5BD")))
    ways = "c -[urgent]-> send\nc -[else]-> a -> send\na -[denied]-> send"
    clocks = (clock(Text("inputs.urgent ? 'P6D' : 'P5BD'")),)
    late = proven(timed(*nodes, ways=ways, when=when, clocks=clocks))
    assert late is not None
    assert (late.takes, late.within) == ("P7D", "P6D")
    assert late.detail.endswith("P6D is allowed where within has no answer, since an input is missing")


def test_a_gateway_that_may_decide_either_way_is_followed_both_ways() -> None:
    when = {"urgent": When("inputs.large", lambda *_: True), "else": When("inputs.small", lambda *_: True)}
    assert hurried(SPEED, when) == [("late_by_design", "send")]


def test_a_length_that_its_text_does_not_tell_is_refused() -> None:
    for text in ("inputs.length", "inputs.a ? 'P1D' : string(inputs.b)", "inputs.a ? 'soon' : 'P1D'"):
        assert hurried(text, URGENT) == [("clock_refused", None)]
    many = " : ".join(f"inputs.a{number} ? 'P7D'" for number in range(17))
    assert hurried(f"{many} : 'P7D'", URGENT) == [("clock_refused", None)]


@pytest.mark.parametrize(
    ("taken", "within", "kept"),
    [
        ("P5BD", "P7D", True),
        ("P6BD", "P9D", False),
        ("P6BD", "P10D", True),
        ("P3BD", "P4D", False),
        ("P20BD", "P20BD", True),
        ("P21BD", "P20BD", False),
        ("P26D", "P20BD", True),
        ("P27D", "P20BD", False),
        ("P1M", "P31D", True),
        ("P1M", "P30D", False),
        ("P28D", "P1M", True),
        ("P29D", "P1M", False),
        ("P1Y", "P366D", True),
        ("P5Y", "P1826D", False),
    ],
)
def test_days_months_and_business_days_count_at_their_worst(taken: str, within: str, *, kept: bool) -> None:
    ways = "a -> send\na -[denied]-> send"
    assert (proven(timed(gate("a", **limited(taken)), ways=ways, clocks=(clock(within),))) is None) == kept


def test_business_days_one_after_the_other_have_the_weekends_of_all_of_them() -> None:
    again: dict[str, Any] = {"deadline": "P3BD", "on_deadline": Escalation("admin", "P2BD", "denied")}
    assert proven(timed(gate("a", **again), ways="a -> send\na -[denied]-> send")) is None
    ways = "a -> b -> send\na -[denied]-> send\nb -[denied]-> send"
    two = (gate("a", **limited("P3BD")), gate("b", **limited("P2BD")))
    assert proven(timed(*two, ways=ways)) is None
    late = proven(timed(*two, ways=ways, clocks=(clock("P4BD"),)))
    assert late is not None
    assert (late.takes, late.within) == ("P5BD", "P4BD")


# ------------------------------------------------------------------------------ side by side


def beside(first: str, second: str, *nodes: Node, rule: ClockRule | None = None) -> Found:
    """Two branches, each given by its ways, and what follows their join."""
    every = (parallel("f"), *nodes, parallel("j"))
    return told(timed(*every, ways=f"f -> {first}\nf -> {second}\nj -> send", clocks=(rule or clock(),)))


def test_a_join_waits_for_the_slowest_branch() -> None:
    nodes = (wait("a", duration="P6D"), wait("b", duration="P8D"))
    assert beside("a -> j", "b -> j", *nodes) == [("late_by_design", "send")]
    assert beside("a -> j", "b -> j", wait("a", duration="P6D"), wait("b", duration="P7D")) == []


def test_a_branch_that_surely_stops_the_clock_makes_good_what_the_other_lacks() -> None:
    rule = clock(stops=("act", "late"))
    nodes = (wait("a", duration="P6D"), task("act"), gate("b"), task("late"))
    assert beside("a -> act -> j", "b -> late -> j", *nodes, rule=rule) == []
    slow = (wait("a", duration="P8D"), *nodes[1:])
    assert beside("a -> act -> j", "b -> late -> j", *slow, rule=rule) == [
        ("clock_unbounded", "b"),
        ("late_by_design", "act"),
        ("clock_not_stopped", "b"),
    ]


def test_an_end_in_another_branch_counts_unless_the_clock_has_stopped_before_anybody_decides() -> None:
    rule, ways = clock(stops=("act",)), "b -> j\nb -[denied]-> none"
    ends = (gate("b", **limited("P1D")), end("none"))
    assert beside("act -> j", ways, task("act"), *ends, rule=rule) == []
    waits = (wait("a", duration="P1D"), task("act"))
    assert beside("a -> act -> j", ways, *waits, *ends, rule=rule) == [("clock_not_stopped", "none")]


def test_a_clock_that_starts_in_a_branch_counts_what_the_others_may_still_take() -> None:
    nodes = (wait("a", duration="P1D"), wait("b", duration="P8D"))
    rule = clock(from_step="a")
    assert beside("a -> j", "b -> j", *nodes, rule=rule) == [("late_by_design", "send")]


def test_an_act_that_may_be_done_before_the_clock_starts_beside_it_stops_nothing() -> None:
    nodes = (wait("a", duration="P1D"), task("act"), wait("b", duration="P8D"))
    rule = clock(from_step="a", stops=("act", "send"))
    assert beside("a -> j", "act -> b -> j", *nodes, rule=rule) == [("late_by_design", "send")]


# ------------------------------------------------------------------------------ several clocks


def anchored_to(other: ClockRule, **rule: Any) -> Found:
    policy: dict[str, Any] = {"deadline": AnchoredDeadline(other.id, "P1D"), "on_deadline": "denied"}
    nodes = (task("begin"), gate("a", **policy), gate("b", **limited("P3D")), task("tell"))
    ways = "begin -> a -> tell -> b -> send\na -[denied]-> send\nb -[denied]-> send"
    mine = clock(**rule)
    return told(timed(*nodes, ways=ways, clocks=(mine, replace_stops(other))))


def replace_stops(rule: ClockRule) -> ClockRule:
    return structs.replace(rule, stops=("send", "tell"))


def test_a_gate_that_is_anchored_to_another_clock_ends_where_that_is_due() -> None:
    assert anchored_to(clock("P5D", id="other")) == []
    assert anchored_to(clock("P6D", id="other")) == [("late_by_design", "send")]
    assert anchored_to(clock("P5D", id="other", from_step="begin")) == []
    since = Text("inputs.since")
    assert anchored_to(clock("P5D", id="other", since=since), since=since) == []
    extend = ClockExtension("a", "approved", "P1D", "tell")
    assert anchored_to(clock("P5D", id="other", extend=extend)) == [("late_by_design", "send")]


@pytest.mark.parametrize("rule", [{"since": Text("inputs.since")}, {"pauses": ("question:a",)}], ids=["start", "pause"])
def test_a_clock_of_which_nobody_knows_when_it_is_due_bounds_nothing(rule: dict[str, Any]) -> None:
    assert anchored_to(clock("P5D", id="other", **rule)) == [("clock_unbounded", "a")]


def test_two_gates_may_be_anchored_to_another_clock() -> None:
    policy: dict[str, Any] = {"deadline": AnchoredDeadline("other", "P1D"), "on_deadline": "denied"}
    ways = "a -> b -> send\na -[denied]-> send\nb -[denied]-> send"
    assert (
        told(timed(gate("a", **policy), gate("b", **policy), ways=ways, clocks=(clock(), clock("P7D", id="other"))))
        == []
    )


def test_a_clock_that_may_have_stopped_bounds_nothing() -> None:
    policy: dict[str, Any] = {"deadline": AnchoredDeadline("other", "P1D"), "on_deadline": "denied"}
    nodes = (task("tell"), gate("a", **policy))
    other = clock("P3D", id="other", stops=("tell",))
    found = told(timed(*nodes, ways="tell -> a -> send\na -[denied]-> send", clocks=(clock(), other)))
    assert found == [("clock_unbounded", "a")]


def test_of_each_kind_the_first_few_are_told() -> None:
    nodes = [gate(f"g{number}", **limited("P1D")) for number in range(8)]
    ends = [end(f"e{number}") for number in range(8)]
    names = [one.id for one in nodes]
    ways = "\n".join(
        f"{name} -> {after}\n{name} -[denied]-> {last.id}"
        for name, after, last in zip(names, [*names[1:], "send"], ends, strict=True)
    )
    found = told(timed(*nodes, *ends, ways=ways, clocks=(clock("P30D"),)))
    assert found == [("clock_not_stopped", f"e{number}") for number in range(5)]


def test_templates_that_are_too_entangled_are_refused() -> None:
    gates = [choice(f"g{number}", "high", **limited("P1D", f"to-{number + 1}")) for number in range(600)]
    names = [*(one.id for one in gates), "send"]
    ahead = [(number, number + more) for number in range(600) for more in range(1, 11)]
    ways = "\n".join(f"g{number} -[to-{to}]-> {names[min(to, 600)]}" for number, to in ahead)
    clocks = tuple(clock("P900D", id=f"c{number}") for number in range(20))
    found = told(timed(*gates, ways=ways, clocks=clocks))
    assert found == [("too_large", None)]
