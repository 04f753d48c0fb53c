"""What a schema, a template and a connector may cost."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from daemon.templates import cel, nodes, schemas
from daemon.templates.document_cost import (
    COST_MAX,
    EDGES_MAX,
    EXPRESSIONS_MAX,
    JMESPATH_CHARS_MAX,
    PATTERNS_MAX,
    cost_of,
    costly_map,
)
from daemon.templates.publishing import checked, read_document
from daemon.templates.schema_cost import EVALUATIONS_MAX, CostlySchema, schema_cost
from tests.shelf import shipped

DONE = {"id": "e", "kind": "end", "label": "E", "outcome": "done"}
TREE = {"$defs": {"n": {"properties": {"l": {"$ref": "#/$defs/n"}, "r": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}


def chain(depth: int, *words: str, wrap: Any = None) -> dict[str, Any]:
    """Definitions each of which refers twice to the next, by these keywords in turn."""
    wrap = wrap or (lambda word, refs: {word: refs})
    names = [f"d{number}" for number in range(depth)]
    refs = [[{"$ref": f"#/$defs/{name}"}] * 2 for name in names[1:]]
    defined = {name: wrap(words[n % len(words)], ref) for n, (name, ref) in enumerate(zip(names, refs, strict=False))}
    return {"type": "object", "$ref": "#/$defs/d0", "$defs": {**defined, names[-1]: {"type": "object"}}}


def members(word: str, refs: list[Any]) -> dict[str, Any]:
    """Both references at one member of the value."""
    return {"properties": {"x": {word: refs}}}


def document(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"vertical": "v", "title": "T", "steps": [*steps, DONE], **more}


def choice(count: int, when: str = "inputs.n == 1") -> dict[str, Any]:
    ways = [{"branch": f"b{number}", "when": when, "to": "e"} for number in range(count)]
    return {"id": "c", "kind": "gateway", "flow": "exclusive", "label": "C", "branches": ways}


def gate(name: str, form: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "kind": "gate", "label": "G", "form": {"type": "object", **form}, "next": "e"}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is compiled from now on."""
    found: list[str] = []

    def counting(name: str) -> Any:
        def compile_it(*_: Any, **__: Any) -> Any:
            found.append(name)
            raise ValueError(name)

        return compile_it

    for module in (schemas, nodes):
        monkeypatch.setattr(module, "Validator", counting("schema"))
    monkeypatch.setattr(cel, "_compile", counting("expression"))
    return found


@pytest.mark.parametrize(
    "words",
    [("anyOf",), ("oneOf",), ("allOf",), ("anyOf", "allOf", "oneOf"), ("items",), ("prefixItems",)],
)
@pytest.mark.parametrize("wrap", [None, members])
def test_references_that_double_with_each_definition_are_refused(words: tuple[str, ...], wrap: Any) -> None:
    assert schema_cost(chain(8, *words, wrap=wrap)).evaluations < EVALUATIONS_MAX
    with pytest.raises(CostlySchema, match="a value passes more than 10,000 schemas"):
        schema_cost(chain(16, *words, wrap=wrap))


@pytest.mark.parametrize(
    "inner",
    [
        lambda ref: {"not": {"not": ref}, "if": ref},
        lambda ref: {"if": ref, "then": ref},
        lambda ref: {"then": ref, "else": ref},
        lambda ref: {"dependentSchemas": {"a": ref, "b": ref}},
        lambda ref: {"additionalProperties": ref, "patternProperties": {"a": ref}},
        lambda ref: {"items": ref, "contains": ref},
        lambda ref: {"unevaluatedProperties": False, "allOf": [ref]},
    ],
)
def test_every_keyword_that_holds_a_schema_counts(inner: Any) -> None:
    names = [f"d{number}" for number in range(18)]
    defined = {name: inner({"$ref": f"#/$defs/{then}"}) for name, then in pairwise(names)}
    with pytest.raises(CostlySchema):
        schema_cost({"$ref": "#/$defs/d0", "$defs": {**defined, names[-1]: {}}})


def test_the_cost_of_a_chain_is_found_by_its_size_and_not_by_its_evaluations() -> None:
    """Two to the 190th evaluations are as soon refused as two to the 16th."""
    with pytest.raises(CostlySchema, match="more than 10,000 schemas"):
        schema_cost(chain(190, "anyOf"))


