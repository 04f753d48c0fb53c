"""A run that ended in shadow is made again, live."""

from __future__ import annotations

from actors.core.calls import RecordedCall
from actors.core.messages import Promote, Rejected, RunPromoted, kept_kind
from actors.core.run import Run
from actors.core.turn import Turn


def promote(turn: Turn, message: Promote) -> Rejected | None:
    """Note by which run it is made again: a run is promoted once, so that nothing is sent twice."""
    if (refused := unpromotable(turn.run)) is not None:
        return refused
    turn.emit(
        RunPromoted(
            at=turn.at,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            promoted_to=message.promoted_to,
        )
    )
    return None


def unpromotable(run: Run) -> Rejected | None:
    """Why a run cannot be promoted; None where it can."""
    if run.status != "completed":
        return _refused(f"The run is {run.status}; only a completed run is promoted.")
    if run.promoted_to is not None:
        return _refused("The run was promoted before.", run.promoted_to)
    if any(visit.request is not None and visit.request.mode == "live" for visit in run.trace):
        return _refused("The run has made live calls.")
    return None


def _refused(why: str, promoted_to: str | None = None) -> Rejected:
    more = {} if promoted_to is None else {"promoted_to": promoted_to}
    return Rejected("not_promotable", why, more)


def recorded(run: Run) -> tuple[RecordedCall, ...]:
    """The calls that a run in shadow would have sent, in order."""
    return tuple(
        [
            RecordedCall(request=one.request, step_id=one.step_id)
            for one in run.trace
            if one.request is not None and one.undoes is None and one.status == "done"
        ]
    )
