"""Inputs that are missing: the first step that needs them parks, and a verdict may bring them."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.messages import GateOpened, VerdictGiven
from daemon.templates.loading import CatalogEntry, load_text
from tests.conversations import Conversation
from tests.journeys import FIRST
from tests.processes import above, choice, connector, end, gate, parallel, process, task
from tests.templates.test_shipped import ENTRIES

LOOK = process(task("look", needs=("inputs.claim.amount", "policy")), end(), ways="look -> end")
PAY = process(
    gate("signoff"), task("pay", "medium", "irreversible", needs=("amount",)), end(), ways="signoff -> pay -> end"
)
SIDES = process(
    parallel("fork"), task("a", needs=("amount",)), task("b", needs=("amount",)), parallel("join"), end(),
    ways="fork -> a -> join -> end\nfork -> b -> join",
)  # fmt: skip
SIZE = process(
    choice("size"), end("large", "large"), end("small", "small"), ways="size -[big]-> large\nsize -[little]-> small",
    when={"big": above("amount", 10)},
)  # fmt: skip
CHECKED = load_text(
    """
    vertical: checked
    version: 1
    title: Checked
    description: Inputs have a form.
    inputs_schema:
      type: object
      required: [claim, note]
      properties:
        note: {type: string}
        claim: {type: object, required: [amount], properties: {amount: {type: number, minimum: 0}}}
    example: {claim: {amount: 3}, note: n}
    steps:
      - {id: look, kind: task, label: Look, tool: look, effect: read, needs: [inputs.claim, inputs.note], next: end}
      - {id: end, kind: end, label: End, outcome: done}
    """,
    "checked.yaml",
).template


def errors(talk: Conversation) -> list[str]:
    """The pointers at which the last verdict was refused."""
    assert talk.refusal.code == "invalid"
    return [error["pointer"] for error in talk.refusal.more["errors"]]


def test_a_step_without_its_inputs_parks_and_says_which_all_at_once() -> None:
    talk = Conversation(LOOK).start()
    assert talk.gate("look").reason == "the input claim.amount is missing and the input policy is missing"
    assert talk.gate("look").missing == ("/claim/amount", "/policy")
    assert talk.gate("look").decisions == ("approved", "denied")


def test_a_verdict_brings_what_is_missing_and_the_run_goes_on_with_it() -> None:
    talk = Conversation(LOOK).start({"claim": {"kind": "water"}})
    brought = {"claim": {"amount": 3}, "policy": "P-1"}
    talk.resume("look", inputs=brought)
    assert talk.run.status == "completed"
    assert talk.run.inputs == {"claim": {"kind": "water", "amount": 3}, "policy": "P-1"}
    verdict = talk.done.events[0]
    assert isinstance(verdict, VerdictGiven)
    assert verdict.inputs == brought
    kept = talk.visit("look").verdict
    assert kept is not None
    assert (kept.by, kept.inputs) == ("bob", brought)


@pytest.mark.parametrize(
    ("given", "pointers"),
    [
        ({"policy": 1, "more": 2}, ["/inputs/more"]),
        ({"claim": 5}, ["/inputs/claim"]),
        ({"claim": {"amount": 1, "kind": "fire"}}, ["/inputs/claim/kind"]),
        ({"a/b~c": 1, "x": {}}, ["/inputs/a~1b~0c", "/inputs/x"]),
    ],
)
def test_what_is_not_missing_is_refused_and_changes_nothing(given: dict[str, Any], pointers: list[str]) -> None:
    talk = Conversation(LOOK).start()
    version = talk.run.version
    talk.resume("look", inputs=given)
    assert errors(talk) == pointers
    assert (talk.run.version, talk.run.inputs) == (version, {})


def test_a_fact_is_never_overwritten_by_what_is_brought() -> None:
    talk = Conversation(LOOK).start({"claim": "none", "policy": "P-1"})
    talk.resume("look", inputs={"claim": {"amount": 3}})
    assert errors(talk) == ["/inputs/claim"]


def test_what_is_brought_is_held_against_the_schema_all_of_it_at_once() -> None:
    talk = Conversation(CHECKED).start()
    assert talk.gate("look").missing == ("/claim/amount", "/note")
    talk.resume("look", inputs={"claim": {"amount": -1}, "note": 7})
    assert sorted(errors(talk)) == ["/inputs/claim/amount", "/inputs/note"]
    talk.resume("look", "denied", inputs={"note": "not ours"})
    assert talk.run.inputs == {"note": "not ours"}
    assert talk.run.status == "completed"


def test_at_a_gate_where_nothing_is_missing_no_inputs_are_taken() -> None:
    talk = Conversation(PAY).start()
    talk.resume("signoff", inputs={"amount": 3})
    assert errors(talk) == ["/inputs/amount"]
    talk.resume("signoff")
    assert talk.parked == ["pay"]


def test_in_shadow_a_bare_approval_runs_the_step_with_what_there_is() -> None:
    bound = connector("look", reversible=False, body_map={"p": "policy", "to": "name"})
    talk = Conversation(LOOK, {"look": bound}).start({"name": "Ann"})
    talk.resume("look")
    assert talk.run.status == "completed"
    request = talk.visit("look").request
    assert request is not None
    assert request.body == {"to": "Ann"}


@pytest.mark.parametrize("how", [{}, {"body_map": {"p": "policy", "c": "claim.amount"}}])
def test_a_live_call_is_not_sent_before_all_is_there_that_its_step_needs(how: dict[str, Any]) -> None:
    talk = Conversation(LOOK, {"look": connector("look", **how)}).start()
    talk.resume("look")
    assert errors(talk) == ["/inputs/claim/amount", "/inputs/policy"]
    talk.resume("look", inputs={"policy": "P-1"})
    assert errors(talk) == ["/inputs/claim/amount"]
    assert talk.parked == ["look"]
    talk.resume("look", inputs={"policy": "P-1", "claim": {"amount": 3}})
    assert talk.calls == ("run:look:1",)


def test_what_a_connector_maps_is_needed_as_well() -> None:
    talk = Conversation(
        process(task("look"), end(), ways="look -> end"),
        {"look": connector("look", body_map={"to": "iban"}, query_map={"n": "inputs.name"})},
    ).start()
    assert talk.gate("look").missing == ("/iban", "/name")
    talk.resume("look", inputs={"iban": "DE1", "name": "Ann"})
    sent = talk.visit("look").request
    assert sent is not None
    assert (sent.body, talk.calls) == ({"to": "DE1"}, ("run:look:1",))


def test_an_irreversible_call_is_shown_as_it_is_before_it_is_sent() -> None:
    talk = Conversation(PAY, {"pay": connector("pay", body_map={"sum": "amount"})}).start()
    talk.resume("signoff")
    assert talk.visit("pay").request is None
    talk.resume("pay", inputs={"amount": 3})
    assert talk.run.resting
    assert talk.steps() == ["signoff:1 done", "pay:1 cancelled"]
    shown = talk.done.events[-1]
    assert isinstance(shown, GateOpened)
    assert (shown.visit, shown.reason) == (2, "what was missing is there now")
    assert len(shown.missing) == 0
    assert shown.request is not None
    assert shown.request.body == {"sum": 3}
    talk.resume("pay", digest=shown.digest)
    assert talk.calls == ("run:pay:2",)


def test_a_fact_that_a_call_lacks_can_be_brought_by_nobody_and_fails_the_step() -> None:
    talk = Conversation(PAY, {"pay": connector("pay", body_map={"to": "facts.iban"})}).start({"amount": 3})
    talk.resume("signoff")
    assert talk.run.error is not None
    assert (talk.run.status, talk.run.error.code) == ("failed", "missing_key")


def test_an_irreversible_call_in_shadow_is_not_asked_about_twice() -> None:
    talk = Conversation(PAY).start()
    talk.resume("signoff")
    talk.resume("pay", inputs={"amount": 3})
    assert talk.run.status == "completed"


def test_a_verdict_that_was_seen_before_inputs_were_brought_is_stale() -> None:
    talk = Conversation(SIDES).start()
    assert talk.parked == ["a", "b"]
    before = talk.gate("b").digest
    talk.resume("a", inputs={"amount": 3})
    assert (talk.gate("b").reason, len(talk.gate("b").missing)) == ("what was missing is there now", 0)
    talk.resume("b", digest=before)
    assert talk.refusal.code == "stale"
    talk.resume("b", digest=talk.gate("b").digest)
    assert talk.run.status == "completed"


def test_a_gate_that_waits_for_another_reason_too_keeps_that_one() -> None:
    talk = Conversation(SIDES).start(auto=False)
    talk.resume("fork")
    assert talk.gate("b").reason == "every step of this run waits for a human, and the input amount is missing"
    talk.resume("a", inputs={"amount": 3})
    assert talk.gate("b").reason == "every step of this run waits for a human"


def test_a_gateway_names_what_its_conditions_lack_and_a_human_takes_the_branch() -> None:
    talk = Conversation(SIZE).start()
    assert (talk.gate("size").missing, talk.gate("size").reason) == (("/amount",), "the input amount is missing")
    talk.resume("size", "big", inputs={"amount": 12})
    assert talk.run.inputs == {"amount": 12}
    assert talk.run.ended is not None
    assert talk.run.ended.outcome == "large"


def test_a_gate_whose_connector_asks_for_something_else_meanwhile_opens_anew() -> None:
    talk = Conversation(LOOK, {"look": connector("look", body_map={"to": "iban"})})
    talk.start({"policy": 1, "claim": {"amount": 1}})
    assert talk.gate("look").missing == ("/iban",)
    talk.connectors["look"] = connector("look", 2, body_map={"to": "bic"})
    talk.resume("look", inputs={"iban": "DE1"})
    assert talk.refusal.code == "stale"
    assert (talk.gate("look").missing, talk.gate("look").reason) == (("/bic",), "the input bic is missing")
    talk.resume("look", inputs={"bic": "B1"})
    assert talk.calls == ("run:look:1",)


def test_where_nobody_knows_what_came_of_a_call_no_inputs_are_asked_for() -> None:
    talk = Conversation(PAY, {"pay": connector("pay")}).start({"amount": 3})
    talk.resume("signoff")
    talk.failed("pay", unknown=True)
    talk.resume("pay", "done", inputs={"iban": "DE1"})
    assert errors(talk) == ["/inputs/iban"]


@pytest.mark.parametrize("entry", [ENTRIES[vertical] for vertical in FIRST], ids=FIRST)
@pytest.mark.parametrize("bring", [True, False], ids=["brought", "bare"])
def test_each_process_of_the_first_library_starts_without_inputs_and_comes_to_an_end(
    entry: CatalogEntry, *, bring: bool
) -> None:
    example, vertical = entry.example, entry.template.vertical
    talk = Conversation(entry.template).start({})
    asked: set[str] = set()
    for _ in range(60):
        if talk.run.ended is not None:
            break
        visit = talk.run.parked[0]
        opened = talk.gate(visit.step_id, visit.visit)
        asked |= set(opened.missing)
        inputs = {pointer[1:]: example[pointer[1:]] for pointer in opened.missing} if bring else None
        talk.resume(visit.step_id, opened.decisions[0], inputs=inputs or None)
    assert talk.run.status == "completed"
    if vertical in ("prior-auth", "aml", "collections", "chargeback-representment"):
        assert not asked
    else:
        assert {pointer[1:] for pointer in asked} <= {*entry.inputs_schema["required"]} != set()
