"""What the autopilot clears, what it leaves to a human, and which human may decide."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from actors.core.governance import Cleared, Held, resolve
from actors.core.run import Run
from actors.core.template import Condition, Node, Template
from tests.conversations import MORNING
from tests.processes import ALWAYS, NEVER, UNCLEAR, When, above, choice, end, gate, parallel, process, task

RUN = Run("run", "acme", "process", 1, "sha256:process", {"amount": 12}, True, "ann", MORNING, MORNING)
SIGNALLED = replace(RUN, signals=("screen", "score"))
MANUAL = replace(RUN, auto_resolve=False)

CLEARED_LOW = Cleared("tier low is cleared by the autopilot")
WAITS = Held("every step of this run waits for a human")
HIT = Held("the signal of screen, score is not decided yet")


def alone(node: Node) -> Template:
    return process(node, end(), ways=f"{node.id} -> end")


@pytest.mark.parametrize(
    ("run", "node", "answer"),
    [
        (RUN, task("a"), CLEARED_LOW),
        (RUN, task("a", "medium"), Cleared("tier medium is cleared by the autopilot")),
        (RUN, task("a", "high"), Held("tier high needs a human verdict")),
        (RUN, task("a", "critical"), Held("tier critical needs a human verdict")),
        (RUN, gate("a", "critical"), Held("tier critical needs a human verdict")),
        (RUN, gate("a", "low"), Held("this step is a human sign-off")),
        (RUN, parallel("a"), CLEARED_LOW),
        (MANUAL, task("a"), WAITS),
        (MANUAL, parallel("a"), WAITS),
        (MANUAL, choice("a"), WAITS),
        (MANUAL, task("a", "high"), Held("tier high needs a human verdict")),
        (MANUAL, gate("a", "low"), Held("this step is a human sign-off")),
        (SIGNALLED, task("a"), HIT),
        (SIGNALLED, parallel("a"), HIT),
        (SIGNALLED, choice("a"), HIT),
        (SIGNALLED, task("a", "high"), Held("tier high needs a human verdict")),
        (replace(MANUAL, signals=("screen",)), task("a"), WAITS),
        (RUN, task("a", needs=("amount",)), CLEARED_LOW),
        (
            RUN,
            task("a", needs=("amount", "iban", "bic")),
            Held("the input iban is missing and the input bic is missing", ("/iban", "/bic")),
        ),
        (replace(RUN, facts={"iban": None}), task("a", needs=("iban",)), CLEARED_LOW),
        (SIGNALLED, task("a", needs=("iban",)), Held(f"{HIT.reason}, and the input iban is missing", ("/iban",))),
        (RUN, task("a", needs=("inputs.claim.a/b",)), Held("the input claim.a/b is missing", ("/claim/a~1b",))),
        (RUN, task("a", needs=("facts.b", "a.c")), Held("the fact b is missing and the fact a.c is missing")),
        (RUN, replace(choice("a"), needs=("iban",)), Held("the input iban is missing", ("/iban",))),
    ],
)
def test_the_resolver_clears_a_step_or_says_why_a_human_must(run: Run, node: Node, answer: Cleared | Held) -> None:
    assert resolve(run, node, alone(node)) == answer


@pytest.mark.parametrize("tier", ["high", "critical"])
def test_no_circumstance_lets_a_gate_through(tier: str) -> None:
    nodes = [task("a", tier), choice("a", tier), gate("a", tier), gate("a")]  # type: ignore[arg-type]
    for node, run in product(nodes, [RUN, MANUAL, SIGNALLED]):
        assert isinstance(resolve(run, node, alone(node)), Held)


NO_NUMBER = When("inputs.amount", lambda inputs, _facts: inputs["amount"])


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        (ALWAYS, ALWAYS, Cleared("true holds", "first")),
        (above("amount", 10), None, Cleared("inputs.amount > 10 holds", "first")),
        (above("amount", 20), None, Cleared("no other branch applies", "second")),
        (NEVER, ALWAYS, Cleared("true holds", "second")),
        (NEVER, NEVER, Held("the condition of no branch holds")),
        (ALWAYS, UNCLEAR, Cleared("true holds", "first")),
        (
            UNCLEAR,
            ALWAYS,
            Held("the condition inputs.unknown has no clear answer: KeyError('unknown to everybody')"),
        ),
        (
            NEVER,
            UNCLEAR,
            Held("the condition inputs.unknown has no clear answer: KeyError('unknown to everybody')"),
        ),
        (NO_NUMBER, None, Held("the condition inputs.amount has no clear answer: 12 is neither true nor false")),
    ],
)
def test_a_gateway_takes_the_first_branch_that_clearly_holds(
    first: Condition, second: Condition | None, answer: Cleared | Held
) -> None:
    when = {"first": first} if second is None else {"first": first, "second": second}
    template = process(choice("a"), end(), ways="a -[first]-> end\na -[second]-> end", when=when)
    assert resolve(RUN, template.node("a"), template) == answer
