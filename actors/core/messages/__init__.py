"""What is said to a run, what then became fact, and what the run asks of the outside.

Commands are imperative and may be refused; outcomes are never refused and may be stale; events are
facts in the past tense; effects are asked of the outside and derived from the run.
"""

from actors.core.messages.commands import (
    CallAccepted,
    CallFailed,
    CallReturned,
    Cancel,
    Command,
    Deliver,
    Due,
    Elapsed,
    Message,
    Migrate,
    Outcome,
    Promote,
    Propose,
    Rejected,
    Resume,
    Retry,
    Review,
    Settle,
    Start,
    Withdraw,
)
from actors.core.messages.effects import CallEffect, Effect, Wake, effect_key, repeatable
from actors.core.messages.events import (
    AUTOPILOT,
    CONNECTOR_CHANGED_CODE,
    OUTCOME_UNKNOWN_CODE,
    Attribution,
    CallSettled,
    CompensationBegan,
    EventBase,
    Failure,
    GateBlocked,
    GateEscalated,
    GateExpired,
    GateOpened,
    GateReminded,
    GateRescheduled,
    GateUnblocked,
    JudgeAnswered,
    MessageReceived,
    OpenGateEvent,
    PanelAsked,
    PanelDecided,
    PanelEvent,
    ProposalMade,
    RunEnded,
    RunMigrated,
    RunPromoted,
    RunStarted,
    StepCleared,
    StepEntered,
    VerdictGiven,
    VerdictWithdrawn,
    WaitBegan,
    WaitEnded,
    attribution,
    kept_kind,
    kind_of,
)

HeardEvent = PanelAsked | JudgeAnswered | PanelDecided
StepEvent = StepEntered | StepCleared | CallSettled | HeardEvent | WaitBegan | WaitEnded
LaterEvent = (
    StepEvent
    | GateOpened
    | VerdictGiven
    | ProposalMade
    | GateExpired
    | OpenGateEvent
    | MessageReceived
    | CompensationBegan
    | RunMigrated
    | RunPromoted
    | RunEnded
)
Event = RunStarted | LaterEvent

__all__ = [
    "AUTOPILOT",
    "CONNECTOR_CHANGED_CODE",
    "OUTCOME_UNKNOWN_CODE",
    "Attribution",
    "CallAccepted",
    "CallEffect",
    "CallFailed",
    "CallReturned",
    "CallSettled",
    "Cancel",
    "Command",
    "CompensationBegan",
    "Deliver",
    "Due",
    "Effect",
    "Elapsed",
    "Event",
    "EventBase",
    "Failure",
    "GateBlocked",
    "GateEscalated",
    "GateExpired",
    "GateOpened",
    "GateReminded",
    "GateRescheduled",
    "GateUnblocked",
    "JudgeAnswered",
    "LaterEvent",
    "Message",
    "MessageReceived",
    "Migrate",
    "OpenGateEvent",
    "Outcome",
    "PanelAsked",
    "PanelDecided",
    "PanelEvent",
    "Promote",
    "ProposalMade",
    "Propose",
    "Rejected",
    "Resume",
    "Retry",
    "Review",
    "RunEnded",
    "RunMigrated",
    "RunPromoted",
    "RunStarted",
    "Settle",
    "Start",
    "StepCleared",
    "StepEntered",
    "StepEvent",
    "VerdictGiven",
    "VerdictWithdrawn",
    "WaitBegan",
    "WaitEnded",
    "Wake",
    "Withdraw",
    "attribution",
    "effect_key",
    "kept_kind",
    "kind_of",
    "repeatable",
]
