"""The only place where a run's next move is chosen: pure, so that it can be repeated, tested and trusted."""

from __future__ import annotations

from typing import Any, assert_never

from msgspec import Struct

from actors.core.approvals import CHANGED, OUTCOME_UNKNOWN, Standing, changed_gates, differs, restated, tag
from actors.core.calls import Connectors, Missing, Request, sendable
from actors.core.evolve import evolve
from actors.core.governance import may_decide
from actors.core.messages import (
    CONNECTOR_CHANGED_CODE,
    Call,
    CallFailed,
    CallReturned,
    CallSettled,
    Cancel,
    Effect,
    Elapsed,
    Event,
    Message,
    Rejected,
    Resume,
    Retry,
    RunEnded,
    RunStarted,
    Start,
    VerdictGiven,
    Wake,
)
from actors.core.run import DONE, RETRY, Run, Visit
from actors.core.supplied import completed, unseen
from actors.core.template import APPROVED, DENIED, Template
from actors.core.turn import COMPLETE, Turn

STEPS_MAX = 10_000


class Step(Struct, frozen=True):
    """What a message did: the run after it, the facts, what is asked of the outside.

    `rejected` is set when a command was refused and the refusal itself changed something: a gate that opened again
    because what it showed no longer holds.
    """

    run: Run
    events: tuple[Event, ...]
    effects: tuple[Effect, ...]
    rejected: Rejected | None = None


def step(
    run: Run | None, message: Message, template: Template, connectors: Connectors, steps_max: int = STEPS_MAX
) -> Step | Rejected:
    """Decide on a message and evolve the run by what was decided; Rejected when nothing became fact."""
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
    if rejected is None:
        turn.flow()
        _renew(turn)
    elif not turn.events:
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
        via=message.via,
        vertical=template.vertical,
        template_version=template.version,
        template_digest=template.digest,
        inputs=message.inputs,
        auto_resolve=message.auto_resolve,
        traceparent=message.traceparent,
    )
    turn = Turn(evolve(None, started), message.at, connectors, template, steps_max, [started])
    turn.enter(template.start, None)
    return turn


def _decide(turn: Turn, message: Resume | Cancel | Retry | CallReturned | CallFailed | Elapsed) -> Rejected | None:
    match message:
        case Resume():
            return _resume(turn, message)
        case Cancel():
            return _cancel(turn, message)
        case Retry():
            return _retry(turn, message)
        case CallReturned():
            _returned(turn, message)
        case CallFailed():
            _failed(turn, message)
        case Elapsed():
            pass
        case _:
            assert_never(message)
    return None


def _resume(turn: Turn, message: Resume) -> Rejected | None:
    run = turn.run
    visit = next((v for v in run.parked if v.step_id == message.gate), None)
    if visit is None or visit.gate is None:
        return _not_here(run, message.gate)
    gate, now = visit.gate, turn.stands(visit)
    if not may_decide(message.role, gate.role):
        return Rejected("forbidden", f"A decision here needs the role {gate.role}.", {"required": gate.role})
    if (stale := _stale(turn, message, visit, now)) is not None:
        return stale
    if message.decision not in gate.decisions:
        detail = f"At {message.gate} the decision is one of: {', '.join(gate.decisions)}."
        return Rejected("decision_not_allowed", detail, {"decisions": list(gate.decisions)})
    wrong, request = completed(turn, visit, message, now.request)
    if wrong is not None:
        return wrong
    if differs(visit, now):
        visit = turn.reopen(visit, now)
    anew = unseen(turn, visit, message, request)
    turn.emit(
        VerdictGiven(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            decision=message.decision,
            by=message.by,
            via=message.via,
            comment=message.comment,
            inputs=message.inputs or None,
            request=None if anew else sendable(request),
            traceparent=message.traceparent,
        )
    )
    if anew:
        turn.enter(visit.step_id, None)
        turn.park(turn.run.open[-1], COMPLETE, gate.decisions, request)
    else:
        _follow(turn, visit, message, sendable(request) or request)
    return None


def _not_here(run: Run, gate: str) -> Rejected:
    """Why a verdict on that gate does not count: the run is not parked, or parked elsewhere."""
    more: dict[str, Any] = {"run_status": run.status, "parked_at": None, "decided": None}
    closed = run.decided(gate)
    if closed is not None and closed.verdict is not None:
        verdict = closed.verdict
        more["decided"] = {
            "gate": gate,
            "visit": closed.visit,
            "decision": verdict.decision,
            "by": verdict.by,
            "at": verdict.at,
        }
    if not run.parked:
        return Rejected("not_parked", f"The run is {run.status}, so there is no gate to decide on.", more)
    more["parked_at"] = run.parked[0].step_id
    return Rejected("gate_mismatch", f"The run is parked at {more['parked_at']}, not at the gate that was named.", more)


