"""What a run asks of the outside, derived from the run."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from actors.core.calls import CallRequest
from actors.core.messages.votes import Asked


def effect_key(run_id: str, step_id: str, visit: int) -> str:
    """The name of what one visit asks for; also the Idempotency-Key that a connector sends."""
    return f"{run_id}:{step_id}:{visit}"


def repeatable(request: CallRequest, effect: str | None, *, undoes: bool) -> bool:
    """Whether a call may be sent again though it may have been carried out."""
    return request.idempotent or (effect != "irreversible" and not undoes)


class CallEffect(Struct, frozen=True):
    """Send this request, once if it is not `repeatable`, and say what came of it.

    `traceparent` is the W3C trace context of whoever set the run going last. With `asked` it asks
    a judge of the visit. That of an action names its `agent`.
    """

    company_id: str
    run_id: str
    step_id: str
    visit: int
    request: CallRequest
    repeatable: bool
    traceparent: str | None = None
    asked: Asked | None = None
    agent: str | None = None

    @property
    def key(self) -> str:
        """`run:step:visit`, and of a judge its id and what it is asked about."""
        key = effect_key(self.run_id, self.step_id, self.visit)
        return key if self.asked is None else f"{key}:{self.asked.judge}:{self.asked.digest}"


class Wake(Struct, frozen=True):
    """Send Elapsed to this visit, at once when there is no time."""

    company_id: str
    run_id: str
    step_id: str
    visit: int
    at: datetime | None = None

    @property
    def key(self) -> str:
        """`run:step:visit`."""
        return effect_key(self.run_id, self.step_id, self.visit)


Effect = CallEffect | Wake
