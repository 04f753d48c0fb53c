"""Cancelling a run, and trying its failed steps again."""

from __future__ import annotations

from typing import Any

from actors.core.kinds import enter_step, undoable
from actors.core.messages import Cancel, CompensationBegan, Rejected, Retry, RunEnded, kept_kind
from actors.core.turn import Turn


def cancel(turn: Turn, message: Cancel) -> Rejected | None:
    """End the run, or begin to undo what it did and end it then."""
    if turn.run.ended is not None:
        detail = f"The run is {turn.run.status} already."
        return Rejected("not_cancellable", detail, {"run_status": turn.run.status})
    if (moved := _moved(turn, message)) is not None:
        return moved
    ended = {"by": message.by, "by_kind": kept_kind(message.by_kind), "via": message.via, "reason": message.reason}
    about: Any = {"at": turn.at, "status": "cancelled", "was": turn.run.status, **ended}
    calling = any(one.call_out for one in turn.run.open)
    undo = message.compensate and (calling or undoable(turn.run, turn.template) is not None)
    turn.emit(CompensationBegan(**about) if undo and turn.run.compensating is None else RunEnded(**about))
    return None


def retry(turn: Turn, message: Retry) -> Rejected | None:
    """Enter the failed steps again."""
    failed = [visit for visit in turn.run.open if visit.status == "failed"]
    if not failed:
        detail = f"The run is {turn.run.status}; only a failed step can be tried again."
        return Rejected("not_retryable", detail, {"run_status": turn.run.status})
    if (moved := _moved(turn, message)) is not None:
        return moved
    for visit in failed:
        enter_step(turn, visit.step_id, None, message, undoes=visit.undoes)
    return None


def _moved(turn: Turn, message: Cancel | Retry) -> Rejected | None:
    """Whether the run has moved on since it was seen."""
    if turn.seen(message.tags):
        return None
    parked_at = turn.run.parked[0].step_id if turn.run.parked else None
    detail = "The run has changed since it was seen; read it and decide again."
    return Rejected("stale", detail, {"parked_at": parked_at, "tag": turn.tag()})
