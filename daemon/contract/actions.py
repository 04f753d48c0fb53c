"""Actions of agents: the rules that decide about calls, and what stops agents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from daemon.contract.agents.asked import ActionRuleReference, AskedCall
from daemon.contract.base import Glob, Printable, Remark, Request, Response, Terms, Url, example
from daemon.contract.runs import Gate, Mode, Status

ActionDecision = Literal["allow", "ask", "deny"]
ActionEffect = Literal["read", "reversible", "irreversible"]
ActionTier = Literal["medium", "high", "critical"]
ActionWay = Literal["penstock", "aap", "mcp"]
McpAuthType = Literal["none", "bearer", "basic"]
MCP_TOOLS_MAX = 1_000
RULES_MAX = 500
REASONING_CHARS_MAX = 8_000
RULE_ID = r"^[a-z0-9][a-z0-9-]{0,63}$"
NameGlob = Annotated[Printable, Field(max_length=200)]
Pause = Annotated[str, Field(min_length=1, max_length=500)]
AgentName = Glob
ActionTool = Glob
_RULE: dict[str, Any] = {
    "id": "refunds",
    "tool": "stripe.refund*",
    "agent": "support-*",
    "when": "arguments.amount <= 10000",
    "decision": "allow",
    "effect": "irreversible",
    "budget": {"count": False, "sum": "arguments.amount", "max": 50_000, "per": "P1D", "of": "agent"},
}
_SHOWN = dict.fromkeys(("server", "model", "reason", "tier", "question", "gate", "expires"))
_ASKS: dict[str, Any] = {
    "id": "all-refunds",
    "tool": "stripe.refund*",
    "decision": "ask",
    "gate": {"quorum": 2, "four_eyes": ["starter"], "editable": ["/amount"]},
    "expires": "PT10M",
}


class BudgetTerms(Terms):
    """How much may be done, and whose calls count together."""

    count: bool = False
    sum: Annotated[str, Field(max_length=200)] | None = None
    max: int | float
    per: Annotated[str, Field(max_length=40)]
    of: Literal["agent", "rule"] = "agent"


class RuleBudgetForm(BudgetTerms, Request):
    """How much may be done within a rolling time: calls, or what the number at a path adds up to.

    `of` says whose calls count together: those of one agent, or all that the rule decides about.
    """


class RuleTerms(Terms):
    """What a rule is about, and what it says."""

    id: Annotated[str, Field(pattern=RULE_ID)]
    tool: Glob
    server: NameGlob | None = None
    agent: Glob | None = None
    model: NameGlob | None = None
    when: Annotated[str, Field(min_length=1, max_length=4_096)] | None = None
    decision: ActionDecision
    reason: Remark | None = None
    effect: ActionEffect = "irreversible"
    tier: ActionTier | None = None
    question: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    gate: dict[str, JsonValue] | None = None
    expires: Annotated[str, Field(max_length=40)] | None = None


class ActionRuleForm(RuleTerms, Request):
    """A rule: which calls it is about, by globs of `*` and `?` and a condition, and what it says.

    An empty glob of `server` or `model` is a call without one. `when` is CEL over `arguments`,
    `context`, `agent`, `model` and, with a budget, `spent`, which has `count` and `sum`. `gate` is
    the policy of the question as steps of templates have it, with its `role`, and with `editable`:
    JSON pointers of arguments that an approval may change.
    """

    budget: RuleBudgetForm | None = None


class ActionRulesForm(Request):
    """All rules, in their order: the first that fits decides, and what none fits asks a person."""

    model_config = example({"rules": [_RULE, _ASKS]})

    rules: list[ActionRuleForm] = Field(max_length=RULES_MAX)


class RuleBudget(BudgetTerms, Response):
    """How much may be done within a rolling time."""


class RuleHits(Response):
    """How often a rule decided so within the last 30 days."""

    allow: int = 0
    ask: int = 0
    deny: int = 0


class ActionRule(RuleTerms, Response):
    """A rule as it stands; `version` is that of the rules with which it was changed last."""

    version: int
    budget: RuleBudget | None = None
    hits: RuleHits = RuleHits()


class ActionPause(Response):
    """Since when agents are stopped, by whom and why."""

    reason: str
    by: str
    at: datetime


class ActionPauses(Response):
    """What is stopped: all agents, and those that are named."""

    model_config = example(
        {
            "all": None,
            "agents": {
                "support-bot": {
                    "reason": "It refunds twice.",
                    "by": "ada@example.test",
                    "at": "2026-11-30T09:00:00Z",
                }
            },
        }
    )

    all: ActionPause | None = None
    agents: dict[str, ActionPause] = Field(default_factory=dict)


class ActionRules(Response):
    """The rules for the calls of agents, in their order, and which agents are stopped.

    `version` counts the changes of the rules; `unruled` are the calls that none of them fitted.
    """

    model_config = example(
        {
            "rules": [{**_SHOWN, **_RULE, "version": 3, "hits": {"allow": 41, "ask": 2, "deny": 0}}],
            "version": 3,
            "unruled": 5,
            "paused": {"all": None, "agents": {}},
        }
    )

    rules: tuple[ActionRule, ...] = ()
    version: int = 0
    unruled: int = 0
    paused: ActionPauses = ActionPauses()


class WantedCall(Request):
    """A call of a tool, perhaps of a server."""

    tool: ActionTool
    server: ActionTool | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    context: dict[str, Any] | None = None


class ActionTrial(WantedCall):
    """A call to try the rules with, by an agent of a name and a model."""

    model_config = example(
        {"tool": "stripe.refund", "arguments": {"amount": 4_900}, "agent": "support-bot", "model": "sonnet-9"}
    )

    agent: AgentName = "agent"
    model: Glob | None = None


class ActionTrialResult(Response):
    """What the rules say of a call, by which of them, and why where that is not its own word."""

    model_config = example({"decision": "ask", "rule": "refunds", "version": 3, "why": "budget"})

    decision: ActionDecision
    rule: str
    version: int = 0
    why: str | None = None


class ActionPauseForm(Request):
    """Why an agent is stopped, or all without a name."""

    model_config = example({"agent": "support-bot", "reason": "It refunds twice."})

    agent: AgentName | None = None
    reason: Pause


class McpToolForm(Request):
    """What is known of a tool of a server: what it does, and how its question is asked."""

    effect: ActionEffect | None = None
    tier: ActionTier | None = None


class McpServerForm(Request):
    """A server of the Model Context Protocol that agents reach through this service.

    While it is not `reversible`, calls that do not only read are recorded and not sent. What the
    server says of its tools is believed only with `trust_annotations`. A call that asks a person
    waits for `wait_s` seconds. `tools` says by name what is known of them.
    """

    model_config = example(
        {
            "url": "https://tools.example.test/mcp",
            "auth_type": "bearer",
            "auth_token": "s3cret",
            "tools": {"list_charges": {"effect": "read"}},
        }
    )

    url: Url
    auth_type: McpAuthType = "none"
    auth_token: Annotated[str, Field(min_length=1, max_length=4_096)] | None = None
    reversible: bool = False
    trust_annotations: bool = False
    wait_s: Annotated[int, Field(ge=0, le=600)] = 50
    tools: dict[ActionTool, McpToolForm] = Field(default_factory=dict, max_length=MCP_TOOLS_MAX)


class McpTool(Response):
    """What is known of a tool of a server."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    effect: ActionEffect | None = None
    tier: ActionTier | None = None


