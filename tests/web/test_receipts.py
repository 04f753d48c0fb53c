"""The receipt of a verdict: it holds against the evidence, and what is changed in it is named."""

from __future__ import annotations

import base64
import json
from typing import Any

from daemon.verification.exports import verify_export
from daemon.verification.runs import ReceiptCheck, verify_run
from tests.web.people import colleague, company, delegate, member_id
from tests.web.support import Answer, Person, assert_problem

FORM = {"units": 3, "reason": "as ordered"}


async def sign(person: Person, run: Any, **brought: Any) -> Answer:
    body = {"gate": "sign", "decision": "approved", "form": FORM, **brought}
    return await person.post(f"/process-runs/{run['id']}/resume", body)


async def receipt_of(person: Person, run: Any, verdict: Any) -> Any:
    answer = await person.get(f"/process-runs/{run['id']}/verdicts/{verdict['verdict_id']}")
    assert answer.status == 200, answer.raw
    return answer.json


async def wrong(person: Person, run: Any, receipt: Any) -> list[list[str]]:
    """What is found in a receipt against the export, and against the evidence of the run."""
    known = {key_id: base64.b64decode(key) for key_id, key in (await person.get("/audit/keys")).json.items()}
    lines = (await person.get("/audit/export")).raw.splitlines(keepends=True)
    alone = (await person.get(f"/process-runs/{run['id']}/audit")).raw
    found = (
        verify_export(lines, known, receipt=ReceiptCheck(receipt)),
        verify_run(alone, known, receipt=ReceiptCheck(receipt)),
    )
    return [[one.what for one in findings] for findings in found]


async def signed(ann: Person) -> tuple[Person, Person, Any]:
    """Bob and Cyd of the finance group have signed a run, Cyd as the delegate of Dan."""
    bob, cyd, dan = [await colleague(ann, name, "manager") for name in ("bob", "cyd", "dan")]
    members = [await member_id(one) for one in (bob, dan)]
    assert (await ann.put(f"{company(ann)}/groups/finance", {"members": members})).status == 200
    await delegate(dan, cyd)
    run = await ann.start("signatures")
    assert (await sign(bob, run)).status == 202
    done = await sign(cyd, run, on_behalf_of=await member_id(dan), comment="Two of two")
    assert done.status == 200, done.raw
    return bob, dan, done.json


async def test_a_receipt_says_who_decided_for_whom_on_what_under_which_policy(ann: Person) -> None:
    shown = (await ann.start("signatures"))["gate"]
    bob, dan, run = await signed(ann)
    verdict = run["trace"][0]["verdict"]
    receipt = await receipt_of(bob, run, verdict)
    assert (receipt["by"], receipt["on_behalf_of"], receipt["by_kind"]) == ("cyd@cyd.test", dan.email, "person")
    assert (receipt["gate"], receipt["visit"], receipt["decision"]) == ("sign", 1, "approved")
    said = {**shown["policy"], "batch": None}  # as the template says it, which leaves that to the default
    assert (receipt["comment"], receipt["at"], receipt["policy"]) == ("Two of two", verdict["at"], said)
    chained = (await ann.get(f"/process-runs/{run['id']}/audit")).json["events"][receipt["seq"] - 1]
    assert (chained["hash"], chained["previous"]) == (receipt["hash"], receipt["previous"])
    assert chained["event"]["verdict_id"] == receipt["verdict_id"]


async def test_a_receipt_is_accepted_against_the_evidence_and_each_change_in_it_is_named(ann: Person) -> None:
    _, _, run = await signed(ann)
    receipt = await receipt_of(ann, run, run["trace"][0]["verdict"])
    assert await wrong(ann, run, receipt) == [[], []]
    for name in sorted(receipt.keys() - {"company_id", "run_id", "verdict_id"}):
        changed = {**receipt, name: "forged"}
        assert await wrong(ann, run, changed) == [[f"its {name} is not what the history says"]] * 2
    fewer = {name: value for name, value in receipt.items() if name != "policy"}
    assert await wrong(ann, run, fewer) == [["its policy is not what the history says"]] * 2


async def test_a_receipt_of_another_company_run_or_verdict_is_refused(ann: Person, eve: Person) -> None:
    _, _, run = await signed(ann)
    receipt = await receipt_of(ann, run, run["trace"][0]["verdict"])
    none = [[f"run {run['id']} has no such verdict here"]] * 2
    assert await wrong(ann, run, {**receipt, "verdict_id": "another"}) == none
    (found, _) = await wrong(ann, run, {**receipt, "company_id": eve.session["company"]["id"]})
    assert "it is of another company than the evidence" in found[0]
    path = f"/process-runs/{run['id']}/verdicts"
    assert_problem(await ann.get(f"{path}/another"), 404, "not_found")
    assert_problem(await eve.get(f"{path}/{receipt['verdict_id']}"), 404, "not_found")


async def test_the_receipt_of_a_verdict_that_was_withdrawn_stays_true(ann: Person) -> None:
    bob, cyd = [await colleague(ann, name, "manager") for name in ("bob", "cyd")]
    members = [await member_id(one) for one in (bob, cyd)]
    assert (await ann.put(f"{company(ann)}/groups/finance", {"members": members})).status == 200
    run = await ann.start("signatures")
    (verdict,) = (await sign(bob, run)).json["gate"]["verdicts"]
    assert (await bob.delete(f"/process-runs/{run['id']}/gates/sign/verdict")).status == 200
    receipt = await receipt_of(ann, run, verdict)
    assert (receipt["by"], receipt["decision"]) == (bob.email, "approved")
    assert await wrong(ann, run, receipt) == [[], []]


async def test_the_record_names_who_withdrew_delivered_and_cancelled(ann: Person) -> None:
    run = await ann.start("signatures")
    await ann.post(f"/process-runs/{run['id']}/messages", {"name": "note", "payload": json.dumps({})})
    await ann.post(f"/process-runs/{run['id']}/cancel", {})
    events = (await ann.get(f"/process-runs/{run['id']}/audit")).json["events"]
    changes = [one["change"] for one in events if one["change"] is not None]
    assert [(one["action"], one["who"]["user"]) for one in changes] == [
        ("start", ann.email),
        ("deliver", ann.email),
        ("cancel", ann.email),
    ]
