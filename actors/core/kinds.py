"""What a run does at a node of each kind: when it enters, when it goes on, when a call ends.

A new kind is one entry in `NODE_KINDS`, and its traits in `template.TRAITS`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct

from actors.core.approvals import CHANGED, OUTCOME_UNKNOWN, covered, departure, departures, doubt, unsettled
from actors.core.calls import CallRequest, Missing, dry_run
from actors.core.governance import Cleared, Held, resolve
from actors.core.messages import (
    AUTOPILOT,
    CONNECTOR_CHANGED_CODE,
    CallFailed,
    CallGranted,
    CallReturned,
    CallSettled,
    CompensationBegan,
    Failure,
    Resume,
    Retry,
    RunEnded,
    StepCleared,
    StepEntered,
    WaitBegan,
    WaitEnded,
    kept_kind,
)
from actors.core.messages.events import HowEnded
from actors.core.panels import convene
from actors.core.rules.conditions import clocks_named
from actors.core.run import DONE, RETRY, RUN_BYTES_MAX, Run, Visit
from actors.core.schedule import duration
from actors.core.template import APPROVED, DENIED, ConditionFailed, Kind, Node, Template
from actors.core.turn import Turn

TURN_STEPS_MAX = 200
CallOutcome = CallReturned | CallFailed


class NodeKind(Struct, frozen=True):
    """The behaviour of the nodes of one kind.

    `enter` says which visit it is when the run comes from a step, and whether that visit waits for
    more branches; `resolve` takes a ready visit as far as it goes; `on_outcome` takes what came of
    its call.
    """

    resolve: Callable[[Turn, Visit, Node], None]
    enter: Callable[[Turn, Node, str | None], tuple[int, bool]]
    on_outcome: Callable[[Turn, Visit, CallOutcome], None] | None = None


# -------------------------------------------------------------------------------------- movement


def flow(turn: Turn) -> None:
    """Resolve ready visits until the run rests or has ended, or the turn's limit is reached."""
    for _ in range(TURN_STEPS_MAX):
        visit = turn.run.ready or undo_next(turn)
        if visit is None:
            break
        if (error := _beyond(turn, visit)) is not None:
            turn.emit(RunEnded(at=turn.at, status="failed", error=error, was=turn.run.status))
            return
        NODE_KINDS[visit.kind].resolve(turn, visit, turn.template.node(visit.step_id))
    if turn.run.denied:
        turn.emit(RunEnded(at=turn.at, status="completed", outcome=DENIED, was=turn.run.status))


def _beyond(turn: Turn, visit: Visit) -> Failure | None:
    """Why a run may not go on: it has entered too many steps, or grown too large for a call."""
    if turn.run.steps > turn.steps_max:
        detail = f"The run entered more than {turn.steps_max} steps."
        return Failure(code="step_limit", detail=detail, step_id=visit.step_id)
    if turn.run.size_bytes > RUN_BYTES_MAX and visit.calls:
        detail = f"The run holds more than {RUN_BYTES_MAX} bytes of inputs, answers and calls."
        return Failure(code="size_limit", detail=detail, step_id=visit.step_id)
    return None


def enter_step(
    turn: Turn, step_id: str, source: str | None, asked: Resume | Retry | None = None, *, undoes: int | None = None
) -> Visit:
    """Bring the run to a step, perhaps because somebody asked for it; returns its visit there.

    With `undoes` it undoes that visit of the step.
    """
    node = turn.template.node(step_id)
    visit, waiting = NODE_KINDS[node.kind].enter(turn, node, source)
    turn.emit(
        StepEntered(
            at=turn.at,
            step_id=step_id,
            visit=visit,
            kind=node.kind,
            tier=node.tier,
            source=source,
            waiting=waiting,
            by=None if asked is None else asked.by,
            by_kind=UNSET if asked is None else kept_kind(asked.by_kind),
            via=None if asked is None else asked.via,
            undoes=UNSET if undoes is None else undoes,
        )
    )
    return turn.run.open[-1]


def leave(turn: Turn, step_id: str, branch: str) -> None:
    """Go on from a step over the edges of that branch, if there are any.

    A run that is undone goes on nowhere.
    """
    if turn.run.compensating is not None:
        return
    onward = branch == APPROVED and turn.template.node(step_id).flow != "exclusive"
    failure = turn.template.on_error(step_id)
    for edge in turn.template.leaving(step_id):
        if edge.branch == branch or (onward and edge.branch != DENIED and edge is not failure):
            enter_step(turn, edge.target, step_id)