class McpServerState(Response):
    """A server as it was or is, without its secret."""

    url: str
    auth_type: McpAuthType
    reversible: bool
    trust_annotations: bool
    wait_s: int
    tools: dict[str, McpTool]


class McpServer(McpServerState):
    """A server as stored, without its secret; agents reach it at `/mcp/{name}`."""

    model_config = example(
        {
            "name": "stripe",
            "url": "https://tools.example.test/mcp",
            "auth_type": "bearer",
            "auth_token_set": True,
            "reversible": False,
            "trust_annotations": False,
            "wait_s": 50,
            "tools": {"list_charges": {"effect": "read", "tier": None}},
            "version": 1,
            "updated_at": "2026-11-30T09:00:00Z",
            "updated_by": "ada@example.test",
        }
    )

    name: str
    auth_token_set: bool
    version: int
    updated_at: datetime
    updated_by: str


class McpServerChange(Response):
    """A change of a server; `secret` says what became of its secret."""

    model_config = example(
        {
            "number": 1,
            "name": "stripe",
            "version": 1,
            "at": "2026-11-30T09:00:00Z",
            "by": "ada@example.test",
            "secret": "set",
            "via": "session",
            "before": None,
            "after": {
                "url": "https://tools.example.test/mcp",
                "auth_type": "bearer",
                "reversible": False,
                "trust_annotations": False,
                "wait_s": 50,
                "tools": {"list_charges": {"effect": "read", "tier": None}},
            },
        }
    )

    number: int
    name: str
    version: int
    at: datetime
    by: str
    secret: str
    via: str
    before: McpServerState | None = None
    after: McpServerState | None = None


