"""Decides what each message does to a run. Pure: no IO, no clock, no randomness."""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct

from actors.core.approvals import differs, restated
from actors.core.calls import Connectors
from actors.core.commands.verdicts import give_verdict, make_proposal
from actors.core.evolve import evolve
from actors.core.kinds import NODE_KINDS, CallOutcome, enter, flow
from actors.core.messages import (
    Call,
    CallFailed,
    CallReturned,
    Cancel,
    Effect,
    Elapsed,
    Event,
    Message,
    Propose,
    Rejected,
    Resume,
    Retry,
    RunEnded,
    RunStarted,
    Start,
    Wake,
    kept_kind,
)
from actors.core.run import Run, Visit
from actors.core.template import Template
from actors.core.turn import Turn

STEPS_MAX = 10_000


class Step(Struct, frozen=True):
    """What a message did: the run after it, the facts, what is asked of the outside.

    `rejected` is set when a command was refused and the refusal itself changed something: a gate
    that opened again because what it showed no longer holds.
    """

    run: Run
    events: tuple[Event, ...]
    effects: tuple[Effect, ...]
    rejected: Rejected | None = None


def step(
    run: Run | None, message: Message, template: Template, connectors: Connectors, steps_max: int = STEPS_MAX
) -> Step | Rejected:
    """Decide on a message and evolve the run; Rejected when nothing became fact."""
    if isinstance(message, Start):
        if run is not None:
            return Rejected("already_exists", "A run with this id has already started.")
        turn = _started(message, template, connectors, steps_max)
        rejected = None
    elif run is None:
        return Rejected("not_found", "There is no such run.")
    else:
        turn = Turn(run, message.at, connectors, template, steps_max)
        rejected = _decide(turn, message)
    if rejected is None and not isinstance(message, Propose):  # a proposal changes no gate
        flow(turn)
        _renew(turn)
    elif rejected is not None and not turn.events:
        return rejected
    return Step(turn.run, tuple(turn.events), outstanding(turn.run, template), rejected)


def outstanding(run: Run, template: Template) -> tuple[Effect, ...]:
    """What the run still wants done; empty when it is at rest. Derived, never stored."""
    effects: list[Effect] = []
    for visit in run.open:
        if visit.status == "ready":
            effects.append(Wake(run.company_id, run.id, visit.step_id, visit.visit))
        elif visit.status == "calling" and visit.request is not None:
            safe = visit.request.idempotent or template.node(visit.step_id).effect != "irreversible"
            effects.append(
                Call(
                    run.company_id,
                    run.id,
                    visit.step_id,
                    visit.visit,
                    request=visit.request,
                    repeatable=safe,
                    traceparent=run.traceparent,
                )
            )
    return tuple(effects)


def _started(message: Start, template: Template, connectors: Connectors, steps_max: int) -> Turn:
    started = RunStarted(
        at=message.at,
        run_id=message.run_id,
        company_id=message.company_id,
        by=message.by,
        by_kind=kept_kind(message.by_kind),
        via=message.via,
        vertical=template.vertical,
        template_version=template.version,
        template_digest=template.digest,
        inputs=message.inputs,
        auto_resolve=message.auto_resolve,
        traceparent=message.traceparent,
    )
    turn = Turn(evolve(None, started), message.at, connectors, template, steps_max, [started])
    enter(turn, template.start, None)
    return turn


def _decide(
    turn: Turn, message: Resume | Cancel | Retry | Propose | CallReturned | CallFailed | Elapsed
) -> Rejected | None:
    match message:
        case Resume():
            return give_verdict(turn, message)
        case Cancel():
            return _cancel(turn, message)
        case Retry():
            return _retry(turn, message)
        case Propose():
            return make_proposal(turn, message)
        case CallReturned() | CallFailed():
            _outcome(turn, message)
        case Elapsed():
            pass
        case _:
            assert_never(message)
    return None


def _renew(turn: Turn) -> None:
    """Let each gate that waits beside other branches show what they have changed meanwhile."""
    if not turn.events or len(turn.run.open) == 1:
        return
    for visit in turn.run.parked:
        now = restated(turn.run, visit, turn.template, turn.connectors)
        if differs(visit, now):
            turn.reopen(visit, now)


def _cancel(turn: Turn, message: Cancel) -> Rejected | None:
    if turn.run.ended is not None:
        detail = f"The run is {turn.run.status} already."
        return Rejected("not_cancellable", detail, {"run_status": turn.run.status})
    if (moved := _moved(turn, message)) is not None:
        return moved
    was = turn.run.status
    turn.emit(
        RunEnded(
            at=turn.at,
            status="cancelled",
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            reason=message.reason,
            was=was,
        )
    )
    return None


def _retry(turn: Turn, message: Retry) -> Rejected | None:
    failed = [visit for visit in turn.run.open if visit.status == "failed"]
    if not failed:
        detail = f"The run is {turn.run.status}; only a failed step can be tried again."
        return Rejected("not_retryable", detail, {"run_status": turn.run.status})
    if (moved := _moved(turn, message)) is not None:
        return moved
    for visit in failed:
        enter(turn, visit.step_id, None, message)
    return None


def _moved(turn: Turn, message: Cancel | Retry) -> Rejected | None:
    """Whether the run has moved on since it was seen."""
    if turn.seen(message.tags):
        return None
    parked_at = turn.run.parked[0].step_id if turn.run.parked else None
    detail = "The run has changed since it was seen; read it and decide again."
    return Rejected("stale", detail, {"parked_at": parked_at, "tag": turn.tag()})


def _outcome(turn: Turn, message: CallOutcome) -> None:
    """Take what came of a call; a stale outcome falls away."""
    visit = _awaiting(turn.run, message.step_id, message.visit)
    if visit is not None and (taken := NODE_KINDS[visit.kind].on_outcome) is not None:
        taken(turn, visit, message)


def _awaiting(run: Run, step_id: str, visit: int) -> Visit | None:
    """The visit whose call is out, or was out when the run ended."""
    for one in (*run.open, *(run.trace if run.ended is not None else ())):
        if one.step_id == step_id and one.visit == visit:
            sent = one.request is not None and (one.gate is None or one.verdict is not None)
            return one if one.status == "calling" or (one.status == "cancelled" and sent) else None
    return None