def end_run(turn: Turn, step_id: str) -> None:
    """The run has reached an end, at which what was done may be undone first."""
    node, outcome = turn.template.node(step_id), turn.template.node(step_id).outcome
    if node.compensates and undoable(turn.run, turn.template):
        turn.emit(CompensationBegan(at=turn.at, status="completed", outcome=outcome, was=turn.run.status))
        return
    turn.emit(RunEnded(at=turn.at, status="completed", outcome=outcome, was=turn.run.status))


# ------------------------------------------------------------------------------------ undoing


def undoable(run: Run, template: Template) -> Visit | None:
    """The latest visit that has a compensation and was not undone yet."""
    undone = {(one.step_id, one.undoes) for one in (*run.trace, *run.open) if one.status in ("done", "denied")}
    for visit in reversed(run.trace):
        done = visit.undoes is None and visit.status == "done" and visit.calls and template.has(visit.step_id)
        if done and (visit.step_id, visit.visit) not in undone and template.node(visit.step_id).compensate:
            return visit
    return None


def undo_next(turn: Turn) -> Visit | None:
    """Enter what is undone next once nothing is open, or end the run when all is undone."""
    ending = turn.run.compensating
    if ending is None or turn.run.open or turn.run.ended is not None:
        return None
    visit = undoable(turn.run, turn.template)
    if visit is not None:
        return enter_step(turn, visit.step_id, None, undoes=visit.visit)
    turn.emit(
        RunEnded(
            at=turn.at,
            status=ending.status,
            by=ending.by,
            by_kind=ending.by_kind,
            via=ending.via,
            reason=ending.reason,
            outcome=ending.outcome,
            was=ending.was,
        )
    )
    return None


# ------------------------------------------------------------------------------------ going on


def perform(
    turn: Turn, visit: Visit, request: CallRequest | Missing, cleared: Cleared | None = None, by: str = AUTOPILOT
) -> None:
    """Let a task run: in shadow it settles here and now, live its call is left outstanding.

    `cleared` and `by` say why and by whom it is cleared now; else a verdict has just cleared it.
    """
    reason, cleared_by = (None, None) if cleared is None else (cleared.reason, by)
    where: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit}
    where["weighed"] = UNSET if cleared is None else cleared.weighed
    if isinstance(request, Missing):
        detail = f"The key {request.keys[0]} is in neither the facts nor the inputs; nothing was sent."
        error = Failure(code="missing_key", detail=detail, step_id=visit.step_id, maybe_sent=False)
        turn.emit(CallSettled(**where, error=error, by=cleared_by, reason=reason))
        _take_error_edge(turn, visit)
    elif request.mode == "shadow":
        node = _called(turn, visit)
        output, hit = dry_run(node, turn.run.inputs, turn.run.facts)
        turn.emit(
            CallSettled(
                **where,
                output=output,
                signal=True if hit or node.is_hit(output) else None,
                by=cleared_by,
                reason=reason,
                request=None if reason is None else request,
            )
        )
        leave(turn, visit.step_id, APPROVED)
    else:
        if reason is not None:
            turn.emit(StepCleared(**where, reason=reason, by=by, request=request))
        if request.mode == "handed":
            _grant(turn, visit)


def _grant(turn: Turn, visit: Visit) -> None:
    """Let the agent make the call itself; another approval counts no longer than the first."""
    action = turn.run.action
    assert action is not None  # noqa: S101 - only calls of actions are handed over
    earlier = next((one.grant.expires_at for one in turn.run.trace if one.grant is not None), None)
    expires_at = earlier or duration(action.expires).after(turn.at, turn.company.calendar)
    turn.emit(CallGranted(at=turn.at, step_id=visit.step_id, visit=visit.visit, expires_at=expires_at))


def _called(turn: Turn, visit: Visit) -> Node:
    """The task as it is called at a visit: to do something, or to undo it."""
    node = turn.template.node(visit.step_id)
    return node if visit.undoes is None else node.undoing()


def _take_error_edge(turn: Turn, visit: Visit) -> bool:
    """Go where the template leads from a call that failed for good, if it says so."""
    edge = turn.template.on_error(visit.step_id)
    if edge is None or turn.run.compensating is not None:
        return False
    enter_step(turn, edge.target, visit.step_id)
    return True


# -------------------------------------------------------------------------------------- entering


def _enter_step(turn: Turn, node: Node, _source: str | None) -> tuple[int, bool]:
    return turn.run.visits.get(node.id, 0) + 1, False


