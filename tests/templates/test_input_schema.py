"""What of a schema counts while members may still be missing, and what a step needs of an
object.
"""

from __future__ import annotations

from typing import Any

import pytest

from daemon.templates.answers import unbounded
from daemon.templates.cel import compile_condition
from daemon.templates.schemas import InputsSchema, leaves
from tests.effort import Effort

CLAIM: dict[str, Any] = {
    "type": "object",
    "required": ["claim"],
    "properties": {
        "claim": {
            "type": "object",
            "required": ["amount", "place"],
            "properties": {"amount": {"type": "number"}, "place": {"type": "object", "required": ["zip"]}},
        },
        "note": {"type": "object"},
        "odd": True,
    },
}


def pointers(schema: dict[str, Any], inputs: dict[str, Any]) -> list[str]:
    """As the process finds them that is asked where it is not cheap."""
    with unbounded():
        return [pointer for pointer, _ in InputsSchema.from_schema(schema).errors(inputs)]


@pytest.mark.parametrize("inputs", [{}, {"claim": {}}, {"claim": {"place": {}}}, {"more": 1}])
def test_what_is_missing_breaks_nothing_at_any_depth(inputs: dict[str, Any]) -> None:
    assert pointers(CLAIM, inputs) == []


def test_what_is_there_and_wrong_is_told_all_at_once() -> None:
    assert pointers(CLAIM, {"claim": {"amount": "x", "place": 1}, "note": 2}) == [
        *("/inputs/claim/amount", "/inputs/claim/place", "/inputs/note"),
    ]


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_of_alternatives_one_that_only_lacks_something_is_enough(word: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        word: [{"required": ["a"]}, {"required": ["b"], "properties": {"a": {"const": 1}}}],
    }
    assert pointers(schema, {}) == []
    assert pointers(schema, {"c": 1}) == []
    assert pointers({**schema, word: [{"properties": {"a": {"const": 1}}}, {"maxProperties": 0}]}, {"a": 2}) == [
        "/inputs"
    ]


def test_dependent_members_and_numbers_of_them_may_be_missing_too() -> None:
    assert pointers({"type": "object", "dependentRequired": {"a": ["b"]}, "minProperties": 3}, {"a": 1}) == []


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("inputs.claim", ["inputs.claim.amount", "inputs.claim.place.zip"]),
        ("claim.place", ["claim.place.zip"]),
        ("inputs.note", ["inputs.note"]),
        ("inputs.odd.inside", ["inputs.odd.inside"]),
        ("facts.claim", ["facts.claim"]),
    ],
)
def test_to_need_an_object_is_to_need_what_its_schema_requires(key: str, found: list[str]) -> None:
    assert list(leaves(key, CLAIM)) == found


@pytest.mark.parametrize("properties", [None, [], {"claim": None}, {"claim": {"properties": 1}}])
def test_a_schema_that_is_none_requires_nothing(properties: Any) -> None:
    assert list(leaves("inputs.claim.place", {"properties": properties})) == ["inputs.claim.place"]


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("inputs.amount > 3 && inputs.claim.amount < 2", ("amount", "claim.amount")),
        ("has(inputs.amount) && inputs.amount > 3 && inputs.band == 'low'", ("band",)),
        ('"band" in inputs && inputs.band == "low"', ()),
        ('inputs.band.matches("a") && inputs["tax id"] == "1"', ("band", "tax id")),
        ("facts.amount == 1", ()),
    ],
)
def test_a_condition_says_which_inputs_it_reads_without_asking(text: str, reads: tuple[str, ...]) -> None:
    assert compile_condition(text).reads == reads


LINES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "lines": {"type": "array", "items": {"required": ["sum"], "properties": {"sum": {"type": "number"}}}},
        "note": {"type": "string"},
    },
}


def test_large_inputs_that_lack_members_are_checked_at_once_and_hold() -> None:
    inputs: dict[str, Any] = {"lines": [{} for _ in range(200_000)]}
    with Effort() as effort:
        assert pointers(LINES, inputs) == []
    assert effort.calls("is_valid") == 1
    assert effort.calls("iter_errors") == 0
    assert effort.steps < 2_000


def test_of_many_errors_of_large_inputs_the_first_is_told_at_once() -> None:
    inputs = {"lines": [{"sum": "x"}] * 100_000, "note": 1}
    with Effort() as effort:
        assert pointers(LINES, inputs) == ["/inputs/lines/0/sum"]
    assert effort.calls("iter_errors") == 0
    assert effort.steps < 2_000


def test_small_inputs_have_fifty_errors_at_most() -> None:
    assert pointers(LINES, {"lines": [{"sum": "x"}] * 3, "note": 1}) == [
        *(f"/inputs/lines/{number}/sum" for number in range(3)),
        "/inputs/note",
    ]
    assert len(pointers(LINES, {"lines": [{"sum": "x"}] * 100})) == 50


def test_where_members_decide_what_holds_large_inputs_have_to_have_them() -> None:
    schema = {**LINES, "$defs": {"x": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}}}
    schema["properties"] = {**LINES["properties"], "x": {"$ref": "#/$defs/x"}}
    assert pointers(schema, {"x": {}}) == []
    assert pointers(schema, {"x": {}, "note": "x" * 5_000}) == ["/inputs"]
    assert pointers(schema, {"x": {"a": 1}, "note": "x" * 5_000}) == []


def test_members_and_values_named_like_keywords_are_none() -> None:
    schema = {
        "type": "object",
        "properties": {"required": {"const": {"required": ["a"]}}, "items": {"enum": [{"minProperties": 1}]}},
    }
    assert pointers(schema, {"required": {"required": ["a"]}, "items": {"minProperties": 1}}) == []
    assert sorted(pointers(schema, {"required": {}, "items": {}})) == ["/inputs/items", "/inputs/required"]
    assert InputsSchema.from_schema(schema).flat
    assert not InputsSchema.from_schema(LINES).flat


@pytest.mark.parametrize("pattern", [r"^(?=a)(a+)+$", r"^(a+)+\1$", r"^(?!x)(a+)+$", r"(?<=a)(a+)+$"])
def test_a_pattern_that_looks_around_is_not_linear_and_given_up_long_before_a_trillion_steps(pattern: str) -> None:
    schema = InputsSchema.from_schema({"type": "object", "properties": {"a": {"pattern": pattern}}})
    assert not schema.linear
    assert [pointer for pointer, _ in schema.errors_here({"a": "a" * 40 + "!"})] == ["/inputs/a"]


def test_a_pattern_that_would_backtrack_elsewhere_is_linear_here() -> None:
    schema = InputsSchema.from_schema({"type": "object", "properties": {"a": {"pattern": r"^(a+)+$"}}})
    assert schema.linear
    assert [pointer for pointer, _ in schema.errors_here({"a": "a" * 100_000 + "!"})] == ["/inputs/a"]
