"""Every place that evaluates what tenants wrote is in one list, and holds up nobody."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from actors.core.actions.deciding import ActionRule, Call
from actors.core.template import ConditionFailed
from actors.ports import Asker
from daemon.bpmn.reading import graph_of
from daemon.evaluation.evaluator import Evaluator, Signals, refused_expressions
from daemon.evaluation.worker import EVALUATORS
from daemon.runtime.offload import Offload
from daemon.templates.agents.action_rules import rule_holds, wrong_rules
from daemon.templates.answers import Asking, Kind, Unanswered, unbounded
from daemon.templates.cel import (
    compile_call_condition,
    compile_condition,
    compile_moment,
    compile_output_condition,
    compile_span,
)
from daemon.templates.loading import CatalogEntry, check
from daemon.templates.nodes import FormSchema
from daemon.templates.publishing import checked, draft_of, read_document
from daemon.templates.schemas import InputsSchema
from daemon.web.resources.templates.drafts import serialize_bpmn
from tests.attack.places import ASKS, UNICODE
from tests.effort import Effort

ROOT = Path(__file__).parents[2]
LIBRARIES = {
    "jsonschema_rs": {"daemon/templates/schemas.py", "daemon/templates/nodes.py"},
    "cel_expr_python": {"daemon/templates/cel.py"},
    "jmespath": {"daemon/connectors/response_map.py"},
    # Quadratic in two names; the settings and the commands are of whoever asks them.
    "difflib": {
        *("daemon/commands/naming.py", "daemon/commands/templates.py", "daemon/settings.py"),
        "daemon/templates/lookups.py",
    },
}
"""Where a library stands that evaluates texts; whoever asks them is in the list of kinds."""
MADE_PATTERNS = {
    "daemon/observability/logs.py": "of words of our own",
    "daemon/commands/naming.py": "of words of our own",
    "daemon/contract/accounts.py": "of characters of our own",
    "daemon/contract/company.py": "a constant of the contract",
    "daemon/drafting/__init__.py": "of words of our own",
    "actors/core/rules/conditions.py": "of a pattern of our own",
    "actors/core/rules/policies.py": "a constant of the core",
    "daemon/templates/documents.py": "a constant of the core",
    "daemon/templates/expression_cost.py": "of a number of our own",
    "daemon/templates/cel.py": "of patterns of our own",
    "daemon/web/bodies.py": "of a word of our own",
    "daemon/web/resources/people/members.py": "a constant of the contract",
    "daemon/web/resources/people/settings.py": "constants of the contract",
}
"""Modules whose patterns are no literals, and what they are of: never of what a tenant wrote."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for folder in ("actors", "daemon"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> set[str]:
    found = {name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    return found | {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def made_patterns(tree: ast.Module) -> bool:
    """Whether a pattern is made of anything but literals."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr != "escape"
            if of_re and not isinstance(node.args[0], ast.Constant):
                return True
    return False


def test_a_library_that_evaluates_stands_only_where_the_list_says() -> None:
    found: dict[str, set[str]] = {name: set() for name in LIBRARIES}
    for path, tree in modules():
        for name in found.keys() & imported(tree):
            found[name].add(path)
    assert found == LIBRARIES


def test_no_pattern_is_made_of_what_a_tenant_wrote() -> None:
    assert {path for path, tree in modules() if made_patterns(tree)} <= MADE_PATTERNS.keys()


def test_each_kind_of_question_is_asked_and_has_an_evaluator_and_a_worst_case() -> None:
    asked = {
        node.args[0].value
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and node.args
        if (node.func.id if isinstance(node.func, ast.Name) else node.func.attr)
        in ("answered", "by_process", "Question", "_holds", "_answered")
        if isinstance(node.args[0], ast.Constant)
    }
    assert {*get_args(Kind)} == EVALUATORS.keys() == asked == WORST.keys() == ASKS.keys()


EVALUATING = {
    "actors.core.approvals.changed_gates",
    "actors.core.preview.previews",
    "actors.core.preview.rehearse",
    "daemon.bpmn.reading.graph_of",
    "daemon.templates.loading.check",
    "daemon.templates.publishing.checked",
    "daemon.templates.rehearsals.perform",
    "daemon.templates.rehearsals.rehearsed_wrongly",
    "daemon.templates.schemas.unfit",
}
"""What evaluates, of which the service may have none done but by its `Evaluator`."""


@pytest.mark.parametrize("folder", ["web", "engine", "drafting", "notifications", "mcp", "bpmn"])
def test_what_evaluates_is_done_by_the_evaluator_alone(folder: str) -> None:
    for path in (ROOT / "daemon" / folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        names = {
            f"{node.module}.{one.name}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.ImportFrom)
            for one in node.names
        }
        assert not names & EVALUATING or "evaluat" in text, path


# -------------------------------------------------------------------------------------- worst cases


def texts(size: int) -> dict[str, Any]:
    return {"a": "a" * 40 * size, "b": "a" * 20 * size + "b"}


def doubling(depth: int) -> dict[str, Any]:
    levels = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    definitions = {**levels, f"d{depth}": {"type": "string"}}
    return {"type": "object", "$defs": definitions, "properties": {"x": {"$ref": "#/$defs/d0"}}}


def template(size: int) -> dict[str, Any]:
    branches = [{"branch": f"b{n}", "when": f"inputs.x{n} == {n}", "to": "done"} for n in range(min(size // 2, 900))]
    choice = {"id": "size", "kind": "gateway", "label": "Size", "flow": "exclusive"}
    end = {"id": "done", "kind": "end", "label": "Done", "outcome": "done"}
    steps = [{**choice, "branches": [*branches, {"branch": "other", "to": "done"}]}, end]
    return {"vertical": "wide", "title": "Wide", "steps": steps}


def entry(size: int) -> CatalogEntry:
    with unbounded():
        return check(read_document(template(size)))[0]


def bpmn(size: int) -> str:
    with unbounded():
        return serialize_bpmn(entry(size))


CONTAINS = "inputs.a.contains(inputs.b)"
RULE = ActionRule(id="r", tool="*", when="arguments.a.contains(arguments.b)", decision="ask")
WORST: dict[Kind, Callable[[int], Callable[[], Any]]] = {
    "action": lambda size: partial(
        rule_holds, RULE, Call(tool="t", arguments=texts(size), agent="a", agent_id=""), None
    ),
    "action_rules": lambda size: partial(wrong_rules, [RULE] * (size // 8)),
    "all_errors": lambda size: lambda: InputsSchema(doubling(size // 100)).all_errors({"x": 1}),
    "bpmn": lambda size: partial(graph_of, bpmn(size)),
    "call": lambda size: lambda: compile_call_condition("call.a.contains(call.b)").holds({}, {}, texts(size)),
    "check": lambda size: lambda: checked(template(size), large=True),
    "condition": lambda size: lambda: compile_condition(CONTAINS).holds(texts(size), {}),
    "draft": lambda size: lambda: draft_of({**template(size), "description": "x" * 100 * size}),
    "drawing": lambda size: partial(serialize_bpmn, entry(size)),
    "expressions": lambda size: partial(refused_expressions, UNICODE, {f"n{n}": "[@,@]" for n in range(size // 100)}),
    "form": lambda size: lambda: FormSchema.stored(doubling(size // 100)).errors({"x": 1}),
    "inputs": lambda size: lambda: InputsSchema(doubling(size // 100)).errors({"x": 1}),
    "mapped": lambda size: lambda: ({f"n{n}": "|".join(["[@,@]"] * 20) for n in range(size // 200)}, {"s": "x"}),
    "moment": lambda size: (
        lambda: compile_moment(f"{CONTAINS} ? timestamp('') : timestamp(inputs.b)").time(texts(size), {})
    ),
    "output": lambda size: lambda: compile_output_condition("output.a.contains(output.b)").holds(texts(size)),
    "span": lambda size: lambda: compile_span(f"{CONTAINS} ? 'P1D' : 'P2D'").duration(texts(size), {}),
    "signal": lambda size: lambda: ("response.body.a.contains(response.body.b)", texts(size)),
}
SIZES = (500, 2_000, 4_000)


async def answer(evaluator: Evaluator, kind: Kind, size: int) -> Any:
    work = WORST[kind](size)
    signals = Signals(evaluator)
    if kind == "signal":
        rule, body = work()
        return await signals.value(Asker("acme"), rule, 200, body, 60 * size)
    if kind == "mapped":
        names, body = work()
        return await signals.mapped(Asker("acme"), names, body, 60 * size)
    return await evaluator.beside(Asker("acme"), work)


@pytest.mark.parametrize("kind", WORST)
async def test_others_go_on_beside_the_worst_case_of_a_place(kind: Kind) -> None:
    """However much is asked, this process evaluates none of it, and the loop goes round."""
    offload, rounds = Offload(), 0
    evaluator = Evaluator(offload)

    async def go_round() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(go_round())
    try:
        for size in SIZES:
            before = rounds
            with suppress(ConditionFailed):
                await answer(evaluator, kind, size)
            assert rounds - before > 1
    finally:
        others.cancel()
        await evaluator.close()
        offload.close()


@pytest.mark.parametrize("kind", [kind for kind in WORST if kind not in ("mapped", "signal")])
def test_what_a_place_evaluates_here_does_not_grow(kind: Kind) -> None:
    """Work of any size asks one question of a process, and evaluates nothing of it here."""
    for size in SIZES[1:]:
        asking = Asking()
        with pytest.raises(Unanswered) as asked:
            asking.run(WORST[kind](size))
        assert asked.value.question.kind == kind
        assert asking.answers == []


@pytest.mark.parametrize("kind", [kind for kind in WORST if kind not in ("mapped", "signal")])
def test_what_a_place_does_here_beside_grows_as_its_input_does(kind: Kind) -> None:
    small, large = (effort_of(WORST[kind](size)) for size in (450, 1_800))
    assert large <= 5 * small


def effort_of(work: Callable[[], Any]) -> int:
    """How much is done here, until a process is asked if one is."""
    with Effort() as effort, suppress(Unanswered):
        Asking().run(work)
    return effort.steps
