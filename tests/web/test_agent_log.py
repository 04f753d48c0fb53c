"""The log of what agents did: who oversaw it, who overrode it, and when they were stopped."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from tests.web.people import colleague
from tests.web.support import House, Person, assert_problem
from tests.web.test_actions import ask, put, rules_of
from tests.web.test_api_keys import machine, made
from tests.web.test_lists import pages
from tests.web.test_retention import archive_all, settings

__all__ = ["settings"]

LOG = "/audit/agents/"
RULES: list[dict[str, Any]] = [
    {
        "id": "small",
        "tool": "refund",
        "when": "arguments.amount <= 100",
        "decision": "allow",
        "budget": {"sum": "arguments.amount", "max": 100, "per": "P1D"},
    },
    {"id": "large", "tool": "refund", "decision": "ask", "gate": {"quorum": 2, "editable": ["/amount"]}},
]
NAME = "triage agent"


@pytest.fixture
async def agent(ann: Person, house: House) -> Person:
    await put(ann, RULES)
    return machine(house, await made(ann))


async def log(one: Person, query: str = "") -> list[dict[str, Any]]:
    answer = await one.get(f"{LOG}{query}")
    assert answer.status == 200, answer.raw
    found: list[dict[str, Any]] = answer.json
    return found


async def test_each_action_is_there_with_who_oversaw_and_overrode_it(agent: Person, ann: Person) -> None:
    allowed = (await ask(agent, 80, "a", reasoning="twice")).json
    over = (await ask(agent, 30, "b")).json
    asked = (await ask(agent, 500, "c")).json
    bob = await colleague(ann, "bob", "manager")
    body = {"gate": "small", "decision": "denied", "comment": "not today"}
    assert (await ann.post(f"/process-runs/{over['id']}/resume", body)).status == 200
    assert (await bob.resume(asked, "large")).status == 202
    taken = await bob.send("DELETE", f"/process-runs/{asked['id']}/gates/large/verdict")
    assert taken.status == 200, taken.raw
    gone = await ann.send("DELETE", f"/actions/{asked['id']}", {"reason": "by mistake"})
    assert gone.status == 200, gone.raw
    third, second, first = await log(ann)
    assert [one["id"] for one in (first, second, third)] == [allowed["id"], over["id"], asked["id"]]
    assert first == {
        **dict.fromkeys(("model", "server", "why", "made", "by", "reason")),
        **{name: first[name] for name in ("agent_id", "rule")},
        "kind": "action",
        "at": allowed["created_at"],
        "id": allowed["id"],
        "agent": NAME,
        "tool": "refund",
        "way": "penstock",
        "decision": "allow",
        "status": "completed",
        "outcome": "made",
        "arguments": {"amount": 80},
        "verdicts": [],
        "overrides": [],
    }
    assert (first["rule"], first["agent_id"] != "") == (allowed["rule"], True)
    assert (second["decision"], second["why"], second["outcome"]) == ("ask", "budget", "denied")
    [verdict], [override] = second["verdicts"], second["overrides"]
    assert (verdict["by"], verdict["by_kind"], verdict["decision"], verdict["comment"], verdict["withdrawn_at"]) == (
        *(ann.email, "person", "denied", "not today", None),
    )
    who = {name: verdict[name] for name in ("at", "by", "by_kind", "on_behalf_of")}
    assert override == {**who, "kind": "denial", "pointers": []}
    assert [(one["by"], one["kind"]) for one in third["overrides"]] == [
        (bob.email, "withdrawal"),
        (ann.email, "cancellation"),
    ]
    [verdict] = third["verdicts"]
    assert (verdict["by"], verdict["withdrawn_at"]) == (bob.email, third["overrides"][0]["at"])
    assert third["reason"] == "by mistake"


async def test_a_denial_counts_by_the_rule_as_it_stood(agent: Person, ann: Person) -> None:
    await ask(agent, 80, "a")
    over = (await ask(agent, 30, "b")).json
    asked = (await ask(agent, 500, "c")).json
    for run, step in ((over, "small"), (asked, "large")):
        assert (await ann.resume(run, step, "denied")).status == 200
    await put(ann, [{**RULES[0], "decision": "ask"}])
    assert [[one["kind"] for one in each["overrides"]] for each in await log(ann)] == [[], ["denial"], []]


async def test_stops_stand_between_the_actions_with_their_reasons(agent: Person, ann: Person) -> None:
    pause = f"{rules_of(ann)}/pause"
    await ask(agent, 1, "a")
    for body in ({"agent": NAME, "reason": "It refunds twice."}, {"agent": "other", "reason": "odd"}):
        assert (await ann.put(pause, body)).status == 200
    assert (await ann.put(pause, {"reason": "All of them."})).status == 200
    for query in (f"?agent={NAME}", ""):
        assert (await ann.send("DELETE", f"{pause}{query}")).status == 204
    await ask(agent, 1, "b")
    found = await log(ann)
    assert [(one["kind"], one["agent"], one["reason"]) for one in found] == [
        ("action", NAME, None),
        ("lift", None, None),
        ("lift", NAME, None),
        ("stop", None, "All of them."),
        ("stop", "other", "odd"),
        ("stop", NAME, "It refunds twice."),
        ("action", NAME, None),
    ]
    assert {one["by"] for one in found[1:-1]} == {ann.email}
    assert await log(ann, f"?agent={NAME}") == [one for one in found if one["agent"] != "other"]
    assert [one for page in await pages(ann, f"{LOG}?limit=2") for one in page] == found
    since, until = found[4]["at"].replace("+", "%2B"), found[1]["at"].replace("+", "%2B")
    assert await log(ann, f"?since={since}&until={until}") == found[2:5]
    assert [one["kind"] for one in await log(ann, f"?until={since}")] == ["stop", "action"]


async def test_of_an_archived_action_is_told_what_stays_of_it(agent: Person, ann: Person, house: House) -> None:
    asked = (await ask(agent, 5_000, reasoning="twice")).json
    body = {"gate": "large", "decision": "denied", "comment": "not today"}
    assert (await ann.post(f"/process-runs/{asked['id']}/resume", body)).status == 200
    [before] = await log(ann)
    await archive_all(house, ann)
    [entry] = await log(ann)
    stays = ("id", "at", "agent", "tool", "decision", "status", "outcome")
    assert {name: entry[name] for name in stays} == {name: before[name] for name in stays}
    assert entry["rule"]["version"] == before["rule"]["version"]
    assert (entry["arguments"], entry["verdicts"]) == (None, [])


async def test_what_was_redacted_is_not_in_the_log(agent: Person, ann: Person) -> None:
    asked = (await ask(agent, 5_000)).json
    body = {"gate": "large", "decision": "denied", "comment": "not today"}
    assert (await ann.post(f"/process-runs/{asked['id']}/resume", body)).status == 200
    redaction = {"pointers": ["/inputs/amount"], "reason": "They asked."}
    answer = await ann.post(f"/process-runs/{asked['id']}/redact", redaction)
    assert answer.status == 200, answer.raw
    assert b"5000" not in (await ann.get(LOG)).raw


async def test_it_is_read_as_csv_by_admins_and_by_no_agent(agent: Person, ann: Person, house: House) -> None:
    await ask(agent, 1, reasoning="=1+1")
    answer = await ann.get(f"{LOG}?format=csv")
    [row] = csv.DictReader(io.StringIO(answer.raw.decode(), newline=""))
    assert (row["agent"], row["rule.id"], row["rule.version"], row["arguments"]) == (NAME, "small", "1", '{"amount":1}')
    for one in (await colleague(ann, "max", "manager"), agent):
        assert (await one.get(LOG)).status == 403
    service = machine(house, await made(ann, name="auditor", kind="service", role="admin"))
    assert len(await log(service)) == 1
    assert_problem(await ann.get(f"{LOG}?cursor=YWdlbnRzOmEuYg"), 400, "malformed_cursor")
