"""What tenants wrote is evaluated here where it is cheap, else in bounded processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actors.core.template import ConditionFailed
from actors.ports import Asker
from daemon.evaluation.evaluator import ASKED_MAX, Evaluator, evaluating, refused_expressions
from daemon.runtime.offload import Offload
from daemon.templates.answers import COSTLY, INLINE_S, SLICE_S, answered
from daemon.templates.cel import (
    compile_call_condition,
    compile_condition,
    compile_moment,
    compile_output_condition,
    compile_span,
)
from daemon.templates.loading import load_text
from daemon.templates.nodes import FormSchema
from daemon.templates.publishing import checked
from daemon.templates.schemas import STOPPED, InputsSchema
from tests.shelf import shipped

ACME = Asker("acme")
LONG = {"a": "a" * 650_000, "b": "a" * 325_000 + "b"}


def often(term: str) -> str:
    return " || ".join([term] * 60)


@pytest.fixture
async def evaluator() -> AsyncIterator[Evaluator]:
    offload = Offload()
    async with evaluating(offload) as one:
        yield one
    offload.close()


def started(evaluator: Evaluator) -> int:
    """How many processes were started."""
    return sum(one.pid is not None for one in evaluator.pool.workers)


def doubling(depth: int) -> dict[str, Any]:
    """A schema that looks at one value 2^depth times."""
    levels = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    return {
        "type": "object",
        "$defs": {**levels, f"d{depth}": {"type": "string"}},
        "properties": {"x": {"$ref": "#/$defs/d0"}},
    }


async def test_a_cheap_condition_over_little_starts_no_process(evaluator: Evaluator) -> None:
    condition = compile_condition("inputs.amount > 10 && inputs.items.exists(i, i.name == 'x')")
    inputs = {"amount": 11, "items": [{"name": "x"}] * 20}
    assert await evaluator.evaluated(ACME, 10, lambda: condition.holds(inputs, {}))
    assert started(evaluator) == 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: compile_condition(often("inputs.a.contains(inputs.b)")).holds(LONG, {}),
        lambda: compile_output_condition(often("output.a.contains(output.b)")).holds(LONG),
        lambda: compile_call_condition(often("inputs.a.contains(call.b)")).holds(LONG, {}, LONG),
        lambda: compile_span(f"{often('inputs.a.contains(inputs.b)')} ? 'P1D' : 'P2D'").duration(LONG, {}),
        lambda: compile_moment(f"timestamp({often('inputs.a.contains(inputs.b)')} ? '' : '')").time(LONG, {}),
    ],
)
async def test_what_takes_too_long_has_no_answer_and_the_next_has_one(evaluator: Evaluator, ask: Any) -> None:
    with pytest.raises(ConditionFailed):
        await evaluator.evaluated(ACME, 1_000_000, ask)
    condition = compile_condition("inputs.a.contains(inputs.b)")
    assert await evaluator.evaluated(ACME, 10, lambda: condition.holds({"a": "ab" * 9_000, "b": "ba"}, {}))


LETTERS = {"properties": {"x": {"pattern": r"^\p{L}{64}$"}}}
FEW = {"properties": {f"p{n}": {"pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"} for n in range(5)}}
MANY = {"properties": {f"p{n}": {"pattern": "^.{60}$"} for n in range(20)}}


def choosing(when: str) -> dict[str, Any]:
    ways = [{"branch": "a", "when": when, "to": "e"}, {"branch": "b", "to": "e"}]
    choice = {"id": "c", "kind": "gateway", "flow": "exclusive", "label": "C", "branches": ways}
    end = {"id": "e", "kind": "end", "label": "E", "outcome": "done"}
    return {"vertical": "v", "title": "T", "steps": [choice, end]}


@pytest.mark.parametrize(
    ("ask", "processes"),
    [
        (lambda: compile_condition("inputs.x.matches('^[a-z]+[0-9]+$')").holds({"x": "a"}, {}), 0),
        (lambda: compile_condition(r"inputs.x.matches('\\pL\\pL')").holds({"x": "a"}, {}), 1),
        (lambda: compile_condition("inputs.x.matches('(?i)^.................$')").holds({"x": "a"}, {}), 1),
        (lambda: compile_condition("inputs.x.matches(inputs.y)").holds({"x": "a", "y": r"\pL"}, {}), 1),
        (lambda: FormSchema.stored({"type": "object", **FEW}).errors({}), 0),
        (lambda: FormSchema.stored({"type": "object", **LETTERS}).errors({}), 1),
        (lambda: InputsSchema({"type": "object", **MANY}).errors({}), 1),
        (lambda: InputsSchema({"type": "object", **LETTERS}).all_errors({}), 1),
        (lambda: checked({**choosing("true"), "inputs_schema": {"type": "object", **FEW}}), 0),
        (lambda: checked({**choosing("true"), "inputs_schema": {"type": "object", **LETTERS}}), 1),
        (lambda: checked(choosing(often(r"inputs.x.matches('\\pL')"))), 1),
        (lambda: refused_expressions("response.status > 300", {"a": "b.c"}), 0),
        (lambda: refused_expressions(r"response.body.a.matches('\\pL')", {}), 1),
        (lambda: refused_expressions(None, {"a": "[?b]"}), 1),
    ],
)
async def test_patterns_that_take_long_to_compile_are_compiled_elsewhere(
    evaluator: Evaluator, ask: Any, processes: int
) -> None:
    await evaluator.evaluated(ACME, 10, ask)
    assert started(evaluator) == processes


async def test_work_gets_each_answer_once_in_its_order_whatever_it_asks(evaluator: Evaluator) -> None:
    cheap, dear = compile_condition("inputs.a == 1"), compile_condition("inputs.s.contains(inputs.b)")
    large, seen = "x" * 40_000, list[int]()

    def work() -> list[bool | str]:
        seen.append(1)
        found: list[bool | str] = []
        for number in range(4):
            found.append(cheap.holds({"a": number}, {}))
            found.append(dear.holds({"s": large + str(number), "b": "x2"}, {}))
        try:
            dear.holds({"s": 1, "b": large}, {})
        except ConditionFailed as failed:
            found.append(str(failed).partition(":")[0])
        return found

    assert await evaluator.evaluated(ACME, 10, work) == [
        *(False, False, True, False, False, True, False, False),
        "UNKNOWN",
    ]
    assert len(seen) == 6


async def test_work_that_asks_too_often_gets_no_more_answers(evaluator: Evaluator) -> None:
    dear = compile_condition("inputs.s.contains(inputs.b)")
    data = {"s": "x" * 40_000, "b": "xx"}

    def work() -> tuple[int, str]:
        for number in range(10 * ASKED_MAX):
            try:
                dear.holds(data, {})
            except ConditionFailed as failed:
                return number, str(failed)
        return -1, ""

    assert await evaluator.evaluated(ACME, 10, work) == (ASKED_MAX, COSTLY)


async def test_work_that_evaluates_for_long_lets_others_go_on(evaluator: Evaluator) -> None:
    """Each piece of it is a turn of the loop, and beyond all pieces it is asked elsewhere."""
    pieces, here = 0, 0

    def spin() -> bool:
        nonlocal here
        here += 1
        began = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < began + SLICE_S:
            pass
        return True

    def work() -> None:
        nonlocal pieces
        pieces += 1
        for _ in range(10_000):
            answered("condition", "true", {"inputs": {}, "facts": {}}, spin, 1_000)

    with pytest.raises(ConditionFailed):
        await evaluator.evaluated(ACME, 10, work)
    assert here <= INLINE_S / SLICE_S + 2
    assert pieces >= here


# ----------------------------------------------------------------------------------------- schemas


@pytest.mark.parametrize("depth", [4, 40])
async def test_a_schema_that_doubles_is_asked_elsewhere_and_has_a_bound(evaluator: Evaluator, depth: int) -> None:
    schema = InputsSchema.from_schema(doubling(depth))
    form = FormSchema.from_schema(doubling(depth))
    values = {"x": 1}
    asks = (lambda: schema.errors(values), lambda: schema.all_errors(values), lambda: form.errors(values))
    for ask in asks:
        found = await evaluator.evaluated(ACME, 10, ask)
        assert len(found) == 1
        assert (STOPPED in found[0][1]) is (depth == 40)
    assert depth == 40 or started(evaluator) == 0


TEMPLATE = """
vertical: strict-inputs
version: 1
title: Strict inputs
description: Its schema looks at every item.
inputs_schema: %s
example: {}
steps:
  - {id: done, kind: end, label: Done, outcome: done}
