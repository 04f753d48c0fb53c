"""Messages for a run: a step that waits takes one, else it is kept."""

from __future__ import annotations

from actors.core.kinds import end_wait
from actors.core.messages import Deliver, MessageReceived, Rejected, kept_kind
from actors.core.turn import Turn

MESSAGES_MAX = 100
"""Messages that a run keeps until steps take them."""


def deliver(turn: Turn, message: Deliver) -> Rejected | None:
    """Give a message to the step that waits for it, or keep it."""
    run = turn.run
    if run.ended is not None:
        return Rejected("run_ended", f"The run is {run.status}; it takes no messages.", {"run_status": run.status})
    if len(run.messages) >= MESSAGES_MAX:
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
    waiting = next((one for one in run.open if one.wait is not None and one.wait.message == message.name), None)
    if waiting is not None:
        end_wait(turn, waiting, "message", message.payload)
    return None
