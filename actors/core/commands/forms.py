"""What a gate asks a verdict to bring: a comment, a code for a denial, a form."""

from __future__ import annotations

from collections.abc import Iterator

from actors.core.gate_policy import GatePolicy
from actors.core.inputs import Wrong
from actors.core.messages import Resume
from actors.core.run import DONE, RETRY, Visit
from actors.core.template import DENIED
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