def _enter_gateway(turn: Turn, node: Node, source: str | None) -> tuple[int, bool]:
    """At a join the run waits until each branch has come."""
    visit, waiting = _enter_step(turn, node, source)
    if source is None or not turn.template.joins(node.id):
        return visit, waiting
    here, arrived = turn.run.at(node.id), 1
    if here is not None and here.status == "waiting":
        visit, arrived = here.visit, len(here.arrived) + 1
    return visit, arrived < len(turn.template.entering(node.id))


# ------------------------------------------------------------------------------------- going on


def _cleared(turn: Turn, visit: Visit, node: Node, request: CallRequest | Missing | None = None) -> Cleared | None:
    """The autopilot's consent; without it the visit is parked."""
    answer = resolve(turn.run, node, turn.template, request, autonomous=turn.autonomous)
    if isinstance(answer, Held):
        turn.park(visit, answer.reason, turn.template.decisions(node.id), request, answer.missing)
        return None
    return answer


def _resolve_task(turn: Turn, visit: Visit, node: Node) -> None:
    if visit.undoes is not None:
        _undo(turn, visit, node)
        return
    request = turn.prepare(node)
    irreversible = node.effect == "irreversible"
    if irreversible and (why := doubt(turn.run, node.id)) is not None:
        turn.park(visit, why, _outcomes(turn, node), request)
    elif (cleared := _cleared(turn, visit, node, request)) is None:
        return
    elif node.consent is not None:
        _resolve_action(turn, visit, node, request)
    elif irreversible and not covered(turn.run, node.id, request):
        turn.park(visit, CHANGED, turn.template.decisions(node.id), request)
    elif found := departures(turn.run, visit, request):
        turn.park(visit, departure(found), turn.template.decisions(node.id), request)
    elif (heard := convene(turn, visit, node, request, cleared)) is not None:
        perform(turn, visit, request, heard)


def _resolve_action(turn: Turn, visit: Visit, node: Node, request: CallRequest | Missing) -> None:
    """Make the call of an action that its rule allows, or a panel, if that still stands."""
    why, action = unsettled(turn.run, visit, turn.company), turn.run.action
    if why is None and node.panel is None and (action is None or action.decision != "allow"):
        why = f"the rule {node.consent} asks"
    if why is not None:
        turn.park(visit, why, turn.template.decisions(node.id), request)
        return
    allowed = Cleared(f"the rule {node.consent} allows it")
    if (heard := convene(turn, visit, node, request, allowed)) is not None:
        perform(turn, visit, request, heard)


def _outcomes(turn: Turn, node: Node, *, undoes: bool = False) -> tuple[str, ...]:
    """What people decide about a call of which nobody knows whether it happened."""
    return (RETRY, DONE, DENIED) if undoes or turn.template.may_deny(node.id) else (RETRY, DONE)


def _undo(turn: Turn, visit: Visit, node: Node) -> None:
    """Call the tool of compensation, once if it is not idempotent."""
    request = turn.prepare(node.undoing())
    once = not (isinstance(request, CallRequest) and request.idempotent)
    if once and (why := doubt(turn.run, node.id, visit.undoes)) is not None:
        turn.park(visit, why, (RETRY, DONE, DENIED), request)
    else:
        perform(turn, visit, request, Cleared(f"undoes visit {visit.undoes} of {node.id}"))


def _resolve_wait(turn: Turn, visit: Visit, node: Node) -> None:
    if visit.verdict is None and _cleared(turn, visit, node) is None:
        return
    kept = next((one for one in turn.run.messages if node.wait is not None and one.name == node.wait.message), None)
    until = wait_until(turn, node, turn.at)
    if kept is not None:
        end_wait(turn, visit, "message", kept.payload)
    elif until is not None and until <= turn.at:
        end_wait(turn, visit, "elapsed")
    else:
        begin_wait(turn, visit, node, until)


def begin_wait(turn: Turn, visit: Visit, node: Node, until: datetime | None) -> None:
    """Wait from now on, or until another time than before."""
    wait = node.wait
    assert wait is not None  # noqa: S101 - a step of this kind has one
    turn.emit(
        WaitBegan(
            at=turn.at,
            step_id=node.id,
            visit=visit.visit,
            until=until,
            message=wait.message,
            business_days=wait.counts_business_days or UNSET,
        )
    )


