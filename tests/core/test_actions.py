"""Actions of agents: which rule decides, and how a call is made, once, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from actors.core.actions.deciding import (
    AMOUNT_MAX,
    SCALE,
    UNRULED,
    ActionFacts,
    ActionRule,
    BudgetRule,
    Call,
    RuleReference,
    Spent,
    context_key,
    decide,
    fingerprint,
    matches,
    misedits,
    rule_digest,
    scaled,
    standing,
)
from actors.core.approvals import CHANGED, OUTCOME_UNKNOWN, changed_gates, current_snapshot, lost_call, unsettled
from actors.core.autonomy import Breakpoint, CompanyAutonomy, Record, record_key
from actors.core.calls import CallRequest, prepare
from actors.core.commands.handovers import reported
from actors.core.decider import TurnResult
from actors.core.gate_policy import Escalation
from actors.core.messages import (
    AnswerQuestion,
    AskAgent,
    Consume,
    Failure,
    ReportOutcome,
    RunStarted,
    Start,
)
from actors.core.people import AgentKey, Company, Person
from actors.core.run import Run
from actors.core.template import ConditionFailed, Template, Tier
from tests import processes
from tests.conversations import NOT_SENT, RECONNECTED, Conversation, fold
from tests.processes import connector, end, process, ruling, seated, task

WAYS = "refunds -> made\nrefunds -[denied]-> denied"
REFUNDS = ActionRule(id="refunds", version=3, digest="sha256:r", tool="stripe.*", decision="allow")
CALL = Call(
    tool="stripe.refund", server="stripe", arguments={"amount": 4900}, agent="helper", agent_id="key-1", model="m-1"
)
PEOPLE = {name: Person(name, name, role) for name, role in (("bob", "manager"), ("cyd", "manager"))}
COMPANY = Company(people=PEOPLE, rules={"refunds": 3}, agents={"key-1": AgentKey("m-1")})
MINUTE = timedelta(minutes=1)


def nothing(_: ActionRule) -> Spent:
    return Spent()


def never(*_: Any) -> bool:
    return False


def unclear(*_: Any) -> bool:
    raise ConditionFailed("no such key")


# ------------------------------------------------------------------------------------------ rules


@pytest.mark.parametrize(
    ("glob", "value", "fits"),
    [
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("a", "a", True),
        ("a", "b", False),
        ("a*", "abc", True),
        ("*c", "abc", True),
        ("*b", "abc", False),
        ("a*c*e", "abcde", True),
        ("a*c", "abcbc", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("a**", "a", True),
        ("a?", "a", False),
        ("[a]", "a", False),
    ],
)
def test_a_glob_has_two_signs(glob: str, value: str, fits: bool) -> None:
    assert matches(glob, value) is fits


@pytest.mark.parametrize(
    ("globs", "fits"),
    [
        ({}, True),
        ({"tool": "other"}, False),
        ({"server": "str*"}, True),
        ({"server": "other"}, False),
        ({"agent": "help??"}, True),
        ({"agent": "other"}, False),
        ({"model": "m-*"}, True),
        ({"model": "n-*"}, False),
    ],
)
def test_a_rule_is_about_the_calls_that_its_globs_are(globs: dict[str, str], fits: bool) -> None:
    assert replace(REFUNDS, **globs).fits(CALL) is fits


def test_a_glob_of_a_model_is_none_of_a_call_without_one_unless_it_takes_all() -> None:
    nameless = replace(CALL, model=None)
    assert not replace(REFUNDS, model="m*").fits(nameless)
    assert replace(REFUNDS, model="*").fits(nameless)


def test_the_first_rule_that_fits_decides() -> None:
    others = (replace(REFUNDS, id="other", tool="x"), replace(REFUNDS, id="if", when="false", decision="deny"))
    found = decide((*others, REFUNDS, replace(REFUNDS, id="later", decision="deny")), CALL, nothing, never)
    assert (found.rule_id, found.decision, found.why) == ("refunds", "allow", None)
    assert found.reference == RuleReference("refunds", 3, "sha256:r")


def test_what_no_rule_fits_is_asked() -> None:
    found = decide((), CALL, nothing, never)
    assert (found.rule, found.decision, found.why) == (UNRULED, "ask", "no rule fits")
    assert UNRULED.digest == rule_digest(UNRULED)


def test_a_condition_that_holds_decides() -> None:
    found = decide([replace(REFUNDS, when="true", decision="deny")], CALL, nothing, lambda *_: True)
    assert found.decision == "deny"


@pytest.mark.parametrize(("says", "does"), [("allow", "ask"), ("ask", "ask"), ("deny", "deny")])
def test_a_condition_that_fails_never_allows(says: Any, does: str) -> None:
    found = decide([replace(REFUNDS, when="x", decision=says), REFUNDS], CALL, nothing, unclear)
    assert (found.decision, found.why) == (does, "condition failed: no such key")


def test_a_company_that_clears_nothing_asks() -> None:
    found = decide([REFUNDS], CALL, nothing, never, autonomous=False)
    assert (found.decision, found.why) == ("ask", "autonomy is off")
    assert decide([replace(REFUNDS, decision="deny")], CALL, nothing, never, autonomous=False).decision == "deny"


@pytest.mark.parametrize(
    ("budget", "spent", "decision", "why", "amount"),
    [
        ({"sum": "arguments.amount", "max": 10_000}, 5_100, "allow", None, 4900 * SCALE),
        ({"sum": "arguments.amount", "max": 10_000}, 5_101, "ask", "budget", 4900 * SCALE),
        ({"sum": "arguments.none", "max": 10_000}, 0, "ask", "budget: the amount is not clear", None),
        ({"sum": "arguments.amount.more", "max": 10_000}, 0, "ask", "budget: the amount is not clear", None),
        ({"sum": "arguments.amount", "max": -1}, 0, "ask", "budget: the amount is not clear", 4900 * SCALE),
        ({"count": True, "max": 3}, 2, "allow", None, SCALE),
        ({"count": True, "max": 3}, 3, "ask", "budget", SCALE),
    ],
)
def test_a_budget_is_never_passed(budget: Any, spent: int, decision: str, why: str | None, amount: int | None) -> None:
    rule = replace(REFUNDS, budget=BudgetRule(per="P1D", **budget))
    found = decide([rule], CALL, lambda _: Spent(1, spent * SCALE), never)
    assert (found.decision, found.why, found.amount) == (decision, why, amount)
    assert found.spent == Spent(1, spent * SCALE)


def test_a_budget_counts_for_one_agent_or_for_all() -> None:
    assert BudgetRule(max=1, per="P1D").scope(CALL) == "helper"
    assert BudgetRule(max=1, per="P1D", of="rule").scope(CALL) == ""


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        (1, SCALE),
        (0, 0),
        (0.1, 100_000),
        (49.99, 49_990_000),
        (1e-6, 1),
        (1e-7, None),
        (0.1 + 0.2, None),
        (-1, None),
        (True, None),
        ("1", None),
        (None, None),
        (AMOUNT_MAX // SCALE, AMOUNT_MAX),
        (AMOUNT_MAX // SCALE + 1, None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_an_amount_is_exact_or_none(value: object, amount: int | None) -> None:
    assert scaled(value) == amount


def test_the_digest_of_a_rule_is_that_of_what_it_says() -> None:
    assert rule_digest(REFUNDS) == rule_digest(replace(REFUNDS, version=9, digest=""))
    assert rule_digest(REFUNDS) != rule_digest(replace(REFUNDS, tool="x"))


def test_the_same_call_has_one_fingerprint_whoever_makes_it() -> None:
    others = ({"agent": "x"}, {"agent_id": "x"}, {"model": "x"}, {"reasoning": "x"}, {"context": {"a": 1}})
    assert {fingerprint(replace(CALL, **one)) for one in others} == {fingerprint(CALL)}
    for one in ({"tool": "x"}, {"server": None}, {"arguments": {"amount": 4901}}):
        assert fingerprint(replace(CALL, **one)) != fingerprint(CALL)
    assert fingerprint(replace(CALL, arguments={"amount": 4900.0})) == fingerprint(CALL)


def test_the_calls_of_one_context_have_one_key() -> None:
    assert context_key(None) is None
    assert context_key({"call_id": "1", "thread": "t"}) == context_key({"thread": "t", "call_id": "2"})
    assert context_key({"thread": "t"}) != context_key({"thread": "u"})


@pytest.mark.parametrize(
    ("asked", "made", "wrong"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, ["/a"]),
        ({"a": 1}, {"a": 2}, ["/a"]),
        ({"a": 1}, {}, ["/a"]),
        ({}, {"a/b": 1}, ["/a~1b"]),
        ({"ok": 1}, {"ok": {"x": 2}}, []),
        ({"ok": {"x": 1}}, {"ok": {"x": 2}}, []),
        ({"okay": 1}, {"okay": 2}, ["/okay"]),
        ({"list": [1, {"b": 2}]}, {"list": [1, {"b": 3}]}, ["/list/1/b"]),
        ({"list": [1, 2]}, {"list": [1]}, ["/list"]),
        ({"list": [{"qty": 1}]}, {"list": [{"qty": 2}]}, []),
    ],
)
def test_arguments_change_where_the_rule_lets_them_alone(asked: Any, made: Any, wrong: list[str]) -> None:
    assert list(misedits(asked, made, ("/ok", "/list/0/qty"))) == wrong


# --------------------------------------------------------------------------------- still standing


FACTS = ActionFacts(
    tool="stripe.refund",
    server="stripe",
    agent="helper",
    agent_id="key-1",
    model="m-1",
    reasoning="charged twice",
    rule=RuleReference("refunds", 3, "sha256:r"),
    decision="ask",
    fingerprint=fingerprint(CALL),
)


@pytest.mark.parametrize(
    ("company", "facts", "why"),
    [
        ({}, {}, None),
        ({"rules": {"refunds": 4}}, {}, "the rule refunds has changed since (version 3, now 4)"),
        ({"rules": {}}, {}, "the rule refunds is gone since"),
        ({"rules": {}}, {"rule": RuleReference("unruled", 0, "")}, None),
        ({"agents": {}}, {}, "the agent's key is gone"),
        ({"agents": {}}, {"agent_id": "bob"}, None),
        ({"agents": {"key-1": AgentKey("m-2")}}, {}, "the agent has another model since: m-2"),
        ({"agents": {"key-1": AgentKey()}}, {}, "the agent has another model since: none"),
        ({"agents": {"key-1": AgentKey(None, ("m-*",))}}, {}, None),
        ({"agents": {"key-1": AgentKey(None, ("m-*",))}}, {"model": None}, None),
    ],
)
def test_rule_key_and_model_have_to_stand(company: Any, facts: Any, why: str | None) -> None:
    assert standing(replace(COMPANY, **company), replace(FACTS, **facts)) == why


# ------------------------------------------------------------------------------------------ runs


def acting(tier: Tier = "high", *, handed: bool = False, **policy: Any) -> Template:
    """The process of an action, as a rule makes it."""
    call = processes.acting("refunds", tier, handed=handed, **policy)
    return process(call, end("made", "made"), end("denied", "denied"), ways=WAYS)


@dataclass
class Action(Conversation):
    """A run that is an action."""

    company: Company = COMPANY

    def ask(self, arguments: dict[str, Any] | None = None, **facts: Any) -> Action:
        about = replace(FACTS, **facts)
        given = {"amount": 4900} if arguments is None else arguments
        self.say(
            Start(
                run_id="run",
                company_id="acme",
                by="helper",
                by_kind="agent",
                inputs=given,
                action=about,
                at=self.at,
            )
        )
        return self

    def consume(self, key: str = "k-1") -> Any:
        return self.say(Consume(key_hash=key, by="helper", at=self.at))

    def report(self, status: Any = "succeeded", note: str | None = None) -> Any:
        return self.say(ReportOutcome(status=status, note=note, by="helper", at=self.at))

    def approve(self, **said: Any) -> Any:
        return self.resume("refunds", digest=self.run.parked[0].gate.digest if self.run.parked else None, **said)  # type: ignore[union-attr]

    def now(self) -> tuple[str, ...]:
        """The types of the events of the last message."""
        return self.events

    def came_to(self) -> tuple[str, str | None]:
        """How the run stands, and how it ended."""
        return self.run.status, None if self.run.ended is None else self.run.ended.outcome

    @property
    def why(self) -> tuple[str, Any]:
        return self.refusal.code, self.refusal.more.get("errors")


def handed(tier: Tier = "high", **facts: Any) -> Action:
    policy = facts.pop("policy", {})
    return Action(acting(tier, handed=True, **policy)).ask(way="aap", **facts)


def allowed() -> Action:
    return handed("low", decision="allow")


def live(tier: Tier = "high", *, policy: Any = None, **facts: Any) -> Action:
    return Action(acting(tier, **(policy or {})), {"stripe.refund": connector("stripe.refund")}).ask(**facts)


def test_a_denial_by_rule_is_one_turn() -> None:
    talk = live(decision="deny", reason="too much")
    assert (talk.now(), talk.came_to(), talk.calls) == (("run_started", "run_ended"), ("completed", "denied"), ())
    assert talk.run.ended is not None
    assert talk.run.ended.reason == "too much"


@pytest.mark.parametrize(
    ("facts", "reason"), [({"why": "condition failed: x"}, "condition failed: x"), ({}, "the rule refunds denies it")]
)
def test_a_denial_says_why(facts: Any, reason: str) -> None:
    ended = live(decision="deny", **facts).run.ended
    assert ended is not None
    assert ended.reason == reason


def test_an_allowed_irreversible_call_is_sent_without_a_person_and_once() -> None:
    talk = live("low", decision="allow")
    assert (talk.now(), talk.calls) == (("run_started", "step_entered", "step_cleared"), ("run:refunds:1",))
    assert talk.visit("refunds").reason == "the rule refunds allows it"
    effect = talk.done.effects[0]
    assert not effect.repeatable  # type: ignore[union-attr]
    talk.returned("refunds")
    assert talk.came_to() == ("completed", "made")


def test_an_allowed_call_whose_answer_was_lost_is_in_doubt() -> None:
    talk = live("low", decision="allow")
    talk.failed("refunds", unknown=True)
    gate = talk.gate("refunds", 2)
    assert (gate.reason, gate.decisions, gate.in_doubt) == (OUTCOME_UNKNOWN, ("retry", "done", "denied"), True)


@pytest.mark.parametrize("effect", ["irreversible", "reversible", "read"])
@pytest.mark.parametrize(
    ("error", "reason"), [(RECONNECTED, CHANGED), (replace(RECONNECTED, maybe_sent=True), None), (NOT_SENT, None)]
)
def test_an_allowed_call_whose_connector_has_changed_is_asked_about_if_it_was_not_sent(
    effect: Any, error: Failure, reason: str | None
) -> None:
    template = acting("low")
    call = replace(template.node("refunds"), effect=effect)
    talk = Action(process(call, *template.nodes[1:], ways=WAYS), {"stripe.refund": connector("stripe.refund")})
    talk.ask(decision="allow")
    talk.connectors["stripe.refund"] = connector("stripe.refund", 2)
    talk.failed("refunds", error=error)
    assert [one.gate.reason for one in talk.run.parked if one.gate is not None] == ([] if reason is None else [reason])
    if reason is None:
        assert talk.run.status == "failed"
    else:
        talk.resume("refunds")
        assert talk.calls == ("run:refunds:2",)


def test_a_step_that_may_be_repeated_and_whose_connector_has_changed_fails() -> None:
    talk = Conversation(process(task("pay"), end(), ways="pay -> end"), {"pay": connector("pay")}).start()
    talk.failed("pay", error=RECONNECTED)
    assert (talk.parked, talk.run.status) == ([], "failed")


def test_without_a_connector_it_is_recorded_and_not_sent() -> None:
    talk = Action(acting("low")).ask(decision="allow")
    assert (talk.came_to(), talk.calls) == (("completed", "made"), ())
    assert talk.visit("refunds").request == CallRequest(tool="stripe.refund", mode="shadow")


@pytest.mark.parametrize("tier", ["low", "medium"])
def test_what_is_asked_is_never_made_without_a_person_or_a_panel(tier: Tier) -> None:
    talk = live(tier, decision="ask")
    assert (talk.parked, talk.gate("refunds").reason) == (["refunds"], "the rule refunds asks")


def test_a_panel_may_clear_what_is_asked_once_it_is_known_to_be_right() -> None:
    template = acting("medium")
    judged = seated(template.node("refunds"), ruling("agent", answer=True))
    panel = process(judged, *template.nodes[1:], ways=WAYS)
    talk = Action(panel).ask()
    assert talk.now() == ("run_started", "step_entered", "panel_asked", "panel_decided", "gate_opened")
    about = '{"model":"m-1","server":"stripe","tool":"stripe.refund"}'
    known = {record_key("refunds", about): Record(200, 200, 1.0, (Breakpoint(0.0, 1.0, 0.98),))}
    cleared = Action(panel, {"stripe.refund": connector("stripe.refund")}, records=known).ask()
    assert cleared.calls == ("run:refunds:1",)
    for said in ({"model": "m-2"}, {"tool": "stripe.charge"}, {"server": None}):
        talk = Action(panel, {"stripe.refund": connector("stripe.refund")}, records=known)
        talk.company = replace(COMPANY, agents={"key-1": AgentKey("m-1", ("m-*",))})
        assert talk.ask(**said).parked == ["refunds"]
        assert talk.gate("refunds").reason.endswith("people have decided 0 such cases of the 50 that are needed")
    off = Action(panel, {"stripe.refund": connector("stripe.refund")}, records=known)
    off.company = replace(COMPANY, autonomy=CompanyAutonomy(auto_resolve=False))
    assert off.ask().parked == ["refunds"]


def test_an_allowed_call_whose_rule_has_changed_meanwhile_is_asked_about() -> None:
    talk = Action(acting("low"), {"stripe.refund": connector("stripe.refund")})
    talk.company = replace(COMPANY, rules={"refunds": 4})
    talk.ask(decision="allow")
    assert talk.gate("refunds").reason == "the rule refunds has changed since (version 3, now 4)"
    assert talk.gate("refunds").changed == talk.gate("refunds").reason
    talk.approve()
    assert talk.calls == ("run:refunds:1",)


def test_an_approved_call_is_sent() -> None:
    talk = live()
    assert talk.parked == ["refunds"]
    talk.approve()
    assert (talk.now(), talk.calls) == (("verdict_given",), ("run:refunds:1",))


DIFFERENT = [
    {"arguments": {"amount": 4901}},
    {"arguments": {"amount": True}},
    {"tool": "x"},
    {"server": None},
    {"agent": "x"},
    {"agent_id": "bob"},
    {"model": None},
    {"reasoning": "x"},
    {"context": {"a": 1}},
    {"expires": "PT1H"},
    {"editable": ("/amount",)},
    {"written": '{"arguments":{"amount":1e400}}'},
    {"way": "mcp"},
    {"rule": RuleReference("refunds", 4, "sha256:r")},
    {"rule": RuleReference("refunds", 3, "sha256:s")},
]


@pytest.mark.parametrize("facts", DIFFERENT, ids=str)
def test_the_digest_binds_all_of_the_action(facts: dict[str, Any]) -> None:
    assert live().gate("refunds").digest == live().gate("refunds").digest
    assert live(**facts).gate("refunds").digest != live().gate("refunds").digest


# ------------------------------------------------------------------------------- changed since


CHANGES = [{"rules": {"refunds": 4}}, {"rules": {}}, {"agents": {}}, {"agents": {"key-1": AgentKey("m-2")}}]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_verdict_on_what_stands_no_more_is_stale_and_one_on_what_stands_counts(change: Any) -> None:
    talk = live()
    seen = talk.gate("refunds").digest
    talk.company = replace(COMPANY, **change)
    talk.resume("refunds", digest=seen)
    assert (talk.refusal.code, talk.now()) == ("stale", ("gate_opened",))
    gate = talk.gate("refunds")
    assert gate.changed == gate.reason == standing(talk.company, FACTS)
    talk.approve()
    assert talk.calls == ("run:refunds:1",)
    assert unsettled(talk.run, talk.visit("refunds"), talk.company) is None


def test_a_changed_rule_opens_the_gate_again_at_a_review_and_once() -> None:
    talk = live()
    assert talk.run.reviewed
    talk.review(replace(COMPANY, rules={"refunds": 4}))
    assert talk.now() == ("gate_opened",)
    talk.review(talk.company)
    assert talk.now() == ()
    talk.review(replace(COMPANY, rules={"refunds": 5}))
    assert talk.gate("refunds").reason == "the rule refunds has changed since (version 3, now 5)"
    talk.review(COMPANY)
    assert (talk.now(), talk.gate("refunds").changed) == (("gate_opened",), None)


def test_readers_see_that_the_rule_has_changed() -> None:
    talk, changed = live(), replace(COMPANY, rules={})
    assert changed_gates(talk.run, talk.template, talk.connectors, COMPANY) == ()
    ((_, now),) = changed_gates(talk.run, talk.template, talk.connectors, changed)
    assert now.changed == "the rule refunds is gone since"
    assert current_snapshot(talk.run, talk.run.parked[0], talk.template, talk.connectors).changed is None


def test_a_run_that_makes_its_call_is_not_reviewed() -> None:
    assert not live("low", decision="allow").run.reviewed


# ------------------------------------------------------------------------------------------ handed


def test_a_call_of_the_agent_has_its_arguments_whatever_connectors_there_are() -> None:
    node = acting(handed=True).node("refunds")
    request = prepare(node, {"stripe.refund": connector("stripe.refund")}, {"amount": 1}, {})
    assert request == CallRequest(tool="aap:stripe.refund", mode="handed", body={"amount": 1})


def test_the_gate_of_a_handed_call_shows_it_and_is_decided_on_its_own() -> None:
    talk = handed()
    assert [one.mode for one in talk.gate("refunds").effects or ()] == ["handed"]
    visit = talk.visit("refunds")
    assert visit.batch_rule(talk.gate("refunds").effects) == "never"


def test_an_allowed_call_is_granted_in_one_turn() -> None:
    talk = allowed()
    assert talk.now() == ("run_started", "step_entered", "step_cleared", "call_granted")
    assert (talk.run.status, talk.calls, talk.run.resting) == ("waiting", (), True)
    grant = talk.visit("refunds").grant
    assert grant is not None
    assert talk.run.wake_at == grant.expires_at == talk.run.created_at + 10 * MINUTE


def test_an_approval_is_granted_used_once_and_settled() -> None:
    talk = handed()
    assert reported(talk.run) is None
    talk.consume()
    assert talk.refusal.code == "not_approved"
    talk.approve()
    assert talk.now() == ("verdict_given", "call_granted")
    assert reported(talk.run) is None
    talk.report()
    assert talk.refusal.code == "not_consumed"
    talk.consume()
    assert talk.now() == ("call_consumed",)
    grant = talk.visit("refunds").grant
    assert grant is not None
    assert (grant.consumed_by, grant.key_hash) == ("helper", "k-1")
    assert talk.run.wake_at == grant.consumed_at + 10 * MINUTE  # type: ignore[operator]
    assert reported(talk.run) is None
    talk.consume()
    assert talk.now() == ()
    talk.consume("k-2")
    assert talk.refusal.code == "already_consumed"
    talk.report("succeeded", "ok")
    assert (talk.came_to(), talk.run.facts["refunds"]) == (("completed", "made"), {"status": "succeeded", "note": "ok"})
    talk.report("succeeded", "ok")
    assert talk.now() == ()
    talk.report("failed")
    assert talk.refusal.code == "outcome_conflict"
    talk.consume()
    assert talk.now() == ()


def test_who_did_not_ask_or_was_denied_uses_nothing() -> None:
    talk = handed()
    talk.resume("refunds", "denied")
    assert talk.came_to() == ("completed", "denied")
    talk.consume()
    assert talk.refusal.code == "not_approved"
    cancelled = allowed()
    cancelled.cancel()
    cancelled.consume()
    assert cancelled.refusal.code == "not_approved"


def test_an_approval_that_nobody_uses_expires() -> None:
    talk = allowed()
    talk.due(9 * MINUTE)
    assert talk.came_to() == ("completed", "expired_unused")
    talk.consume()
    assert talk.refusal.code == "approval_expired"


def test_an_approval_that_has_expired_is_not_used_though_nobody_has_said_so_yet() -> None:
    talk = allowed()
    talk.passed += 10 * MINUTE
    talk.consume()
    assert (talk.refusal.code, talk.now(), talk.came_to()) == (
        "approval_expired",
        ("run_ended",),
        ("completed", "expired_unused"),
    )


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_an_approval_under_another_rule_key_or_model_is_not_used(change: Any) -> None:
    talk = handed()
    talk.approve()
    expires_at = talk.visit("refunds").grant.expires_at  # type: ignore[union-attr]
    talk.company = replace(COMPANY, **change)
    talk.consume()
    assert (talk.refusal.code, talk.now()) == ("not_approved", ("call_settled", "step_entered", "gate_opened"))
    assert (talk.parked, talk.gate("refunds", 2).reason) == (
        ["refunds"],
        f"{CHANGED}: {standing(talk.company, FACTS)}",
    )
    assert talk.gate("refunds", 2).decisions == ("approved", "denied")
    talk.consume()
    assert talk.refusal.code == "not_approved"
    talk.approve()
    assert talk.visit("refunds", 2).grant.expires_at == expires_at  # type: ignore[union-attr]
    talk.consume()
    assert talk.now() == ("call_consumed",)


def test_a_call_without_an_outcome_is_in_doubt_and_may_be_settled_late() -> None:
    talk = allowed()
    talk.consume()
    talk.due(10 * MINUTE)
    gate = talk.gate("refunds", 2)
    assert (gate.reason, gate.decisions, gate.in_doubt) == (OUTCOME_UNKNOWN, ("done", "denied"), True)
    assert gate.question == lost_call(talk.visit("refunds").request)
    assert lost_call(CallRequest(tool="stripe.refund", mode="shadow")) is None
    assert gate.question is not None
    assert gate.question.startswith("The agent was to make this call")
    assert talk.run.wake_at is None
    assert reported(talk.run) is None
    talk.report("failed")
    assert (talk.came_to(), talk.run.facts["refunds"]) == (("completed", "made"), {"status": "failed", "late": True})
    talk.report("failed")
    assert talk.now() == ()


@pytest.mark.parametrize("decision", ["done", "denied"])
def test_a_person_decides_about_a_call_in_doubt_and_an_outcome_after_that_is_kept(decision: str) -> None:
    talk = allowed()
    talk.consume()
    talk.due(10 * MINUTE)
    talk.resume("refunds", decision, output={"status": "seen"})
    ended = talk.came_to()
    assert ended == ("completed", "made" if decision == "done" else "denied")
    talk.report("succeeded")
    assert (talk.came_to(), talk.visit("refunds").output) == (ended, {"status": "succeeded"})
    assert reported(talk.run) == {"status": "succeeded"}


def test_an_outcome_in_time_counts_though_it_comes_late() -> None:
    talk = allowed()
    talk.consume()
    talk.passed += 20 * MINUTE
    talk.report()
    assert talk.came_to() == ("completed", "made")


# -------------------------------------------------------------------------------- in time, or not


def test_a_question_that_nobody_answers_in_time_expires() -> None:
    talk = Action(acting(handed=True))
    talk.ask(way="aap", deadline_at=talk.at + 30 * MINUTE)
    assert talk.run.wake_at == talk.run.created_at + 30 * MINUTE
    talk.due(28 * MINUTE)
    assert talk.now() == ()
    talk.due(1 * MINUTE)
    assert (talk.now(), talk.came_to()) == (("gate_expired", "run_ended"), ("completed", "expired"))


def test_a_verdict_that_comes_too_late_does_not_count() -> None:
    talk = Action(acting(handed=True))
    talk.ask(way="aap", deadline_at=talk.at + 5 * MINUTE)
    talk.passed += 5 * MINUTE
    talk.approve()
    assert (talk.refusal.code, talk.came_to()) == ("not_parked", ("completed", "expired"))


def test_the_policy_of_the_rule_may_deny_sooner() -> None:
    talk = live(policy={"deadline": "PT5M", "on_deadline": "denied"}, deadline_at=Action(acting()).at + 30 * MINUTE)
    talk.passed += 5 * MINUTE
    talk.approve()
    assert (talk.refusal.code, talk.came_to()) == ("not_parked", ("completed", "denied"))


def test_after_an_escalation_or_a_deadline_without_an_end_the_agent_still_waits_no_longer() -> None:
    at = Action(acting()).at + 30 * MINUTE
    talk = live()
    for on_deadline in (None, Escalation("admin"), Escalation("admin", "PT10M", "denied"), Escalation("admin", "P1D")):
        talk = live(policy={"deadline": "PT5M", "on_deadline": on_deadline}, deadline_at=at)
        talk.due(5 * MINUTE)
        then = 16 if on_deadline is not None and on_deadline.again == "PT10M" else 30
        assert talk.run.wake_at == talk.run.created_at + then * MINUTE
    talk.due(25 * MINUTE)
    assert talk.came_to() == ("completed", "expired")


def test_a_calendar_moves_the_deadline_of_the_policy_alone() -> None:
    at = Action(acting()).at + timedelta(days=9)
    talk = live(policy={"deadline": "P5BD", "on_deadline": "denied"}, deadline_at=at)
    week = replace(COMPANY.calendar, holidays=frozenset({(at - timedelta(days=day)).date() for day in range(4, 9)}))
    talk.review(replace(COMPANY, calendar=week))
    assert (talk.now(), talk.run.wake_at) == (("gate_rescheduled",), at)


def test_a_call_in_doubt_waits_for_a_person_however_long_the_agent_waits() -> None:
    talk = Action(acting("low"), {"stripe.refund": connector("stripe.refund")})
    talk.ask(decision="allow", deadline_at=talk.at + MINUTE)
    talk.failed("refunds", unknown=True)
    assert talk.run.wake_at is None
    deadline = acting("high", deadline="P5BD", remind=("P1BD",), on_deadline="denied")
    calm = Action(deadline, {"stripe.refund": connector("stripe.refund")})
    calm.ask(deadline_at=calm.at + timedelta(days=1))
    calm.approve()
    calm.failed("refunds", unknown=True)
    due_at = calm.gate("refunds", 2).due_at
    assert due_at is not None
    calm.review(replace(COMPANY, calendar=replace(COMPANY.calendar, holidays=frozenset({due_at.date()}))))
    assert calm.gate("refunds", 2).due_at == due_at + timedelta(days=1)
    calm.due(timedelta(days=9))
    assert (calm.came_to(), calm.now()) == (
        ("completed", "denied"),
        ("gate_reminded", "gate_expired", "step_entered", "run_ended"),
    )


# ------------------------------------------------------------------------- with other arguments


def test_an_approval_may_change_what_the_rule_lets_it() -> None:
    talk = live(
        editable=("/amount",), budget=BudgetRule(sum="arguments.amount", max=10_000, per="P1D"), amount=4900 * SCALE
    )
    talk.approve(arguments={"amount": 2000})
    assert talk.now() == ("gate_opened", "verdict_given")
    action = talk.run.action
    assert action is not None
    assert (talk.run.inputs, action.amount, action.asked) == ({"amount": 2000}, 2000 * SCALE, {"amount": 4900})
    request = talk.visit("refunds").request
    assert request is not None
    assert request.body == {"inputs": {"amount": 2000}, "facts": {}}
    started = talk.history[0]
    assert isinstance(started, RunStarted)
    assert started.inputs == {"amount": 4900}
    assert talk.calls == ("run:refunds:1",)


def test_the_question_names_the_changed_arguments() -> None:
    template = acting()
    asking = replace(template.node("refunds"), question="Refund {inputs.amount}?")
    connectors = {"stripe.refund": connector("stripe.refund")}
    talk = Action(process(asking, *template.nodes[1:], ways=WAYS), connectors).ask(editable=("/amount",))
    assert talk.gate("refunds").question == "Refund 4900?"
    talk.approve(arguments={"amount": 2000})
    assert talk.gate("refunds").question == "Refund 2000?"


def test_the_same_arguments_change_nothing() -> None:
    talk = live()
    talk.approve(arguments={"amount": 4900.0})
    assert (talk.now(), talk.run.inputs) == (("verdict_given",), {"amount": 4900})


def test_an_argument_that_is_only_equal_to_python_is_another() -> None:
    talk = live(editable=("/amount",), arguments={"amount": 1})
    talk.approve(arguments={"amount": True})
    assert talk.run.inputs["amount"] is True


@pytest.mark.parametrize(
    ("talk", "said", "errors"),
    [
        (live, {"arguments": {"amount": 1}}, {"pointer": "/arguments/amount", "detail": "may not be changed here"}),
        (
            handed,
            {"arguments": {"amount": 1}},
            {"pointer": "/arguments", "detail": "are exact in an approval that the agent uses itself"},
        ),
        (
            live,
            {"decision": "denied", "arguments": {"amount": 1}},
            {"pointer": "/arguments", "detail": "are taken with the approval of an action alone"},
        ),
    ],
)
def test_arguments_that_may_not_be_changed_are_refused(talk: Any, said: Any, errors: dict[str, str]) -> None:
    asked = talk()
    asked.approve(**said)
    assert asked.why == ("invalid", [errors])


def test_every_person_of_a_quorum_approves_the_changed_call() -> None:
    talk = live(policy={"quorum": 2}, editable=("/amount",))
    talk.approve(by="bob", role="manager", arguments={"amount": 2000})
    first = talk.gate("refunds")
    assert (talk.parked, [one.by for one in first.verdicts]) == (["refunds"], ["bob"])
    talk.approve(by="cyd", role="manager", arguments={"amount": 1000})
    assert (talk.now(), talk.parked) == (("gate_opened", "verdict_given"), ["refunds"])
    assert [one.by for one in talk.gate("refunds").verdicts] == ["cyd"]
    talk.approve(by="bob", role="manager", arguments={"amount": 1000})
    assert (talk.now(), talk.run.inputs, talk.calls) == (("verdict_given",), {"amount": 1000}, ("run:refunds:1",))


# ------------------------------------------------------------------------------------- questions


def asks(talk: Action, question: str = "q-1", by: str = "bob", **about: Any) -> None:
    known: dict[str, Any] = {"gate": "refunds", "text": "Why twice?", "role": "manager", "at": talk.at}
    talk.say(AskAgent(**known | about, question=question, by=by))


def answers(talk: Action, question: str = "q-1", agent_id: str = "key-1", gate: str = "refunds") -> None:
    talk.say(
        AnswerQuestion(gate=gate, question=question, text="The bank did.", agent_id=agent_id, by="helper", at=talk.at)
    )


def test_an_answer_of_the_agent_stands_at_the_gate_and_is_decided_on() -> None:
    talk = live(policy={"quorum": 2})
    talk.approve(by="bob", role="manager")
    asks(talk, by="cyd")
    asks(talk, "q-2", by="somebody")
    before = talk.gate("refunds").digest
    answers(talk)
    assert talk.now() == ("gate_answered", "gate_opened")
    gate = talk.gate("refunds")
    assert gate.digest != before
    assert gate.verdicts == ()
    first, second = gate.questions
    assert (first.text, first.answer, first.answered_by, second.answer) == (
        "Why twice?",
        "The bank did.",
        "helper",
        None,
    )
    assert fold(talk.history) == talk.run
    answers(talk)
    assert talk.refusal.code == "already_answered"


@pytest.mark.parametrize(
    "told", [{"question": "q-9"}, {"agent_id": "key-2"}, {"gate": "elsewhere"}, {"question": "q-1", "agent_id": "bob"}]
)
def test_only_the_agent_answers_what_it_was_asked(told: dict[str, str]) -> None:
    talk = live()
    asks(talk)
    answers(talk, **told)
    assert talk.refusal.code == "not_found"


def test_a_question_is_asked_by_who_may_decide_of_who_waits_and_not_endlessly() -> None:
    talk = live()
    asks(talk, gate="elsewhere")
    assert talk.refusal.code == "gate_mismatch"
    asks(talk, by="helper", by_kind="agent")
    assert talk.refusal.code == "forbidden"
    for nth in range(20):
        asks(talk, f"q-{nth}")
    asks(talk, "q-20")
    assert talk.refusal.code == "quota_exceeded"
    exact = handed()
    asks(exact)
    assert exact.refusal.code == "not_for_aap"


def test_nobody_is_asked_at_a_run_that_is_no_action() -> None:
    talk = Conversation(process(processes.gate("g"), end("done"), ways="g -> done\ng -[denied]-> done"))
    talk.start({})
    talk.say(AskAgent(gate="g", question="q-1", text="Why?", by="bob", role="manager", at=talk.at))
    assert (talk.refusal.code, talk.refusal.more["errors"][0]["pointer"]) == ("invalid", "/to")


# ------------------------------------------------------------------------------------------- whole


def told() -> list[Action]:
    """Actions in many states."""
    used = allowed()
    used.consume()
    doubt = allowed()
    doubt.consume()
    doubt.due(10 * MINUTE)
    edited = live(editable=("/amount",))
    edited.approve(arguments={"amount": 1})
    return [allowed(), used, doubt, edited, live(decision="deny"), live("low", decision="allow"), handed()]


@pytest.mark.parametrize("nth", range(7))
def test_a_history_makes_the_run_that_was(nth: int) -> None:
    talk = told()[nth]
    run: Run = fold(talk.history)
    assert run == talk.run
    assert isinstance(talk.last, TurnResult)
