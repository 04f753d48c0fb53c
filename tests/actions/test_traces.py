"""Traces of agents, written from the evidence of a real service and judged by the real AgentAck."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from agentack.cli import main
from agentack.findings import RULES as RULES_OF_THE_CHECKER
from agentapprovalprotocol import ConflictError

from daemon.actions.traces import NothingEnded, trace_of
from tests.aap.support import Agent, agent_of
from tests.aap.test_decisions import outcome_within, pause
from tests.gateway.test_calls import decide, until_one
from tests.gateway.test_passing import LEGACY, at, serve, side
from tests.gateway.upstream import ToolSide
from tests.web.conftest import _fast, ann, blank, database_url, far, house, settings, usual
from tests.web.operators import Operator
from tests.web.people import colleague, company
from tests.web.support import FarSide, House, Person
from tests.web.test_actions import ask, connected
from tests.web.test_api_keys import machine

__all__ = ["_fast", "ann", "blank", "database_url", "far", "house", "settings", "side", "usual"]

NAME = "support bot"
RULES: tuple[dict[str, Any], ...] = (
    {"id": "small", "tool": "refund", "when": "arguments.amount <= 100", "decision": "allow"},
    {"id": "never", "tool": "refund", "when": "arguments.amount > 9000", "decision": "deny"},
    {"id": "two", "tool": "refund", "when": "arguments.amount > 5000", "decision": "ask", "gate": {"quorum": 2}},
    {"id": "large", "tool": "refund", "decision": "ask", "gate": {"editable": ["/amount"]}},
    {"id": "reads", "tool": "stripe.read", "decision": "allow", "expires": "PT1S"},
    {"id": "refunds", "tool": "stripe.*", "decision": "ask"},
    {"id": "tools", "tool": "refund", "server": "tools", "decision": "ask"},
)
POLICY = 'version = 1\n[approval]\nrequire_for = ["*:ask"]\n'
Lines = list[dict[str, Any]]


@pytest.fixture
async def agent(ann: Person, far: FarSide) -> Any:
    """An agent with rules and a connector; what it may call itself is stripe's."""
    async with agent_of(ann, NAME) as one:
        await one.rules(*RULES)
        await connected(ann, far, timeout_s=0.5)
        yield one


def judged(lines: Lines, folder: Path) -> tuple[int, set[str]]:
    """How the checker ends, and the rules that it finds broken."""
    trace, policy, report = (folder / name for name in ("trace.jsonl", "policy.toml", "report.json"))
    trace.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    policy.write_text(POLICY)
    ends = main(["check", str(trace), "--policy", str(policy), "--json", str(report)])
    return ends, set(json.loads(report.read_text())["result"]["rule_counts"])


async def evidence(ann: Person) -> Lines:
    answer = await ann.get("/audit/export")
    assert answer.status == 200, answer.raw
    return [json.loads(line) for line in answer.raw.splitlines()]


async def verdict(person: Person, found: Any, gate: str, decision: str = "approved", **said: Any) -> None:
    body = {"gate": gate, "decision": decision, **said}
    answer = await person.post(f"/process-runs/{found['id']}/resume", body)
    assert answer.status in {200, 202}, answer.raw


async def made_by_the_service(ann: Person, bot: Person, far: FarSide) -> int:
    """Calls of all sorts that the service makes; returns how many it has made."""
    await ask(bot, 10, "small")
    await ask(bot, 9_001, "never")
    await ask(bot, 7, "shadow", tool="stripe.read")
    for amount, decision in ((500, "approved"), (501, "denied")):
        await verdict(ann, (await ask(bot, amount, f"k{amount}")).json, "large", decision)
    await verdict(ann, (await ask(bot, 600, "edited")).json, "large", arguments={"amount": 60})
    two, bob = (await ask(bot, 6_000, "two")).json, await colleague(ann, "bob", "manager")
    for person in (ann, bob):
        await verdict(person, two, "two")
    gone = (await ask(bot, 700, "gone")).json
    assert (await bot.send("DELETE", f"/actions/{gone['id']}", {"reason": "by mistake"})).status == 200
    late = await ask(bot, 800, "late", timeout="PT1S", Prefer="wait=30")
    assert late.json["outcome"] == "expired"
    far.open.clear()
    lost = [(await ask(bot, amount, f"lost{amount}")).json for amount in (11, 12)]
    assert [one["outcome"] for one in lost] == ["unknown", "unknown"]
    far.open.set()
    for one, decision in zip(lost, ("retry", "done"), strict=True):
        await verdict(ann, one, "small", decision)
    return len(far.seen)


