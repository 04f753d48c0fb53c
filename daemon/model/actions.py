"""Actions of agents as they are stored: rows of lists, budgets, and servers that agents reach."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from actors.core.actions.deciding import ActionFacts, Decision, Spent, Way, context_key
from actors.core.people import ByKind
from actors.core.run import Run, Status, Visit
from daemon.model.audit_events import Caller, SecretChange
from daemon.model.reading import Sight

UNKNOWN, FAILED = "unknown", "failed"
UNUSED = "expired_unused"
AAP_KEPT = timedelta(days=8)
"""For so long after it is decided an action is read, and what was told of it is kept.

The Agent Approval Protocol tells of a decision for seven days, and keeps it for a day after that.
"""
HOLD_LASTS = timedelta(seconds=60)
"""A call for which a budget is held has begun by then, or never will."""


@dataclass(frozen=True, slots=True)
class ActionRow:
    """An action as lists and budgets know it; all of it follows from its run.

    `amount`, in millionths, counts in the budget of the rule from `spent_at` on. The outcome is
    `unknown` while the call may have happened.
    """

    company_id: str
    run_id: str
    agent: str
    agent_id: str
    model: str | None
    tool: str
    server: str | None
    way: Way
    status: Status
    outcome: str | None
    rule: str
    rule_version: int
    decision: Decision
    fingerprint: str
    context_key: str | None
    created_at: datetime
    expires_at: datetime | None
    amount: int | None
    spent_at: datetime | None


def action_row(run: Run) -> ActionRow | None:
    """The row of a run that is an action; None for all others."""
    facts = run.action
    if facts is None:
        return None
    return ActionRow(
        company_id=run.company_id,
        run_id=run.id,
        agent=_text(facts.agent),
        agent_id=_text(facts.agent_id),
        model=None if facts.model is None else _text(facts.model),
        tool=_text(facts.tool),
        server=None if facts.server is None else _text(facts.server),
        way=facts.way,
        status=run.status,
        outcome=action_outcome(run),
        rule=facts.rule.id,
        rule_version=facts.rule.version,
        decision=facts.decision,
        fingerprint=facts.fingerprint,
        context_key=context_key(facts.context),
        created_at=run.created_at,
        expires_at=facts.deadline_at,
        amount=facts.amount,
        spent_at=None if facts.amount is None else _spent_at(run, facts),
    )


def _text(said: str) -> str:
    """A text as PostgreSQL can store it, too."""
    return said.replace("\0", "\ufffd")


def _visit(run: Run) -> Visit | None:
    """The visit that makes the call, or asks whether it may be made."""
    return next((one for one in reversed((*run.trace, *run.open)) if one.calls), None)


def action_outcome(run: Run) -> str | None:
    """What came of an action so far, or that nobody knows; None while it goes on."""
    visit = _visit(run)
    if visit is not None and _in_doubt(run, visit):
        return UNKNOWN
    if run.status == FAILED:
        return FAILED
    return None if run.ended is None else run.ended.outcome or run.ended.status


def _in_doubt(run: Run, visit: Visit) -> bool:
    """Whether the call may have happened, and nobody knows."""
    if visit.status == "parked":
        return visit.gate is not None and visit.gate.in_doubt
    if visit.grant is not None and (visit.grant.consumed_at is None or visit.output is not None):
        return False  # the agent did not use the approval, or has told the outcome
    return visit.status == "cancelled" and run.awaiting(visit.step_id, visit.visit) is not None


def _spent_at(run: Run, facts: ActionFacts) -> datetime | None:
    """Since when the amount counts: the allowance or the approval, unless no call was made."""
    visit, allowed = _visit(run), facts.decision == "allow"
    if visit is None:
        return run.created_at if allowed and run.ended is None else None
    at = visit.started_at if visit.verdict is None else visit.verdict.at
    if visit.status == "denied" or (run.ended is not None and run.ended.outcome == UNUSED):
        return None
    if _in_doubt(run, visit) or visit.call_out or visit.status == "done":
        return at
    if visit.status == "ready":
        return at if allowed or visit.verdict is not None else None
    return at if visit.error is not None and visit.error.maybe_sent is not False else None


@dataclass(frozen=True, slots=True)
class ActionQuery:
    """Actions to list, the newest first, behind a run; at most `limit`."""

    limit: int = 50
    before: str | None = None
    agent: str | None = None
    tool: str | None = None
    server: str | None = None
    status: str | None = None
    outcome: str | None = None
    rule: str | None = None
    context_key: str | None = None
    agent_id: str | None = None
    """Those of this key alone."""
    sight: Sight | None = None
    """What of them may be listed; None for all."""


@dataclass(frozen=True, slots=True)
class BudgetHold:
    """What a call takes of the budget of a rule, until its run has begun.

    `scope` is the name of the agent, or empty where the calls of all count together.
    """

    company_id: str
    rule: str
    scope: str
    run_id: str
    amount: int
    held_at: datetime


class HoldOutcome(NamedTuple):
    """Whether a hold was taken, and what was spent and held before it."""

    held: bool
    spent: Spent


@dataclass(frozen=True, slots=True)
class ActionJoin:
    """The action that the same call joins: of an agent, or of anybody where `agent_id` is empty.

    A repeat of one `request` has the same action.
    """

    company_id: str
    agent_id: str
    fingerprint: str
    run_id: str
    reserved_at: datetime
    request: str = ""


class Joined(NamedTuple):
    """The run that has a call, and whether it was claimed by this very request.

    A `doubtful` one may have made the call, and nobody knows.
    """

    run_id: str
    own: bool
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class ActionDocument:
    """The document of a rule that actions are pinned to."""

    company_id: str
    digest: str
    document: str


@dataclass(frozen=True, slots=True)
class StoredInstance:
    """An instance of the Agent Approval Protocol, with where it is told of results; sealed."""

    company_id: str
    key_id: str
    id: str
    name: str
    sealed_url: bytes | None
    registration_id: str | None
    sealed_secret: bytes | None
    number: int
    created_at: datetime
    created_by: str
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredMcpServer:
    """A server of the Model Context Protocol; `tools` says what is known of its tools by name."""

    company_id: str
    name: str
    version: int
    url: str
    auth_type: str
    sealed_secret: bytes | None
    reversible: bool
    trust_annotations: bool
    wait_s: int
    tools: dict[str, Any]
    changed_at: datetime
    changed_by: str


@dataclass(frozen=True, slots=True)
class McpServerChange:
    """The change `number`, from 1, of a server, before and after it; without its secret.

    `by_kind` stands in the company's log alone. With a `caller` it is made only while that is the
    caller's role.
    """

    company_id: str
    name: str
    number: int
    version: int
    at: datetime
    by: str
    secret: SecretChange
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    via: str
    by_kind: ByKind | UnsetType = UNSET
    caller: Caller | None = None
