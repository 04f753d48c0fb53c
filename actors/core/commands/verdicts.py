"""What a human's verdict does at a gate, and taking it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from actors.core.approvals import GateSnapshot, differs
from actors.core.calls import Missing, Request, sendable
from actors.core.commands.forms import completed, is_unseen_call
from actors.core.commands.refusals import may_not, no_such_decision, not_here, not_in_batch
from actors.core.eligibility import Decider, reached_decision, valid_verdicts, why_not
from actors.core.governance import Cleared
from actors.core.kinds import end_run, enter_step, leave, perform
from actors.core.messages import CallSettled, Rejected, Resume, VerdictGiven, VerdictWithdrawn, Withdraw
from actors.core.people import ACTIONS, Person
from actors.core.run import DONE, RETRY, Verdict, Visit
from actors.core.template import APPROVED, DENIED, Kind
from actors.core.turn import COMPLETE, Turn, lapse, review

Follow = Callable[[Turn, Visit, Resume, Request | Missing | None], None]


def give_verdict(turn: Turn, message: Resume) -> Rejected | None:
    """Count a verdict, and go on once enough agree; or say why it is refused."""
    visit = next((one for one in turn.run.parked if one.step_id == message.gate), None)
    if visit is None or visit.gate is None:
        return not_here(turn.run, message.gate)
    decider = _decider(turn, message)
    if decider is None:
        detail = "That member has not delegated decisions of this kind to you for this time."
        required = visit.gate.role or ACTIONS["decide"].role
        return Rejected("forbidden", detail, {"required": required, "reason": "role"})
    if (why := why_not(decider, visit, turn.run, turn.setting)) is not None:
        return may_not(why, visit.gate)
    now = turn.stands(visit)
    if (stale := _stale(turn, message, visit, now)) is not None:
        return stale
    if message.decision not in visit.gate.decisions:
        return no_such_decision(visit.step_id, visit.gate)
    closes = _closes(turn, visit, message)
    wrong, request = completed(turn, visit, message, now.request, closes=closes)
    if wrong is not None:
        return wrong
    if differs(visit, now):
        visit = turn.reopen(visit, now)
        closes = _closes(turn, visit, message)
    lapse(turn, visit)
    anew = closes and is_unseen_call(turn, visit, message, request)
    sent = None if anew or not closes else sendable(request)
    turn.emit(_given(turn, visit, message, decider, sent, closes=closes))
    if not closes:
        review(turn, turn.run.at(visit.step_id) or visit)
        return None
    if anew:
        turn.park(enter_step(turn, visit.step_id, None), COMPLETE, turn.template.decisions(visit.step_id), request)
    else:
        follow = VERDICTS.get((visit.kind, message.decision), _go_on)
        follow(turn, visit, message, sendable(request) or request)
    return None


def _decider(turn: Turn, message: Resume) -> Decider | None:
    """Who decides and for whom; None where nobody has delegated that."""
    known = turn.company.people.get(message.by)
    person = Person("", message.by, message.role) if known is None else replace(known, role=message.role)
    if message.on_behalf_of in (None, person.member_id):
        return Decider(person, message.by_kind)
    giver = turn.company.member(message.on_behalf_of)
    who = (message.on_behalf_of, person.member_id, turn.run.vertical, turn.at)
    if giver is None or not any(one.covers(*who) for one in turn.company.delegations):
        return None
    return Decider(person, message.by_kind, giver)


def _closes(turn: Turn, visit: Visit, message: Resume) -> bool:
    """Whether the gate closes with this verdict, or the quorum stays open."""
    gate = visit.gate
    assert gate is not None  # noqa: S101 - it is open
    new = Verdict(message.decision, message.by, turn.at)
    return (
        reached_decision((*valid_verdicts(visit, turn.run, turn.setting), new), gate, turn.company) == message.decision
    )


def _given(
    turn: Turn, visit: Visit, message: Resume, decider: Decider, request: Request | None, *, closes: bool
) -> VerdictGiven:
    gate = visit.gate
    assert gate is not None  # noqa: S101 - it is open
    forms = _forms(turn, visit, message)
    return VerdictGiven(
        at=turn.at,
        step_id=visit.step_id,
        visit=visit.visit,
        decision=message.decision,
        by=message.by,
        on_behalf_of=UNSET if decider.giver is None else decider.giver.email,
        via=message.via,
        comment=message.comment,
        inputs=message.inputs or None,
        request=request,
        traceparent=message.traceparent,
        verdict_id=message.verdict_id or UNSET,
        code=message.code or UNSET,
        form=UNSET if message.form is None else message.form,
        forms=forms if closes and gate.policy.quorum > 1 and forms else UNSET,
        open=UNSET if closes else True,
        batch=message.batch or UNSET,
        solo=True if turn.company.solo and gate.asks_people else UNSET,
    )


def _forms(turn: Turn, visit: Visit, message: Resume) -> dict[str, Any]:
    """The forms of those who agreed, by person."""
    before = valid_verdicts(visit, turn.run, turn.setting)
    forms = {one.by: one.form for one in before if one.decision == message.decision and one.form is not None}
    return forms if message.form is None else {**forms, message.by: message.form}


def _stale(turn: Turn, message: Resume, visit: Visit, now: GateSnapshot) -> Rejected | None:
    """Refuse a verdict of a batch where it has to be given alone, or on another state than stands.

    In the latter case the gate opens again with what stands.

    Who does not say what was seen has seen what the gate showed when it opened.
    """
    if message.batch is not None and visit.batch_rule(now.effects) == "never":
        return not_in_batch(visit.step_id)
    if message.digest is None and message.tags is None:
        fits = not differs(visit, now)
    else:
        fits = message.digest in (None, now.digest) and turn.seen(message.tags)
    if fits:
        return None
    if differs(visit, now):
        turn.reopen(visit, now)
    detail = "What was decided on is not what stands at this gate now; read the run and decide again."
    return Rejected("stale", detail, {"parked_at": turn.run.parked[0].step_id, "tag": turn.tag()})


def _go_on(turn: Turn, visit: Visit, message: Resume, _: Request | Missing | None) -> None:
    leave(turn, visit.step_id, message.decision)


def _begin_wait(_turn: Turn, _visit: Visit, _message: Resume, _: Request | Missing | None) -> None:
    """The step is ready, and waits for what it waits for."""


def _end(turn: Turn, visit: Visit, _message: Resume, _: Request | Missing | None) -> None:
    end_run(turn, visit.step_id)


def _send(turn: Turn, visit: Visit, _: Resume, request: Request | Missing | None) -> None:
    assert request is not None  # noqa: S101 - a task has a call
    perform(turn, visit, request)


def _send_again(turn: Turn, visit: Visit, message: Resume, request: Request | Missing | None) -> None:
    assert request is not None  # noqa: S101 - a task has a call
    again = enter_step(turn, visit.step_id, None, message, undoes=visit.undoes)
    perform(turn, again, request, Cleared(f"{message.by} decided to send the call again"), message.by)


def _take_as_done(turn: Turn, visit: Visit, message: Resume, _: Request | Missing | None) -> None:
    """The call of unknown outcome has happened: a human saw what it answered."""
    output = {} if message.output is None else message.output
    signal = turn.signal(visit.step_id, output)
    turn.emit(CallSettled(at=turn.at, step_id=visit.step_id, visit=visit.visit, output=output, signal=signal))
    leave(turn, visit.step_id, APPROVED)


VERDICTS: dict[tuple[Kind, str], Follow] = {
    ("task", APPROVED): _send,
    ("task", RETRY): _send_again,
    ("task", DONE): _take_as_done,
    ("wait", APPROVED): _begin_wait,
    ("end", APPROVED): _end,
    ("end", DENIED): _end,
}
"""Where a decision at a node of a kind leads, if not over the edges of that branch."""


def withdraw_verdict(turn: Turn, message: Withdraw) -> Rejected | None:
    """Take a verdict back while the quorum is open."""
    visit = next((one for one in turn.run.parked if one.step_id == message.gate), None)
    if visit is None or visit.gate is None:
        return not_here(turn.run, message.gate)
    given = next((one for one in visit.gate.verdicts if one.by == message.by), None)
    if given is None:
        return Rejected("not_found", "You have given no verdict at this gate.")
    turn.emit(
        VerdictWithdrawn(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            by=message.by,
            giver=message.by,
            via=message.via,
            verdict_id=given.verdict_id or UNSET,
        )
    )
    review(turn, turn.run.at(visit.step_id) or visit)
    return None
