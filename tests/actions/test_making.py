"""The start of an action, the template that it follows, and how it is answered."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from actors.core.actions.deciding import ActionRule, Call, RuleDecision, Way, fingerprint
from actors.core.calls import Connector
from actors.core.decider import TurnResult, step
from actors.core.messages import Cancel, Consume, Due, Message, ReportOutcome, Resume, Start
from actors.core.people import AgentKey, Company
from actors.core.run import Run
from actors.core.template import Template
from daemon.actions.deciding import DecidedCall
from daemon.actions.making import ActionTemplates, AgentPatience, Making
from daemon.actions.views import action_json
from daemon.identity.tokens import Principal
from daemon.model.actions import action_row
from daemon.stores.sqlite.store import SqliteStore
from daemon.templates.catalog import Catalog
from tests.histories import ACME, NOON

AGENT = Principal(
    "key-1", ACME, "member", "helper", "key-1", NOON, via="api_key", kind="agent", made_by="ann@example.test"
)
CALL = Call(tool="stripe.refund", arguments={"amount": 4900}, agent="helper", agent_id="key-1", reasoning="twice")
RULE = ActionRule(id="refunds", version=3, digest="sha256:r", tool="stripe.*", decision="ask", editable=("/amount",))
COMPANY = Company(rules={"refunds": 3}, agents={"key-1": AgentKey()})
LIVE = {
    "stripe.refund": Connector("stripe.refund", 1, "https://api.test", "POST", "/refunds", reversible=True),
}


async def made(store: Any, verdict: Any = "ask", way: Way = "penstock", **rule: Any) -> tuple[Start, Template]:
    catalog = Catalog([], store)
    making = Making(ActionTemplates(catalog), now=lambda: NOON)
    said = replace(RULE, **rule)
    decided = DecidedCall(CALL, RuleDecision(said, verdict), way, fingerprint(CALL))
    start, template = await making.start(
        AGENT, "run-1", decided, patience=AgentPatience("30m", timedelta(minutes=30)), outcome_within="PT5M"
    )
    again, same = await making.start(AGENT, "run-2", decided)
    assert same is template
    assert again.action is not None
    assert again.action.deadline_at is None
    assert await Catalog([], store).pinned(ACME, template.digest) == template
    return start, template


def say(run: Run | None, template: Template, *messages: Message) -> Run:
    """The run after these messages."""
    for message in messages:
        done = step(run, message, template, LIVE, company=COMPANY)
        assert isinstance(done, TurnResult), done
        run = done.run
    assert run is not None
    return run


async def test_the_start_knows_all_of_the_call_and_of_the_decision(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        start, template = await made(store, reason="too much")
    facts = start.action
    assert facts is not None
    assert (start.by, start.by_kind, start.made_by) == ("helper", "agent", "ann@example.test")
    assert (start.inputs, facts.reasoning, facts.reason) == ({"amount": 4900}, "twice", "too much")
    assert (facts.rule.id, facts.rule.version, facts.editable) == ("refunds", 3, ("/amount",))
    assert (facts.timeout, facts.deadline_at, facts.outcome_within) == ("30m", NOON + timedelta(minutes=30), "PT5M")
    node = template.node("refunds")
    assert (node.tier, node.tool, node.consent, node.handed) == ("high", "stripe.refund", "refunds", False)


@pytest.mark.parametrize(
    ("decision", "way", "rule", "tier", "tool"),
    [
        ("allow", "penstock", {}, "low", "stripe.refund"),
        ("ask", "penstock", {"decision": "allow", "gate": {"quorum": 2}}, "high", "stripe.refund"),
        ("ask", "penstock", {"tier": "medium"}, "medium", "stripe.refund"),
        ("ask", "penstock", {"tier": "medium", "decision": "allow"}, "high", "stripe.refund"),
        ("allow", "penstock", {"tier": "medium", "decision": "allow"}, "low", "stripe.refund"),
        ("ask", "aap", {"tier": "critical"}, "critical", "aap:stripe.refund"),
    ],
)
async def test_the_template_follows_the_decision(
    tmp_path: Path, decision: Any, way: Way, rule: dict[str, Any], tier: str, tool: str
) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        _, template = await made(store, decision, way, **rule)
    node = template.node("refunds")
    assert (node.tier, node.tool, node.policy.quorum) == (tier, tool, 2 if "gate" in rule else 1)


async def test_an_action_that_people_changed_is_answered_with_both_arguments(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        start, template = await made(store)
    run = say(None, template, start)
    asked = action_json(run, {"step_id": "refunds"})
    assert (asked["status"], asked["outcome"], asked["made"], asked["arguments"]) == (
        "parked",
        None,
        None,
        {"amount": 4900},
    )
    assert (asked["expires_at"], asked["gate"]) == (NOON + timedelta(minutes=30), {"step_id": "refunds"})
    verdict: dict[str, Any] = {"gate": "refunds", "by": "bob", "role": "owner", "at": NOON}
    run = say(run, template, Resume(**verdict, decision="approved", arguments={"amount": 2000}))
    sent = action_json(run, None)
    assert (sent["status"], sent["made"], sent["arguments"]) == ("executing", {"amount": 2000}, {"amount": 4900})


async def test_a_denied_action_says_why(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        start, template = await made(store)
        refused, other = await made(store, "deny", decision="deny", reason="never")
    verdict: dict[str, Any] = {"gate": "refunds", "by": "bob", "role": "owner", "at": NOON, "comment": "ask her first"}
    denied = action_json(say(None, template, start, Resume(**verdict, decision="denied")), None)
    assert (denied["outcome"], denied["made"], denied["reason"]) == ("denied", None, "ask her first")
    by_rule = action_json(say(None, other, refused), None)
    assert (by_rule["outcome"], by_rule["decision"], by_rule["reason"]) == ("denied", "deny", "never")


async def test_a_call_of_the_agent_is_made_once_it_has_used_its_approval_up(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        start, template = await made(store, "allow", "aap")
    run = say(None, template, start)
    granted = action_json(run, None)
    assert (granted["status"], granted["made"], granted["expires_at"]) == (
        "waiting",
        None,
        NOON + timedelta(minutes=10),
    )
    run = say(run, template, Consume(key_hash="k", by="helper", at=NOON))
    assert action_json(run, None)["made"] == {"amount": 4900}
    run = say(run, template, ReportOutcome(status="succeeded", by="helper", at=NOON))
    done = action_json(run, None)
    assert (done["outcome"], done["result"], done["expires_at"]) == ("made", {"status": "succeeded"}, None)


async def test_a_call_that_was_only_recorded_was_not_made(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        start, template = await made(store, "allow")
    done = step(None, start, template, {}, company=COMPANY)
    assert isinstance(done, TurnResult)
    found = action_json(done.run, None)
    assert (found["status"], found["outcome"], found["made"]) == ("completed", "made", None)


@pytest.mark.parametrize(
    ("told", "outcome", "spent"),
    [
        ((Due(at=NOON + timedelta(minutes=10)),), "expired_unused", False),
        ((Cancel(by="bob", at=NOON),), "cancelled", False),
        ((Consume(key_hash="k", by="helper", at=NOON), Cancel(by="bob", at=NOON)), "unknown", True),
    ],
)
async def test_a_call_is_in_doubt_only_if_the_agent_has_used_its_approval_up(
    tmp_path: Path, told: tuple[Message, ...], outcome: str, spent: bool
) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        start, template = await made(store, "allow", "aap")
    assert start.action is not None
    run = say(None, template, replace(start, action=replace(start.action, amount=1)), *told)
    row = action_row(run)
    assert row is not None
    assert (row.outcome, row.spent_at is not None) == (outcome, spent)


async def test_what_is_asked_for_another_reason_than_its_rule_is_never_earned(tmp_path: Path) -> None:
    rule = replace(RULE, tier="medium")
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        templates = ActionTemplates(Catalog([], store))
        own = await templates.template(ACME, CALL, RuleDecision(rule, "ask"), "penstock")
        forced = await templates.template(
            ACME, CALL, RuleDecision(rule, "ask", "the same call may have happened"), "aap"
        )
        again = await templates.template(ACME, CALL, RuleDecision(rule, "ask", "condition failed"), "penstock")
    assert (own.node("refunds").tier, own.judged) == ("medium", ("refunds",))
    assert [(one.node("refunds").tier, one.judged) for one in (forced, again)] == [("high", ())] * 2
