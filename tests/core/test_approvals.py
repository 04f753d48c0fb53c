"""What an approval covers: what a gate shows, what changes under it, and what may be sent after
it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from actors.core.approvals import CHANGED, FAILED_ONCE, OUTCOME_UNKNOWN, as_it_stands, changed_gates, tag, unchanged
from actors.core.calls import PlannedCall
from actors.core.template import DryRun, Template
from tests.conversations import LOST, NOT_SENT, RECONNECTED, Conversation
from tests.processes import ALWAYS, choice, connector, end, gate, parallel, process, task

PAY, TELL = task("pay", "medium", "irreversible"), task("tell", "medium", "irreversible")
PLAIN = process(
    gate("signoff"), task("look"), PAY, TELL, task("refuse", effect="irreversible"), end(),
    ways="signoff -> look -> pay -> tell -> end\nsignoff -[denied]-> refuse -> end",
)  # fmt: skip
SHORT = process(gate("signoff"), PAY, end(), ways="signoff -> pay -> end")


def planned(talk: Conversation, step_id: str = "signoff", visit: int = 1) -> dict[str, PlannedCall]:
    """What a gate shows that its decisions can lead to, by step."""
    return {one.step_id: one for one in talk.gate(step_id, visit).effects or ()}


def live(template: Template, *tools: str, **how: Any) -> Conversation:
    return Conversation(template, {tool: connector(tool, **how) for tool in tools}).start({"amount": 12})


# ---------------------------------------------------------------------------------- what is shown


def test_a_plain_gate_shows_every_irreversible_call_that_its_decisions_lead_to() -> None:
    found = planned(live(PLAIN, "pay", "tell"))
    assert {step: one.decisions for step, one in found.items()} == {
        "pay": ("approved",),
        "tell": ("approved",),
        "refuse": ("denied",),
    }
    assert (found["pay"].mode, found["pay"].origin, found["pay"].method) == ("live", "https://api.test", "POST")
    assert (found["pay"].path, found["pay"].connector_version) == ("/pay", 1)
    assert (found["refuse"].mode, found["refuse"].connector_version) == ("shadow", None)


def test_what_lies_behind_the_next_human_is_shown_there() -> None:
    template = process(
        gate("first"), gate("second"), PAY, end(),
        ways="first -> second -> pay -> end",
    )  # fmt: skip
    talk = live(template, "pay")
    assert planned(talk, "first") == {}
    talk.resume("first")
    assert list(planned(talk, "second")) == ["pay"]


def test_every_branch_that_may_be_taken_counts_and_a_loop_ends_where_it_began() -> None:
    template = process(
        gate("signoff"), choice("size"), PAY, parallel("fork"), TELL, task("look"), parallel("join"),
        choice("again"), end(),
        ways=(
            "signoff -> size -[small]-> pay -> again -[on]-> end\nsize -[large]-> fork -> tell -> join -> again\n"
            "fork -> look -> join\nagain -[back]-> signoff"
        ),
        when={"small": ALWAYS, "on": ALWAYS},
    )  # fmt: skip
    assert set(planned(live(template, "pay"))) == {"pay", "tell"}


def test_a_human_choice_shows_what_each_branch_leads_to() -> None:
    template = process(
        choice("which", "high"), PAY, TELL, end(), ways="which -[one]-> pay -> end\nwhich -[both]-> tell -> pay"
    )
    found = planned(live(template, "pay", "tell"), "which")
    assert {step: one.decisions for step, one in found.items()} == {"pay": ("one", "both"), "tell": ("both",)}


def test_where_every_step_waits_a_gate_shows_its_own_call_alone() -> None:
    template = process(PAY, gate("signoff"), TELL, end(), ways="pay -> signoff -> tell -> end")
    talk = Conversation(template, {"pay": connector("pay")}).start(auto=False)
    assert list(planned(talk, "pay")) == ["pay"]
    talk.resume("pay")
    talk.returned("pay")
    assert planned(talk) == {}


@pytest.mark.parametrize(
    ("how", "known"),
    [
        ({"body_map": {"sum": "inputs.amount"}}, True),
        ({"query_map": {"sum": "amount"}}, True),
        ({"body_map": {"sum": "begin.n"}}, True),
        ({"body_map": {"sum": "facts.begin.n"}}, True),
        ({"body_map": {"sum": "facts.look.n"}}, False),
        ({"body_map": {"sum": "signoff.comment"}}, False),
        ({"body_map": {"sum": "inputs.nowhere"}}, False),
        ({"method": "GET"}, True),
        ({}, False),
    ],
    ids=str,
)
def test_the_call_itself_is_shown_where_nothing_can_change_it_any_more(how: dict[str, Any], known: bool) -> None:
    begin, look = task("begin"), task("look", dry_run=(DryRun({"n": 4}),))
    template = process(begin, gate("signoff"), look, PAY, end(), ways="begin -> signoff -> look -> pay -> end")
    talk = Conversation(template, {"begin": connector("begin"), "pay": connector("pay", **how)})
    talk.start({"amount": 12}).returned("begin", output={"n": 3})
    shown = planned(talk)["pay"].request
    assert (shown is not None) == known
    talk.resume("signoff")
    assert shown in (None, talk.visit("pay").request)
    assert talk.calls == (("run:pay:1",) if how.get("body_map") != {"sum": "inputs.nowhere"} else ())


# ---------------------------------------------------------------------- what changes under a gate


def test_a_connector_behind_a_gate_that_changes_makes_a_bare_verdict_stale_and_the_gate_shows_it() -> None:
    talk = live(SHORT, "pay")
    talk.connectors["pay"] = connector("pay", 2, path="/moved")
    talk.resume("signoff")
    assert (talk.refusal.code, talk.events) == ("stale", ("gate_opened",))
    assert planned(talk)["pay"].path == "/moved"
    talk.resume("signoff")
    assert talk.calls == ("run:pay:1",)


def test_a_connector_that_no_decision_leads_to_leaves_a_gate_as_it_was() -> None:
    talk = live(PLAIN, "pay", "tell")
    talk.connectors["look"] = connector("look")
    talk.resume("signoff")
    assert talk.calls == ("run:look:1",)


def test_who_reads_sees_what_stands_and_may_decide_on_that() -> None:
    talk = live(SHORT, "pay")
    talk.connectors["pay"] = connector("pay", 2)
    gates = changed_gates(talk.run, SHORT, talk.connectors)
    read, stands = as_it_stands(talk.run, gates), tag(talk.run, gates)
    assert read.version == talk.run.version
    assert stands.startswith(f"{talk.run.version}-")
    gate_now = read.parked[0].gate
    assert gate_now is not None
    assert gate_now.effects is not None
    assert gate_now.effects[0].connector_version == 2
    for seen in ({"digest": gate_now.digest}, {"versions": {stands}}):
        again = dataclasses.replace(talk, history=[*talk.history])
        again.resume("signoff", **seen)
        assert again.events == ("gate_opened", "verdict_given", "step_entered", "step_cleared")
        assert again.gate("signoff").digest == gate_now.digest
    talk.resume("signoff", versions={str(talk.run.version)})
    assert talk.refusal.code == "stale"


def test_of_parallel_gates_only_what_changed_is_shown_otherwise() -> None:
    template = process(
        parallel("fork"), gate("signoff"), PAY, gate("legal"), task("look"), parallel("join"), end(),
        ways="fork -> signoff -> pay -> join -> end\nfork -> legal -> look -> join",
    )  # fmt: skip
    talk = live(template, "pay")
    assert unchanged(talk.run, talk.connectors)
    assert as_it_stands(talk.run, ()) is talk.run
    talk.connectors["pay"] = connector("pay", 2)
    ((visit, _),) = gates = changed_gates(talk.run, template, talk.connectors)
    assert visit.step_id == "signoff"
    read = as_it_stands(talk.run, gates)
    assert [one.gate == was.gate for one, was in zip(read.parked, talk.run.parked, strict=True)] == [False, True]


def test_a_gate_that_was_opened_before_gates_told_of_effects_is_worked_out_anew() -> None:
    talk = live(SHORT, "pay")
    visit = talk.run.parked[0]
    assert visit.gate is not None
    old = replace(visit, gate=replace(visit.gate, effects=None, digest="sha256:old"))
    talk.state = replace(talk.run, open=(old,))
    assert not unchanged(talk.run, talk.connectors)
    talk.resume("signoff")
    assert talk.refusal.code == "stale"
    talk.resume("signoff")
    assert talk.calls == ("run:pay:1",)


def test_such_a_gate_stands_as_it_opened_where_no_decision_leads_to_an_irreversible_call() -> None:
    template = process(gate("signoff"), task("look"), end(), ways="signoff -> look -> end")
    talk = live(template)
    visit = talk.run.parked[0]
    assert visit.gate is not None
    talk.state = replace(talk.run, open=(replace(visit, gate=replace(visit.gate, effects=None, digest="sha256:old")),))
    assert changed_gates(talk.run, template, talk.connectors) == ()
    talk.resume("signoff", digest="sha256:old")
    assert talk.run.status == "completed"


# ----------------------------------------------------------------- what changes after an approval


def approved(**how: Any) -> Conversation:
    """A run whose sign-off was given, and that waits for a read before it pays."""
    talk = live(PLAIN, "look", "pay", **how)
    talk.resume("signoff")
    assert talk.calls == ("run:look:1",)
    return talk


def test_a_connector_that_changes_after_the_approval_parks_its_step_in_place_of_sending() -> None:
    talk = approved()
    talk.connectors["pay"] = connector("pay", 2, path="/moved")
    talk.returned("look")
    assert (talk.parked, talk.calls) == (["pay"], ())
    assert talk.gate("pay").reason == CHANGED
    assert talk.gate("pay").decisions == ("approved", "denied")
    request = talk.run.parked[0].request
    assert request is not None
    assert request.url == "https://api.test/moved"
    talk.resume("pay", digest=talk.gate("pay").digest)
    assert talk.calls == ("run:pay:1",)


def test_a_shadow_that_goes_live_after_the_approval_parks_and_so_does_what_is_no_longer_sent() -> None:
    for before, after in ((False, True), (True, False)):
        talk = approved()
        talk = Conversation(PLAIN, {"look": connector("look"), "pay": connector("pay", reversible=before)}).start()
        talk.resume("signoff")
        talk.connectors["pay"] = connector("pay", 2, reversible=after)
        talk.returned("look")
        assert talk.gate("pay").reason == CHANGED


def test_a_shadow_that_stays_one_goes_on() -> None:
    talk = Conversation(PLAIN, {"look": connector("look")}).start()
    talk.resume("signoff")
    talk.connectors["pay"] = connector("pay", 2, reversible=False)
    talk.returned("look")
    assert talk.run.status == "completed"


def test_a_call_that_was_shown_with_its_content_is_sent_with_that_content_or_parks() -> None:
    talk = approved(body_map={"sum": "inputs.amount"})
    talk.state = replace(talk.run, inputs={"amount": 13})
    talk.returned("look")
    assert talk.gate("pay").reason == CHANGED


def test_an_approval_from_before_gates_told_of_effects_covers_no_live_call() -> None:
    talk = approved()
    talk.state = replace(talk.run, approved=())
    talk.returned("look")
    assert talk.gate("pay").reason == CHANGED


def test_a_change_that_is_found_only_when_the_call_is_made_parks_its_step() -> None:
    talk = live(SHORT, "pay")
    talk.resume("signoff")
    talk.connectors["pay"] = connector("pay", 2)
    talk.failed("pay", error=RECONNECTED)
    assert (talk.parked, talk.gate("pay", 2).reason) == (["pay"], CHANGED)
    assert talk.steps()[-1] == "pay:1 failed"
    talk.resume("pay")
    assert talk.calls == ("run:pay:2",)


def test_a_change_under_a_call_that_may_be_out_already_is_no_reason_to_send_it_again() -> None:
    talk = live(SHORT, "pay")
    talk.resume("signoff")
    talk.failed("pay", error=replace(RECONNECTED, maybe_sent=True))
    assert talk.run.status == "failed"
    talk.retry()
    assert talk.gate("pay", 2).reason == FAILED_ONCE


# ---------------------------------------------------------------------------------- doubt is kept


def test_a_call_that_certainly_did_not_leave_is_tried_again_as_it_was_approved() -> None:
    talk = live(SHORT, "pay")
    talk.resume("signoff")
    talk.failed("pay", error=NOT_SENT)
    talk.retry()
    assert talk.calls == ("run:pay:2",)


def test_a_call_that_did_not_leave_is_not_tried_again_by_another_connector_than_was_approved() -> None:
    talk = live(SHORT, "pay")
    talk.resume("signoff")
    talk.failed("pay", error=NOT_SENT)
    talk.connectors["pay"] = connector("pay", 2)
    talk.retry()
    assert (talk.parked, talk.gate("pay", 2).reason) == (["pay"], CHANGED)


def test_an_irreversible_step_that_failed_after_it_may_have_been_sent_parks_on_the_way_back() -> None:
    talk = live(SHORT, "pay")
    talk.resume("signoff")
    talk.failed("pay")
    talk.retry()
    assert (talk.run.status, talk.calls) == ("parked", ())
    assert (talk.gate("pay", 2).reason, talk.gate("pay", 2).decisions) == (FAILED_ONCE, ("retry", "done", "denied"))
    talk.resume("pay", "retry")
    assert talk.calls == ("run:pay:3",)
    talk.returned("pay", 3)
    assert talk.run.status == "completed"


def unknown() -> Conversation:
    """A run whose payment may have happened, with a connector that has changed since."""
    talk = live(SHORT, "pay")
    talk.resume("signoff")
    talk.failed("pay", unknown=True)
    talk.connectors["pay"] = connector("pay", 2, path="/moved")
    return talk


def test_to_send_a_doubtful_call_to_another_address_takes_a_human_who_has_seen_that_address() -> None:
    talk = unknown()
    talk.resume("pay", "retry", digest=talk.gate("pay", 2).digest)
    assert (talk.refusal.code, talk.events, talk.calls) == ("stale", ("gate_opened",), ())
    request = talk.run.parked[0].request
    assert request is not None
    assert (request.url, talk.gate("pay", 2).reason) == ("https://api.test/moved", OUTCOME_UNKNOWN)
    talk.resume("pay", "retry", digest=talk.gate("pay", 2).digest)
    assert talk.calls == ("run:pay:3",)


def test_a_doubt_outlives_an_attempt_that_did_not_leave() -> None:
    talk = unknown()
    talk.resume("pay", "retry")
    talk.resume("pay", "retry")
    talk.failed("pay", 3, error=NOT_SENT)
    talk.retry()
    assert (talk.parked, talk.calls) == (["pay"], ())
    assert talk.gate("pay", 4).reason == OUTCOME_UNKNOWN


def test_a_doubtful_call_whose_connector_is_gone_is_sent_nowhere() -> None:
    talk = unknown()
    del talk.connectors["pay"]
    talk.resume("pay", "retry")
    talk.resume("pay", "retry")
    assert (talk.run.status, talk.calls) == ("completed", ())
    assert talk.visit("pay", 3).resolved_by == "bob"


def test_a_doubt_that_a_human_has_settled_is_over() -> None:
    template = process(
        gate("signoff"), PAY, choice("again", "high"), end(),
        ways="signoff -> pay -> again -[on]-> end\nagain -[back]-> pay",
    )  # fmt: skip
    talk = live(template, "pay")
    talk.resume("signoff")
    talk.failed("pay", error=LOST, unknown=True)
    talk.resume("pay", "done")
    talk.resume("again", "back")
    assert talk.calls == ("run:pay:3",)