def wait_until(turn: Turn, node: Node, since: datetime) -> datetime | None:
    """When a wait that began then is over; None where it waits for a message alone.

    None, too, while it waits for a time of a clock that something else has paused.

    Where a human said go on though the time is not clear, it is over now.
    """
    wait = node.wait
    assert wait is not None  # noqa: S101 - a step of this kind has one
    if (length := wait.duration or wait.within) is not None:
        return duration(length).after(since, turn.company.calendar)
    if wait.until is None or _on_a_paused_clock(turn, wait.until.text, node.id):
        return None
    try:
        return wait.until.time(turn.run.inputs, turn.run.facts, turn.run.clock_times)
    except ConditionFailed:
        return turn.at


def _on_a_paused_clock(turn: Turn, text: str, step_id: str) -> bool:
    """Whether an expression reads a clock that stands still, and not for the sake of this step."""
    paused = [one.id for one in turn.run.clocks if one.state == "paused"]
    rules = [rule for one in paused if one in clocks_named(text) and (rule := turn.template.clock(one)) is not None]
    return any(step_id not in rule.pauses for rule in rules)


def end_wait(turn: Turn, visit: Visit, how: HowEnded, payload: Any = None) -> None:
    """Go on from a wait, over the branch of a message or of its time-out where it has both."""
    turn.emit(WaitEnded(at=turn.at, step_id=visit.step_id, visit=visit.visit, how=how, payload=payload))
    for edge in turn.template.leaving(visit.step_id):
        if edge.branch in (None, how):
            enter_step(turn, edge.target, visit.step_id)


def _resolve_gate(turn: Turn, visit: Visit, node: Node) -> None:
    _cleared(turn, visit, node)


def _resolve_gateway(turn: Turn, visit: Visit, node: Node) -> None:
    cleared = _cleared(turn, visit, node)
    if cleared is not None:
        reason, branch = cleared.reason, cleared.branch
        turn.emit(StepCleared(at=turn.at, step_id=node.id, visit=visit.visit, reason=reason, branch=branch))
        leave(turn, node.id, branch or APPROVED)


def _resolve_end(turn: Turn, visit: Visit, node: Node) -> None:
    if _cleared(turn, visit, node) is not None:
        end_run(turn, node.id)


# -------------------------------------------------------------------------------------- outcomes


def _on_call_outcome(turn: Turn, visit: Visit, message: CallOutcome) -> None:
    """Settle a call; a run that has ended goes on nowhere."""
    ended = turn.run.ended is not None
    if isinstance(message, CallReturned):
        turn.emit(
            CallSettled(
                at=turn.at,
                step_id=visit.step_id,
                visit=visit.visit,
                output=message.output,
                signal=turn.signal(visit.step_id, message.output, message.signal) if visit.undoes is None else None,
                attempts=message.attempts,
            )
        )
        if not ended:
            leave(turn, visit.step_id, APPROVED)
        return
    error, node = message.error, turn.template.node(visit.step_id)
    turn.emit(CallSettled(at=turn.at, step_id=node.id, visit=visit.visit, error=error, attempts=error.attempts))
    if ended:
        return
    undone = turn.run.compensating is not None and visit.undoes is None
    if message.unknown:
        again = enter_step(turn, node.id, None, undoes=visit.undoes)
        undone = undone or node.handed  # as then, it is not sent again from here
        answers = (DONE, DENIED) if undone else _outcomes(turn, node, undoes=visit.undoes is not None)
        turn.park(again, OUTCOME_UNKNOWN, answers, visit.request)
    elif undone:
        return
    elif _covered_anew(node) and error.code == CONNECTOR_CHANGED_CODE and error.maybe_sent is False:
        again = enter_step(turn, node.id, None, undoes=visit.undoes)
        turn.park(again, CHANGED, turn.template.decisions(node.id), turn.prepare(_called(turn, visit)))
    else:
        _take_error_edge(turn, visit)


def _covered_anew(node: Node) -> bool:
    """Whether people are asked about a call again that was not sent, since it has changed."""
    return node.effect == "irreversible" or node.consent is not None


NODE_KINDS: dict[Kind, NodeKind] = {
    "task": NodeKind(resolve=_resolve_task, enter=_enter_step, on_outcome=_on_call_outcome),
    "gate": NodeKind(resolve=_resolve_gate, enter=_enter_step),
    "gateway": NodeKind(resolve=_resolve_gateway, enter=_enter_gateway),
    "wait": NodeKind(resolve=_resolve_wait, enter=_enter_step),
    "end": NodeKind(resolve=_resolve_end, enter=_enter_step),
}