def _stale(turn: Turn, message: Resume, visit: Visit, now: Standing) -> Rejected | None:
    """Whether the human saw something else than what stands; then the gate opens again, showing what stands.

    Who does not say what was seen has seen what the gate showed when it opened.
    """
    if message.digest is None and message.tags is None:
        fits = not differs(visit, now)
    else:
        fits = message.digest in (None, now.digest) and _seen(turn, message)
    if fits:
        return None
    if differs(visit, now):
        turn.reopen(visit, now)
    detail = "What was decided on is not what stands at this gate now; read the run and decide again."
    return Rejected("stale", detail, {"parked_at": turn.run.parked[0].step_id, "tag": _tag(turn)})


def _seen(turn: Turn, message: Resume | Cancel | Retry) -> bool:
    """Whether the run stands as its entity tags say, if the message names any."""
    return message.tags is None or _tag(turn) in message.tags


def _tag(turn: Turn) -> str:
    return tag(turn.run, changed_gates(turn.run, turn.template, turn.connectors))


def _renew(turn: Turn) -> None:
    """Let each gate that waits beside other branches show what they have changed meanwhile."""
    if not turn.events or len(turn.run.open) == 1:
        return
    for visit in turn.run.parked:
        now = restated(turn.run, visit, turn.template, turn.connectors)
        if differs(visit, now):
            turn.reopen(visit, now)


def _follow(turn: Turn, visit: Visit, message: Resume, request: Request | Missing | None) -> None:
    """Go where a verdict leads."""
    if message.decision == RETRY and visit.kind == "task" and request is not None:
        turn.enter(visit.step_id, None, message.by, message.via)
        reason = f"{message.by} decided to send the call again"
        turn.perform(turn.run.open[-1], request, reason, message.by)
    elif message.decision == DONE and visit.kind == "task":
        output = {} if message.output is None else message.output
        signal = turn.signal(visit.step_id, output)
        turn.emit(CallSettled(at=turn.at, step_id=visit.step_id, visit=visit.visit, output=output, signal=signal))
        turn.leave(visit.step_id, APPROVED)
    elif visit.kind == "task" and message.decision == APPROVED and request is not None:
        turn.perform(visit, request)
    else:
        turn.leave(visit.step_id, message.decision)


def _cancel(turn: Turn, message: Cancel) -> Rejected | None:
    if turn.run.ended is not None:
        detail = f"The run is {turn.run.status} already."
        return Rejected("not_cancellable", detail, {"run_status": turn.run.status})
    if (moved := _moved(turn, message)) is not None:
        return moved
    was = turn.run.status
    turn.emit(RunEnded(at=turn.at, status="cancelled", by=message.by, via=message.via, reason=message.reason, was=was))
    return None


def _retry(turn: Turn, message: Retry) -> Rejected | None:
    failed = [visit for visit in turn.run.open if visit.status == "failed"]
    if not failed:
        detail = f"The run is {turn.run.status}; only a failed step can be tried again."
        return Rejected("not_retryable", detail, {"run_status": turn.run.status})
    if (moved := _moved(turn, message)) is not None:
        return moved
    for visit in failed:
        turn.enter(visit.step_id, None, message.by, message.via)
    return None


def _moved(turn: Turn, message: Cancel | Retry) -> Rejected | None:
    """Whether the run has moved on since it was seen."""
    if _seen(turn, message):
        return None
    parked_at = turn.run.parked[0].step_id if turn.run.parked else None
    detail = "The run has changed since it was seen; read it and decide again."
    return Rejected("stale", detail, {"parked_at": parked_at, "tag": _tag(turn)})


def _returned(turn: Turn, message: CallReturned) -> None:
    if _awaits(turn.run, message.step_id, message.visit):
        turn.emit(
            CallSettled(
                at=turn.at,
                step_id=message.step_id,
                visit=message.visit,
                output=message.output,
                signal=turn.signal(message.step_id, message.output, message.signal),
                attempts=message.attempts,
            )
        )
        if turn.run.ended is None:
            turn.leave(message.step_id, APPROVED)


def _failed(turn: Turn, message: CallFailed) -> None:
    if not _awaits(turn.run, message.step_id, message.visit):
        return
    sent, error = turn.run.at(message.step_id), message.error
    turn.emit(
        CallSettled(at=turn.at, step_id=message.step_id, visit=message.visit, error=error, attempts=error.attempts)
    )
    if sent is None:
        return
    node = turn.template.node(sent.step_id)
    if message.unknown:
        turn.enter(sent.step_id, None)
        again, call = turn.run.open[-1], sent.request
        turn.park(again, OUTCOME_UNKNOWN, (RETRY, DONE, DENIED), call)
    elif node.effect == "irreversible" and error.code == CONNECTOR_CHANGED_CODE and error.maybe_sent is False:
        turn.enter(sent.step_id, None)
        turn.park(turn.run.open[-1], CHANGED, turn.template.decisions(node.id), turn.prepare(node))


def _awaits(run: Run, step_id: str, visit: int) -> bool:
    """Whether the run waits for what came of that visit's call, or ended while the call was out."""
    for one in (*run.open, *(run.trace if run.ended is not None else ())):
        if one.step_id == step_id and one.visit == visit:
            sent = one.request is not None and (one.gate is None or one.verdict is not None)
            return one.status == "calling" or (one.status == "cancelled" and sent)
    return False
