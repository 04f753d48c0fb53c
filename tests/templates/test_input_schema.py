"""What of a schema counts while members may still be missing, and what a step needs of an
object.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from daemon.templates.cel import compile_condition
from daemon.templates.input_schema import InputsSchema, leaves

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
    return [pointer for pointer, _ in InputsSchema(jsonschema_rs.Draft202012Validator(schema)).errors(inputs)]


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
