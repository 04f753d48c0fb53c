"""What verdicts and proposals do at a gate, what they bring along, and why they are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from actors.core.actions.deciding import misedits
from actors.core.approvals import GateSnapshot, differs, missing_inputs
from actors.core.calls import CallRequest, Missing, prepare, sendable
from actors.core.canonical import canonical
from actors.core.eligibility import Decider, WhyNot, reached_decision, valid_verdicts, why_not
from actors.core.gate_policy import GatePolicy
from actors.core.governance import Cleared, lacking
from actors.core.kinds import end_run, enter_step, leave, perform
from actors.core.messages import (
    CallSettled,
    ProposalMade,
    Propose,
    Rejected,
    Resume,
    VerdictGiven,
    VerdictWithdrawn,
    Withdraw,
    kept_kind,
)
from actors.core.people import ACTIONS, Person, refusal
from actors.core.run import DONE, RETRY, Gate, Run, Verdict, Visit
from actors.core.template import APPROVED, DENIED, TRAITS, Kind, Wrong, merged, misplaced, pointer
from actors.core.turn import COMPLETE, Turn, lapse, review


def may_not(why: WhyNot, gate: Gate) -> Rejected:
    """Why somebody may not decide at a gate."""
    if why == "already_decided":
        detail = "You have decided here already; the gate is open until enough people have."
        return Rejected("already_decided", detail, {"reason": why})
    required = gate.role or ACTIONS["decide"].role
    detail = f"A decision here needs the role {required}."
    if why == "machine":
        detail = "Only people decide at a gate; an API key may propose."
    elif why == "group":
        required = ", ".join(gate.policy.groups)
        detail = f"A decision here is made by one of the groups: {required}."
    elif why == "function" and gate.function is not None:
        required = gate.function.id
        detail = f"A decision here is made by who fills the function {gate.function.label}."
    elif why == "four_eyes":
        detail = "Somebody else has to decide here: you had a part in what is decided on."
    return Rejected("forbidden", detail, {"required": required, "reason": why})


def no_such_decision(step_id: str, gate: Gate) -> Rejected:
    """The decision is none of the gate's."""
    detail = f"At {step_id} the decision is one of: {', '.join(gate.decisions)}."
    return Rejected("decision_not_allowed", detail, {"decisions": list(gate.decisions)})


def not_in_batch(step_id: str) -> Rejected:
    """The gate takes no verdict that is given together with others."""
    return Rejected("batch_refused", f"At {step_id} each decision is made on its own, not in a batch.")


def not_here(run: Run, gate: str) -> Rejected:
    """Why nothing is decided at that gate: the run is not parked, or parked elsewhere."""
    more: dict[str, Any] = {"run_status": run.status, "parked_at": None, "decided": None}
    closed = run.decided(gate)
    if closed is not None and closed.verdict is not None:
        verdict = closed.verdict
        more["decided"] = {
            "gate": gate,
            "visit": closed.visit,
            "decision": verdict.decision,
            "by": verdict.by,
            "by_kind": verdict.by_kind,
            "on_behalf_of": verdict.on_behalf_of,
            "at": verdict.at,
        }
    if not run.parked:
        return Rejected("not_parked", f"The run is {run.status}, so there is no gate to decide on.", more)
    more["parked_at"] = run.parked[0].step_id
    return Rejected("gate_mismatch", f"The run is parked at {more['parked_at']}, not at the gate that was named.", more)


FORM_POINTER = "/form"
ARGUMENTS_POINTER = "/arguments"


def misfits(turn: Turn, visit: Visit, message: Resume) -> list[Wrong]:
    """Everything that a verdict lacks or brings too much, by its pointer in the body."""
    policy = visit.gate.policy if visit.gate is not None else GatePolicy()
    return [*_comment(policy, message), *_code(policy, message), *_form(turn, visit, message)]


def _comment(policy: GatePolicy, message: Resume) -> Iterable[Wrong]:
    asked = policy.comment == "always" or (policy.comment == "on-denial" and message.decision == DENIED)
    if not asked or (message.comment or "").strip():
        return ()
    return (("/comment", "is missing: this gate asks for the reason of a decision"),)


def _code(policy: GatePolicy, message: Resume) -> Iterable[Wrong]:
    if message.code is None and (message.decision != DENIED or policy.code != "required"):
        return ()
    known = ", ".join(policy.denial_codes)
    if message.code is None:
        return (("/code", f"is missing: a denial here names one of {known}"),)
    if message.decision != DENIED:
        return (("/code", "is taken with a denial alone"),)
    if message.code in policy.denial_codes:
        return ()
    return (("/code", f"is none of {known}" if known else "is not asked for at this gate"),)


