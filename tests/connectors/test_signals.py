"""Signals of responses: the same wherever they are read, and bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actors.ports import Asker
from daemon.evaluation.evaluator import Evaluator, Signals, evaluating, is_cheap
from daemon.runtime.json_codec import dumps
from daemon.runtime.offload import Offload
from daemon.stores.sqlite.store import SqliteStore
from tests.effort import Effort

PATTERN = "response.body.s.matches(response.body.p)"
MANY: dict[str, Any] = {"s": "a" * 100_000, "p": "(a?){100}" * 900}


@pytest.fixture
async def evaluator() -> AsyncIterator[Evaluator]:
    offload = Offload()
    async with evaluating(offload) as one:
        yield one
    offload.close()


@pytest.fixture
def signals(evaluator: Evaluator) -> Signals:
    return Signals(evaluator)


def started(evaluator: Evaluator) -> int:
    """How many processes were started."""
    return sum(one.pid is not None for one in evaluator.pool.workers)


async def read(signals: Signals, rule: str, body: Any) -> Any:
    return await signals.value(Asker("acme"), rule, 200, body, len(dumps(body)))


CHEAP = [
    "response.status == 200",
    'response.body.found && size(response.body["hits"]) > 0',
    'has(response.body.a) ? response.body.a.startsWith("x") : (response.status > 1)',
]
DEAR = [
    "response.body.hits.exists(h, h > 1)",
    "response.body.hits . exists (h, h > 1)",
    "response.body.hits.exists//\n(h, h > 1)",
    PATTERN,
    "response.body.a.contains(response.body.b)",
    "&&".join(["response == response"] * 20),
]


@pytest.mark.parametrize("rule", CHEAP)
def test_a_short_rule_of_linear_words_is_cheap(rule: str) -> None:
    assert is_cheap(rule)


@pytest.mark.parametrize("rule", DEAR)
def test_loops_patterns_and_long_rules_are_not_cheap(rule: str) -> None:
    assert not is_cheap(rule)


async def test_a_cheap_rule_over_a_small_response_needs_no_process(signals: Signals, evaluator: Evaluator) -> None:
    assert await read(signals, "response.body.a", {"a": 1}) == 1
    assert started(evaluator) == 0
    assert await read(signals, "response.body.a", {"a": 1, "b": "x" * 40_000}) == 1
    assert started(evaluator) == 1


@pytest.mark.parametrize(
    ("rule", "body", "value"),
    [
        ("response.body.hits.map(h, h.name)", {"hits": [{"name": "x"}, {"name": "\u00e4"}]}, ["x", "\u00e4"]),
        ("[1.0, 1].filter(x, true)", None, [1.0, 1]),
        ("response.body.all(x, x > 0)", [1, 2, 0], False),
        ("response.body.all(x, x.y > 0)", [1], True),
        ("response.body.nothing.exists(x, x)", {}, True),
        ("this does not compile(", {}, True),
        ("[9223372036854775808u].map(x, x)[0]", {}, True),
    ],
)
async def test_a_process_reads_what_would_be_read_here_and_without_an_answer_a_hit(
    signals: Signals, rule: str, body: Any, value: Any
) -> None:
    found = await read(signals, rule, body)
    assert (found, repr(found)) == (value, repr(value))


async def test_a_rule_that_takes_too_long_is_a_hit_and_holds_up_nothing(signals: Signals) -> None:
    with Effort() as effort:
        assert await read(signals, PATTERN, MANY) is True
    assert effort.calls("eval") == 0
    assert await read(signals, "response.body.l.exists(x, x == 2)", {"l": [1]}) is False


async def test_a_rule_that_takes_too_much_memory_is_a_hit(signals: Signals) -> None:
    rule = "response.body.l.map(x, response.body.s + x).size() == 0"
    assert await read(signals, rule, {"l": ["a"] * 9_000, "s": "b" * 200_000}) is True
    assert await read(signals, "response.body.l.exists(x, x == 2)", {"l": [1]}) is False


@pytest.mark.parametrize("rule", ["response.body.s", "response.body.l.map(x, response.body.s)[0]"])
async def test_a_signal_of_more_than_four_kibibytes_is_a_hit(signals: Signals, rule: str) -> None:
    assert await read(signals, rule, {"l": [1], "s": "x" * 4_094}) == "x" * 4_094
    assert await read(signals, rule, {"l": [1], "s": "x" * 4_095}) is True


# -------------------------------------------------------------------------------------------- maps


async def found(signals: Signals, body: Any, **names: str) -> Any:
    return await signals.mapped(Asker("acme"), names, body, len(dumps(body)))


async def test_a_map_of_plain_names_needs_no_process_and_any_other_one_does(
    signals: Signals, evaluator: Evaluator
) -> None:
    assert await found(signals, {"a": {"b": 1}}, x="a.b", y="c") == {"x": 1, "y": None}
    assert started(evaluator) == 0
    body = {"items": [{"id": 1, "ok": True}, {"id": 2, "ok": False}]}
    maps = {"ids": "items[].id", "first": "items[?ok] | [0].{n: id}", "sum": "sum(items[].id)", "odd": "abs('x')"}
    assert await found(signals, body, **maps) == {"ids": [1, 2], "first": {"n": 1}, "sum": 3.0, "odd": None}
    assert started(evaluator) == 1


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"s": "x" * 100}, {"x": "|".join(["[@,@]"] * 60)}),
        ({"s": "x" * 60_000}, {f"n{number}": "s" for number in range(100)}),
    ],
)
async def test_a_map_that_finds_too_much_finds_nothing_and_holds_up_nobody(
    signals: Signals, body: Any, names: dict[str, str]
) -> None:
    with Effort() as effort:
        assert await found(signals, body, **names) is None
    assert effort.calls("search") == 0
    assert effort.steps < 1_000_000
    assert await found(signals, {"l": [1]}, x="l[0]") == {"x": 1}


# ---------------------------------------------------------------------------------- after a kill


async def test_what_the_service_was_killed_under_is_not_evaluated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call of a run is read as a rule without an answer is: a hit, and nothing of the body."""
    rule, body, call = "response.body.l.map(x, x)[0]", {"l": [7]}, Asker("acme", "run-1:look:1")
    offload = Offload()
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        async with evaluating(offload, store, by=1) as first:
            assert await Signals(first).value(call, rule, 200, body, 10) == 7
            monkeypatch.setattr(store, "end_evaluation", None)
            with pytest.raises(TypeError):  # it was killed before it could say that it had ended
                await Signals(first).value(call, rule, 200, body, 10)
            monkeypatch.undo()
        async with evaluating(offload, store, by=2) as second:
            signals = Signals(second)
            assert await signals.value(call, rule, 200, body, 10) is True
            assert await signals.mapped(call, {"n": "sum(l)"}, body, 10) is None
            assert started(second) == 0
            assert await signals.value(Asker("acme", "run-1:look:2"), rule, 200, body, 10) == 7
    offload.close()