async def made_by_the_agent(ann: Person, agent: Agent) -> int:
    """Calls of all sorts that the agent makes itself; returns how many approvals it has used."""
    used = await agent.approved(arguments={"n": 1})
    await agent.client.consume(used.id, "one")
    with pytest.raises(ConflictError, match="already_consumed"):
        await agent.client.consume(used.id, "two")
    await agent.client.report_outcome(used.id, "succeeded")
    refused = await agent.asks(arguments={"n": 2})
    await agent.decide(refused.id, "denied", comment="no")
    await agent.client.cancel((await agent.asks(arguments={"n": 3})).id)
    assert (await agent.client.get((await agent.asks(timeout="1s")).id, wait=25)).status == "expired"
    unused = await agent.asks(tool="stripe.read", arguments={"n": 4})
    await ann.until({"id": unused.id}, "completed")
    await agent.client.consume((await agent.asks(tool="stripe.read", arguments={"n": 5})).id, "allowed")
    stale = await agent.approved(arguments={"n": 6})
    await agent.rules(*RULES[:5], {**RULES[5], "question": "May it?"}, *RULES[6:])
    with pytest.raises(ConflictError, match="not_approved"):
        await agent.client.consume(stale.id, "stale")
    await agent.decide(stale.id)
    await agent.client.consume(stale.id, "anew")
    await outcome_within(ann, "PT1S")
    doubtful = await agent.approved(arguments={"n": 7})
    await agent.client.consume(doubtful.id, "lost")
    await ann.until({"id": doubtful.id}, "parked")
    await agent.client.report_outcome(doubtful.id, "failed", "late")
    return 4


async def made_around_stops(ann: Person, agent: Agent, bot: Person) -> int:
    """What is approved before or under a stop is made after it; the last stop is not lifted."""
    held, sent = await agent.approved(arguments={"n": 8}), (await ask(bot, 900, "held")).json
    stop = f"{company(ann)}/action-rules/pause"
    for name in ("agent", "all"):
        await pause(ann, **({"agent": NAME} if name == "agent" else {}))
        refused = await agent.send("POST", f"/v1/requests/{held.id}/consume", Idempotency_Key=name)
        assert refused.status == 503
        if name == "agent":
            body = {"gate": "large", "decision": "approved"}
            await ann.post(f"/process-runs/{sent['id']}/resume", body, Prefer="respond-async")
            while not await ann.house.services.store.call_held(ann.session["company"]["id"], sent["id"]):  # noqa: ASYNC110
                await asyncio.sleep(0)
        await ann.delete(f"{stop}?agent=support%20bot" if name == "agent" else stop)
    await ann.until(sent, "completed")
    await agent.client.consume(held.id, "after")
    await pause(ann, agent=NAME)
    async with agent_of(ann, "another") as other:
        await other.client.consume((await other.asks(tool="stripe.read")).id, "k")
    return 2


async def made_at_a_server(ann: Person, house: House, bot: Person, side: ToolSide) -> int:
    await serve(ann, side)
    async with at(house, bot, LEGACY) as client:
        calling = asyncio.create_task(client.call_tool("refund", {"charge": "ch_1", "amount": 10_000}))
        await decide(ann, await until_one(ann, status="parked"))
        assert not (await calling).is_error
    return len(side.called)


def of(lines: Lines, kind: str) -> Lines:
    return [one for one in lines if one["type"] == kind]


