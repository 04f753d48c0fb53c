"""What people are told of, who is, and when.

A gate is "for" those who may decide there, as themselves or by a delegation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct

from actors.core.eligibility import Decider, Setting, WhyNot, why_not
from actors.core.messages import (
    CallSettled,
    ClockBreached,
    ClockWarned,
    Event,
    GateAnswered,
    GateBlocked,
    GateEscalated,
    GateExpired,
    GateOpened,
    GateReminded,
    GlassBroken,
    RunEnded,
    VerdictGiven,
)
from actors.core.people import Company, Person, rank
from actors.core.run import Run, Visit
from actors.ports import CompanySource, Tools
from daemon.model.events.company import NotificationEvent, NotificationTerms
from daemon.stores.store import Store
from daemon.templates.catalog import Catalog
from daemon.templates.reading import NeedToKnow


class NotificationContext(NamedTuple):
    """A run with what surrounds it, and which members may read it."""

    run: Run
    setting: Setting
    reads: Callable[[Person], bool]


class NotificationContexts(NamedTuple):
    """Reads runs, templates, connectors and people."""

    runs: Store
    catalog: Catalog
    tools: Tools
    companies: CompanySource
    reading: NeedToKnow

    async def load(self, company_id: str, run_id: str) -> NotificationContext | None:
        """None without a run, or where its template is gone."""
        run = await self.runs.load(company_id, run_id)
        if run is None:
            return None
        try:
            template = await self.catalog.pinned(company_id, run.template_digest)
        except KeyError:
            return None
        connectors, company = await self.tools.connectors(company_id), await self.companies.load(company_id)
        reads = await self.reading.readers_of(run, template, company)
        return NotificationContext(run, Setting(template, connectors, company), reads)


_ADMIN = rank("admin")
_OF_GATES: Mapping[type[Event], NotificationEvent] = {
    GateOpened: "gate_opened",
    GateReminded: "gate_reminded",
    GateEscalated: "gate_escalated",
    GateBlocked: "gate_blocked",
    GateExpired: "gate_decided",
}


class Occurrence(Struct, frozen=True):
    """Something that people are told of, and whose doing it was, if of people."""

    type: NotificationEvent
    step_id: str | None = None
    visit: int = 0
    clock: str | None = None
    question: str | None = None
    by: frozenset[str] = frozenset()


def occurrence_of(event: Event) -> Occurrence | None:
    """What people are told of an event; None for most."""
    match event:
        case GateOpened() | GateReminded() | GateEscalated() | GateBlocked() | GateExpired():
            return Occurrence(_OF_GATES[type(event)], event.step_id, event.visit)
        case VerdictGiven() if event.open is not True:
            giver = event.on_behalf_of if isinstance(event.on_behalf_of, str) else event.by
            return Occurrence("gate_decided", event.step_id, event.visit, by=frozenset((event.by, giver)))
        case GateAnswered():
            return Occurrence("question_answered", event.step_id, event.visit, question=event.question)
        case ClockWarned() | ClockBreached():
            warned = isinstance(event, ClockWarned)
            return Occurrence("clock_warned" if warned else "clock_breached", clock=event.clock)
        case CallSettled() if event.error is not None:
            return Occurrence("run_failed", event.step_id, event.visit)
        case GlassBroken():
            return Occurrence("glass_broken", by=frozenset((event.by,)))
        case RunEnded() if event.status == "failed":
            return Occurrence("run_failed")
        case _:
            return None


def why_stale(occurrence: Occurrence, run: Run) -> str | None:
    """Why nobody needs to be told any more; None while it still stands."""
    visit = visit_at(occurrence, run)
    if occurrence.type == "glass_broken":
        return None
    if occurrence.type == "run_failed":
        return None if run.status == "failed" else "The run has not failed, or goes on by now."
    if occurrence.clock is not None:
        clock = run.clock(occurrence.clock)
        return None if clock is not None and clock.stopped_at is None else "The clock has stopped by now."
    if visit is None or visit.gate is None:
        return "The gate is not known any more."
    if occurrence.type == "gate_decided":
        return None
    if visit.status != "parked":
        return "The gate is closed by now."
    if occurrence.type == "gate_blocked" and visit.gate.blocked is None:
        return "Enough people can decide by now."
    return None


def visit_at(occurrence: Occurrence, run: Run) -> Visit | None:
    """The visit that it is about."""
    wanted = (occurrence.step_id, occurrence.visit)
    return next((one for one in (*run.open, *reversed(run.trace)) if (one.step_id, one.visit) == wanted), None)


def candidates(terms: NotificationTerms, company: Company) -> Sequence[Person]:
    """The active members whom a notification is for."""
    if terms.group is not None:
        return [one for one in company.people.values() if terms.group in one.groups]
    found = None if terms.member_id is None else company.member(terms.member_id)
    return [] if found is None else [found]


def is_recipient(person: Person, occurrence: Occurrence, run: Run, setting: Setting, at: datetime) -> bool:
    """Whether something concerns a person at that time."""
    visit = visit_at(occurrence, run)
    involved = person.email == run.created_by or person.email in _deciders(run)
    match occurrence.type:
        case "run_failed" | "gate_blocked":
            return involved or rank(person.role) >= _ADMIN
        case "clock_warned" | "clock_breached":
            told = involved or rank(person.role) >= _ADMIN
            return told or any(_can(person, one, run, setting, at) for one in run.parked)
        case "glass_broken":
            return person.email not in occurrence.by
        case "question_answered":
            asked = () if visit is None or visit.gate is None else visit.gate.questions
            return any((one.id, one.by) == (occurrence.question, person.email) for one in asked)
        case "gate_decided":
            if person.email in occurrence.by:
                return False
            return involved or (visit is not None and _can(person, visit, run, setting, at, also="already_decided"))
        case _:
            return visit is not None and _can(person, visit, run, setting, at)


def _can(person: Person, visit: Visit, run: Run, setting: Setting, at: datetime, *, also: WhyNot | None = None) -> bool:
    """Whether a person may decide at a gate, or may not for the reason `also` alone."""
    company = setting.company
    givers = company.givers(person, at, run.vertical)
    deciders = [Decider(person), *(Decider(person, giver=one) for one in givers)]
    return any(why_not(one, visit, run, setting) in (None, also) for one in deciders)


def _deciders(run: Run) -> frozenset[str]:
    """The e-mail addresses of those who decided in a run, as one of several too."""
    gates = [visit.gate for visit in (*run.trace, *run.open) if visit.gate is not None]
    return frozenset(email for gate in gates for one in gate.verdicts for email in one.people)


DAILY_AT = time(8)
"""When a daily digest is sent."""
HOURLY = "PT1H"


def zone_of(terms: NotificationTerms, company: Company) -> tzinfo:
    """The time zone of the quiet hours, or else of the company's calendar."""
    quiet = terms.quiet_hours
    return company.calendar.zone if quiet is None or quiet.timezone is None else ZoneInfo(quiet.timezone)


def quiet_until(terms: NotificationTerms, at: datetime, zone: tzinfo) -> datetime | None:
    """When the quiet hours end that a time lies in; None outside of them."""
    quiet = terms.quiet_hours
    if quiet is None:
        return None
    begins, ends, today = time.fromisoformat(quiet.begins), time.fromisoformat(quiet.ends), at.astimezone(zone).date()
    for day in (today - timedelta(days=1), today):
        begun = datetime.combine(day, begins, zone).astimezone(UTC)
        last = datetime.combine(day + timedelta(days=int(ends <= begins)), ends, zone)
        ended = max(last.replace(fold=fold).astimezone(UTC) for fold in (0, 1))  # the clock may show it twice
        if begun <= at < ended:
            return ended
    return None


def due_at(terms: NotificationTerms, at: datetime, zone: tzinfo) -> datetime:
    """When something that happened at a time is to be sent: at once, or with the next digest."""
    if terms.digest is None:
        return at
    if terms.digest == HOURLY:
        return at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    local = at.astimezone(zone)
    days = int(local.time() >= DAILY_AT)
    return datetime.combine(local.date() + timedelta(days=days), DAILY_AT, zone).astimezone(UTC)
