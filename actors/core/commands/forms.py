"""What a command brings along: forms, and what is supplied for missing inputs."""

from __future__ import annotations

from collections.abc import Iterator

from actors.core.approvals import missing_inputs
from actors.core.calls import Missing, Request, prepare, sendable
from actors.core.gate_policy import GatePolicy
from actors.core.governance import lacking
from actors.core.messages import Rejected, Resume
from actors.core.run import DONE, RETRY, Visit
from actors.core.template import APPROVED, DENIED, Wrong, merged, misplaced, pointer
from actors.core.turn import Turn

FORM_POINTER = "/form"


def misfits(turn: Turn, visit: Visit, message: Resume) -> Iterator[Wrong]:
    """Everything that a verdict lacks or brings too much, by its pointer in the body."""
    policy = visit.gate.policy if visit.gate is not None else GatePolicy()
    yield from _comment(policy, message)
    yield from _code(policy, message)
    yield from _form(turn, visit, message)


def _comment(policy: GatePolicy, message: Resume) -> Iterator[Wrong]:
    asked = policy.comment == "always" or (policy.comment == "on-denial" and message.decision == DENIED)
    if asked and not (message.comment or "").strip():
        yield "/comment", "is missing: this gate asks for the reason of a decision"


def _code(policy: GatePolicy, message: Resume) -> Iterator[Wrong]:
    if message.code is None:
        if message.decision == DENIED and policy.code == "required":
            yield "/code", f"is missing: a denial here names one of {', '.join(policy.denial_codes)}"
    elif message.decision != DENIED:
        yield "/code", "is taken with a denial alone"
    elif message.code not in policy.denial_codes:
        known = ", ".join(policy.denial_codes)
        yield "/code", f"is none of {known}" if known else "is not asked for at this gate"


def _form(turn: Turn, visit: Visit, message: Resume) -> Iterator[Wrong]:
    form = turn.template.node(visit.step_id).form
    if form is not None and message.decision not in (DENIED, RETRY, DONE):
        yield from ((FORM_POINTER + where, detail) for where, detail in form.errors(message.form or {}))
    elif message.form is not None:
        yield FORM_POINTER, "is not asked for with this decision"


def completed(
    turn: Turn, visit: Visit, message: Resume, request: Request | Missing | None, *, closes: bool
) -> tuple[Rejected | None, Request | Missing | None]:
    """The call with the inputs that a verdict brings, or why what it brings is refused.

    A call is made in shadow with what there is; a live one waits until all is there that its step
    needs. A verdict that leaves the quorum open brings no inputs.
    """
    given, node = message.inputs or {}, turn.template.node(visit.step_id)
    approved = visit.calls and message.decision == APPROVED and closes
    inputs, wrong = turn.run.inputs, [*misfits(turn, visit, message)]
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


def is_unseen_call(turn: Turn, visit: Visit, message: Resume, request: Request | Missing | None) -> bool:
    """Whether an approval's inputs make an irreversible call that nobody has seen yet."""
    if not message.inputs or not visit.calls or message.decision != APPROVED:
        return False
    sent, irreversible = sendable(request), turn.template.node(visit.step_id).effect == "irreversible"
    return irreversible and sent is not None and sent.mode == "live" and sent != visit.request
