"""What a gate asks: a question with the values of a run, or none."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from actors.core.rules import violations
from actors.core.rules.questions import PLACEHOLDERS_MAX, QUESTION_CHARS_MAX, rendered
from actors.core.template import DryRun, Template
from tests.conversations import Conversation
from tests.processes import end, gate, process, task

INPUTS: dict[str, Any] = {
    "order": {"id": "O-61822"},
    "amount": 333.1,
    "count": 7,
    "express": True,
    "note": "first line\nsecond\tline",
    "long": "x" * 500,
    "huge": 10**400,
    "list": [1],
    "empty": "",
}
FACTS = {"look-up": {"paid": False, "risk": "low"}}


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Refund {inputs.amount:.2f} for order {inputs.order.id}?", "Refund 333.10 for order O-61822?"),
        ("Send {inputs.count} parcels, {inputs.count:.1f} kg?", "Send 7 parcels, 7.0 kg?"),
        ("Express: {inputs.express}, paid: {facts.look-up.paid}?", "Express: yes, paid: no?"),
        ("Is {inputs.note:.2f} right for {business_key}?", "Is first line second line right for PO-1?"),
        ("Is {inputs.long} right?", f"Is {'x' * 59}… right?"),
        ("Go on?", "Go on?"),
    ],
)
def test_a_question_shows_values_in_one_short_line(text: str, asked: str) -> None:
    assert rendered(text, INPUTS, FACTS, "PO-1") == asked


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [
        (2.675, 2, "2.675"),
        (1.005, 2, "1.005"),
        (0.004, 2, "0.004"),
        (-0.001, 2, "-0.001"),
        (-0.0, 2, "0.00"),
        (-0.0, None, "0"),
        (-2.5, 2, "-2.50"),
        (0.1 + 0.2, 2, "0.30000000000000004"),
        (250986.3, 2, "250986.30"),
        (5.0, None, "5"),
        (5, 2, "5.00"),
        (12.5, 0, "12.5"),
        (12, 0, "12"),
        (1e-7, 2, "1e-7"),
        (123456789012345, 2, "123456789012345.00"),
        (2**53 + 1, 2, "9007199254740993.00"),
        (-(2**63), None, "-9223372036854775808"),
        (1e20, None, "100000000000000000000"),
        (1e21, 2, "1e+21"),
        ("0.10", 1, "0.10"),
    ],
)
def test_a_question_hides_rounds_and_changes_no_digit(value: Any, decimals: int | None, shown: str) -> None:
    """What people read is the number that canonical JSON sends, with zeros at most."""
    form = "" if decimals is None else f":.{decimals}f"
    assert rendered(f"Pay {{inputs.sum{form}}} EUR?", {"sum": value}, {}, None) == f"Pay {shown} EUR?"


def test_a_question_says_which_values_are_samples_of_a_dry_run() -> None:
    text = "Pay {facts.price.total:.2f} USD for {inputs.count}, risk {facts.look-up.risk}?"
    facts = {**FACTS, "price": {"total": 250986.3}}
    assert rendered(text, INPUTS, facts, None, ("price",)) == "Pay 250986.30 (sample) USD for 7, risk low?"


def asking_for_a_price() -> Template:
    asked = replace(gate("ok"), question="Pay {facts.price.total:.2f} USD?")
    price = task("price", dry_run=(DryRun({"total": 10.005}),))
    return process(price, asked, end(), ways="price -> ok -> end")


def test_the_question_of_a_run_in_shadow_marks_what_the_dry_run_gave() -> None:
    talk = Conversation(asking_for_a_price()).start()
    asked = talk.run.open[0].gate
    assert asked is not None
    assert asked.question == "Pay 10.005 (sample) USD?"


@pytest.mark.parametrize(
    "key",
    [
        *(f"inputs.{name}" for name in ("absent", "order", "order.id.more", "list", "huge", "empty")),
        *("facts.look-up.absent", "facts.absent.risk", "business_key"),
    ],
)
def test_a_question_is_not_asked_where_a_value_cannot_be_shown(key: str) -> None:
    assert rendered(f"Is {{{key}}} right?", INPUTS, FACTS, None) is None


def test_a_value_is_never_read_as_a_placeholder() -> None:
    inputs = {"name": "{inputs.secret} {0.__class__}", "secret": "s3cret"}
    assert rendered("Pay {inputs.name}?", inputs, {}, None) == "Pay {inputs.secret} {0.__class__}?"


def refusals(question: str) -> list[str]:
    """What is wrong with the question of a gate between the steps `look` and `pay`."""
    asking = replace(gate("ask"), question=question)
    template = process(task("look"), asking, task("pay"), end(), ways="look -> ask -> pay -> end")
    return [one.detail for one in violations(template) if one.rule == "question_refused"]


ONE_LINE = f"a question is one line of 1 to {QUESTION_CHARS_MAX} characters"


@pytest.mark.parametrize(
    ("question", "detail"),
    [
        (" ", ONE_LINE),
        ("x" * (QUESTION_CHARS_MAX + 1), ONE_LINE),
        ("Pay\nit?", ONE_LINE),
        ("{inputs.a}" * (PLACEHOLDERS_MAX + 1), f"a question has at most {PLACEHOLDERS_MAX} placeholders"),
        (
            "Pay {amount}?",
            "a placeholder is {inputs.…}, {facts.<step-id>.…} or {business_key}, and :.2f asks for decimals",
        ),
        *(
            (f"Pay {{{key}}}?", f"the question names {key}, which is no result of a step before it")
            for key in ("facts.look", "facts.ask.sum", "facts.absent.sum", "facts.pay.sum")
        ),
    ],
)
def test_a_question_breaks_a_rule(question: str, detail: str) -> None:
    assert refusals(question) == [detail]


def test_a_sound_question_breaks_none() -> None:
    assert refusals("Pay {inputs.amount:.2f} of {facts.look.total.sum} for {business_key}?") == []
