"""What a gate asks: a question with the values of a run, or none."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.rules.questions import rendered

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