"""
UNIQUE = "{type: object, properties: {x: {type: array, uniqueItems: true, items: {type: object, required: [b]}}}}"
COSTLY_ENUM = (
    f"{{type: object, properties: {{x: {{items: {{enum: [{', '.join(f'{{a: {n}}}' for n in range(2_000))}]}}}}}}}}"
)


async def errors(evaluator: Evaluator, template: str, inputs: dict[str, Any]) -> list[tuple[str, str]]:
    entry = load_text(template, "strict.yaml")
    return await evaluator.evaluated(ACME, 1_000_000, lambda: entry.input_errors(inputs))


async def test_large_inputs_are_checked_in_another_process(evaluator: Evaluator) -> None:
    assert await errors(evaluator, TEMPLATE % UNIQUE, {"x": [{"a": n} for n in range(50_000)]}) == []
    assert await errors(evaluator, TEMPLATE % UNIQUE, {"x": [*range(100_000)]}) == [
        ("/inputs/x/0", 'the value is not of type "object"'),
    ]
    assert await errors(evaluator, TEMPLATE % UNIQUE, {"x": [{}, {}], "y": "x" * 100_000}) == [
        ("/inputs/x", "the value has non-unique elements"),
    ]


async def test_a_check_without_an_end_is_stopped_and_the_next_is_made(evaluator: Evaluator) -> None:
    assert await errors(evaluator, TEMPLATE % COSTLY_ENUM, {"x": [{"a": 1_999}] * 60_000}) == [("/inputs", STOPPED)]
    assert await errors(evaluator, TEMPLATE % COSTLY_ENUM, {"x": [{"a": 0}] * 100}) == []


async def test_what_plainly_holds_starts_no_process(evaluator: Evaluator) -> None:
    for entry in shipped()[::10]:
        inputs = {**entry.example, "more": [{"a": 1}] * 100_000}
        if entry.plainly_hold({}):
            assert await evaluator.evaluated(ACME, 1_000_000, lambda: entry.input_errors(inputs)) == []  # noqa: B023
    assert started(evaluator) == 0