def _form(turn: Turn, visit: Visit, message: Resume) -> Iterable[Wrong]:
    form = turn.template.node(visit.step_id).form
    if form is not None and message.decision not in (DENIED, RETRY, DONE):
        return ((FORM_POINTER + where, detail) for where, detail in form.errors(message.form or {}))
    return () if message.form is None else ((FORM_POINTER, "is not asked for with this decision"),)


def completed(
    turn: Turn, visit: Visit, message: Resume, request: CallRequest | Missing | None, *, closes: bool
) -> tuple[Rejected | None, CallRequest | Missing | None]:
    """The call with the inputs that a verdict brings, or why what it brings is refused.

    A call is made in shadow with what there is; a live one waits until all is there that its step
    needs. A verdict that leaves the quorum open brings no inputs.
    """
    given, node = message.inputs or {}, turn.template.node(visit.step_id)
    approved = visit.calls and message.decision == APPROVED and closes
    inputs, wrong = turn.run.inputs, misfits(turn, visit, message)
    if message.arguments is not None:
        wrong += _changed_wrongly(turn, visit, message)
        inputs = message.arguments
        request = prepare(node, turn.connectors, inputs, turn.run.facts)
    if given and not closes:
        wrong.append(("/inputs", "are taken with the verdict that closes the gate"))
    elif given:
        shown = () if visit.gate is None else visit.gate.missing
        wrong += misplaced(given, (*shown, *missing_inputs(turn.run, visit, turn.template, request)), inputs)
        inputs = merged(inputs, given)
        wrong += [] if turn.template.inputs is None else turn.template.inputs.errors(inputs)
        request = prepare(node, turn.connectors, inputs, turn.run.facts) if approved else request
    sent = sendable(request)
    if approved and (sent is None or sent.mode == "live"):
        keys = lacking(node, turn.template, request, inputs, turn.run.facts)
        still = dict.fromkeys(found for key in keys if (found := pointer(key, turn.template)) is not None)
        wrong += [(f"/inputs{one}", "is missing, and nothing is sent without it") for one in still]
    if not wrong:
        return None, request
    errors = [{"pointer": where, "detail": detail} for where, detail in wrong]
    return Rejected("invalid", f"Not valid at {wrong[0][0]}: {wrong[0][1].rstrip('.')}.", {"errors": errors}), request


def _changed_wrongly(turn: Turn, visit: Visit, message: Resume) -> Iterator[Wrong]:
    """Why an action is not made with these arguments."""
    action = turn.run.action
    if action is None or message.decision != APPROVED or visit.gate is None or visit.gate.in_doubt:
        yield ARGUMENTS_POINTER, "are taken with the approval of an action alone"
    elif action.way == "aap":
        yield ARGUMENTS_POINTER, "are exact in an approval that the agent uses itself"
    else:
        for at in misedits(turn.run.inputs, message.arguments, action.editable):
            yield ARGUMENTS_POINTER + at, "may not be changed here"


def is_unseen_call(turn: Turn, visit: Visit, message: Resume, request: CallRequest | Missing | None) -> bool:
    """Whether an approval's inputs make an irreversible call that nobody has seen yet."""
    if not message.inputs or not visit.calls or message.decision != APPROVED:
        return False
    sent, irreversible = sendable(request), turn.template.node(visit.step_id).effect == "irreversible"
    return irreversible and sent is not None and sent.mode == "live" and sent != visit.request


PROPOSALS_MAX = 20
"""Proposals that a gate shows at a visit: one of each proposer."""

PROPOSED_MAX = 100
"""Proposals that are made at a visit, with those that newer ones have replaced."""


def make_proposal(turn: Turn, message: Propose) -> Rejected | None:
    """Add a proposal to an open gate, or say why it is refused; nothing else changes."""
    if (refused := refusal(message.role, message.by_kind, ACTIONS["propose"])) is not None:
        more = {"required": refused.required, "reason": refused.reason}
        return Rejected("forbidden", f"A proposal needs the role {refused.required}.", more)
    visit = next((one for one in turn.run.parked if one.step_id == message.gate), None)
    if visit is None or visit.gate is None:
        return not_here(turn.run, message.gate)
    gate = visit.gate
    if message.digest not in (None, turn.stands(visit).digest):
        detail = "What was proposed on is not what stands at this gate now; read the run and propose again."
        return Rejected("stale", detail, {"parked_at": turn.run.parked[0].step_id, "tag": turn.tag()})
    if message.decision not in gate.decisions:
        return no_such_decision(visit.step_id, gate)
    if (full := _full(gate, message)) is not None:
        return full
    turn.emit(
        ProposalMade(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            decision=message.decision,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            comment=message.comment,
            confidence=message.confidence,
            digest=message.digest,
            form=message.form,
        )
    )
    return None


