"""No test holds the machine to a time: what a test asks is counted, ordered or compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house.packages import ROOT

RIGS = {"attack", "audit", "bench", "cluster", "crash", "effects", "fuzz", "linear", "load", "page_speed", "power"}
RIGS |= {"reports", "scale", "sim", "swarm", "timers"}
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "thread_time", "time"}
ALLOWED = {
    # A date that the process tells of itself, to a day.
    ("tests/observability/test_metrics.py", "test_the_process_is_measured_where_proc_shows_it_alone"),
    # Two moments of one clock, in their order.
    (
        "tests/web/test_roles.py",
        "test_of_requests_that_race_with_the_end_of_a_right_none_succeeds_that_began_after_the_answer",
    ),
    ("tests/web/test_metrics.py", "test_the_process_tells_its_age_and_its_processor_time"),
}


def bounded(tree: ast.AST) -> Iterator[str]:
    """The functions that compare what a clock says, or what follows from that, in an assertion."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        read: set[str] = set()
        for _ in range(3):  # a name may follow from another
            read |= {name for one in ast.walk(function) for name in _named(one, read)}
        asserted = [one.test for one in ast.walk(function) if isinstance(one, ast.Assert)]
        if any(
            _tells_time(part, read) for test in asserted for part in ast.walk(test) if isinstance(part, ast.Compare)
        ):
            yield function.name


def _named(node: ast.AST, read: set[str]) -> Iterator[str]:
    """The names that a statement gives to what a clock said."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value and _tells_time(node.value, read):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            yield from (one.id for one, value in pairs if isinstance(one, ast.Name) and _tells_time(value, read))


def _tells_time(node: ast.AST, read: set[str]) -> bool:
    return any(
        (isinstance(one, ast.Name) and one.id in read) or (isinstance(one, ast.Call) and _is_clock(one.func))
        for one in ast.walk(node)
    )


def _is_clock(called: ast.expr) -> bool:
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in CLOCKS and not (name == "time" and isinstance(called, ast.Attribute) and not _is_module(called))


def _is_module(called: ast.Attribute) -> bool:
    """`time.time()`, or the clock of a loop."""
    owner = called.value
    return isinstance(owner, ast.Name) and owner.id in {"time", "loop"}


def test_no_test_bounds_what_a_clock_says() -> None:
    found = set()
    for path in sorted((ROOT / "tests").glob("**/test_*.py")):
        name = path.relative_to(ROOT)
        if name.parts[1] not in RIGS:
            found |= {(str(name), function) for function in bounded(ast.parse(path.read_text(encoding="utf-8")))}
    assert found == ALLOWED


@pytest.mark.parametrize(
    "body",
    [
        "began = time.monotonic()\n assert time.monotonic() - began < 1",
        "began = process_time()\n took = process_time() - began\n assert took < 1",
        "line, began = 1, time.thread_time()\n took_s = time.thread_time() - began\n assert 0 < took_s",
        "began = loop.time()\n assert loop.time() - began >= 0.5",
    ],
)
def test_a_bound_of_a_clock_is_noticed(body: str) -> None:
    assert list(bounded(ast.parse(f"def slow():\n {body}"))) == ["slow"]


@pytest.mark.parametrize("body", ["assert effort.steps < 9", "now = time.time()\n assert valid(now)"])
def test_a_count_and_a_moment_are_none(body: str) -> None:
    assert list(bounded(ast.parse(f"def slow():\n {body}"))) == []