@pytest.mark.parametrize(
    "schema",
    [
        TREE,
        {"$defs": {"n": {"type": ["object", "array"], "items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"},
        {"properties": {"next": {"$ref": "#"}}},
        {"properties": {"a": {"$ref": "#address"}, "b": {"$ref": "#address"}}, "$defs": {"x": {"$anchor": "address"}}},
        {"properties": {"$id": {"type": "string"}, "pattern": {"type": "string"}, "$ref": {"type": "string"}}},
    ],
)
def test_trees_and_shared_definitions_are_taken(schema: dict[str, Any]) -> None:
    assert schema_cost(schema).evaluations < 10
    assert schema_cost(schema).patterns == ()


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"anyOf": [{"$ref": "#"}]}, "has no end"),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}},
            "no end",
        ),
        ({"properties": {"c": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}, "more than once for the same place"),
        ({"anyOf": [{"properties": {"c": {"$ref": "#"}}}] * 2}, "more than once for the same place"),
        ({"properties": {"c": {"$ref": "#"}}, "patternProperties": {"^c": {"$ref": "#"}}}, "more than once"),
        ({"properties": {"c": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}}, "more than once"),
        ({"items": {"$ref": "#"}, "contains": {"$ref": "#"}}, "more than once"),
        ({"allOf": [{"properties": {"c": {"$ref": "#"}}}], "unevaluatedProperties": False}, "more than once"),
        (
            {"properties": {"c": {"$ref": "#"}}, "allOf": [{"properties": {"c": {"$ref": "#%2Fproperties%2Fc"}}}]},
            "once",
        ),
        ({"properties": {"c": {"$id": "other", "$ref": "#"}}}, "has an .id of its own"),
        ({"$dynamicRef": "#a"}, "by \\$dynamicRef"),
        ({"$defs": {f"d{n}": {} for n in range(20_000)}}, "more than 200 definitions"),
        ({"properties": {f"p{n}": {} for n in range(5_001)}}, "more than 5,000 schemas in it"),
    ],
)
def test_what_has_no_bound_is_refused(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(CostlySchema, match=why):
        schema_cost(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": None, "$ref": "other"},
        {"$id": 5, "not": {"$ref": "other#name"}},
        {"$ref": f"#/a/{'9' * 5_000}", "a": [True]},
        {"$ref": 1e308, "$anchor": ["a"], "required": 5, "patternProperties": None, "items": [None]},
    ],
)
def test_a_schema_of_no_form_has_a_cost_too(schema: dict[str, Any]) -> None:
    """Its form is judged where it is compiled."""
    assert schema_cost(schema).evaluations > 0


def test_a_shipped_template_costs_a_fraction_of_what_is_allowed() -> None:
    for entry in shipped():
        cost, wrong = cost_of(read_document(json.loads(entry.document)))
        assert wrong == []
        assert cost.total < COST_MAX / 20


@pytest.mark.parametrize(
    ("large", "rule", "step"),
    [
        (document(inputs_schema=chain(16, "anyOf")), "schema_refused", None),
        (document(tools={"t": {"input": chain(16, "allOf")}}), "schema_refused", None),
        (document(tools={"t": {"output": chain(16, "oneOf")}}), "schema_refused", None),
        (document(gate("g", chain(16, "anyOf"))), "form_refused", "g"),
        (document(choice(EXPRESSIONS_MAX + 1)), "too_large", None),
        (document(choice(60, f"inputs.a == '{'x' * 4_000}'")), "too_large", None),
        (document(choice(40, "inputs.a == '" + "x" * 4_000 + "'")), "too_large", None),
        (
            document(
                *(
                    gate(f"g{n}", {"properties": {f"p{m}": {"pattern": "a"} for m in range(51)}})
                    for n in range(PATTERNS_MAX // 50)
                )
            ),
            "too_large",
            None,
        ),
        (document(gate("g", {"properties": {"p": {"pattern": "a" * 16_385}}})), "too_large", None),
        (
            document(tools={f"t{n}": {"input": {"type": "object", **chain(10, "anyOf")}} for n in range(100)}),
            "too_large",
            None,
        ),
        (document(example={"a": [0] * 50_000}), "too_large", None),
        (document(tools={f"t{n}": {} for n in range(2_001)}), "too_large", None),
    ],
)
def test_nothing_of_what_costs_too_much_is_compiled(
    large: dict[str, Any], rule: str, step: str | None, compiled: list[str]
) -> None:
    found = checked(large)
    assert [(one.rule, one.node) for one in found.violations] == [(rule, step)]
    assert compiled == []


def test_a_graph_with_too_many_edges_says_how_many_and_what_to_do() -> None:
    names = [f"s{number}" for number in range(120)]
    edges = [{"source": one, "target": other} for one in names for other in names if one != other]
    found = checked({"nodes": [{"id": name, "kind": "agent"} for name in names], "edges": edges})
    assert [one.detail for one in found.violations] == [
        "edges: there are 14,280, at most 10,000 are allowed; lead the steps to a gateway, and on from there"
    ]
    fork = {"id": "f", "kind": "gateway", "flow": "parallel", "label": "F", "next": ["e"] * (EDGES_MAX + 1)}
    assert "edges: there are 10,001" in checked(document(fork)).violations[0].detail


def test_the_expressions_of_a_response_map_are_bounded_together() -> None:
    assert costly_map(None) is None
    assert costly_map({f"m{number}": "a.b" for number in range(200)}) is None
    many = {f"m{number}": "a" * 1_024 for number in range(200)}
    assert costly_map(many) == f"has more than {JMESPATH_CHARS_MAX:,} characters of JMESPath in all"


def test_a_step_needs_a_bounded_number_of_inputs() -> None:
    a = {"type": "object", "required": [f"a{number}" for number in range(1_001)]}
    task = {"id": "t", "kind": "task", "label": "T", "tool": "t", "effect": "read", "needs": ["inputs.a"], "next": "e"}
    needing = document(task, inputs_schema={"type": "object", "properties": {"a": a}})
    assert ("too_large", "t") in [(one.rule, one.node) for one in checked(needing).violations]
