"""What arrives for a run from outside: callbacks of calls, and messages."""

from __future__ import annotations

from actors.core.kinds import NODE_KINDS, CallOutcome, end_wait
from actors.core.messages import (
    CallAccepted,
    CallFailed,
    CallReturned,
    Deliver,
    Failure,
    MessageReceived,
    Rejected,
    Settle,
    WaitBegan,
    kept_kind,
    repeatable,
)
from actors.core.run import Visit
from actors.core.turn import Turn

CALLBACK_TIMEOUT = "callback_timeout"


def accept(turn: Turn, message: CallAccepted) -> None:
    """Wait for the answer; one that was faster has settled the call already."""
    visit = turn.run.awaiting(message.step_id, message.visit)
    if visit is not None and visit.status == "calling":
        turn.emit(WaitBegan(at=turn.at, step_id=visit.step_id, visit=visit.visit, until=message.until))


def settle(turn: Turn, message: Settle) -> Rejected | None:
    """Take the answer to a call, if it is still awaited."""
    visit = turn.run.awaiting(message.step_id, message.visit)
    if visit is None:
        detail = "The call was answered already, or is not waited for any more."
        return Rejected("not_awaited", detail, {"run_status": turn.run.status})
    returned = CallReturned(
        step_id=visit.step_id, visit=visit.visit, output=message.output, signal=message.signal, at=turn.at
    )
    _take(turn, visit, returned)
    return None


def give_up(turn: Turn, visit: Visit) -> None:
    """The time for the answer is over: whether the call was carried out is not known."""
    assert visit.request is not None  # noqa: S101 - it was sent
    detail = f"{visit.request.tool} took the call and did not answer in time."
    error = Failure(code=CALLBACK_TIMEOUT, detail=detail, step_id=visit.step_id, attempts=1, maybe_sent=True)
    unknown = not repeatable(visit.request, turn.template.node(visit.step_id).effect, undoes=visit.undoes is not None)
    _take(turn, visit, CallFailed(step_id=visit.step_id, visit=visit.visit, error=error, unknown=unknown, at=turn.at))


def _take(turn: Turn, visit: Visit, outcome: CallOutcome) -> None:
    taken = NODE_KINDS[visit.kind].on_outcome
    assert taken is not None  # noqa: S101 - steps of this kind make calls
    taken(turn, visit, outcome)


MESSAGES_MAX = 100
"""Messages that a run keeps until steps take them."""


def deliver(turn: Turn, message: Deliver) -> Rejected | None:
    """Give a message to the step that waits for it, or keep it."""
    run = turn.run
    if run.ended is not None:
        return Rejected("run_ended", f"The run is {run.status}; it takes no messages.", {"run_status": run.status})
    waiting = next((one for one in run.open if one.wait is not None and one.wait.message == message.name), None)
    if waiting is None and len(run.messages) >= MESSAGES_MAX:
        detail = f"The run keeps {MESSAGES_MAX} messages already, which is all it takes."
        return Rejected("quota_exceeded", detail, {"budget": "messages", "limit": MESSAGES_MAX})
    turn.emit(
        MessageReceived(
            at=turn.at,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            name=message.name,
            payload=message.payload,
        )
    )
    if waiting is not None:
        end_wait(turn, waiting, "message", message.payload)
    return None
