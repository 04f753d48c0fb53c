"""Proposals: shown at a gate, part of its history, and never in the way of a verdict."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from actors.core.commands.verdicts import PROPOSALS_MAX, PROPOSED_MAX
from actors.core.messages import Cancel, Resume, Retry, Start, attribution
from tests.conversations import DOWN, MORNING, Conversation, fold
from tests.processes import connector, end, gate, parallel, process, task

SIGNOFF = process(gate("signoff"), end(), ways="signoff -> end")


def parked() -> Conversation:
    return Conversation(SIGNOFF).start()


def test_a_proposal_is_shown_at_the_gate_and_decides_nothing() -> None:
    talk = parked()
    before = talk.gate("signoff")
    talk.propose("signoff", comment="meets the criteria", confidence=0.86, form={"units": 3})
    assert talk.events == ("proposal_made",)
    (made,) = talk.gate("signoff").proposals
    assert (made.by, made.by_kind, made.decision) == ("robot", "agent", "approved")
    assert (made.comment, made.confidence, made.form) == ("meets the criteria", 0.86, {"units": 3})
    assert talk.parked == ["signoff"]
    assert talk.gate("signoff").digest == before.digest
    assert talk.gate("signoff").opened_at == before.opened_at


def test_a_run_folds_to_the_same_with_its_proposals() -> None:
    talk = parked()
    talk.propose("signoff")
    talk.propose("signoff", "denied", by="eve", by_kind="person")
    assert fold(talk.history) == talk.run


def test_a_newer_proposal_replaces_the_earlier_one_of_the_same_proposer() -> None:
    talk = parked()
    talk.propose("signoff", "approved")
    talk.propose("signoff", "denied", by="other")
    talk.propose("signoff", "denied")
    assert [(one.by, one.decision) for one in talk.gate("signoff").proposals] == [
        ("other", "denied"),
        ("robot", "denied"),
    ]


@pytest.mark.parametrize("seen", [{"digest": True}, {"versions": True}, {}])
def test_a_verdict_on_what_was_seen_before_proposals_counts(seen: dict[str, Any]) -> None:
    talk = parked()
    known: Any = {"digest": talk.gate("signoff").digest} if "digest" in seen else {}
    if "versions" in seen:
        known = {"versions": {talk.run.version}}
    talk.propose("signoff")
    talk.propose("signoff", by="other")
    talk.resume("signoff", **known)
    assert "verdict_given" in talk.events


def test_a_tag_from_between_proposals_counts_and_an_earlier_one_does_not() -> None:
    talk = parked()
    begun = talk.run.version
    talk.propose("signoff")
    between = talk.run.version
    talk.propose("signoff")
    talk.resume("signoff", versions={begun - 1})
    assert talk.refusal.code == "stale"
    talk.resume("signoff", versions={between})
    assert "verdict_given" in talk.events


def test_proposals_excuse_no_tag_from_before_what_else_has_happened() -> None:
    template = process(
        parallel("split"), gate("one"), gate("two"), parallel("join"), end(),
        ways="split -> one -> join -> end\nsplit -> two -> join",
    )  # fmt: skip
    talk = Conversation(template).start()
    talk.propose("one")
    seen = talk.run.version
    talk.resume("two")
    talk.propose("one")
    talk.resume("one", versions={seen})
    assert talk.refusal.code == "stale"
    talk.resume("one", versions={talk.run.version - 1})
    assert "verdict_given" in talk.events


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"gate": "Sign-off"}, "gate_mismatch"),
        ({"decision": "perhaps"}, "decision_not_allowed"),
        ({"digest": "sha256:other"}, "stale"),
        ({"role": "viewer"}, "forbidden"),
        ({"role": "nobody"}, "forbidden"),
        ({"by_kind": "deadline"}, "forbidden"),
    ],
)
def test_a_proposal_is_refused_as_a_verdict_is(said: dict[str, Any], code: str) -> None:
    talk = parked()
    before = talk.run
    talk.propose(**{"gate": "signoff", **said})
    assert talk.refusal.code == code
    assert talk.run == before


def test_nothing_is_proposed_to_a_run_that_is_not_parked() -> None:
    talk = parked()
    talk.resume("signoff")
    talk.propose("signoff")
    assert talk.refusal.code == "not_parked"
    assert talk.refusal.more["decided"]["by_kind"] == "person"


def test_a_gate_takes_a_bounded_number_of_proposers() -> None:
    talk = parked()
    for number in range(PROPOSALS_MAX):
        talk.propose("signoff", by=f"robot {number}")
    talk.propose("signoff", by="one more")
    assert (talk.refusal.code, talk.refusal.more["limit"]) == ("quota_exceeded", PROPOSALS_MAX)
    talk.propose("signoff", "denied", by="robot 0")
    assert len(talk.gate("signoff").proposals) == PROPOSALS_MAX


def test_a_gate_takes_a_bounded_number_of_proposals() -> None:
    talk = parked()
    for _ in range(PROPOSED_MAX):
        talk.propose("signoff")
    talk.propose("signoff")
    assert (talk.refusal.code, talk.refusal.more["limit"]) == ("quota_exceeded", PROPOSED_MAX)


def test_a_gate_that_opens_again_keeps_its_proposals() -> None:
    template = process(gate("signoff"), task("pay", "medium", "irreversible"), end(), ways="signoff -> pay -> end")
    talk = Conversation(template, {"pay": connector("pay")}).start({"amount": 12})
    talk.propose("signoff")
    talk.connectors["pay"] = connector("pay", version=2)
    talk.resume("signoff")
    assert talk.refusal.code == "stale"
    assert [one.by for one in talk.gate("signoff").proposals] == ["robot"]


# ------------------------------------------------------------------------------- who it is by


def test_what_the_service_does_by_itself_is_by_the_autopilot() -> None:
    talk = parked()
    kinds = {event.type: attribution(event) for event in talk.history}
    assert (kinds["run_started"].by, kinds["run_started"].by_kind) == ("ann", "person")
    for name in ("step_entered", "gate_opened"):
        assert (kinds[name].by, kinds[name].by_kind, kinds[name].on_behalf_of) == ("autopilot", "autopilot", None)


def test_the_kind_of_a_person_is_not_stored_and_that_of_a_machine_is() -> None:
    talk = Conversation(SIGNOFF)
    told: Any = {"run_id": "run", "company_id": "acme", "inputs": {}, "at": MORNING}
    talk.say(Start(by="ann", **told))
    assert talk.history[0].by_kind is UNSET
    talk = Conversation(SIGNOFF)
    talk.say(Start(by="nightly", by_kind="service", **told))
    assert talk.history[0].by_kind == "service"
    assert talk.run.created_by_kind == "service"
    talk.say(Cancel(by="nightly", by_kind="service", at=MORNING))
    assert attribution(talk.history[-1]).by_kind == "service"


def test_who_had_a_failed_step_tried_again_is_named_with_its_kind() -> None:
    template = process(task("look", effect="read"), end(), ways="look -> end")
    talk = Conversation(template, {"look": connector("look")}).start()
    talk.failed("look", error=DOWN)
    talk.say(Retry(by="nightly", by_kind="service", at=MORNING))
    (entered,) = [event for event in talk.done.events if event.type == "step_entered"]
    assert (attribution(entered).by, attribution(entered).by_kind) == ("nightly", "service")


def test_a_verdict_and_a_visit_say_what_kind_decided() -> None:
    talk = parked()
    talk.say(Resume(gate="signoff", decision="approved", by="bob", role="owner", at=talk.at))
    visit = talk.visit("signoff")
    assert (visit.resolved_by, visit.resolved_by_kind) == ("bob", "person")
    assert visit.verdict is not None
    assert (visit.verdict.by_kind, visit.verdict.on_behalf_of) == ("person", None)


def test_somebody_on_whose_behalf_it_was_is_named() -> None:
    event = parked().history[0]
    assert attribution(replace(event, on_behalf_of="eve")).on_behalf_of == "eve"
