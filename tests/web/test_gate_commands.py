"""The commands about gates and time against the real service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.web.asking import ASKS, Agent, ruled
from tests.web.operators import Operator
from tests.web.people import colleague, company, delegate, member_id
from tests.web.support import House, Person
from tests.web.test_judges import DOCUMENT
from tests.web.test_own_templates import publish

REFUSED = 1
FORM = '{"units": 3, "reason": "as ordered"}'


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with capture_logs():
        yield


async def finance(ann: Person, *people: Person) -> None:
    members = [await member_id(one) for one in people]
    assert (await ann.put(f"{company(ann)}/groups/finance", {"members": members})).status == 200


async def at(operator: Operator, person: Person) -> Operator:
    """The same terminal with the token of another person."""
    return Operator(operator.url, operator.home, person.token)


async def test_the_inbox_says_who_decides_until_when_and_whether_it_is_you(operator: Operator, ann: Person) -> None:
    bob, cyd = [await colleague(ann, name, "manager") for name in ("bob", "cyd")]
    await finance(ann, ann, bob, cyd)
    run = await operator.reads("runs", "start", "signatures", "--business-key", "INV-7", "--unique")
    again = await operator.says("runs", "start", "signatures", "--business-key", "INV-7", "--unique")
    assert (again.exit_code, "business key" in again.stderr) == (REFUSED, True)
    (listed,) = await operator.reads("gates", "ls", "--q", "INV-7")
    assert (listed["run_id"], listed["can_decide"], listed["why_not"]) == (run["id"], False, "four_eyes")
    assert await operator.reads("inbox") == []
    assert "1 more wait for others: penstock gates ls." in (await operator.says("inbox")).stderr
    assert [one["id"] for one in await operator.reads("runs", "ls", "--business-key", "INV-7")] == [run["id"]]
    table = await operator.says("gates", "ls")
    assert "INV-7" in table.stdout
    assert "0 of 2 decided" in table.stdout
    assert "not you: four_eyes" in table.stdout
    (mine,) = await (await at(operator, bob)).reads("inbox", "--tier", "high")
    assert (mine["run_id"], mine["gate"]["groups"]) == (run["id"], ["finance"])
    shown = (await operator.says("gates", "show", run["id"])).stdout
    for text in ("you may not decide: four_eyes", "group finance", "2 to agree, 1 to deny", "starter", "units, reason"):
        assert text in shown, shown


async def test_a_verdict_that_leaves_the_gate_open_is_said_to_count_and_is_taken_back(
    operator: Operator, ann: Person
) -> None:
    bob, cyd = [await colleague(ann, name, "manager") for name in ("bob", "cyd")]
    await finance(ann, bob, cyd)
    run = await ann.start("signatures")
    one, other = await at(operator, bob), await at(operator, cyd)
    said = await one.says("runs", "resume", run["id"], "approved", "-y", "--form", FORM)
    assert said.exit_code == 0, said.stderr
    assert "Your decision counts. 1 of 2 have decided: the gate is open." in said.stderr
    assert f"approved by {bob.email}" in said.stdout
    taken_back = await one.reads("gates", "withdraw", run["id"])
    assert taken_back["gate"]["verdicts"] == []
    for each in (one, other):
        done = await each.says("runs", "resume", run["id"], "approved", "-y", "--form", FORM)
        assert done.exit_code == 0, done.stderr
    assert (await ann.run(run))["outcome"] == "paid"


async def test_a_denial_takes_a_code_and_a_delegate_decides_for_the_giver(operator: Operator, ann: Person) -> None:
    bob, cyd, dan = [await colleague(ann, name, "manager") for name in ("bob", "cyd", "dan")]
    await finance(ann, bob, cyd)
    await delegate(bob, dan)
    run = await ann.start("signatures")
    terminal = await at(operator, dan)
    for_bob = ("--on-behalf-of", await member_id(bob))
    refused = await terminal.says("runs", "resume", run["id"], "denied", "-y", *for_bob)
    assert refused.exit_code == REFUSED
    for pointer in ("/comment: is missing", "/code: is missing"):
        assert pointer in refused.stderr
    why = ("--code", run["gate"]["policy"]["denial_codes"][0], "--comment", "seen before")
    done = await terminal.reads("runs", "resume", run["id"], "denied", "-y", *why, *for_bob)
    (verdict,) = [one["verdict"] for one in done["trace"] if one["verdict"] is not None]
    assert (verdict["by"], verdict["on_behalf_of"], verdict["code"]) == (dan.email, bob.email, why[1])
    for command in ("show", "watch"):
        assert f"{dan.email} for {bob.email}" in (await operator.says("runs", command, run["id"])).stdout


async def test_a_gate_is_claimed_and_released(operator: Operator, ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    claimed = await operator.reads("gates", "claim", run["id"])
    assert claimed["claimed_by"] == ann.email
    assert f"claimed by {ann.email}" in (await operator.says("gates", "show", run["id"])).stdout
    assert (await operator.reads("gates", "release", run["id"], "signoff"))["claimed_by"] is None
    await ann.resume(run, "signoff")
    gone = await operator.says("gates", "show", run["id"])
    assert (gone.exit_code, "has no open gate" in gone.stderr) == (REFUSED, True)


async def test_a_message_is_delivered_and_a_run_is_cancelled_with_what_it_did_undone(
    operator: Operator, ann: Person, tmp_path: Path
) -> None:
    run = await ann.start("claim")
    payload = tmp_path / "letter.json"
    payload.write_text(json.dumps({"pages": 3}))
    told: dict[str, Any] = await operator.reads(
        "runs", "message", run["id"], "documents-received", "--payload", f"@{payload}"
    )
    assert told["id"] == run["id"]
    ended = await operator.reads("runs", "cancel", run["id"], "--yes", "--compensate")
    assert ended["status"] in {"cancelled", "compensating"}
    refused = await operator.says("runs", "message", run["id"], "letter")
    assert refused.exit_code == REFUSED


async def test_what_a_decision_rests_on_and_the_call_that_it_performs_are_shown(
    operator: Operator, ann: Person
) -> None:
    await ann.connect("transfer", "https://bank.example.com")
    line = await ann.start("line", {"amount": 5, "note": "as ordered"})
    shown = (await operator.says("runs", "show", line["id"])).stdout
    (amount,) = [row.split() for row in shown.splitlines() if row.startswith("  amount")]
    (fact,) = [row.split() for row in shown.splitlines() if row.startswith("  look.found")]
    assert (amount, fact[:6]) == (["amount", "5"], ["look.found", "3", "dry", "run", "of", "lookup,"])
    for text in ('"as ordered"', "approved leads to", "recorded, not sent: payment has no connector", "the end: paid"):
        assert text in shown
    direct = await ann.start("direct")
    call = direct["gate"]["effect"]
    asking = await operator.says("runs", "resume", direct["id"], "approved", types="n\n")
    for said in ((await operator.says("gates", "show", direct["id"])).stdout, asking.stderr):
        _, follows = said.split("approved leads to")
        head = "    WILL BE SENT: POST https://bank.example.com/do (connector transfer, version 1)"
        begins, *rest = follows[follows.index(head) :].split("\n    ")
        assert call["method"] == "POST"
        assert call["url"] in begins
        assert json.loads("\n".join(rest).split("\n  close")[0]) == call["body"]
    assert "you may decide" in (await operator.says("gates", "show", direct["id"])).stdout


async def test_what_judges_said_is_shown_at_a_gate(operator: Operator, ann: Person) -> None:
    await publish(ann, DOCUMENT)
    started = await operator.says("runs", "start", "small-credit", "--inputs", '{"amount": 60}')
    assert started.exit_code == 0, started.output
    assert "judges" in started.stdout
    assert "Small amount: clear, confidence 0.90" in started.stdout
    assert "Fraud model: flag: There is no connector for fraud-judge." in started.stdout


async def test_an_agent_is_asked_answers_and_its_call_is_approved_as_it_is_changed(
    operator: Operator, ann: Person, house: House
) -> None:
    budget = {"sum": "arguments.amount", "max": 1, "per": "P1D"}
    await ruled(ann, {**ASKS, "decision": "allow", "budget": budget})
    helper = await Agent.named(house, ann, model="m-1")
    run_id = (await helper.asks(reasoning="charged twice", context={"ticket": "T-1"}, server="pay")).id
    question = await operator.reads("gates", "ask", run_id, "Which charge?")
    shown = (await operator.says("gates", "show", run_id)).stdout
    for text in ("helper, model m-1: stripe.refund of pay", "agent says", "charged twice", "refunds, version 1: budget",
                 "0 of 1 spent, takes 4900 more", "/amount", "Which charge?", "no answer yet"):  # fmt: skip
        assert text in shown, shown
    terminal = await at(operator, helper.person)
    told = await terminal.reads("gates", "answer", run_id, question["id"], "The second.")
    assert told["answer"] == "The second."
    assert "helper: The second." in (await operator.says("gates", "show", run_id)).stdout
    changed = {"charge": "ch_1", "amount": 1}
    done = await operator.reads("runs", "resume", run_id, "approved", "-y", "--arguments", json.dumps(changed))
    assert done["inputs"] == changed
