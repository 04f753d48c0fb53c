"""Breaking the glass of a run: who is no reader reads it for a time, and every reader is told."""

from __future__ import annotations

from datetime import timedelta

from actors.core.messages import BreakGlass, GlassBroken, GlassMended, kept_kind
from actors.core.turn import Turn

BROKEN = timedelta(hours=1)
"""How long a broken glass lets somebody read."""


def break_glass(turn: Turn, message: BreakGlass) -> None:
    """Let somebody read from now on; the service has seen that they may break it."""
    turn.emit(
        GlassBroken(
            at=turn.at,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            reason=message.reason,
            until=turn.at + BROKEN,
        )
    )


def mend(turn: Turn) -> None:
    """End what was broken for a time that is over."""
    for one in turn.run.glass:
        if one.until <= turn.at:
            turn.emit(GlassMended(at=turn.at, reader=one.by))
