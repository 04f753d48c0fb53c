"""Conditions and rules: no run-time error of CEL may ever be taken for a yes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.core.template import ConditionFailed
from daemon.templates.answers import Unanswered, unbounded
from daemon.templates.cel import (
    TEXT_BYTES_MAX,
    Cel,
    compile_condition,
    compile_moment,
    compile_output_condition,
    compile_rule,
    nests,
)
from daemon.templates.expression_cost import members_read
from tests.effort import Effort

DOUBLING = "[a0 + a0].exists(a1, [a1 + a1].exists(a2, a2.size() > 0))"


@pytest.mark.parametrize(
    ("text", "inputs", "facts", "answer"),
    [
        ("inputs.amount < 25", {"amount": 24}, {}, True),
        ("inputs.amount < 25", {"amount": 24.99}, {}, True),
        ("inputs.amount < 25", {"amount": 25}, {}, False),
        ("has(inputs.amount) && inputs.amount < 25", {}, {}, False),
        ('inputs.band in ["low", "medium"]', {"band": "low"}, {}, True),
        ('"pull-chart" in facts && facts["pull-chart"].found', {}, {"pull-chart": {"found": True}}, True),
        ('"pull-chart" in facts && facts["pull-chart"].found', {}, {}, False),
        ("inputs.hits.exists(h, h.score > 90)", {"hits": [{"score": 91}]}, {}, True),
        ("inputs.nothing.here > 1 || true", {}, {}, True),
    ],
)
def test_a_condition_answers_over_inputs_and_facts(
    text: str, inputs: dict[str, Any], facts: dict[str, Any], answer: bool
) -> None:
    assert compile_condition(text).holds(inputs, facts) is answer


@pytest.mark.parametrize(
    ("text", "inputs", "because"),
    [
        ("inputs.amount < 25", {}, "there is no "),
        ("inputs.amount < 25", {"amount": None}, "No matching overloads"),
        ("inputs.amount < 25", {"amount": "24"}, "No matching overloads"),
        ("inputs.amount < 25", {"amount": 2**70}, "out of range"),
        ("double(inputs.amount) < 25.0", {"amount": "a lot"}, "cannot convert"),
        ("1 / inputs.amount > 0", {"amount": 0}, "divide by zero"),
        ("has(inputs.a.b)", {}, "there is no "),
        ("inputs.a && true", {"a": 1}, "No matching overloads"),
        ("inputs.b || false", {"b": "yes"}, "No matching overloads"),
        ('inputs.name == "a"', {"name": "\ud800"}, "not valid"),
        ("inputs.a == 1", {1: 2}, "Unexpected value type"),
        ("inputs.l.all(a, inputs.l.all(b, a + b > 0))", {"l": list(range(1, 500))}, "budget"),
    ],
)
def test_a_condition_without_a_clear_answer_fails_instead_of_holding(
    text: str, inputs: dict[str, Any], because: str
) -> None:
    with unbounded(), pytest.raises(ConditionFailed, match=because):
        compile_condition(text).holds(inputs, {})


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("inputs.amount <", r"at line 1, column 16: mismatched"),
        ("", "at line 1, column 1: mismatched"),
        ("nope == 1", "undeclared reference to 'nope'"),
        ("response.status == 200", "undeclared reference"),
        ("launch(inputs.x)", "undeclared reference to 'launch'"),
        ("1 + 1", "answers INT"),
        ("inputs.flag", "answers DYN"),
        ("{inputs: 1}", "has no type: INVALID_ARGUMENT: Unsupported map key type"),
        ("inputs.flag ? inputs.other : true", "answers DYN"),
        ('"yes"', "answers STRING"),
        ("null", "answers NULL"),
        ("1 == 1 && '\ud800' == ''", "not valid Unicode"),
        ("(" * 500 + "true" + ")" * 500, "recursion"),
        (f"inputs.x == '{'é' * (TEXT_BYTES_MAX // 2)}'", "at most 4096"),
        (f'["x"].exists(a0, {DOUBLING})', "more than 2 of all"),
        ("inputs.x == " + "+".join(["inputs.x"] * 18), "more than 16 plus"),
    ],
)
def test_a_text_that_is_no_condition_is_refused_with_a_sentence(text: str, because: str) -> None:
    with pytest.raises(ValueError, match=because) as refused:
        compile_condition(text)
    assert "\n" not in str(refused.value)


def test_a_text_of_exactly_the_largest_size_is_accepted() -> None:
    text = "true".ljust(TEXT_BYTES_MAX)
    assert compile_condition(text).holds({}, {}) is True


def test_two_conditions_are_equal_when_their_texts_are() -> None:
    one, same, other = (compile_condition(text) for text in ("1 == 1", "1 == 1", "1 == 2"))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert compile_rule("1") == compile_rule("1")
    assert "1 == 1" in repr(one)


@pytest.mark.parametrize(
    ("text", "body", "value"),
    [
        ("response.body.score > 80", {"score": 81}, True),
        ("response.status == 200", None, True),
        ("response.body", {"a": [1, 2.5, None, {"b": "c"}]}, {"a": [1, 2.5, None, {"b": "c"}]}),
        ("response.body.hits.map(h, h.name)", {"hits": [{"name": "x"}, {"name": "y"}]}, ["x", "y"]),
        ("size(response.body)", [1, 2, 3], 3),
        ("uint(3)", None, 3),
        ("null", None, None),
    ],
)
def test_a_rule_reads_any_json_value_out_of_a_response(text: str, body: Any, value: Any) -> None:
    assert compile_rule(text).value(200, body) == value


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("response.body.score > 80", {}),
        ("response.body.score > 80", "no object"),
        ("[response.body.score]", {}),
        ("response.body.n", {"n": 2**64}),
        ('timestamp("2020-01-01T00:00:00Z")', None),
        ('[duration("1s")]', None),
        ('b"bytes"', None),
        ("{1: 2}", None),
        ("0.0 / 0.0", None),
        ("int", None),
    ],
)
def test_a_rule_without_a_json_value_fails(text: str, body: Any) -> None:
    with pytest.raises(ConditionFailed):
        compile_rule(text).value(200, body)


def test_a_rule_knows_nothing_but_the_response() -> None:
    with pytest.raises(ValueError, match="undeclared reference"):
        compile_rule("inputs.x")


@pytest.mark.parametrize(
    ("text", "output", "answer"),
    [
        ("output.conflict != null", {"conflict": "pays and approves"}, True),
        ("output.conflict != null", {"conflict": None}, False),
        ("output.hits > 0", {"hits": 0.0}, False),
        ("size(output) > 1", ["a", "b"], True),
        ('output == "none"', "none", True),
        ("output == null", None, True),
    ],
)
def test_a_question_about_an_output_answers_over_any_json_value(text: str, output: Any, answer: bool) -> None:
    question = compile_output_condition(text)
    assert (question.text, question.holds(output)) == (text, answer)


@pytest.mark.parametrize("output", [{}, {"hits": "none"}, {"hits": None}, [], "hits", 7, None])
def test_an_output_that_leaves_the_question_open_is_no_answer(output: Any) -> None:
    with pytest.raises(ConditionFailed):
        compile_output_condition("output.hits > 0").holds(output)


@pytest.mark.parametrize(
    ("text", "because"),
    [("output.hit", "answers DYN"), ("size(output)", "answers INT"), ("facts.a == 1", "undeclared reference")],
)
def test_a_text_that_asks_nothing_of_an_output_is_refused(text: str, because: str) -> None:
    with pytest.raises(ValueError, match=because):
        compile_output_condition(text)


NESTED = ["inputs.l.all(a, inputs.m.exists(b, a == b))", "inputs.l.map(a, [a].filter(b, true)).size() > 0"]
BESIDE = ["inputs.l.all(a, a > 0) && inputs.m.exists(b, b > 0)", "inputs.l.map(a, a).filter(b, b > 0).size() > 0"]


@pytest.mark.parametrize("text", NESTED)
def test_a_loop_inside_a_loop_is_found(text: str) -> None:
    assert nests(text)


@pytest.mark.parametrize("text", [*BESIDE, "inputs.all == 1", "has(inputs.a)"])
def test_loops_beside_each_other_are_none_inside_one(text: str) -> None:
    assert not nests(text)


@pytest.mark.parametrize("text", ["inputs.l.all(a, a in inputs.l)", *NESTED, "inputs.s.matches(inputs.p)"])
def test_a_condition_over_more_than_is_cheap_is_asked_of_a_process(text: str) -> None:
    long = list(range(200_000))
    data = {"l": long, "m": long, "s": "a" * 100_000, "p": "(a?){100}" * 900}
    with Effort() as effort, pytest.raises(Unanswered) as asked:
        compile_condition(text).holds(data, {})
    assert (asked.value.question.kind, asked.value.question.said) == ("condition", text)
    assert effort.calls("eval") == 0
    assert effort.steps < 1_000_000


def test_a_rule_about_outputs_over_more_than_is_cheap_is_asked_of_a_process() -> None:
    condition = compile_output_condition("output.all(a, a in output)")
    assert condition.holds([1, 2])
    with pytest.raises(Unanswered):
        condition.holds(list(range(50_000)))


@pytest.mark.parametrize("text", ["inputs.l.exists(a, a == 7)", 'inputs["l"].exists(a, a == facts.step.n)'])
def test_what_a_condition_does_not_read_may_be_as_large_as_it_will(text: str) -> None:
    large = ["x" * 100] * 10_000
    assert compile_condition(text).holds({"l": [7], "other": large}, {"step": {"n": 7}, "more": large})


READS = [
    ("inputs.a == 1 && facts.b.c == 2", (frozenset("a"), frozenset("b"))),
    ('has(inputs.a) && "b" in facts && facts["b"].c', (frozenset("a"), frozenset("b"))),
    ('"a" in inputs', (frozenset(), frozenset())),
    ("size(inputs) > 1", None),
    ("inputs == facts", None),
    ("inputs.all(k, k != 'a')", None),
    ("inputs[facts.a] == 1", None),
    ("inputs['a'] == 1", None),
    ("inputs . a == 1", None),
    ("1 in inputs.a", (frozenset("a"), frozenset())),
    ("'x' in inputs[facts.a]", None),
]


@pytest.mark.parametrize(("text", "members"), READS)
def test_the_members_that_a_condition_reads_are_known_or_it_may_read_all(text: str, members: Any) -> None:
    assert members_read(text) == members


@given(
    st.sampled_from([text for text, _ in READS]),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([1, 2, {"c": 2}, [1], {"a": 1}])),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(["a", {"c": 2}, {"c": True}])),
)
def test_a_condition_is_answered_alike_whether_it_gets_all_or_what_it_reads(text: str, inputs: Any, facts: Any) -> None:
    whole, part = compiled(text, None), compiled(text, members_read(text))
    assert answer(whole, inputs, facts) == answer(part, inputs, facts)


def compiled(text: str, members: Any) -> Cel | None:
    try:
        return replace(compile_condition(text), _members=members)
    except ValueError:
        return None


def answer(condition: Cel | None, inputs: Any, facts: Any) -> bool | str | None:
    try:
        with unbounded():
            return None if condition is None else condition.holds(inputs, facts)
    except ConditionFailed:
        return "none"


def test_a_pattern_that_its_author_wrote_may_be_asked_of_a_long_text() -> None:
    for text in ('inputs.s.matches( "^a+$")', "inputs.s.matches(r'^a+$')"):
        with unbounded():
            assert compile_condition(text).holds({"s": "a" * 100_000}, {})


@pytest.mark.parametrize(
    "at", ["soon", "2026-01-01", "2026-01-01T00:00:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"]
)
def test_a_text_that_is_no_time_in_utc_is_no_answer_to_a_question_for_one(at: str) -> None:
    with unbounded(), pytest.raises(ConditionFailed, match="no time with a zone"):
        compile_moment("inputs.at").time({"at": at}, {})
