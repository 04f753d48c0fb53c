"""What is said to a run: commands may be refused; outcomes are never refused and may be stale.

`by` says who, `by_kind` what that is, `via` with what kind of token.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field

from actors.core.actions.deciding import ActionFacts
from actors.core.calls import RecordedCall
from actors.core.gate_policy import Batch
from actors.core.messages.events import Failure
from actors.core.messages.votes import Asked
from actors.core.people import ByKind

OutcomeStatus = Literal["succeeded", "failed"]


class Start(Struct, frozen=True, kw_only=True):
    """Begin this run of a template, perhaps as a run in shadow was, whose calls were recorded.

    `made_by` made the key that starts it, which acts `on_behalf_of` somebody. Some are an `action`.
    """

    run_id: str
    company_id: str
    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    inputs: dict[str, Any]
    auto_resolve: bool = True
    business_key: str | None = None
    traceparent: str | None = None
    promoted_from: str | None = None
    recorded: tuple[RecordedCall, ...] = ()
    made_by: str | None = None
    on_behalf_of: str | None = None
    action: ActionFacts | None = None
    at: datetime


class Resume(Struct, frozen=True, kw_only=True):
    """A human's verdict on a gate; `digest` and the entity `tags` name the state that was seen.

    `on_behalf_of` is the member id of who delegated the decision. `output` is what the tool
    answered, where a human has seen that a call of unknown outcome happened; `inputs` are those
    that were missing at the gate. An action is made with other `arguments` than were asked for.
    """

    gate: str
    decision: str
    by: str
    via: str | None = None
    by_kind: ByKind = "person"
    role: str
    comment: str | None = None
    digest: str | None = None
    tags: frozenset[str] | None = None
    output: Any = None
    inputs: dict[str, Any] | None = None
    form: dict[str, Any] | None = None
    code: str | None = None
    on_behalf_of: str | None = None
    verdict_id: str | None = None
    batch: Batch | None = None
    arguments: dict[str, Any] | None = None
    traceparent: str | None = None
    at: datetime


class Withdraw(Struct, frozen=True, kw_only=True):
    """Take one's own verdict back while the gate is open."""

    gate: str
    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    at: datetime


class Deliver(Struct, frozen=True, kw_only=True):
    """A message for the run, which a step may wait for."""

    name: str
    payload: Any = None
    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    at: datetime


class Cancel(Struct, frozen=True, kw_only=True):
    """End the run where it stands; the entity `tags` say in which state it was seen.

    With `compensate` what was done is undone first.
    """

    compensate: bool = False
    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    reason: str | None = None
    tags: frozenset[str] | None = None
    at: datetime


class Retry(Struct, frozen=True, kw_only=True):
    """Go on from the step that failed; `tags` as above."""

    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    tags: frozenset[str] | None = None
    at: datetime


class Propose(Struct, frozen=True, kw_only=True):
    """What somebody would decide at a gate, who may not or does not want to."""

    gate: str
    decision: str
    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    role: str
    comment: str | None = None
    confidence: float | None = None
    form: dict[str, Any] | None = None
    digest: str | None = None
    at: datetime


class Migrate(Struct, frozen=True, kw_only=True):
    """Go on by another version of the template, which comes beside the message."""

    by: str
    made_by: str | None = None
    by_kind: ByKind = "person"
    via: str | None = None
    at: datetime


class Promote(Struct, frozen=True, kw_only=True):
    """Note that the run, which ended in shadow, is made again by the live run `promoted_to`."""

    promoted_to: str
    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    at: datetime


class BreakGlass(Struct, frozen=True, kw_only=True):
    """Let somebody read a run that is closed to them, for an hour; the reason is told."""

    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    reason: str
    at: datetime


class Consume(Struct, frozen=True, kw_only=True):
    """Use the approval of an action up, to make its call; who says it again has the same key."""

    key_hash: str
    by: str
    by_kind: ByKind = "agent"
    via: str | None = None
    at: datetime


class ReportOutcome(Struct, frozen=True, kw_only=True):
    """What came of the call that the agent made."""

    status: OutcomeStatus
    note: str | None = None
    by: str
    by_kind: ByKind = "agent"
    via: str | None = None
    at: datetime


class AskAgent(Struct, frozen=True, kw_only=True):
    """Ask the agent of an action something at its gate, as who may decide there."""

    gate: str
    question: str
    text: str
    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    role: str
    at: datetime


class AnswerQuestion(Struct, frozen=True, kw_only=True):
    """The agent's answer to a question; `agent_id` is that of its key."""

    gate: str
    question: str
    text: str
    agent_id: str
    by: str
    by_kind: ByKind = "agent"
    via: str | None = None
    at: datetime


class CallReturned(Struct, frozen=True, kw_only=True):
    """The tool answered the call of that visit, or the judge that was `asked`."""

    step_id: str
    visit: int
    output: Any
    signal: Any = None
    attempts: int = 1
    asked: Asked | None = None
    at: datetime


class CallAccepted(Struct, frozen=True, kw_only=True):
    """The tool took the call of that visit, and answers until then at the URL that it was given."""

    step_id: str
    visit: int
    until: datetime
    asked: Asked | None = None
    at: datetime


class Settle(Struct, frozen=True, kw_only=True):
    """Take what the tool answered later to the call of that visit."""

    step_id: str
    visit: int
    output: Any
    signal: Any = None
    at: datetime


class CallFailed(Struct, frozen=True, kw_only=True):
    """The call of that visit failed for good; `unknown` when it may have taken effect."""

    step_id: str
    visit: int
    error: Failure
    unknown: bool = False
    asked: Asked | None = None
    at: datetime


class Elapsed(Struct, frozen=True, kw_only=True):
    """The wake-up of that visit is due."""

    step_id: str
    visit: int
    at: datetime


class Due(Struct, frozen=True, kw_only=True):
    """A deadline, a reminder or a wait of the run may be due."""

    at: datetime


class Review(Struct, frozen=True, kw_only=True):
    """People, groups, delegations, policy or calendar of the company have changed."""

    at: datetime


ActionCommand = Consume | ReportOutcome | AskAgent | AnswerQuestion
Command = (
    Start | Resume | Cancel | Retry | Propose | Withdraw | Deliver | Migrate | Promote | Settle | BreakGlass
) | ActionCommand
Outcome = CallReturned | CallAccepted | CallFailed | Elapsed | Due | Review
Message = Command | Outcome


class Rejected(Struct, frozen=True):
    """A refused command: the contract's code, a sentence, and extra members."""

    code: str
    detail: str
    more: dict[str, Any] = field(default_factory=dict)