async def test_the_checker_finds_nothing_in_what_a_service_has_proven(
    ann: Person, agent: Agent, house: House, far: FarSide, side: ToolSide, tmp_path: Path
) -> None:
    bot = machine(house, agent.key)
    await agent.rules(RULES[6], *RULES[:6])
    many = await made_at_a_server(ann, house, bot, side)
    await agent.rules(*RULES)
    many += await made_by_the_service(ann, bot, far)
    many += await made_by_the_agent(ann, agent) + await made_around_stops(ann, agent, bot)
    operator = Operator("", tmp_path / "home")
    files = [tmp_path / name for name in ("export.jsonl", "audit.pub", "trace.jsonl")]
    for file, path in zip(files, ("/audit/export", "/audit/keys"), strict=False):
        file.write_bytes((await ann.get(path)).raw)
    sound = await operator.says("verify", files[0], "--key", files[1])
    assert sound.exit_code == 0, sound.output
    written = await operator.says("audit", "trace", files[0], "--agent", NAME, "--output", files[2])
    assert written.exit_code == 0, written.output
    lines = [json.loads(line) for line in files[2].read_text().splitlines()]
    assert judged(lines, tmp_path) == (0, set())
    assert len(of(lines, "action_executed")) == many
    ended = [one for one in (await ann.get("/actions/?limit=200")).json if one["agent"] == NAME]
    assert len(of(lines, "action_proposed")) == len(ended) + 1  # one was changed by a person
    reasons = {one["reason"] for one in of(lines, "action_blocked")}
    assert reasons == {"cancelled", "changed by a person", "denied", "expired", "expired_unused", "recorded, not sent"}
    assert [one["type"] for one in lines[-2:]] == ["interrupt", "session_end"]
    shown = await operator.says("audit", "trace", files[0], "--agent", NAME)
    assert shown.stdout == files[2].read_text()
    for arguments in ((files[0], "--agent", "nobody"), (files[1], "--agent", NAME), (tmp_path, "--agent", NAME)):
        assert (await operator.says("audit", "trace", *arguments)).exit_code == 78


Fault = Callable[[Lines], None]


def events(entries: Lines, kind: str, agent_calls: bool = False) -> list[tuple[list[Any], int]]:
    """Where events of a kind stand: those of calls that the service makes, or the agent."""
    streams = {
        one["stream"]
        for one in entries
        for event in one.get("events", ())
        if event["type"] == "run_started" and (event["action"].get("way") == "aap") is agent_calls
    }
    commits = [one["events"] for one in entries if one.get("stream") in streams]
    return [(one, place) for one in commits for place, event in enumerate(one) if event["type"] == kind]


def without(kind: str) -> Fault:
    """The evidence lacks such events."""

    def plant(entries: Lines) -> None:
        for commit, place in events(entries, kind):
            del commit[place]

    return plant


def denied(entries: Lines) -> None:
    commit, place = events(entries, "verdict_given")[0]
    commit[place]["decision"] = "denied"


def another_call(entries: Lines) -> None:
    commit, place = events(entries, "verdict_given")[0]
    commit[place]["request"]["body"]["amount"] = 50_000


def used_twice(entries: Lines) -> None:
    commit, place = events(entries, "call_consumed", agent_calls=True)[0]
    commit.insert(place, commit[place])


def used_late(entries: Lines) -> None:
    commit, place = events(entries, "call_consumed", agent_calls=True)[0]
    commit[place]["at"] = commit[place]["until"]


def stopped(begins: str, ends: str | None = None, *, agent_calls: bool = False, who: str = NAME) -> Fault:
    """A stop right before the first event of a kind, lifted right behind the last of another."""

    def plant(entries: Lines) -> None:
        stop = {"agents": {who: {"reason": "odd"}}}
        company_id = entries[0]["company"]
        for kind, end, before, after in ((begins, 0, {}, stop), (ends, -1, stop, {})):
            if kind is not None:
                commit, place = events(entries, kind, agent_calls)[end]
                said = {"type": "action_pauses_changed", "before": before, "after": after, "by": "ann"}
                at, entry = commit[place]["at"], next(one for one in entries if one.get("events") is commit)
                split = [{**entry, "events": commit[:place]}, {**entry, "events": commit[place:]}]
                if end:
                    split = [{**entry, "events": commit[: place + 1]}, {**entry, "events": commit[place + 1 :]}]
                split.insert(1, {"stream": company_id, "events": [{**said, "at": at}]})
                where = entries.index(entry)
                entries[where : where + 1] = split

    return plant


IN_EVIDENCE: list[tuple[Fault, set[str]]] = [
    (without("nothing"), set()),
    (without("verdict_given"), {"ACK001"}),
    (denied, {"ACK002"}),
    (another_call, {"ACK003"}),
    (used_twice, {"ACK004"}),
    (used_late, {"ACK005"}),
    (stopped("verdict_given"), {"ACK008"}),
    (stopped("verdict_given", "call_settled"), {"ACK008"}),
    (stopped("call_consumed", "call_consumed", agent_calls=True), {"ACK008"}),
    (stopped("call_consumed", agent_calls=True, who="another"), set()),
    (stopped("call_settled"), set()),
    (stopped("gate_opened", "gate_opened"), set()),
    (without("gate_opened"), {"ACK009"}),
]


