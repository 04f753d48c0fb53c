"""Expressions that compile, and that no run could ever evaluate."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.templates.answers import unbounded
from daemon.templates.cel import compile_condition, never
from daemon.templates.publishing import checked

SCHEMA = {
    "type": "object",
    "properties": {
        "price": {"type": "number"},
        "count": {"type": "integer"},
        "name": {"type": "string"},
        "open": {},
        "line": {"type": "object", "properties": {"sum": {"type": "number"}}},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"sum": {"type": "number"}}}},
    },
}
DONE = {"id": "e", "kind": "end", "label": "E", "outcome": "done"}
TASK = {"id": "t", "kind": "task", "label": "T", "tool": "x", "effect": "read", "next": "e"}


def found(*steps: dict[str, Any], **more: Any) -> list[tuple[str, str | None]]:
    document = {"vertical": "v", "title": "T", "inputs_schema": SCHEMA, "steps": [*steps, DONE], **more}
    with unbounded():
        return [(one.rule, one.node) for one in checked(document).violations]


@pytest.mark.parametrize(
    "until",
    [
        "timestamp('${dueDate}')",
        "timestamp('now')",
        "timestamp('=date')",
        "timestamp('2026-13-01T00:00:00Z')",
        "timestamp('2026-01-01')",
        "timestamp('2026-01-01T00:00:00')",
        "timestamp(inputs.name) + duration('PT2S')",
        "inputs.open ? timestamp('soon') : timestamp(inputs.name)",
        "dyn('2026-01-01')",
        "inputs.price",
        "inputs.line.sum",
        "dyn(5)",
    ],
)
def test_a_wait_until_what_can_never_be_a_time_is_refused(until: str) -> None:
    assert found({"id": "w", "kind": "wait", "label": "W", "until": until, "next": "e"}) == [("condition_refused", "w")]


@pytest.mark.parametrize("until", ["timestamp('2026-01-01T00:00:00Z')", "timestamp(inputs.name) + duration('2h')"])
def test_a_wait_until_a_time_is_taken(until: str) -> None:
    assert found({"id": "w", "kind": "wait", "label": "W", "until": until, "next": "e"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "duration('PT2S') > duration(inputs.name)",
        "inputs.name.matches('[')",
        "matches(inputs.name, '(')",
        "int('twelve') < inputs.count",
        "inputs.count / 0 == 1",
        "1 % 0 == 1",
        "[1][3] == 1",
        "inputs.price > '100'",
        "'100' <= inputs.line.sum",
        "inputs.name > 3",
        "inputs.price - inputs.name > 1",
        "inputs.price % 2 == 0",
        "inputs.price / 2 > 1",
        "inputs.price / inputs.line.sum > 1",
        "inputs['price'] / 2 > 1",
        "(inputs.price + 1) / 2 > 1",
        "1 / (inputs.price + 1) > 1",
        "inputs.lines[0].sum / 2 > 1",
        "inputs.name > timestamp('2026-01-01T00:00:00Z')",
        "inputs.open <= timestamp(inputs.name)",
        "timestamp(inputs.name) - inputs.open > duration('1h')",
        "facts.gone.ok == true",
        "facts['gone-by'].ok == true",
    ],
)
def test_a_condition_that_can_never_be_evaluated_is_refused_wherever_it_stands(text: str) -> None:
    choice = {"id": "c", "kind": "gateway", "flow": "exclusive", "label": "C"}
    ways = [{"branch": "a", "when": text, "to": "e"}, {"branch": "b", "to": "e"}]
    assert found({**choice, "branches": ways}) == [("condition_refused", "c")]
    assert found({**TASK, "dry_run": [{"when": text, "output": {}}]}) == [("condition_refused", "t")]
    judged = {"judges": [{"id": "j", "label": "J", "steps": ["t"], "rule": text}]}
    assert found({**TASK, "tier": "medium"}, **judged) == [("condition_refused", None)]


@pytest.mark.parametrize(
    "text", ["facts.t.ok == true", "has(facts.gone) && facts.gone.ok", "'facts.gone' == inputs.name"]
)
def test_a_condition_may_read_the_facts_of_a_step_and_look_whether_others_are_there(text: str) -> None:
    assert found({**TASK, "dry_run": [{"when": text, "output": {}}]}) == []


def test_a_signal_that_can_never_be_evaluated_is_refused() -> None:
    hit = {**TASK, "signal_when": "output.at > timestamp('now')"}
    assert found(hit) == [("condition_refused", "t")]


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "inputs.price * 2 > 3",
        "inputs.price > 3 && inputs.price <= 0.5",
        "double(inputs.price) / 2.0 > 1.0",
        "inputs.price / 2.0 > 1.0",
        "inputs.count / 2 > 1",
        "inputs.open / 2 > 1",
        "(inputs.price + 1.0) / double(inputs.count) > 1",
        "(inputs.count + 1) / 2 > 1",
        "(inputs.price * 1.0) / 2 > 1",
        "facts.t.sum / 2 > inputs.price",
        "size(inputs.lines) / 2 > 1",
        "inputs.count < timestamp(inputs.name).getFullYear()",
        "timestamp(inputs.name) < timestamp('2026-01-01T00:00:00Z') + duration('1h')",
        "inputs.name == '1/0 % 0 duration(\"x\")'",
        "inputs.name.matches('a+') || 'x' + inputs.name == 'xa'",
        "timestamp(inputs.name) - duration('1h') > timestamp('2026-01-01T00:00:00Z')",
    ],
)
def test_a_condition_that_can_be_evaluated_is_taken(text: str) -> None:
    assert never(text, SCHEMA) is None


@pytest.mark.parametrize("price", [2, 2.0, 1.75])
@pytest.mark.parametrize(
    "text",
    [
        "inputs.price * 2 > 3",
        "2 * inputs.price > 3",
        "inputs.price * 2.0 > 3",
        "inputs.price + 2 > 3",
        "inputs.price + 2.0 > 3",
        "2 - inputs.price < 1",
        "inputs.price - 0.5 > 1",
        "inputs.price / 2.0 < 2",
        "inputs.price * 2 - 0.5 > 1 + 1.5",
        "inputs.price in [2, 1.75]",
        "inputs.lines.all(line, line * 2 > 3)",
        "inputs.price * inputs.lines[0] > 2",
    ],
)
def test_a_condition_does_not_hang_on_how_a_number_is_spelt(text: str, price: float) -> None:
    for lines in ([2, 1.75], [2.0, 1.75], [1.75, 2]):
        assert compile_condition(text).holds({"price": price, "lines": lines}, {}), (text, price)


def test_a_question_that_asks_a_text_for_decimals_is_refused() -> None:
    gate = {"id": "g", "kind": "gate", "label": "G", "next": "e"}
    assert found({**gate, "question": "Pay {inputs.name:.2f}?"}) == [("question_refused", "g")]
    assert found({**gate, "question": "Pay {inputs.price:.2f} to {inputs.name}?"}) == []
