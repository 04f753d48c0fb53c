"""A run of a template that nobody started: every call is shadowed, and nothing is kept."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from actors.core.decider import Step, step
from actors.core.messages import Deliver, Due, Elapsed, Message, Rejected, Resume, Start, Wake
from actors.core.people import Company, Person
from actors.core.run import Run
from actors.core.schedule import Calendar
from actors.core.template import Template

RUN_ID = "00000000-0000-0000-0000-000000000000"
STEPS_MAX = 1_000


class RehearsedVerdict(Struct, frozen=True, kw_only=True):
    """Somebody decides at a gate."""

    gate: str
    decision: str
    by: str
    role: str = "owner"
    comment: str | None = None
    code: str | None = None
    form: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None


class RehearsedDelivery(Struct, frozen=True, kw_only=True):
    """A message arrives."""

    name: str
    payload: Any = None


class Lapse(Struct, frozen=True):
    """Time passes until something is due."""


Act = RehearsedVerdict | RehearsedDelivery | Lapse


class Rehearsal(Struct, frozen=True):
    """The run after the last act that was taken, and why the next one was refused."""

    run: Run
    at: datetime
    taken: int
    rejected: Rejected | None = None


def rehearse(
    template: Template,
    inputs: dict[str, Any],
    acts: tuple[Act, ...],
    *,
    by: str,
    at: datetime,
    calendar: Calendar,
    auto_resolve: bool = True,
) -> Rehearsal:
    """Start a run and let these acts happen, one after the other.

    Whoever decides is in every group that the template names.
    """
    company = _cast(template, acts, by, calendar)
    begun = Start(run_id=RUN_ID, company_id=RUN_ID, by=by, inputs=inputs, auto_resolve=auto_resolve, at=at)
    run = _settled(None, begun, template, company)
    assert isinstance(run, Run)  # noqa: S101 - a start is not refused
    for number, act in enumerate(acts):
        at = run.wake_at or at if isinstance(act, Lapse) else at
        after = _settled(run, _message(act, by, at), template, company)
        if isinstance(after, Rejected):
            return Rehearsal(run, at, number, after)
        run = after
    return Rehearsal(run, at, len(acts))


def _cast(template: Template, acts: tuple[Act, ...], by: str, calendar: Calendar) -> Company:
    """Those who act, with the rights that gates ask for."""
    groups = frozenset(group for node in template.nodes for group in node.policy.groups)
    roles = {by: "owner"} | {act.by: act.role for act in acts if isinstance(act, RehearsedVerdict)}
    people = {name: Person(name, name, role, groups) for name, role in roles.items()}
    return Company(people, calendar=calendar)


def _message(act: Act, by: str, at: datetime) -> Message:
    match act:
        case RehearsedVerdict():
            said = {name: getattr(act, name) for name in act.__struct_fields__}
            return Resume(**said, at=at)
        case RehearsedDelivery():
            return Deliver(name=act.name, payload=act.payload, by=by, at=at)
        case _:
            return Due(at=at)


def _settled(run: Run | None, message: Message, template: Template, company: Company) -> Run | Rejected:
    """The run when it rests after a message; a refusal leaves it as it was."""
    done = step(run, message, template, {}, STEPS_MAX, company=company)
    if isinstance(done, Rejected):
        return done
    while (wake := next((one for one in done.effects if isinstance(one, Wake)), None)) is not None:
        elapsed = Elapsed(step_id=wake.step_id, visit=wake.visit, at=message.at)
        again = step(done.run, elapsed, template, {}, STEPS_MAX, company=company)
        assert isinstance(again, Step)  # noqa: S101 - what is due is not refused
        done = again
    return done.run