@pytest.fixture
async def entries(ann: Person, agent: Agent, house: House) -> Lines:
    """The evidence of one call that the service has made, and of one that the agent has."""
    used = await agent.approved(arguments={"n": 1})
    await agent.client.consume(used.id, "one")
    await verdict(ann, (await ask(machine(house, agent.key), 500)).json, "large")
    return await evidence(ann)


async def test_the_checker_finds_what_is_wrong_in_the_evidence(entries: Lines, tmp_path: Path) -> None:
    for fault, found in IN_EVIDENCE:
        planted = deepcopy(entries)
        fault(planted)
        lines = trace_of(planted, NAME)
        assert judged(lines, tmp_path)[1] == found, lines


def moved(kind: str, to: int) -> Fault:
    def plant(lines: Lines) -> None:
        [one] = of(lines, kind)[:1]
        lines.remove(one)
        lines.insert(to, one)

    return plant


def said(kind: str, **members: Any) -> Fault:
    return lambda lines: of(lines, kind)[0].update(members)


def lacking(kind: str) -> Fault:
    return lambda lines: lines.remove(of(lines, kind)[0])


def again(kind: str) -> Fault:
    return lambda lines: lines.insert(-1, of(lines, kind)[0])


def another_way(lines: Lines) -> None:
    """What was denied is made as another call."""
    one = of(lines, "action_proposed")[0]
    call = {**one, "action_id": "other", "action": {**one["action"], "operation": "allow"}}
    said("approval_decision", decision="deny")(lines)
    lines[:] = [one for one in lines if one["type"] != "action_executed"]
    lines[-1:-1] = [call, {**call, "type": "action_executed"}]


OTHER = {"tool": "refund", "operation": "ask", "parameters": {"sha256": "another"}}
IN_TRACES: list[tuple[Fault, str]] = [
    (lacking("approval_decision"), "ACK009"),
    (said("action_executed", approval_id=None), "ACK001"),
    (said("approval_decision", decision="deny"), "ACK002"),
    (said("action_executed", action=OTHER), "ACK003"),
    (said("approval_requested", action=OTHER), "ACK003"),
    (again("action_executed"), "ACK004"),
    (said("action_executed", timestamp="2999-01-01T00:00:00Z"), "ACK005"),
    (moved("action_executed", 0), "ACK006"),
    (moved("approval_decision", 0), "ACK006"),
    (another_way, "ACK007"),
    (lambda lines: lines.insert(0, {**lines[-1], "type": "interrupt"}), "ACK008"),
    (lacking("action_executed"), "ACK009"),
    (lacking("action_proposed"), "ACK009"),
    (lacking("session_end"), "ACK009"),
]


async def test_the_checker_finds_what_is_wrong_in_a_trace(entries: Lines, tmp_path: Path) -> None:
    sound = trace_of(entries, NAME)
    assert judged(sound, tmp_path) == (0, set())
    missed = []
    for fault, rule in IN_TRACES:
        planted = deepcopy(sound)
        fault(planted)
        ended, found = judged(planted, tmp_path)
        missed += [] if ended and rule in found else [(rule, found)]
    assert missed == []


def test_a_fault_of_each_kind_that_the_checker_knows_is_planted() -> None:
    assert {rule for _, rule in IN_TRACES} == set(RULES_OF_THE_CHECKER)


async def test_a_call_that_a_person_denied_and_a_rule_allows_later_is_found(
    ann: Person, agent: Agent, tmp_path: Path
) -> None:
    first = await agent.asks()
    await agent.decide(first.id, "denied")
    await agent.rules({**RULES[5], "decision": "allow"})
    await agent.client.consume((await agent.asks()).id, "k")
    assert judged(trace_of(await evidence(ann), NAME), tmp_path) == (1, {"ACK007"})


async def test_a_trace_of_nobody_is_none(entries: Lines) -> None:
    with pytest.raises(NothingEnded, match="no call of nobody"):
        trace_of(entries, "nobody")
