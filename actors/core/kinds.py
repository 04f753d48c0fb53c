"""What a run does at a node of each kind: when it enters, when it goes on, when a call ends.

A new kind is one entry in `NODE_KINDS`, and its traits in `template.TRAITS`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET, Struct

from actors.core.approvals import CHANGED, OUTCOME_UNKNOWN, covered, doubt
from actors.core.calls import Missing, Request, dry_run
from actors.core.governance import Cleared, Held, resolve
from actors.core.messages import (
    AUTOPILOT,
    CONNECTOR_CHANGED_CODE,
    CallFailed,
    CallReturned,
    CallSettled,
    Failure,
    Resume,
    Retry,
    RunEnded,
    StepCleared,
    StepEntered,
    kept_kind,
)
from actors.core.run import DONE, RETRY, RUN_BYTES_MAX, Visit
from actors.core.template import APPROVED, DENIED, Kind, Node
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
        visit = turn.run.ready
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
    if turn.run.weight > RUN_BYTES_MAX and visit.calls:
        detail = f"The run holds more than {RUN_BYTES_MAX} bytes of inputs, answers and calls."
        return Failure(code="size_limit", detail=detail, step_id=visit.step_id)
    return None


def enter(turn: Turn, step_id: str, source: str | None, asked: Resume | Retry | None = None) -> Visit:
    """Bring the run to a step, perhaps because somebody asked for it; returns its visit there."""
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
        )
    )
    return turn.run.open[-1]


def leave(turn: Turn, step_id: str, branch: str) -> None:
    """Go on from a step over the edges of that branch, if there are any."""
    onward = branch == APPROVED and turn.template.node(step_id).flow != "exclusive"
    for edge in turn.template.leaving(step_id):
        if edge.branch == branch or (onward and edge.branch != DENIED):
            enter(turn, edge.target, step_id)


def end_run(turn: Turn, step_id: str) -> None:
    """The run has reached an end."""
    outcome = turn.template.node(step_id).outcome
    turn.emit(RunEnded(at=turn.at, status="completed", outcome=outcome, was=turn.run.status))


def perform(
    turn: Turn, visit: Visit, request: Request | Missing, reason: str | None = None, by: str = AUTOPILOT
) -> None:
    """Let a task run: in shadow it settles here and now, live its call is left outstanding.

    `reason` and `by` say why and by whom it is cleared now; without a reason a verdict has just
    cleared it.
    """
    cleared_by = None if reason is None else by
    if isinstance(request, Missing):
        detail = f"The key {request.keys[0]} is in neither the facts nor the inputs; nothing was sent."
        error = Failure(code="missing_key", detail=detail, step_id=visit.step_id, maybe_sent=False)
        turn.emit(
            CallSettled(at=turn.at, step_id=visit.step_id, visit=visit.visit, error=error, by=cleared_by, reason=reason)
        )
    elif request.mode == "shadow":
        node = turn.template.node(visit.step_id)
        output, hit = dry_run(node, turn.run.inputs, turn.run.facts)
        turn.emit(
            CallSettled(
                at=turn.at,
                step_id=visit.step_id,
                visit=visit.visit,
                output=output,
                signal=True if hit or node.is_hit(output) else None,
                by=cleared_by,
                reason=reason,
                request=None if reason is None else request,
            )
        )
        leave(turn, visit.step_id, APPROVED)
    elif reason is not None:
        turn.emit(
            StepCleared(at=turn.at, step_id=visit.step_id, visit=visit.visit, reason=reason, by=by, request=request)
        )


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


def _cleared(turn: Turn, visit: Visit, node: Node, request: Request | Missing | None = None) -> Cleared | None:
    """The autopilot's consent; without it the visit is parked."""
    answer = resolve(turn.run, node, turn.template, request)
    if isinstance(answer, Held):
        turn.park(visit, answer.reason, turn.template.decisions(node.id), request, answer.missing)
        return None
    return answer


def _resolve_task(turn: Turn, visit: Visit, node: Node) -> None:
    request = turn.prepare(node)
    irreversible = node.effect == "irreversible"
    if irreversible and (why := doubt(turn.run, node.id)) is not None:
        turn.park(visit, why, (RETRY, DONE, DENIED), request)
    elif (cleared := _cleared(turn, visit, node, request)) is None:
        return
    elif irreversible and not covered(turn.run, node.id, request):
        turn.park(visit, CHANGED, turn.template.decisions(node.id), request)
    else:
        perform(turn, visit, request, cleared.reason)


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
                signal=turn.signal(visit.step_id, message.output, message.signal),
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
    if message.unknown:
        turn.park(enter(turn, node.id, None), OUTCOME_UNKNOWN, (RETRY, DONE, DENIED), visit.request)
    elif node.effect == "irreversible" and error.code == CONNECTOR_CHANGED_CODE and error.maybe_sent is False:
        again = enter(turn, node.id, None)
        turn.park(again, CHANGED, turn.template.decisions(node.id), turn.prepare(node))


NODE_KINDS: dict[Kind, NodeKind] = {
    "task": NodeKind(resolve=_resolve_task, enter=_enter_step, on_outcome=_on_call_outcome),
    "gate": NodeKind(resolve=_resolve_gate, enter=_enter_step),
    "gateway": NodeKind(resolve=_resolve_gateway, enter=_enter_gateway),
    "end": NodeKind(resolve=_resolve_end, enter=_enter_step),
}