def _full(gate: Gate, message: Propose) -> Rejected | None:
    """Whether the gate has as many proposals as it takes."""
    replaces = any((one.by, one.by_kind) == (message.by, message.by_kind) for one in gate.proposals)
    if not replaces and len(gate.proposals) >= PROPOSALS_MAX:
        limit, detail = PROPOSALS_MAX, f"The gate shows {PROPOSALS_MAX} proposals already, which is all it takes."
    elif gate.proposed >= PROPOSED_MAX:
        limit, detail = PROPOSED_MAX, f"{PROPOSED_MAX} proposals were made at this gate, which is all it takes."
    else:
        return None
    return Rejected("quota_exceeded", detail, {"budget": "proposals", "limit": limit})


Follow = Callable[[Turn, Visit, Resume, CallRequest | Missing | None], None]


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
    if differs(visit, now) or message.arguments is not None:
        visit, request = _reopened(turn, visit, message, now, request)
        closes = _closes(turn, visit, message)
    lapse(turn, visit)
    anew = closes and is_unseen_call(turn, visit, message, request)
    sent = None if anew or not closes else sendable(request)
    given = _given(turn, visit, message, decider, sent, closes=closes)
    turn.emit(given if message.arguments is None else replace(given, arguments=message.arguments))
    if not closes:
        review(turn, turn.run.at(visit.step_id) or visit)
        return None
    if anew:
        turn.park(enter_step(turn, visit.step_id, None), COMPLETE, turn.template.decisions(visit.step_id), request)
    else:
        follow = VERDICTS.get((visit.kind, message.decision), _go_on)
        follow(turn, visit, message, sendable(request) or request)
    return None


def _reopened(
    turn: Turn, visit: Visit, message: Resume, now: GateSnapshot, request: CallRequest | Missing | None
) -> tuple[Visit, CallRequest | Missing | None]:
    """The gate with what stands now and the arguments of a verdict, and the call that it shows."""
    if differs(visit, now):
        visit = turn.reopen(visit, now)
    arguments = message.arguments
    if arguments is None or canonical(arguments) == canonical(turn.run.inputs):
        return visit, request
    visit = turn.change_arguments(visit, arguments)
    return visit, visit.request


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
    turn: Turn, visit: Visit, message: Resume, decider: Decider, request: CallRequest | None, *, closes: bool
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


def _go_on(turn: Turn, visit: Visit, message: Resume, _: CallRequest | Missing | None) -> None:
    leave(turn, visit.step_id, message.decision)


def _begin(_turn: Turn, _visit: Visit, _message: Resume, _: CallRequest | Missing | None) -> None:
    """The step is ready, and does what its kind does."""


def _end(turn: Turn, visit: Visit, _message: Resume, _: CallRequest | Missing | None) -> None:
    end_run(turn, visit.step_id)


def _send(turn: Turn, visit: Visit, _: Resume, request: CallRequest | Missing | None) -> None:
    assert request is not None  # noqa: S101 - a task has a call
    perform(turn, visit, request)


def _send_again(turn: Turn, visit: Visit, message: Resume, request: CallRequest | Missing | None) -> None:
    assert request is not None  # noqa: S101 - a task has a call
    again = enter_step(turn, visit.step_id, None, message, undoes=visit.undoes)
    perform(turn, again, request, Cleared(f"{message.by} decided to send the call again"), message.by)


def _take_as_done(turn: Turn, visit: Visit, message: Resume, _: CallRequest | Missing | None) -> None:
    """The call of unknown outcome has happened: a human saw what it answered."""
    output = {} if message.output is None else message.output
    signal = turn.signal(visit.step_id, output)
    turn.emit(CallSettled(at=turn.at, step_id=visit.step_id, visit=visit.visit, output=output, signal=signal))
    leave(turn, visit.step_id, APPROVED)


VERDICTS: dict[tuple[Kind, str], Follow] = {
    ("task", APPROVED): _send,
    ("task", RETRY): _send_again,
    ("task", DONE): _take_as_done,
    ("end", APPROVED): _end,
    ("end", DENIED): _end,
    **{(kind, APPROVED): _begin for kind, traits in TRAITS.items() if traits.begins},
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
