"""What an agent said of its call, and what was made of that, is redacted with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.core.actions.deciding import SCALE, ActionFacts, RuleReference
from actors.core.messages import Event, GateAnswered, GateAsked, GateOpened, RunEnded, RunStarted, StepEntered
from daemon.model.commitments.salted import hashed, plain, with_salts
from daemon.model.retention.redaction import NoSuchValue, RedactionOutcome, StoredLines, redacted
from daemon.stores.codec import decode_events, encode_events, fold
from tests.histories import NOON, start

NAME = "Zora Quendolin"
FACTS = ActionFacts(
    tool="bank.pay",
    agent="payer",
    agent_id="key-1",
    reasoning=f"{NAME} asked for it",
    context={"thread": f"mail of {NAME}", "call_id": "c-1"},
    rule=RuleReference("pay", 1, "sha256:0"),
    decision="ask",
    amount=4711 * SCALE,
    fingerprint="sha256:print",
    written=f'{{"arguments":{{"to":"{NAME}","amount":4711}}}}',
)


def history() -> list[Event]:
    began = start(inputs={"to": NAME, "amount": 4711}, vertical="action").events[0]
    assert isinstance(began, RunStarted)
    where: dict[str, Any] = {"at": NOON, "step_id": "pay", "visit": 1}
    asked: dict[str, Any] = {"label": "Pay", "reason": "asks", "decisions": ("approved", "denied"), "digest": "d"}
    members = {name: getattr(began, name) for name in began.__struct_fields__}
    return [
        RunStarted(**members | {"action": FACTS}),
        StepEntered(**where, kind="task", tier="high"),
        GateOpened(**where, **asked),
        GateOpened(**where, **asked | {"arguments": {"to": NAME, "amount": 12}}),
        GateAsked(**where, by="bob", question="q", text=f"Who is {NAME}?"),
        GateAnswered(**where, by="payer", question="q", text="A customer."),
        RunEnded(at=NOON, status="cancelled", by="bob"),
    ]


def redact(*pointers: str) -> tuple[RedactionOutcome, list[bytes]]:
    events, exact = encode_events(tuple(history()))
    lines, _ = with_salts([one.type for one in history()], events, exact)
    outcome = redacted([StoredLines(7, 1, lines, None)], pointers, "asked by her", "(gone)", frozenset())
    return outcome, lines.split(b"\n")


def test_a_redacted_argument_is_nowhere_and_the_run_folds_as_before() -> None:
    outcome, before = redact("/inputs/to", "/inputs/amount")
    ((after, _),) = [(one.events, one.exact) for one in outcome.commits]
    assert NAME.encode() not in after
    assert b"4711" not in after
    assert b"sha256:print" not in after
    assert [hashed(one) for one in after.split(b"\n")] == [hashed(one) for one in before]
    run = fold(decode_events(b"\n".join(map(plain, after.split(b"\n")))))
    assert run.action is not None
    assert (run.inputs, run.action.amount, run.action.fingerprint) == (
        {"to": "(gone)", "amount": "(gone)"},
        None,
        "(gone)",
    )
    assert run.action.asked == {"to": "(gone)", "amount": "(gone)"}


def test_what_an_agent_said_is_redacted_by_itself() -> None:
    outcome, _ = redact("/action/reasoning", "/action/context/thread")
    started = json.loads(plain(outcome.commits[0].events.split(b"\n")[0]))
    assert (started["action"]["reasoning"], started["action"]["context"]) == (
        "(gone)",
        {"thread": "(gone)", "call_id": "c-1"},
    )
    assert started["inputs"]["to"] == NAME


@pytest.mark.parametrize("pointer", ["/action", "/action/tool", "/action/context", "/action/rule/id"])
def test_what_names_the_action_is_not_redacted(pointer: str) -> None:
    with pytest.raises(NoSuchValue):
        redact(pointer)
