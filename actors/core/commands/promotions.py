"""A run that ended in shadow is made again, live."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from msgspec import Struct

from actors.core.approvals import comes_anew
from actors.core.calls import CallRequest, Difference, RecordedCall, differences
from actors.core.messages import Promote, Rejected, RunPromoted, kept_kind
from actors.core.run import Run, Visit
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


class ComparedCall(Struct, frozen=True, gc=False):
    """A call of a promoted run beside the recorded one; `sent` is None where none was made so far.

    `decided_by` is who decided that it is sent all the same.
    """

    step_id: str
    visit: int | None
    recorded: CallRequest | None
    sent: CallRequest | None
    differences: tuple[Difference, ...]
    decided_by: str | None = None


def compared(run: Run) -> tuple[ComparedCall, ...]:
    """The calls of a promoted run, step by step, each beside the one that shadow recorded."""
    steps = dict.fromkeys((*(one.step_id for one in run.recorded), *(one.step_id for one in _calling(run))))
    return tuple([one for step_id in steps for one in _of_step(run, step_id)])


def _calling(run: Run) -> list[Visit]:
    visits = [one for one in (*run.trace, *run.open) if one.calls and one.undoes is None]
    return sorted(visits, key=lambda one: one.visit)


def _of_step(run: Run, step_id: str) -> Iterator[ComparedCall]:
    """The nth recorded call beside the nth time that the run came to the step."""
    before = [one.request for one in run.recorded if one.step_id == step_id]
    times: list[Visit] = []
    for visit in _calling(run):
        if visit.step_id == step_id:
            times[len(times) - (not comes_anew(visit)) :] = [visit]
    for was, visit in zip_longest(before, times):
        if visit is None:
            yield ComparedCall(step_id, None, was, None, ())
            continue
        request = visit.request if visit.request is not None and visit.request.mode == "live" else None
        made = request if visit.status in ("calling", "done", "failed") or visit.call_out else None
        by = None if visit.verdict is None else visit.verdict.by
        yield ComparedCall(step_id, visit.visit, was, made, () if request is None else differences(was, request), by)
