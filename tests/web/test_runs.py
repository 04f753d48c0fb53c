"""Section 4: a run from its start to its end, field by field."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest

from tests.web.support import Person, assert_invalid, assert_problem

RUN = {
    "id",
    "vertical",
    "template",
    "status",
    "parked_at",
    "gate",
    "parked_gates",
    "auto_resolve",
    "inputs",
    "facts",
    "outcome",
    "error",
    "trace",
    "version",
    "created_by",
    "created_at",
    "updated_at",
    "completed_at",
}
GATE = {"step_id", "label", "kind", "tier", "visit", "decisions", "role", "reason", "opened_at", "digest", "effect"}
VISIT = {
    "step_id",
    "visit",
    "kind",
    "status",
    "mode",
    "tier",
    "resolved_by",
    "started_at",
    "ended_at",
    "request",
    "output",
}
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def is_time(text: Any) -> bool:
    return isinstance(text, str) and text.endswith("Z") and datetime.fromisoformat(text).tzinfo is not None


def steps(run: Any) -> list[tuple[str, str]]:
    return [(visit["step_id"], visit["status"]) for visit in run["trace"]]


async def test_a_started_run_is_created_with_its_address_and_its_entity_tag(ann: Person) -> None:
    answer = await ann.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}})
    assert answer.status == 201
    assert answer.headers["Location"] == f"/process-runs/{answer.json['id']}"
    got = await ann.get(answer.headers["Location"])
    assert got.status == 200
    assert got.raw == answer.raw
    assert got.headers["ETag"] == answer.headers["ETag"] == f'"{answer.json["version"]}"'


@pytest.mark.parametrize("tag", ['"{version}"', 'W/"{version}"', '"1", "{version}"', "*"])
async def test_who_has_a_run_already_is_told_so(ann: Person, tag: str) -> None:
    run = await ann.start("line", {"amount": 5})
    path, known = f"/process-runs/{run['id']}", tag.format(version=run["version"])
    for method in ("GET", "HEAD"):
        answer = await ann.send(method, path, If_None_Match=known)
        assert (answer.status, answer.raw, answer.headers["ETag"]) == (304, b"", f'"{run["version"]}"')
    await ann.resume(run, "signoff", "denied")
    assert (await ann.get(path, If_None_Match=known)).status == (304 if tag == "*" else 200)


@pytest.mark.parametrize("tag", ["", '"1"', "{version}", "nonsense"])
async def test_who_has_another_state_of_a_run_gets_it(ann: Person, tag: str) -> None:
    run = await ann.start("line", {"amount": 5})
    answer = await ann.get(f"/process-runs/{run['id']}", If_None_Match=tag.format(version=run["version"]))
    assert (answer.status, answer.json) == (200, run)


async def test_a_parked_run_has_every_field_of_the_contract(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    assert set(run) >= RUN
    assert (run["vertical"], run["status"], run["parked_at"]) == ("line", "parked", "signoff")
    assert set(run["template"]) == {"version", "digest"}
    assert run["parked_gates"] == ["signoff"]
    assert run["auto_resolve"] is True
    assert run["inputs"] == {"amount": 5}
    assert run["facts"] == {"look": {"found": 3}}
    assert (run["outcome"], run["error"], run["completed_at"]) == (None, None, None)
    assert isinstance(run["version"], int)
    assert run["created_by"] == ann.email
    assert is_time(run["created_at"])
    assert is_time(run["updated_at"])


async def test_the_gate_shows_what_a_human_is_asked(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    gate = run["gate"]
    assert set(gate) >= GATE
    assert (gate["step_id"], gate["label"], gate["kind"]) == ("signoff", "The sign-off", "gate")
    assert (gate["tier"], gate["visit"], gate["role"]) == ("high", 1, "manager")
    assert gate["decisions"] == ["approved", "denied"]
    assert gate["reason"] == "tier high needs a human verdict"
    assert gate["effect"] is None
    assert DIGEST.fullmatch(gate["digest"])
    assert is_time(gate["opened_at"])


async def test_the_trace_shows_every_visit_in_order(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    assert steps(run) == [("look", "done"), ("signoff", "parked")]
    look, signoff = run["trace"]
    assert set(look) >= VISIT
    assert set(signoff) >= VISIT
    assert (look["visit"], look["kind"], look["tier"]) == (1, "task", "low")
    assert (look["mode"], look["resolved_by"], look["output"]) == ("shadow", "autopilot", {"found": 3})
    assert (look["request"]["tool"], look["request"]["mode"]) == ("lookup", "shadow")
    assert is_time(look["started_at"])
    assert is_time(look["ended_at"])
    assert (signoff["mode"], signoff["resolved_by"], signoff["ended_at"]) == (None, None, None)
    assert (signoff["request"], signoff["output"]) == (None, None)


async def test_an_approval_lets_the_run_go_on_to_its_end(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    answer = await ann.resume(run, "signoff")
    assert answer.status == 200
    done = answer.json
    assert answer.headers["ETag"] == f'"{done["version"]}"'
    assert (done["status"], done["outcome"], done["error"]) == ("completed", "paid", None)
    assert (done["parked_at"], done["gate"], done["parked_gates"]) == (None, None, [])
    assert is_time(done["completed_at"])
    assert steps(done) == [("look", "done"), ("signoff", "done"), ("pay", "done"), ("paid", "done")]
    assert done["trace"][1]["resolved_by"] == ann.email
    assert done["facts"]["pay"] == {"paid": True}
    assert (await ann.run(run)) == done


async def test_denied_takes_the_edge_that_is_labelled_denied(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    done = (await ann.resume(run, "signoff", "denied")).json
    assert (done["status"], done["outcome"]) == ("completed", "refused")
    assert "pay" not in [step for step, _ in steps(done)]


async def test_denied_without_such_an_edge_ends_the_run_as_denied(ann: Person) -> None:
    run = await ann.start("direct")
    done = (await ann.resume(run, "transfer", "denied")).json
    assert (done["status"], done["outcome"], done["facts"]) == ("completed", "denied", {})
    assert is_time(done["completed_at"])
    other = await ann.start("direct")
    assert (await ann.resume(other, "transfer")).json["parked_at"] == "close"
    assert (await ann.resume(other, "close", "denied")).json["outcome"] == "denied"


async def test_a_task_of_a_gates_tier_parks_with_its_exact_call_and_runs_when_approved(ann: Person) -> None:
    run = await ann.start("direct", {"amount": 9})
    gate = run["gate"]
    assert (run["parked_at"], gate["kind"], gate["tier"]) == ("transfer", "task", "critical")
    assert gate["decisions"] == ["approved", "denied"]
    assert gate["effect"]["mode"] == "shadow"
    assert {"method", "url", "body"} <= set(gate["effect"])
    after = (await ann.resume(run, "transfer")).json
    assert after["trace"][0]["request"] == gate["effect"]
    assert after["facts"]["transfer"] == {"moved": True}


async def test_auto_resolve_is_true_unless_it_is_said(ann: Person) -> None:
    answer = await ann.post("/process-runs/", {"vertical": "quick"})
    assert (answer.json["auto_resolve"], answer.json["status"]) == (True, "completed")


async def test_without_auto_resolve_every_step_waits_as_if_it_were_a_gate(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5}, auto=False)
    assert (run["auto_resolve"], run["status"], run["parked_at"]) == (False, "parked", "look")
    assert run["gate"]["decisions"] == ["approved", "denied"]
    assert run["gate"]["kind"] == "task"
    assert run["facts"] == {}
    for gate, then in (("look", "signoff"), ("signoff", "pay"), ("pay", None)):
        run = (await ann.resume(run, gate)).json
        assert run["parked_at"] == then
    assert (run["status"], run["outcome"]) == ("completed", "paid")


async def test_without_auto_resolve_a_denied_task_is_not_called(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5}, auto=False)
    done = (await ann.resume(run, "look", "denied")).json
    assert (done["status"], done["outcome"], done["facts"]) == ("completed", "denied", {})


async def test_without_auto_resolve_a_gateway_is_decided_by_its_branch_labels(ann: Person) -> None:
    run = await ann.start("prior-auth", auto=False)
    while run["parked_at"] != "criteria":
        run = (await ann.resume(run, run["parked_at"])).json
    assert run["gate"]["kind"] == "gateway"
    assert run["gate"]["decisions"] == ["expedited", "criteria met", "not covered", "more information needed"]
    assert (await ann.resume(run, "criteria", "criteria met")).json["parked_at"] == "recommend"


async def test_parallel_gates_are_all_open_and_any_of_them_may_be_decided(ann: Person) -> None:
    run = await ann.start("fork")
    assert (run["parked_at"], run["parked_gates"]) == ("legal", ["legal", "finance"])
    half = (await ann.resume(run, "finance")).json
    assert (half["status"], half["parked_at"], half["parked_gates"]) == ("parked", "legal", ["legal"])
    answer = await ann.resume(run, "finance")
    assert_problem(answer, 409, "gate_mismatch", run_status="parked", parked_at="legal")
    assert (await ann.resume(run, "legal")).json["outcome"] == "signed"


async def test_a_run_goes_on_from_where_it_parked_after_any_number_of_restarts(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5}, auto=False)
    for gate in ("look", "signoff", "pay"):
        for _ in range(2):
            await ann.house.restart()
            assert await ann.run(run) == run
        run = (await ann.resume(run, gate)).json
    assert steps(run) == [("look", "done"), ("signoff", "done"), ("pay", "done"), ("paid", "done")]
    assert {visit["visit"] for visit in run["trace"]} == {1}


async def test_a_run_can_be_cancelled_with_a_reason_while_it_has_not_ended(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    answer = await ann.post(f"/process-runs/{run['id']}/cancel", {"reason": "no longer needed"})
    assert (answer.status, answer.json["status"]) == (200, "cancelled")
    assert (answer.json["outcome"], answer.json["completed_at"], answer.json["parked_at"]) == (None, None, None)
    who = {"by": ann.email, "by_kind": "person", "on_behalf_of": None}
    assert answer.json["ended"] == {"at": answer.json["updated_at"], **who, "reason": "no longer needed"}
    again = await ann.post(f"/process-runs/{run['id']}/cancel")
    assert_problem(again, 409, "not_cancellable", run_status="cancelled")
    assert_problem(await ann.resume(run, "signoff"), 409, "not_parked", run_status="cancelled", parked_at=None)


@pytest.mark.parametrize("body", [None, {}, {"reason": None}])
async def test_the_reason_of_a_cancellation_may_be_left_out(ann: Person, body: Any) -> None:
    run = await ann.start("line", {"amount": 5})
    answer = await ann.post(f"/process-runs/{run['id']}/cancel", body, Prefer="respond-async")
    assert (answer.status, answer.json["status"]) == (200, "cancelled")


async def test_a_completed_run_can_be_neither_cancelled_nor_retried(ann: Person) -> None:
    run = await ann.start("quick")
    cancel = await ann.post(f"/process-runs/{run['id']}/cancel")
    assert_problem(cancel, 409, "not_cancellable", run_status="completed")
    retry = await ann.post(f"/process-runs/{run['id']}/retry")
    assert_problem(retry, 409, "not_retryable", run_status="completed")


async def test_only_a_failed_run_can_be_retried(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    answer = await ann.post(f"/process-runs/{run['id']}/retry")
    assert_problem(answer, 409, "not_retryable", run_status="parked")


@pytest.mark.parametrize(
    ("what", "body", "pointer"),
    [
        ("cancel", {"reason": 1}, "/reason"),
        ("cancel", {"why": "x"}, "/why"),
        ("cancel", {"reason": "x" * 4001}, "/reason"),
        ("retry", {"step": "x"}, "/step"),
        ("resume", {"gate": "signoff"}, "/decision"),
        ("resume", {"decision": "approved"}, "/gate"),
        ("resume", {"gate": 1, "decision": "approved"}, "/gate"),
        ("resume", {"gate": "signoff", "decision": True}, "/decision"),
        ("resume", {"gate": "signoff", "decision": "approved", "comment": 1}, "/comment"),
        ("resume", {"gate": "signoff", "decision": "approved", "digest": 1}, "/digest"),
        ("resume", {"gate": "signoff", "decision": "approved", "force": True}, "/force"),
    ],
)
async def test_a_command_that_does_not_hold_changes_nothing(ann: Person, what: str, body: Any, pointer: str) -> None:
    run = await ann.start("line", {"amount": 5})
    assert_invalid(await ann.post(f"/process-runs/{run['id']}/{what}", body), pointer)
    assert await ann.run(run) == run
