"""A call that may have happened is sent again only by who may decide where it was allowed."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.gate_policy import Batch
from actors.core.messages import Rejected
from actors.core.run import Gate
from actors.core.template import Template
from tests.conversations import DOWN, Conversation
from tests.core.test_gate_policies import OFFICE, reason
from tests.processes import connector, end, gate, parallel, process, task

GUARD: dict[str, Any] = {"four_eyes": ("starter",), "groups": ("finance",)}
PAY = task("pay", effect="irreversible")


def guarded(policy: dict[str, Any] | None = None, *between: Any, **live: Any) -> Conversation:
    """A run that ann has started, whose call two managers let go out."""
    ways = " -> ".join(("a", *(one.id for one in between), "pay", "end"))
    asked = process(gate("a", **(GUARD if policy is None else policy)), *between, PAY, end(), ways=ways)
    return Conversation(asked, {"pay": connector("pay", **live)}, company=OFFICE)


def lost(policy: dict[str, Any] | None = None, *, auto: bool = True, **live: Any) -> Conversation:
    """The same, and nobody knows what became of the call."""
    talk = guarded(policy, **live).start({"amount": 640, "to": "DE02"}, auto=auto)
    talk.resume("a", by="bob", role="manager")
    if not auto:
        talk.resume("pay", by="bob", role="manager")
    talk.failed("pay", unknown=True)
    return talk


def parked(talk: Conversation) -> Gate:
    gate = talk.run.parked[0].gate
    assert gate is not None
    return gate


def why(talk: Conversation, decision: str, by: str) -> str | None:
    talk.resume("pay", decision, by=by, role=OFFICE.people[by].role)
    return reason(talk) if isinstance(talk.last, Rejected) else None


@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("decision", ["retry", "done", "denied"])
def test_the_gate_of_a_lost_call_bars_whom_the_gate_barred_that_allowed_it(decision: str, auto: bool) -> None:
    talk = lost(auto=auto)
    asked = parked(talk)
    assert (asked.reason, asked.in_doubt) == ("outcome unknown", True)
    assert asked.policy.four_eyes == ("starter",)
    assert asked.policy.groups == ("finance",)
    assert why(talk, decision, "ann") == "four_eyes"
    assert why(talk, decision, "dan") == "group"
    assert why(talk, decision, "cyd") is None


def test_it_takes_role_and_quorum_along() -> None:
    talk = guarded({"quorum": 2, "denials": 2}).start({"amount": 1})
    for name in ("bob", "cyd"):
        talk.resume("a", by=name, role="manager")
    talk.failed("pay", unknown=True)
    assert (parked(talk).policy.quorum, parked(talk).policy.denials) == (2, 2)
    assert why(talk, "retry", "bob") is None
    assert len(parked(talk).verdicts) == 1
    assert why(talk, "retry", "dan") is None
    assert talk.run.parked == ()
    strict = guarded({"role": "admin"}).start({"amount": 1})
    strict.resume("a", by="dan", role="admin")
    strict.failed("pay", unknown=True)
    assert parked(strict).role == "admin"
    assert why(strict, "retry", "bob") == "role"


def test_a_second_loss_asks_as_the_first_one() -> None:
    talk = lost()
    assert why(talk, "retry", "cyd") is None
    talk.failed("pay", 3, unknown=True)
    assert why(talk, "retry", "ann") == "four_eyes"


def test_a_retry_of_the_run_leads_a_barred_person_to_the_same_gate() -> None:
    talk = guarded().start({"amount": 640})
    talk.resume("a", by="bob", role="manager")
    talk.failed("pay", error=DOWN)
    talk.retry()
    assert parked(talk).reason == "failed after it may have been sent"
    assert why(talk, "retry", "ann") == "four_eyes"


def test_a_call_that_has_changed_since_it_was_allowed_is_not_allowed_by_who_was_barred() -> None:
    talk = guarded(None, task("look")).start({"amount": 640})
    talk.connectors["look"] = connector("look")
    talk.resume("a", by="bob", role="manager")
    talk.connectors["pay"] = connector("pay", 2, path="/elsewhere")
    talk.returned("look")
    assert parked(talk).reason == "changed since approval"
    assert why(talk, "approved", "ann") == "four_eyes"
    assert why(talk, "approved", "cyd") is None


def test_a_call_that_no_gate_has_allowed_asks_for_a_manager() -> None:
    alone: Template = process(PAY, end(), ways="pay -> end")
    talk = Conversation(alone, {"pay": connector("pay")}, company=OFFICE).start({"amount": 640})
    if talk.run.status == "parked":
        talk.resume("pay", by="bob", role="manager")
    talk.failed("pay", unknown=True)
    assert parked(talk).policy.role == "manager"
    assert why(talk, "retry", "ann") is None


def test_only_the_gates_that_led_to_the_call_are_asked_for_who_may_decide() -> None:
    steps = (gate("a", **GUARD), gate("b", four_eyes=("gate:a",)), PAY, end())
    asked = process(*steps, ways="a -> b -> pay -> end")
    talk = Conversation(asked, {"pay": connector("pay")}, company=OFFICE).start({"amount": 640})
    talk.resume("a", by="bob", role="manager")
    talk.resume("b", by="dan", role="admin")
    talk.failed("pay", unknown=True)
    assert parked(talk).policy.four_eyes == ("gate:a",)
    assert why(talk, "retry", "bob") == "four_eyes"
    assert why(talk, "retry", "cyd") is None
    alone = process(task("pay", effect="irreversible", tier="high"), end(), ways="pay -> end")
    talk = Conversation(alone, {"pay": connector("pay")}, company=OFFICE).start({"amount": 640})
    for decision in ("approved", "retry", "retry"):
        talk.resume("pay", decision, by="bob", role="manager")
        talk.failed("pay", talk.run.visits["pay"], unknown=True)
    assert parked(talk).in_doubt
    branches = (parallel("fork"), gate("a", **GUARD), PAY, gate("c"), parallel("join"), end())
    forked = process(*branches, ways="fork -> a -> pay -> join -> end\nfork -> c -> join")
    talk = Conversation(forked, {"pay": connector("pay")}, company=OFFICE).start({"amount": 640})
    for step in ("a", "c"):
        talk.resume(step, by="bob", role="manager")
    talk.failed("pay", unknown=True)
    assert parked(talk).policy.four_eyes == ("starter",)


def test_the_question_says_what_may_have_been_sent_where_to_and_how_much() -> None:
    talk = lost(body_map={"amount": "amount", "iban": "to"})
    assert parked(talk).question == (
        "POST https://api.test/pay may have been sent, and nobody saw the answer. It says amount: 640; iban: DE02. "
        "Look there whether it has happened before you decide."
    )
    whole = parked(lost()).question
    assert whole is not None
    assert "inputs.amount: 640; inputs.to: DE02" in whole
    bare = parked(lost(method="DELETE")).question
    assert bare is not None
    assert "It says" not in bare


@pytest.mark.parametrize("bound", [{"pay": connector("pay", 2, path="/elsewhere")}, {}])
def test_the_question_says_what_may_have_been_sent_whatever_becomes_of_the_connector(bound: dict[str, Any]) -> None:
    talk = lost()
    asked = parked(talk)
    talk.connectors.clear()
    talk.connectors.update(bound)
    talk.resume("pay", "retry", by="cyd", role="manager")
    assert parked(talk).digest != asked.digest
    assert (parked(talk).question, parked(talk).in_doubt) == (asked.question, True)


def test_the_question_of_a_second_loss_says_where_the_second_call_went() -> None:
    talk = lost()
    talk.connectors["pay"] = connector("pay", 2, path="/elsewhere")
    for _ in range(2):
        talk.resume("pay", "retry", by="cyd", role="manager")
    talk.failed("pay", talk.run.visits["pay"], unknown=True)
    question = parked(talk).question
    assert question is not None
    assert question.startswith("POST https://api.test/elsewhere may have been sent")


def test_a_value_that_is_too_long_to_be_told_is_counted_and_never_cut() -> None:
    talk = guarded(body_map={"amount": "amount", "note": "note"}).start({"amount": 640, "note": "x" * 500})
    talk.resume("a", by="bob", role="manager")
    talk.failed("pay", unknown=True)
    question = parked(talk).question
    assert question is not None
    assert "It says amount: 640; 1 more in the call." in question


@pytest.mark.parametrize(
    ("policy", "live", "rule"),
    [
        ({}, True, "never"),
        ({}, False, "allowed"),
        ({"tier": "critical"}, False, "never"),
        ({"batch": "never"}, False, "never"),
        ({"batch": "allowed"}, True, "allowed"),
    ],
)
def test_a_gate_takes_no_verdict_of_a_batch_where_its_decision_weighs_too_much(
    policy: dict[str, Any],
    live: bool,
    rule: str,
) -> None:
    talk = guarded(policy, reversible=live).start({"amount": 640})
    batch = Batch("b-1", 3)
    assert talk.run.parked[0].batch_rule(talk.gate("a").effects) == rule
    talk.resume("a", by="bob", role="manager", batch=batch)
    if rule == "never":
        assert talk.refusal.code == "batch_refused"
        talk.resume("a", by="bob", role="manager")
        batch = None  # type: ignore[assignment]
    visit = talk.run.decided("a")
    assert visit is not None
    assert visit.verdict is not None
    assert visit.verdict.batch == batch
