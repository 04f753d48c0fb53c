"""What clocks and what hangs on them may name."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from actors.core.gate_policy import AnchoredDeadline
from actors.core.rules import violations
from actors.core.rules.conditions import always_clear, answer, at_due, known, lengths, parsed
from actors.core.rules.spans import written
from actors.core.schedule import Duration, duration
from actors.core.template import ClockExtension
from tests.core.test_clock_proof import Text, clock, limited, timed
from tests.processes import choice, end, gate, wait

NODES = (
    gate("g", **limited("P1D")),
    wait("w", message="m", within="P1D"),
    choice("c", "high", **limited("P1D", "no")),
    choice("auto"),
)
WAYS = "g -> w -[message]-> c -[yes]-> auto -[on]-> send\nw -[timeout]-> send\nc -[no]-> send\ng -[denied]-> send"


def wrong(**rule: Any) -> list[str]:
    template = timed(*NODES, ways=WAYS, clocks=(clock(**rule),))
    found = [one for one in violations(template) if one.rule not in ("no_choice", "branch_without_condition")]
    assert {one.rule for one in found} <= {"clock_refused"}
    return [one.detail.removeprefix("clocks/notice: ") for one in found]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"stops": ("x",)}, "stops names x, which is no step"),
        ({"stops": ("auto",)}, "stops names auto, which is of kind gateway and no act"),
        ({"from_step": "end"}, "from_step names end, which is of kind end and no act"),
        ({"from_step": "send"}, "stops names send, where it starts"),
        (
            {"from_step": "g", "since": Text("inputs.x")},
            "it starts from an expression or from a step, and not from both",
        ),
        ({"since": Text("clocks.other.due_at")}, "from names the clock other; it reads inputs and facts alone"),
        ({"pauses": ("x",)}, "pauses names x, which is no step"),
        ({"pauses": ("question:w",)}, "pauses names questions at w, which is no gate"),
        ({"pauses": ("g",)}, "pauses names g, which is no wait; questions at a gate are question:g"),
        ({"warn": ("soon",)}, "warn: 'soon' is no ISO 8601 duration such as PT72H or P3BD"),
        ({"escalate": "member"}, "on_breach names member, which is none of manager, admin, owner"),
        ({"within": "soon"}, "within: 'soon' is no ISO 8601 duration such as PT72H or P3BD"),
        ({"extend": ClockExtension("w", "yes", "P1D", "send")}, "extend/at names w, which is no gate"),
        (
            {"extend": ClockExtension("c", "maybe", "P1D", "send")},
            "extend/decision names maybe; at c one decides yes, no",
        ),
        (
            {"extend": ClockExtension("c", "yes", "soon", "send")},
            "extend/by: 'soon' is no ISO 8601 duration such as PT72H or P3BD",
        ),
        ({"extend": ClockExtension("c", "yes", "P1D", "x")}, "extend/once_done names x, which is no step"),
    ],
)
def test_a_clock_names_what_is_there(rule: dict[str, Any], why: str) -> None:
    assert wrong(**rule) == [why]


def test_a_clock_of_waits_questions_and_an_end_is_sound() -> None:
    extend = ClockExtension("c", "yes", "P1D", "auto")
    assert wrong(pauses=("w", "question:g"), stops=("send", "end"), warn=("P1D",), escalate="owner") == []
    assert wrong(extend=extend) == ["extend/once_done names auto, which is of kind gateway and no act"]


def test_two_clocks_of_one_id_are_refused() -> None:
    found = violations(
        timed(gate("g", **limited("P1D")), ways="g -> send\ng -[denied]-> send", clocks=(clock(), clock()))
    )
    assert [one.detail for one in found] == ["clocks/notice: two clocks have this id"] * 2


def test_what_hangs_on_a_clock_names_one_of_the_template() -> None:
    anchored = gate("g", deadline=AnchoredDeadline("other", "P1D"), on_deadline="denied")
    waits = wait("w", until=Text("clocks['other'].due_at"))
    none = structs.replace(end("none"), ends_clocks={"other": "why"})
    found = violations(timed(anchored, waits, none, ways="g -> w -> send\ng -[denied]-> none"))
    assert [(one.rule, one.node, one.detail) for one in found] == [
        ("deadline_refused", "g", "other is no clock of this template"),
        ("wait_refused", "w", "until names other, which is no clock of this template"),
        ("clock_refused", "none", "ends_clocks names other, which is no clock"),
    ]


@pytest.mark.parametrize(
    ("text", "when", "holds"),
    [
        ("a && b", {"a && b": True}, True),
        ("a && b", {"b": False}, False),
        ("a && b", {"a": True}, None),
        ("a || b", {"b": True}, True),
        ("a || b", {"a || b": False}, False),
        ("(a || b) && c", {"a": False, "b": False}, False),
        ("!a", {"a": True}, False),
        ("!(a == true)", {"a": True}, False),
        ("a == false", {"a": True}, False),
        ("a != true", {"a": False}, True),
        ("a != false", {"a": False}, False),
        ("a", {"a == false": True}, False),
        ("a == true", {"a == false": False}, None),
        ("a == false", {"a == false": False}, False),
        ("a == false", {"a != true": True}, None),
        ("b", {"a // || b\n": False}, None),
        ("a", {"a // || b\n": False}, False),
        ("b", {"a == '''x' || b || 'y'''": False}, None),
        ("x != 'a'", {"x == 'a'": True}, False),
        ("x != 'a' != b", {}, None),
        ("!a", {}, None),
        ("a ? b : c", {}, None),
        ("has(inputs.a.b) && inputs.a.b > 1", {"inputs.a.b > 1": True}, True),
        ("has(inputs.a)", {"inputs.a.b > 1": False}, True),
        ("has(inputs.a)", {"has(inputs.a)": True}, True),
        ("has(inputs.a)", {"has(inputs.a)": False}, None),
        ("has(inputs.a) && inputs.a", {"has(inputs.a) && inputs.a": False}, None),
        ("has(inputs.a) && inputs.a", {"!has(inputs.a) || !inputs.a": False}, True),
        ("'a' in inputs.b", {"'a' in inputs.b": False}, None),
        ("(a && b", {"(a&&b": True}, True),
        ("a && ", {}, None),
        ("a ? b", {}, None),
        ("f(a, b) && (x).y", {"f(a, b)": False}, False),
        ("[a ? b : c][0]", {}, None),
        ("a ) b", {}, None),
        ("(" * 60 + "a" + ")" * 60, {}, None),
        ("(a, b)", {}, None),
    ],
)
def test_what_is_known_of_conditions_answers_others(text: str, when: dict[str, bool], holds: bool | None) -> None:
    facts: dict[Any, bool] = {}
    for condition, answered in when.items():
        facts = known(parsed(condition), facts, holds=answered)
    assert answer(parsed(text), facts) is holds


def test_an_expression_tells_all_lengths_that_it_can_give() -> None:
    found = lengths("a ? ('P1D') : (b ? \"P2D\" : 'P3D')")
    assert found is not None
    assert [one.text for one in found] == ["P1D", "P2D", "P3D", None, None]
    assert lengths("'P' + 'D'") is None


@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("true", True),
        ("inputs.a", False),
        ("has(inputs.a)", True),
        ("has(inputs.a) && inputs.a == 'x'", True),
        ("inputs.a == 'x' && has(inputs.a)", False),
        ("!has(inputs.a) || inputs.a > -1.5", True),
        ("has(inputs.a) || inputs.a", False),
        ("has(inputs.a.b)", False),
        ("has(inputs.a) && has(inputs.a.b) && inputs.a.b in ['x', 2]", True),
        ("has(inputs.a) && int(inputs.a) > 1", False),
        ("has(inputs.a) && inputs.a == inputs.b", False),
        ("has(inputs.a) ? true : false", False),
        ("facts.a", False),
    ],
)
def test_a_condition_that_asks_first_is_always_clear(text: str, *, clear: bool) -> None:
    assert always_clear(parsed(text), {}) is clear


def test_a_time_by_a_clock_is_read_from_its_text() -> None:
    assert at_due("clocks.notice.due_at - duration('1h30m')") == ("notice", -5400)
    assert at_due("clocks.notice.due_at + duration('1.5h')") is None
    assert at_due("clocks.notice.due_at - inputs.x") is None
    assert at_due("timestamp( clocks[ 'notice' ].due_at )\n- duration( '2h' )") == ("notice", -7200)
    assert at_due("clocks .notice.due_at") is None, "it is a text, from which nothing can be taken"


def test_durations_are_written_as_they_are_read() -> None:
    for text in ("P3BD", "P1M2DT3H4M5S", "PT90M", "P10D"):
        assert duration(written(duration(text))) == duration(text)
    assert written(Duration()) == "PT0S"
