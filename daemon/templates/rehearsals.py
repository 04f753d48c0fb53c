"""Rehearsals that are shipped with a template, and the rules that they show."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

from actors.core.preview import Act, Lapse, Rehearsal, RehearsedDelivery, RehearsedVerdict, rehearse
from actors.core.rules import Violation
from actors.core.run import Clock
from actors.core.schedule import BusinessCalendar
from actors.core.template import Template
from daemon.templates.documents import (
    NEXT,
    CitedRule,
    ClockWord,
    Document,
    RehearsalCase,
    RehearsalResult,
    RehearsedAct,
)

FEBRUARY = 2
NOT_KEPT = ("late", "breached")
"""How a clock stands that a case has not met."""


def cited_wrongly(document: Document) -> Iterator[Violation]:
    """Rules with one id, with a day that is none, or that nothing enforces or shows."""
    known = {step.id for step in document.steps} | {clock.id for clock in document.clocks}
    seen = set[str]()
    for nth, one in enumerate(document.rules):
        wrong = [f"{name} is no step and no clock" for name in one.enforced_by if name not in known]
        if one.id is not None and one.id in seen:
            wrong.append(f"two rules have the id {one.id}")
        seen.add(one.id or "")
        for why in (*wrong, *_days_wrong(one), *_shown_wrongly(one, document)):
            yield Violation("citation_refused", None, f"rules/{nth}: {why}")


def _days_wrong(rule: CitedRule) -> Iterator[str]:
    for name in ("valid_from", "valid_to", "reviewed_on"):
        text = getattr(rule, name)
        try:
            date.fromisoformat(text or "2026-01-01")
        except ValueError:
            yield f"{name} is {text}, which is no day"
    if rule.valid_from is not None and rule.valid_to is not None and rule.valid_to < rule.valid_from:
        yield f"valid_to is {rule.valid_to}, before valid_from"


def _shown_wrongly(rule: CitedRule, document: Document) -> Iterator[str]:
    """What keeps a rule from being shown, as far as its rehearsals are written."""
    if rule.shown_by is None:
        return
    names = (rule.shown_by.passes, rule.shown_by.stops)
    missing = [f"{name} is no rehearsal" for name in names if name not in document.rehearsals]
    if missing or not rule.enforced_by:
        yield from missing or ["shown_by is of a rule that something enforces"]
        return
    passes, stops = (document.rehearsals[name].result for name in names)
    if not _passes(rule, passes):
        yield f"{names[0]} passes where no act is refused, the run is completed and each of its clocks is kept"
    if not _stops(rule, passes, stops):
        yield f"{names[1]} stops where it ends otherwise than {names[0]}, an act is refused or a clock is not kept"


def _passes(rule: CitedRule, result: RehearsalResult) -> bool:
    return result.refused is None and result.status == "completed" and not _missed(rule, result)


def _stops(rule: CitedRule, passes: RehearsalResult, stops: RehearsalResult) -> bool:
    ends_otherwise = (stops.status, stops.outcome) != (passes.status, passes.outcome)
    return ends_otherwise or stops.refused is not None or _missed(rule, stops)


def _missed(rule: CitedRule, result: RehearsalResult) -> bool:
    """Whether a clock that enforces the rule was not kept."""
    return any(result.clocks.get(name) in NOT_KEPT for name in rule.enforced_by)


def overdue(valid_to: str | None, reviewed_on: str | None, day: date) -> str | None:
    """Why a rule has to be looked at: it has lapsed, or nobody has reviewed it for a year."""
    if valid_to is not None and date.fromisoformat(valid_to) < day:
        return f"lapsed: it was valid until {valid_to}"
    if reviewed_on is None:
        return "not reviewed: it does not say when it was"
    year_ago = day.replace(year=day.year - 1, day=min(day.day, 28) if day.month == FEBRUARY else day.day)
    return f"not reviewed for a year: it was on {reviewed_on}" if date.fromisoformat(reviewed_on) < year_ago else None


def rehearsed_wrongly(document: Document, template: Template) -> Iterator[Violation]:
    """Rehearsals that end otherwise than they say, and rules that theirs do not come to or miss."""
    done = {name: perform(case, template) for name, case in document.rehearsals.items()}
    for name, case in document.rehearsals.items():
        for why in differences(case, done[name]):
            yield Violation("rehearsal_refused", None, f"rehearsals/{name}: {why}")
    for nth, rule in enumerate(document.rules):
        if rule.shown_by is None:
            continue
        for name in (rule.shown_by.passes, rule.shown_by.stops):
            if frozenset(_touched(document.rehearsals[name], done[name])).isdisjoint(rule.enforced_by):
                detail = f"{name} comes to none of {', '.join(rule.enforced_by)}"
                yield Violation("citation_refused", None, f"rules/{nth}: {detail}")
        for clock in done[rule.shown_by.passes].run.clocks:
            if clock.id in rule.enforced_by and _word(clock) in NOT_KEPT:
                detail = f"{rule.shown_by.passes} passes, and the clock {clock.id} is {_word(clock)}"
                yield Violation("citation_refused", None, f"rules/{nth}: {detail}")


def perform(case: RehearsalCase, template: Template) -> Rehearsal:
    """Let a rehearsal happen, in shadow and with the calendar that companies begin with."""
    acts, at = tuple(map(_act, case.acts)), datetime.fromisoformat(case.at)
    calendar, auto = BusinessCalendar(), case.auto_resolve
    return rehearse(template, case.inputs, acts, by=case.by, at=at, calendar=calendar, auto_resolve=auto)


def _act(one: RehearsedAct) -> Act:
    if one.gate is not None:
        said = {name: getattr(one, name) for name in RehearsedVerdict.__struct_fields__}
        return RehearsedVerdict(**said)
    if one.message is not None:
        return RehearsedDelivery(name=one.message, payload=one.payload)
    return Lapse(None if one.lapse == NEXT else one.lapse)


def _touched(case: RehearsalCase, done: Rehearsal) -> Iterator[str]:
    """The steps that a rehearsal came to, and the clocks that it tells of."""
    yield from (visit.step_id for visit in (*done.run.trace, *done.run.open))
    yield from case.result.clocks


def differences(case: RehearsalCase, done: Rehearsal) -> Iterator[str]:
    """In what a rehearsal has ended otherwise than it says."""
    run, said, rejected = done.run, case.result, done.rejected
    refused = None if rejected is None else str(rejected.more.get("reason", rejected.code))
    if rejected is not None and done.taken < len(case.acts) - 1:
        yield f"act {done.taken + 1} is refused, so that those behind it never happen: {rejected.detail}"
    outcome = None if run.ended is None else run.ended.outcome
    parked = {visit.step_id for visit in run.parked}
    found: tuple[tuple[str, object, object], ...] = (
        ("status", run.status, said.status),
        ("outcome", outcome, said.outcome),
        ("parked_at", sorted(parked), sorted(said.parked_at)),
        ("refused", refused, said.refused),
    )
    yield from (f"{name} is {now}, and {then} is written" for name, now, then in found if now != then)
    reached = {visit.step_id for visit in run.trace}
    yield from (f"{name} is not reached" for name in said.reached if name not in reached)
    yield from (f"{name} is reached" for name in said.not_reached if name in reached)
    called = {visit.step_id: visit.gate.escalated for visit in run.parked if visit.gate is not None}
    for gate, role in said.escalated.items():
        if called.get(gate) != role:
            yield f"escalated/{gate} is {called.get(gate)}, and {role} is written"
    clocks = {clock.id: _word(clock) for clock in run.clocks}
    for clock, word in said.clocks.items():
        if clocks.get(clock) != word:
            yield f"clocks/{clock} is {clocks.get(clock)}, and {word} is written"
    at = done.at.isoformat().replace("+00:00", "Z")
    if said.at is not None and at != said.at:
        yield f"at is {at}, and {said.at} is written"


def _word(clock: Clock) -> ClockWord:
    return "late" if clock.stopped_at is not None and clock.breached_at is not None else clock.state
