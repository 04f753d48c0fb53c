"""Section 4: inputs are optional and free-form, and what is missing is asked for where it is
needed.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys import FIRST
from tests.web.operators import Operator
from tests.web.people import colleague
from tests.web.support import Answer, FarSide, House, Person, assert_invalid, assert_problem

PUBLIC = ("prior-auth", "aml", "collections", "chargeback-representment")


async def bring(ann: Person, run: Any, inputs: Any, decision: str = "approved", **headers: str) -> Answer:
    body = {"gate": run["parked_at"], "decision": decision, "inputs": inputs}
    return await ann.post(f"/process-runs/{run['id']}/resume", body, **headers)


@pytest.mark.parametrize("vertical", FIRST)
async def test_every_process_starts_without_inputs_and_bare_verdicts_bring_it_to_an_end(
    ann: Person, vertical: str
) -> None:
    answer = await ann.post("/process-runs/", {"vertical": vertical})
    assert answer.status == 201, answer.raw
    run = answer.json
    missing = [] if run["gate"] is None else run["gate"]["missing"]
    assert bool(missing) == (vertical not in PUBLIC)
    assert not missing or f"the input {missing[0][1:]} is missing" in run["gate"]["reason"]
    for _ in range(50):
        if run["status"] != "parked":
            break
        resumed = await ann.resume(run, run["parked_at"], run["gate"]["decisions"][0])
        assert resumed.status == 200, resumed.raw
        run = resumed.json
    assert run["status"] == "completed"
    assert {visit["mode"] for visit in run["trace"]} <= {"shadow", None}


async def test_members_that_are_there_and_wrong_refuse_a_start_all_at_once(ann: Person) -> None:
    body = {"vertical": "insurance-claim", "inputs": {"claim_id": 7, "claimed_amount": -1, "more": {}}}
    assert_invalid(await ann.post("/process-runs/", body), "/inputs/claim_id", "/inputs/claimed_amount")


async def test_a_verdict_brings_what_is_missing_and_it_is_kept_everywhere(ann: Person) -> None:
    known = {"amount": 4200, "currency": "USD", "po_amount": 4200, "seen_before": False}
    run = await ann.start("invoice-approval", known)
    gate = run["gate"]
    assert (gate["step_id"], gate["missing"]) == ("match", ["/invoice_id", "/vendor_id"])
    brought = {"invoice_id": "I-1", "vendor_id": "V-1"}
    later = (await bring(ann, run, brought)).json
    assert later["inputs"] == {**known, **brought}
    assert later["parked_at"] == "release"
    match = next(visit for visit in later["trace"] if visit["step_id"] == "match")
    assert (match["verdict"]["by"], match["verdict"]["inputs"]) == (ann.email, brought)
    events = (await ann.get(f"/process-runs/{run['id']}/events")).json
    (given,) = (event for event in events if event["type"] == "verdict_given")
    assert given["inputs"] == brought
    evidence = (await ann.get(f"/process-runs/{run['id']}/audit")).json
    changes = [one["change"] for one in evidence["events"] if one["change"]]
    assert [one["to"]["inputs"] for one in changes if one["action"] == "verdict"] == [brought]


async def test_what_is_brought_is_checked_and_a_refusal_changes_nothing(ann: Person) -> None:
    run = await ann.start("refund", {"order_id": "O-1", "days_since_delivery": 5, "refunds_this_year": 0})
    assert run["gate"]["missing"] == ["/amount"]
    assert_invalid(await bring(ann, run, {"amount": "all"}, "inside"), "/inputs/amount")
    assert_invalid(await bring(ann, run, {"amount": 5, "order_id": "O-2"}, "inside"), "/inputs/order_id")
    assert_invalid(await bring(ann, run, 5, "inside"), "/inputs")
    assert await ann.run(run) == run
    assert (await bring(ann, run, {"amount": 5}, "inside")).json["outcome"] == "refunded"


async def test_a_repeated_verdict_with_inputs_is_answered_and_another_is_refused(ann: Person, house: House) -> None:
    run = await ann.start("employee-offboarding")
    assert run["gate"]["missing"] == ["/employee_id"]
    first = await bring(ann, run, {"employee_id": "E-1"}, Idempotency_Key="k")
    await house.restart()
    again = await bring(ann, run, {"employee_id": "E-1"}, Idempotency_Key="k")
    assert (again.status, again.raw, again.headers["Idempotency-Replayed"]) == (200, first.raw, "true")
    other = await bring(ann, run, {"employee_id": "E-2"}, Idempotency_Key="k")
    assert_problem(other, 422, "idempotency_key_reused")


async def test_a_run_goes_on_with_what_was_brought_after_a_restart(ann: Person, house: House) -> None:
    run = await ann.start("employee-offboarding")
    before = (await bring(ann, run, {"employee_id": "E-1"})).json
    await house.restart()
    assert await ann.run(run) == before
    done = (await ann.resume(run, "cut-off")).json
    assert done["inputs"] == {"employee_id": "E-1"}


async def test_a_live_call_waits_for_what_it_is_made_of(ann: Person, far: FarSide) -> None:
    await ann.connect("answers", far.url, body_map={"to": "iban"})
    run = await ann.start("quick")
    assert (run["gate"]["missing"], run["gate"]["reason"]) == (["/iban"], "the input iban is missing")
    assert_invalid(await ann.resume(run, "ask"), "/inputs/iban")
    assert far.seen == []
    assert (await bring(ann, run, {"iban": "DE1"})).json["status"] == "completed"
    assert [one.body for one in far.seen] == [{"to": "DE1"}]


async def test_an_irreversible_call_is_shown_before_it_is_sent(ann: Person, far: FarSide) -> None:
    await ann.connect("transfer", far.url, body_map={"to": "iban"})
    run = await ann.start("direct")
    assert (run["gate"]["missing"], run["gate"]["effect"]) == (["/iban"], None)
    shown = (await bring(ann, run, {"iban": "DE1"})).json
    assert (shown["parked_at"], shown["gate"]["visit"], shown["gate"]["missing"]) == ("transfer", 2, [])
    assert shown["gate"]["effect"]["body"] == {"to": "DE1"}
    assert far.seen == []
    await ann.resume(run, "transfer")
    assert [one.body for one in far.seen] == [{"to": "DE1"}]


async def test_the_command_line_shows_what_is_missing_and_brings_it(operator: Operator, ann: Person) -> None:
    run = await ann.start("employee-offboarding")
    given = ("runs", "resume", run["id"], "approved", "--yes")
    shown = await operator.says(*given, "--inputs", '{"employee": 1}')
    assert shown.exit_code == 1
    assert "/employee_id" in shown.output
    later = await operator.reads(*given, "--inputs", '{"employee_id": "E-1"}')
    assert later["inputs"] == {"employee_id": "E-1"}


async def test_a_denied_branch_leaves_the_other_gate_open(ann: Person) -> None:
    run = await ann.start("production-change", {"change_id": "C-1", "service": "billing"})
    assert sorted(run["parked_gates"]) == ["peer-review", "security-review"]
    bob, cyd = await colleague(ann, "bob", "manager"), await colleague(ann, "cyd", "manager")
    run = (await bob.resume(run, "peer-review", "denied")).json
    assert (run["status"], run["parked_gates"]) == ("parked", ["security-review"])
    run = (await cyd.resume(run, "security-review")).json
    assert (run["status"], run["outcome"]) == ("completed", "denied")
    steps = {visit["step_id"]: visit["status"] for visit in run["trace"]}
    assert steps["security-review"] == "done"
    assert steps["reviewed"] == "cancelled"
    assert "change-approval" not in steps


async def test_a_gate_beside_a_failed_branch_is_listed_and_decided(ann: Person, far: FarSide) -> None:
    far.status = 400
    await ann.connect("payroll-compute", far.url)
    run = await ann.start("employee-offboarding", {"employee_id": "E-1", "involuntary": True})
    run = await ann.until(run, "failed")
    assert (run["parked_at"], run["gate"]["step_id"], run["parked_gates"]) == ("cut-off", "cut-off", ["cut-off"])
    assert [one["id"] for one in (await ann.get("/process-runs/?parked_at=cut-off")).json] == [run["id"]]
    done = (await ann.resume(run, "cut-off")).json
    assert (done["status"], done["parked_gates"]) == ("failed", [])
    far.status = 200
    await ann.post(f"/process-runs/{run['id']}/retry")
    run = await ann.until(run, "parked")
    assert run["parked_gates"] == ["final-pay"]
