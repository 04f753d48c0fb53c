"""Inputs that a verdict brings, and the call that an approval makes with them."""

from __future__ import annotations

from actors.core.approvals import missing_inputs
from actors.core.calls import Missing, Request, prepare, sendable
from actors.core.commands.forms import misfits
from actors.core.governance import lacking
from actors.core.inputs import merged, misplaced, pointer
from actors.core.messages import Rejected, Resume
from actors.core.run import Visit
from actors.core.template import APPROVED
from actors.core.turn import Turn


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


def unseen(turn: Turn, visit: Visit, message: Resume, request: Request | Missing | None) -> bool:
    """Whether an approval's inputs make an irreversible call that nobody has seen yet."""
    if not message.inputs or not visit.calls or message.decision != APPROVED:
        return False
    sent, irreversible = sendable(request), turn.template.node(visit.step_id).effect == "irreversible"
    return irreversible and sent is not None and sent.mode == "live" and sent != visit.request
