"""Companies as gates see them: people, delegations and calendar, kept in memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog

from actors.core.autonomy import CompanyAutonomy
from actors.core.people import Company, FunctionBinding, ReaderRule
from actors.core.schedule import WEEKDAYS, BusinessCalendar
from daemon.model.events.company import CalendarForm, CompanyPolicy
from daemon.model.people.companies import CompanyRecord, StoredSetting
from daemon.stores.store import Store

T = TypeVar("T")
COMPANIES_MAX = 1_000
WEIGHT_MAX = 500_000
"""So many people and memberships of groups are kept, of all companies together."""
_log = structlog.get_logger("penstock")


class Kept(NamedTuple):
    """A company, its weight, and when the first of its delegations and keys ends, if any."""

    company: Company
    weight: int
    until: datetime | None


class NewestSettings(dict[str, StoredSetting[T]]):
    """The newest values of a setting that are known, by company."""

    def apply(self, found: Iterable[StoredSetting[T]]) -> None:
        for one in found:
            known = self.get(one.company_id)
            if known is None or known.number < one.number:
                self[one.company_id] = one


class Companies:
    """Reads what a company says of its people, and keeps it until any of that changes.

    Whoever asks after a change was answered, here or on another daemon, gets what stands since.
    """

    def __init__(self, records: Store, now: Callable[[], datetime]) -> None:
        self._records = records
        self._now = now
        self._known: OrderedDict[str, Kept] = OrderedDict()
        self._weight = 0
        self._reading: dict[str, object] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._noted: Mapping[str, datetime] = {}
        self._autonomies: NewestSettings[CompanyAutonomy] = NewestSettings()
        self._policies: NewestSettings[CompanyPolicy] = NewestSettings()
        self._listeners: list[Callable[[str], None]] = []

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call the listener with the company after each change, here or elsewhere.

        A change may be told twice.
        """
        self._listeners.append(listener)

    def changed(self, company_id: str) -> None:
        """Forget a company: its people, policy, calendar or autonomy were changed."""
        self._drop(company_id)
        self._reading.pop(company_id, None)
        for listener in self._listeners:
            listener(company_id)

    def apply(self, noted: Mapping[str, datetime]) -> None:
        """Forget the companies that were changed lately and have not been forgotten since."""
        before, self._noted = self._noted, noted
        for company_id, at in noted.items():
            if before.get(company_id) != at:
                self.changed(company_id)

    def apply_autonomies(self, found: Iterable[StoredSetting[CompanyAutonomy]]) -> None:
        """Note which companies clear nothing, where it is newer than what is known."""
        self._autonomies.apply(found)

    def clears_nothing(self, company_id: str) -> bool:
        """Whether the company lets nothing be cleared without a human."""
        known = self._autonomies.get(company_id)
        return known is not None and not known.value.auto_resolve

    def known(self, company_id: str) -> Company | None:
        """The company where it is in memory, as after each turn of a run that asks for it."""
        found = self._known.get(company_id)
        return None if found is None else found.company

    def apply_policies(self, found: Iterable[StoredSetting[CompanyPolicy]]) -> None:
        """Note of which verticals companies say who reads, where it is newer than what is known."""
        self._policies.apply(found)

    def narrows(self, company_id: str, vertical: str) -> bool:
        """Whether the company itself says who reads the runs of a vertical."""
        known = self._policies.get(company_id)
        return known is not None and vertical in known.value.narrowed

    def narrowed(self, company_id: str) -> Mapping[str, ReaderRule]:
        """Who reads beside those who decide, by the verticals of which the company says it."""
        known = self._policies.get(company_id)
        return {} if known is None else known.value.narrowed

    async def load(self, company_id: str) -> Company:
        """The company as it stands; one that nobody knows has no people."""
        known = self._known.get(company_id)
        if known is not None and known.until is not None and known.until <= self._now():
            self.changed(company_id)  # a delegation or a key has ended by its time
            known = None
        if known is None:
            lock = self._locks.setdefault(company_id, asyncio.Lock())
            async with lock:  # of those who ask at once, one reads
                known = self._known.get(company_id) or await self._read(company_id)
        else:
            self._known.move_to_end(company_id)
        return known.company

    async def _read(self, company_id: str) -> Kept:
        """Read a company; again if it is changed meanwhile."""
        while True:
            reading = self._reading[company_id] = object()
            try:
                record = await self._records.company_record(company_id, self._now())
            finally:
                current = self._reading.pop(company_id, None) is reading
            if current:
                ends = [one.ends for one in record.delegations]
                until = min(ends if record.key_ends is None else (*ends, record.key_ends), default=None)
                return self._keep(company_id, Kept(_company(record), 1 + record.weight, until))

    def _keep(self, company_id: str, found: Kept) -> Kept:
        """Keep what was read, in place of what was used least recently."""
        self._known[company_id] = found
        self._weight += found.weight
        while len(self._known) > COMPANIES_MAX or (self._weight > WEIGHT_MAX and len(self._known) > 1):
            self._drop(next(iter(self._known)))
        return found

    def _drop(self, company_id: str) -> None:
        known = self._known.pop(company_id, None)
        if known is not None:
            self._weight -= known.weight


def _company(record: CompanyRecord) -> Company:
    """A company is solo while its only person was never joined by another."""
    solo = record.may_be_solo and len(record.people) == record.joined == 1
    calendar = _calendar(record.calendar)
    functions = {
        name: FunctionBinding(frozenset(one.groups), frozenset(one.members))
        for name, one in record.functions.functions.items()
    }
    parts = (record.people, record.delegations, calendar, solo, record.autonomy, record.makers, functions)
    return Company(*parts, record.rules, record.agents)


def _calendar(form: CalendarForm) -> BusinessCalendar:
    """A calendar as the core counts with it."""
    weekend = frozenset(map(WEEKDAYS.index, form.weekend))
    return BusinessCalendar(_zone(form.timezone), weekend, frozenset(map(date.fromisoformat, form.holidays)))


def _zone(name: str) -> tzinfo:
    """A time zone; UTC for one that this version does not know."""
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        _log.error("timezone_unknown", timezone=name)
        return UTC
