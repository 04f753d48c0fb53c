"""Where a run goes: gates and verdicts, gateways, branches, loops, and what was seen when it was
decided.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from actors.core import decider
from actors.core.approvals import changed_gates
from actors.core.messages import Cancel, Rejected, Resume, Retry
from actors.core.people import ByKind
from actors.core.template import DryRun, Template
from tests.conversations import MORNING, Conversation
from tests.processes import (
    MATCHED,
    UNCLEAR,
    above,
    choice,
    connector,
    end,
    gate,
    parallel,
    process,
    task,
)

SIGNOFF = process(
    task("check"), gate("signoff", role="manager"), task("pay", effect="irreversible"), end(outcome="paid"),
    ways="check -> signoff -> pay -> end",
)  # fmt: skip
DENIABLE = process(gate("signoff"), end(), end("no", "refused"), ways="signoff -> end\nsignoff -[denied]-> no")
LOOP = process(task("draft"), gate("review"), end(), ways="draft -> review -> end\nreview -[denied]-> draft")
PAY = process(task("pay", "high", "irreversible"), end(), ways="pay -> end")
LOOK = process(task("look", "high"), end(), ways="look -> end")
BLOCK = process(
    parallel("fork"), gate("legal"), gate("money"), parallel("join"), end(),
    ways="fork -> legal -> join -> end\nfork -> money -> join",
)  # fmt: skip


# ----------------------------------------------------------------------------- start, park, go on


@pytest.mark.parametrize("decision", ["approved", "denied"])
def test_behind_a_hit_the_end_waits_and_is_reached_by_either_decision(decision: str) -> None:
    screen = task("screen", dry_run=(DryRun({"match": "exact"}),), signal_when=MATCHED)
    talk = Conversation(process(screen, end(), ways="screen -> end")).start()
    assert talk.parked == ["end"]
    talk.resume("end", decision)
    assert talk.run.status == "completed"


def test_a_run_flows_to_its_gate_and_after_the_verdict_to_its_end() -> None:
    talk = Conversation(SIGNOFF).start({"amount": 12})
    assert talk.events == (
        *("run_started", "step_entered", "call_settled"),
        *("step_entered", "gate_opened"),
    )
    assert (talk.run.status, talk.parked, talk.calls) == ("parked", ["signoff"], ())
    assert talk.gate("signoff").reason == "tier high needs a human verdict"
    talk.resume("signoff", comment="fine")
    assert talk.events == (
        *("verdict_given", "step_entered", "call_settled"),
        *("step_entered", "run_ended"),
    )
    assert (talk.run.status, talk.run.ended.outcome if talk.run.ended else "") == ("completed", "paid")
    assert talk.steps() == ["check:1 done", "signoff:1 done", "pay:1 done", "end:1 done"]


def test_a_message_leaves_the_run_before_it_as_it_was_and_what_it_leads_to_is_final() -> None:
    talk = Conversation(SIGNOFF).start({"amount": 12})
    before = talk.run
    kept = deepcopy(before)
    talk.resume("signoff")
    assert before == kept
    for run in (before, talk.run):
        with pytest.raises(AttributeError):
            run.version = 99  # type: ignore[misc]
        for visit in (*run.open, *run.trace):
            with pytest.raises(AttributeError):
                visit.status = "done"  # type: ignore[misc]


def test_a_run_starts_once() -> None:
    talk = Conversation(SIGNOFF).start()
    talk.start()
    assert talk.refusal.code == "already_exists"


@pytest.mark.parametrize("message", [Cancel(by="ann", at=MORNING), Retry(by="ann", at=MORNING)])
def test_nothing_is_said_to_a_run_that_never_started(message: Cancel | Retry) -> None:
    refused = decider.step(None, message, SIGNOFF, {})
    assert isinstance(refused, Rejected)
    assert refused.code == "not_found"


# ------------------------------------------------------------ who may decide what, in which order


def refusal(talk: Conversation, **verdict: Any) -> str:
    talk.resume(**verdict)
    return talk.refusal.code


def test_the_checks_of_a_verdict_come_in_their_order() -> None:
    wrong: dict[str, Any] = {"decision": "perhaps", "role": "member", "digest": "sha256:other"}
    right: dict[str, Any] = {"gate": "signoff", "decision": "approved", "role": "manager"}
    talk = Conversation(SIGNOFF).start()
    assert refusal(talk, gate="pay", **wrong) == "gate_mismatch"
    assert refusal(talk, gate="signoff", **wrong) == "forbidden"
    assert refusal(talk, gate="signoff", **{**wrong, "role": "manager"}) == "stale"
    assert refusal(talk, gate="signoff", decision="perhaps", role="manager") == "decision_not_allowed"
    version = talk.run.version
    talk.resume(**right)
    assert talk.run.version > version
    assert refusal(talk, gate="pay", **wrong) == "not_parked"
    assert refusal(talk, gate="signoff", **wrong) == "not_parked"


@pytest.mark.parametrize("named", ["Signoff step", "check", "pay", "end", "ghost", "", "SIGNOFF"])
def test_only_the_step_id_of_the_open_gate_is_its_name(named: str) -> None:
    talk = Conversation(SIGNOFF).start()
    talk.resume(named)
    assert talk.refusal == Rejected(
        "gate_mismatch",
        "The run is parked at signoff, not at the gate that was named.",
        {"run_status": "parked", "parked_at": "signoff", "decided": None},
    )
    assert talk.run.version == 5


def test_whoever_comes_second_sees_who_was_first() -> None:
    talk = Conversation(SIGNOFF).start()
    at = talk.at
    talk.resume("signoff", by="bob")
    talk.resume("signoff", "denied", by="eve")
    assert talk.refusal == Rejected(
        "not_parked",
        "The run is completed, so there is no gate to decide on.",
        {
            "run_status": "completed",
            "parked_at": None,
            "decided": {
                "gate": "signoff",
                "visit": 1,
                "decision": "approved",
                "by": "bob",
                "by_kind": "person",
                "on_behalf_of": None,
                "at": at,
            },
        },
    )


def test_a_verdict_needs_the_role_of_the_gate() -> None:
    talk = Conversation(SIGNOFF).start()
    assert refusal(talk, gate="signoff", role="member") == "forbidden"
    assert talk.refusal.more == {"required": "manager", "reason": "role"}
    talk.resume("signoff", role="manager")
    assert talk.run.status == "completed"


def test_a_machine_decides_nothing_whatever_its_role() -> None:
    talk = Conversation(SIGNOFF).start()
    kinds: tuple[ByKind, ...] = ("service", "agent")
    for kind in kinds:
        verdict = Resume(gate="signoff", decision="approved", by="robot", by_kind=kind, role="owner", at=MORNING)
        refused = talk.say(verdict)
        assert isinstance(refused, Rejected)
        assert refused.code == "forbidden"
        assert refused.more == {"required": "manager", "reason": "machine"}
    assert talk.run.status == "parked"


def test_a_decision_that_is_not_offered_is_refused_with_those_that_are() -> None:
    talk = Conversation(SIGNOFF).start()
    for decision in ("Approved", "retry", "done", "", "yes"):
        assert refusal(talk, gate="signoff", decision=decision) == "decision_not_allowed"
    assert talk.refusal.more == {"decisions": ["approved", "denied"]}


@pytest.mark.parametrize(
    ("template", "outcome", "steps"),
    [
        (SIGNOFF, "denied", ["check:1 done", "signoff:1 denied"]),
        (DENIABLE, "refused", ["signoff:1 denied", "no:1 done"]),
    ],
)
def test_denied_takes_its_edge_or_else_ends_the_run(template: Template, outcome: str, steps: list[str]) -> None:
    talk = Conversation(template).start()
    talk.resume("signoff", "denied")
    assert talk.run.ended is not None
    assert (talk.run.status, talk.run.ended.outcome) == ("completed", outcome)
    assert talk.steps() == steps


def test_an_approved_edge_is_the_way_on() -> None:
    talk = Conversation(
        process(gate("a"), end(), end("no"), ways="a -[denied]-> no\na -[approved]-> end"),
    ).start()
    talk.resume("a")
    assert talk.steps() == ["a:1 done", "end:1 done"]


def test_without_the_autopilot_every_task_and_gateway_waits_for_a_human() -> None:
    template = process(
        task("check"),
        parallel("fork"),
        choice("size"),
        task("left"),
        parallel("join"),
        end(),
        ways="""check -> fork -> size -[big]-> left -> join -> end
                size -[small]-> end
                fork -> join""",
        when={"big": above("amount", 10)},
    )
    talk = Conversation(template).start({"amount": 1}, auto=False)
    for step, decision in [("check", "approved"), ("fork", "approved"), ("size", "big"), ("left", "approved")]:
        assert talk.parked == [step]
        assert talk.gate(step).reason == "every step of this run waits for a human"
        talk.resume(step, decision)
    assert talk.parked == ["join"]
    talk.resume("join")
    assert talk.run.status == "completed"
    assert all(visit.resolved_by == "bob" for visit in talk.run.trace if visit.kind != "end")


@pytest.mark.parametrize("step", ["check", "fork"])
def test_a_task_or_a_fork_that_waits_may_be_denied(step: str) -> None:
    template = process(
        task("check"), parallel("fork"), gate("a"), parallel("join"), end(),
        ways="check -> fork -> a -> join -> end\nfork -> join",
    )  # fmt: skip
    talk = Conversation(template).start(auto=False)
    if step == "fork":
        talk.resume("check")
    talk.resume(step, "denied")
    assert talk.run.ended is not None
    assert talk.run.ended.outcome == "denied"
    assert talk.run.at("a") is None


# --------------------------------------------------------------------------------------- gateways

SIZE = process(
    choice("size"), end("large", "large"), end("small", "small"), ways="size -[big]-> large\nsize -[little]-> small",
    when={"big": above("amount", 10)},
)  # fmt: skip


@pytest.mark.parametrize(("inputs", "outcome"), [({"amount": 11}, "large"), ({"amount": 10}, "small")])
def test_a_gateway_takes_one_branch_by_its_conditions(inputs: dict[str, Any], outcome: str) -> None:
    talk = Conversation(SIZE).start(inputs)
    assert talk.run.ended is not None
    assert talk.run.ended.outcome == outcome


def test_a_gateway_whose_condition_fails_parks_with_the_reason_and_a_human_chooses() -> None:
    talk = Conversation(SIZE).start()
    assert talk.parked == ["size"]
    assert talk.gate("size").reason == "the input amount is missing"
    assert talk.gate("size").decisions == ("big", "little")
    assert refusal(talk, gate="size", decision="approved") == "decision_not_allowed"
    talk.resume("size", "big")
    assert talk.run.ended is not None
    assert talk.run.ended.outcome == "large"


@pytest.mark.parametrize("branch", ["approved", "denied", "retry", "done", "SAR signed"])
def test_a_human_gateway_takes_exactly_the_branch_that_was_named(branch: str) -> None:
    labels = ["approved", "denied", "retry", "done", "SAR signed"]
    ends = [end(f"end-{number}", label) for number, label in enumerate(labels)]
    ways = "\n".join(f"bsa-gate -[{label}]-> end-{number}" for number, label in enumerate(labels))
    talk = Conversation(process(choice("bsa-gate", "high"), *ends, ways=ways)).start()
    assert talk.gate("bsa-gate").decisions == tuple(labels)
    talk.resume("bsa-gate", branch)
    assert talk.run.ended is not None
    assert talk.run.ended.outcome == branch
    assert len(talk.steps()) == 2


def test_a_human_gateway_without_a_denied_branch_cannot_be_denied() -> None:
    talk = Conversation(process(choice("a", "high"), end(), ways="a -[x]-> end\na -[y]-> end")).start()
    assert refusal(talk, gate="a", decision="denied") == "decision_not_allowed"


# --------------------------------------------------------------------------------------- parallel


def test_a_fork_opens_several_gates_and_the_join_waits_for_all() -> None:
    talk = Conversation(BLOCK).start()
    assert talk.parked == ["legal", "money"]
    talk.resume("money")
    assert talk.parked == ["legal"]
    assert talk.visit("join").status == "waiting"
    assert refusal(talk, gate="join") == "gate_mismatch"
    talk.resume("legal")
    assert talk.run.status == "completed"
    assert talk.visit("join").arrived == ("money", "legal")


def test_a_join_of_three_branches_waits_for_the_last_of_them() -> None:
    ways = "\n".join(f"fork -> {step} -> join" for step in ("a", "b", "c")) + "\njoin -> end"
    template = process(parallel("fork"), gate("a"), gate("b"), gate("c"), parallel("join"), end(), ways=ways)
    talk = Conversation(template).start()
    for step in ("b", "c"):
        talk.resume(step)
        assert talk.visit("join").status == "waiting"
    talk.resume("a")
    assert talk.visit("join").arrived == ("b", "c", "a")
    assert talk.run.status == "completed"


def test_of_two_gates_the_one_that_opened_first_comes_first() -> None:
    template = process(
        *(parallel(i) for i in ("outer", "inner", "inner-join", "outer-join")),
        *(gate(i) for i in ("a", "b", "c")),
        end(),
        ways="""outer -> inner -> a -> inner-join -> outer-join -> end
                inner -> b -> inner-join
                outer -> c -> outer-join""",
    )
    talk = Conversation(template).start(auto=False)
    talk.resume("outer")
    assert talk.parked == ["inner", "c"]
    talk.resume("inner")
    assert talk.parked == ["c", "a", "b"]
    talk.resume("a")
    talk.resume("b")
    assert talk.parked == ["c", "inner-join"]
    assert refusal(talk, gate="nowhere") == "gate_mismatch"
    assert talk.refusal.more["parked_at"] == "c"


def test_a_block_in_a_loop_joins_anew_each_time() -> None:
    template = process(
        task("entry"), *BLOCK.nodes[:4], choice("again", "high"), end(),
        ways="""entry -> fork -> legal -> join -> again -[again]-> entry
                fork -> money -> join
                again -[on]-> end""",
    )  # fmt: skip
    talk = Conversation(template).start()
    for decision in ("again", "on"):
        talk.resume("legal")
        assert talk.parked == ["money"]
        talk.resume("money")
        talk.resume("again", decision)
    assert talk.run.status == "completed"
    assert talk.run.visits["join"] == 2


# ----------------------------------------------------------------- loops, and what was seen there


def test_a_loop_opens_the_same_gate_for_another_visit() -> None:
    talk = Conversation(LOOP).start()
    first, version = talk.gate("review").digest, talk.run.version
    talk.resume("review", "denied")
    assert talk.parked == ["review"]
    assert talk.run.parked[0].visit == 2
    assert talk.gate("review", 2).digest != first
    assert refusal(talk, gate="review", digest=first) == "stale"
    assert refusal(talk, gate="review", versions={version}) == "stale"
    assert talk.refusal.more == {"parked_at": "review", "tag": str(talk.run.version)}
    talk.resume("review", digest=talk.gate("review", 2).digest, versions={version, talk.run.version})
    assert talk.run.status == "completed"


def test_the_decided_verdict_is_that_of_the_latest_visit() -> None:
    talk = Conversation(LOOP).start()
    talk.resume("review", "denied")
    talk.resume("draft")
    assert talk.refusal.more == {"run_status": "parked", "parked_at": "review", "decided": None}
    talk.resume("review")
    talk.resume("review")
    assert talk.refusal.more["decided"]["visit"] == 2


def test_a_verdict_that_saw_nothing_is_taken_as_it_is() -> None:
    talk = Conversation(LOOP).start()
    talk.resume("review", "denied")
    talk.resume("review")
    assert talk.run.status == "completed"


def changing() -> tuple[Conversation, str]:
    """A gate that is open while another branch waits for its tool."""
    template = process(
        parallel("fork"), task("look"), gate("legal"), parallel("join"), end(),
        ways="fork -> look -> join -> end\nfork -> legal -> join",
    )  # fmt: skip
    talk = Conversation(template, {"look": connector("look")}).start()
    assert talk.parked == ["legal"]
    return talk, talk.gate("legal").digest


def test_a_fact_that_comes_while_a_gate_is_open_makes_what_was_seen_stale() -> None:
    talk, seen = changing()
    opened_at = talk.gate("legal").opened_at
    talk.returned("look")
    assert talk.events[-1] == "gate_opened"
    assert (talk.gate("legal").digest != seen, talk.gate("legal").opened_at) == (True, opened_at)
    assert refusal(talk, gate="legal", digest=seen) == "stale"
    assert talk.run.parked[0].visit == 1
    talk.resume("legal", digest=talk.gate("legal").digest)
    assert talk.run.status == "completed"


def test_a_version_that_has_passed_is_stale_even_when_it_is_the_same_visit() -> None:
    talk, _ = changing()
    version = talk.run.version
    talk.returned("look")
    assert refusal(talk, gate="legal", versions={version}) == "stale"
    talk.resume("legal", versions={talk.run.version})
    assert talk.run.status == "completed"


def test_a_run_that_has_moved_on_since_it_was_seen_is_neither_ended_nor_tried_again() -> None:
    talk, _ = changing()
    version = talk.run.version
    ended = talk.say(Cancel(by="ann", tags=frozenset({str(version - 1)}), at=MORNING))
    assert isinstance(ended, Rejected)
    assert (ended.code, ended.more) == ("stale", {"parked_at": "legal", "tag": str(version)})
    talk.failed("look")
    again = talk.say(Retry(by="ann", tags=frozenset({str(version)}), at=MORNING))
    assert isinstance(again, Rejected)
    assert (again.code, again.more) == ("stale", {"parked_at": "legal", "tag": str(talk.run.version)})
    talk.say(Cancel(by="ann", tags=frozenset({str(version), str(talk.run.version)}), at=MORNING))
    assert talk.run.status == "cancelled"


def test_a_wrong_digest_at_an_unchanged_gate_is_stale_and_changes_nothing() -> None:
    talk = Conversation(LOOP).start()
    version = talk.run.version
    assert refusal(talk, gate="review", digest="sha256:other") == "stale"
    assert isinstance(talk.last, Rejected)
    assert talk.run.version == version


@pytest.mark.parametrize("how", [{"path": "/other"}, {"version": 2}, {"reversible": False}, {"auth_type": "bearer"}])
def test_the_digest_covers_the_call_that_an_approval_would_send(how: dict[str, Any]) -> None:
    version = how.pop("version", 1)
    seen = Conversation(LOOK, {"look": connector("look")}).start().gate("look").digest
    assert Conversation(LOOK, {"look": connector("look")}).start().gate("look").digest == seen
    assert Conversation(LOOK, {"look": connector("look", version, **how)}).start().gate("look").digest != seen


# --------------------------------------------------- the connector changes while the gate is open


def changed(template: Template) -> Conversation:
    (step, *_) = template.nodes
    talk = Conversation(template, {step.id: connector(step.id)}).start()
    talk.connectors[step.id] = connector(step.id, 2, path="/moved")
    return talk


@pytest.mark.parametrize("template", [LOOK, PAY], ids=["reversible", "irreversible"])
@pytest.mark.parametrize("decision", ["approved", "denied", "perhaps"])
def test_with_a_digest_the_gate_opens_again_and_shows_the_new_call(template: Template, decision: str) -> None:
    talk = changed(template)
    step = template.start
    seen, before = talk.gate(step), talk.run.version
    talk.resume(step, decision, digest=seen.digest)
    assert (talk.refusal.code, talk.events) == ("stale", ("gate_opened",))
    assert talk.refusal.more == {"parked_at": step, "tag": str(before + 1)}
    now = talk.run.parked[0]
    assert now.visit == 1
    assert now.request is not None
    assert now.request.url == "https://api.test/moved"
    assert talk.gate(step).reason == seen.reason
    talk.resume(step, digest=talk.gate(step).digest)
    assert talk.calls == (f"run:{step}:1",)


def test_with_a_version_that_fits_a_changed_call_is_stale_all_the_same() -> None:
    talk = changed(LOOK)
    assert refusal(talk, gate="look", versions={talk.run.version}) == "stale"
    assert talk.events == ("gate_opened",)


@pytest.mark.parametrize("template", [LOOK, PAY], ids=["reversible", "irreversible"])
def test_without_a_digest_a_call_that_changed_since_the_gate_opened_is_stale(template: Template) -> None:
    talk = changed(template)
    assert refusal(talk, gate=template.start) == "stale"
    assert talk.events == ("gate_opened",)
    talk.resume(template.start)
    assert talk.calls == (f"run:{template.start}:1",)


def test_a_digest_of_what_stands_by_now_counts_and_what_it_stands_for_is_recorded() -> None:
    talk = changed(PAY)
    now = changed_gates(talk.run, PAY, talk.connectors)[0][1]
    talk.resume("pay", digest=now.digest)
    assert talk.events == ("gate_opened", "verdict_given")
    assert talk.gate("pay").digest == now.digest
    assert talk.calls == ("run:pay:1",)


def test_without_a_digest_an_irreversible_call_that_did_not_change_goes_out() -> None:
    talk = Conversation(PAY, {"pay": connector("pay")}).start()
    talk.resume("pay")
    assert talk.calls == ("run:pay:1",)


# ---------------------------------------------------------------------------------------- signals


def test_a_hit_holds_the_autopilot_until_a_human_has_decided() -> None:
    hit = DryRun({"match": "exact"}, signal=True)
    template = process(
        task("screen", dry_run=(hit,)), task("score"), task("file"), end(), ways="screen -> score -> file -> end"
    )
    talk = Conversation(template).start()
    assert talk.run.facts == {"screen": {"match": "exact", "signal": True}}
    assert talk.parked == ["score"]
    assert talk.gate("score").reason == "the signal of screen is not decided yet"
    talk.resume("score")
    assert talk.run.status == "completed"
    assert talk.visit("file").resolved_by == "autopilot"


def test_a_dry_run_whose_condition_fails_is_a_hit() -> None:
    unclear = DryRun({}, when=UNCLEAR)
    talk = Conversation(process(task("a", dry_run=(unclear,)), task("b"), end(), ways="a -> b -> end")).start()
    assert talk.parked == ["b"]


@pytest.mark.parametrize("reported", [None, False, True])
@pytest.mark.parametrize(
    ("output", "hit"),
    [({"match": "exact"}, True), ({"match": "none"}, False), ({"match": 7}, True), ({}, True), ([], True)],
)
def test_what_a_tool_finds_stops_the_autopilot_in_the_dry_run_and_live(output: Any, hit: bool, reported: Any) -> None:
    screen = task("screen", dry_run=(DryRun(output),), signal_when=MATCHED)
    template = process(screen, task("file"), end(), ways="screen -> file -> end")
    dry = Conversation(template).start()
    live = Conversation(template, {"screen": connector("screen")}).start()
    live.returned("screen", output=output, signal=reported)
    assert dry.parked == (["file"] if hit else [])
    assert live.parked == (["file"] if hit or reported else [])
    if hit:
        assert dry.run.facts == live.run.facts
        assert dry.gate("file").signals == live.gate("file").signals == ("screen",)


def test_what_a_human_has_seen_of_a_call_of_unknown_outcome_is_judged_by_the_same_rule() -> None:
    pay = task("pay", "high", "irreversible", signal_when=MATCHED)
    for output, parked in (({"match": "none"}, []), ({"match": "exact"}, ["tell"]), (None, ["tell"])):
        talk = Conversation(process(pay, task("tell"), end(), ways="pay -> tell -> end"), {"pay": connector("pay")})
        talk.start().resume("pay")
        talk.failed("pay", unknown=True)
        talk.resume("pay", "done", output=output)
        assert talk.parked == parked


@pytest.mark.parametrize(("signal", "status"), [(True, "parked"), (False, "completed"), (None, "completed")])
def test_only_a_true_signal_is_a_hit(signal: Any, status: str) -> None:
    template = process(task("a"), task("b"), end(), ways="a -> b -> end")
    talk = Conversation(template, {"a": connector("a")}).start()
    talk.returned("a", signal=signal)
    assert talk.run.status == status


# -------------------------------------------------------------------------------- what is missing

NEEDY = process(task("pay", needs=("iban",)), end(), ways="pay -> end")


def test_a_missing_input_parks_the_step_and_a_human_may_let_it_go_on() -> None:
    talk = Conversation(NEEDY).start()
    assert talk.gate("pay").reason == "the input iban is missing"
    talk.resume("pay")
    assert talk.run.status == "completed"


@pytest.mark.parametrize("auto", [True, False])
def test_a_mapped_fact_that_is_nowhere_fails_the_step_and_nothing_is_sent(auto: bool) -> None:
    template = process(task("pay"), end(), ways="pay -> end")
    talk = Conversation(template, {"pay": connector("pay", body_map={"to": "facts.iban"})}).start(auto=auto)
    if not auto:
        assert talk.visit("pay").request is None
        talk.resume("pay")
    assert (talk.run.status, talk.calls) == ("failed", ())
    assert talk.run.error is not None
    assert (talk.run.error.code, talk.run.error.step_id) == ("missing_key", "pay")
    talk.connectors["pay"] = connector("pay", 2)
    talk.retry()
    if not auto:
        talk.resume("pay")
    assert talk.calls == ("run:pay:2",)