class AskAction(WantedCall):
    """One call that an agent wants to make, and why."""

    model_config = example(
        {"tool": "stripe.refund", "arguments": {"charge": "ch_1", "amount": 4900}, "reasoning": "charged twice"}
    )

    reasoning: str | None = Field(None, max_length=REASONING_CHARS_MAX)
    timeout: str | None = Field(None, max_length=32, description="ISO 8601: how long the agent waits for a person.")


class CancelAction(Request):
    """Why an action is not made."""

    model_config = example({"reason": "asked for the wrong charge"})

    reason: Remark | None = None


class ActionFacts(AskedCall):
    """What a run knows of the action that it is, beside its arguments, which are its inputs."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    agent_id: str
    decision: ActionDecision
    reason: str | None = None
    budget: RuleBudget | None = None
    deadline_at: datetime | None = None
    outcome_within: str = "PT10M"
    fingerprint: str
    timeout: str | None = None
    written: str | None = None


class WaitingQuestion(Response):
    """What the agent is asked and has not answered yet."""

    id: str
    text: str


class Action(Response):
    """An action, and what came of it.

    `made` are the arguments as they were sent, by the service or by the agent itself. In the mode
    `shadow` the call is recorded and not sent, whatever the outcome. The outcome is `unknown` while
    nobody knows whether the call happened.
    """

    model_config = example(
        {
            "id": "0195b3c4-0000-7000-8000-000000000001",
            "kind": "action",
            "status": "completed",
            "outcome": "made",
            "tool": "stripe.refund",
            "server": None,
            "arguments": {"amount": 4900},
            "made": {"amount": 4900},
            "mode": "live",
            "agent": "support agent",
            "model": "m-1",
            "reasoning": "charged twice",
            "context": None,
            "rule": {"id": "refunds", "version": 3, "digest": None},
            "decision": "ask",
            "why": None,
            "reason": None,
            "result": {"id": "re_1"},
            "gate": None,
            "question": None,
            "created_at": "2026-03-02T09:00:00Z",
            "expires_at": None,
        }
    )

    id: str
    kind: Literal["action"] = "action"
    status: Status
    outcome: str | None = None
    tool: str
    server: str | None = None
    arguments: dict[str, Any]
    made: dict[str, Any] | None = None
    mode: Mode | None = None
    agent: str
    model: str | None = None
    reasoning: str | None = None
    context: dict[str, Any] | None = None
    rule: ActionRuleReference
    decision: ActionDecision
    why: str | None = None
    reason: str | None = None
    result: Any = None
    gate: Gate | None = None
    question: WaitingQuestion | None = Field(None, description="What the agent is to answer before people decide.")
    created_at: datetime
    expires_at: datetime | None = None


class ActionSummary(Response):
    """An action as lists show it, without what it is to do and what came of it."""

    model_config = example(
        {
            "id": "0195b3c4-0000-7000-8000-000000000001",
            "kind": "action",
            "status": "completed",
            "outcome": "made",
            "tool": "stripe.refund",
            "server": None,
            "agent": "support agent",
            "model": "m-1",
            "way": "penstock",
            "rule": {"id": "refunds", "version": 3, "digest": None},
            "decision": "ask",
            "created_at": "2026-03-02T09:00:00Z",
            "expires_at": None,
        }
    )

    id: str
    kind: Literal["action"] = "action"
    status: Status
    outcome: str | None = None
    tool: str
    server: str | None = None
    agent: str
    model: str | None = None
    way: ActionWay
    rule: ActionRuleReference
    decision: ActionDecision
    created_at: datetime
    expires_at: datetime | None = None
