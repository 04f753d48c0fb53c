"""Settings of companies: policies, calendars with holidays, and what needs no human."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar

from msgspec import UNSET, Struct, structs

from actors.core.actions.deciding import OUTCOME_WITHIN
from actors.core.autonomy import CompanyAutonomy
from actors.core.people import rank
from actors.core.schedule import WEEKDAYS
from daemon.identity.company.companies import Companies, NewestSettings
from daemon.identity.tokens import Principal
from daemon.model.audit_events import Caller, Logged
from daemon.model.events.company import BindingForm, CalendarForm, ChangeGates, CompanyPolicy, FunctionBindings
from daemon.model.people.changes import ChangeDecision, ChangeStale
from daemon.model.people.companies import AUTONOMY, CALENDAR, FUNCTIONS, POLICY, CompanySetting, StoredSetting
from daemon.stores.store import Store

T = TypeVar("T", bound=Struct)


class SettingService(Generic[T]):
    """Reads and changes a setting; a change counts on every daemon when it returns."""

    kind: CompanySetting[T]

    def __init__(self, repository: Store, now: Callable[[], datetime], companies: Companies) -> None:
        self._repository = repository
        self._now = now
        self._companies = companies

    async def open(self) -> None:
        self.apply(await self._repository.watched_settings(self.kind))

    def apply(self, found: Iterable[StoredSetting[T]]) -> None:
        """Take settings over that are newer than the known ones."""

    async def for_company(self, company_id: str) -> T:
        return await self._repository.setting_value(self.kind, company_id)

    async def change(
        self, principal: Principal, changes: Mapping[str, Any], check: Callable[[T, T, int], None] | None = None
    ) -> T:
        """Change members of the company's setting.

        `check` is called with the value before, the one after, and the number that it follows on.
        """
        company_id, by, via = principal.company_id, principal.email, principal.via
        while True:
            stored = await self._repository.setting(self.kind, company_id)
            before, number = (self.kind.default, 1) if stored is None else (stored.value, stored.number + 1)
            after = self.merged(before, changes)
            if after == before:
                if stored is not None:  # perhaps by another daemon, of which this one has not heard yet
                    self.apply([stored])
                    self._companies.changed(company_id)
                return after
            if check is not None:
                check(before, after, number - 1)
            event = self.kind.changed(at=self._now(), by=by, before=before, after=after, number=number, via=via)
            if await self._repository.put_setting(self.kind, Logged(company_id, event, caller=principal.caller)):
                self.apply([StoredSetting(company_id, after, number)])
                self._companies.changed(company_id)
                return after

    async def approve(self, decision: ChangeDecision, after: T, caller: Caller | None) -> None:
        """Do what was asked for and is approved; ChangeStale where the setting was changed."""
        change, company_id = decision.change, decision.change.company_id
        stored = await self._repository.setting(self.kind, company_id)
        before, number = (self.kind.default, 0) if stored is None else (stored.value, stored.number)
        if number != change.stands_on:
            raise ChangeStale
        number, by = number + 1, change.requested_by
        event = self.kind.changed(at=self._now(), by=by, before=before, after=after, number=number, via=change.via)
        await self._repository.put_setting(self.kind, Logged(company_id, event, caller=caller), decision)
        self.apply([StoredSetting(company_id, after, number)])
        self._companies.changed(company_id)

    def merged(self, before: T, changes: Mapping[str, Any]) -> T:
        """The setting after a change of members."""
        return structs.replace(before, **changes)


class Policies(SettingService[CompanyPolicy]):
    """What each company asks of its people; memory has those that ask for more than a password.

    It has those that put changes behind a gate, too.
    """

    kind = POLICY

    def __init__(self, repository: Store, now: Callable[[], datetime], companies: Companies) -> None:
        super().__init__(repository, now, companies)
        self._known: NewestSettings[CompanyPolicy] = NewestSettings()

    def apply(self, found: Iterable[StoredSetting[CompanyPolicy]]) -> None:
        found = tuple(found)
        self._known.apply(found)
        self._companies.apply_policies(found)

    def asks_for_second_factor(self, company_id: str, role: str) -> bool:
        """Whether people of that role need a second factor."""
        known = self._known.get(company_id)
        least = None if known is None else known.value.second_factor_from
        return least is not None and rank(role) >= rank(least)

    def asks_more(self, company_id: str) -> bool:
        """Whether the company asks anybody for more than a password."""
        return company_id in self._known

    def change_gates(self, company_id: str) -> ChangeGates | None:
        """Which acts another person of the company approves."""
        known = self._known.get(company_id)
        return None if known is None else known.value.change_gates or None

    def outcome_within(self, company_id: str) -> str:
        """How long an agent has to tell the outcome of a call that it made."""
        known = self._known.get(company_id)
        return OUTCOME_WITHIN if known is None else known.value.outcome_within

    def takes_passwords(self, company_id: str) -> bool:
        """Whether those whom a provider vouches for there may sign in by password, too."""
        known = self._known.get(company_id)
        return known is None or known.value.takes_passwords

    def normalize(self, value: CompanyPolicy) -> CompanyPolicy:
        """The same policy, which says nothing of readers where it names none."""
        return value if value.readers else structs.replace(value, readers=UNSET)


class Autonomies(SettingService[CompanyAutonomy]):
    """What each company lets be cleared without a human; `Companies` keeps what clears nothing."""

    kind = AUTONOMY

    def apply(self, found: Iterable[StoredSetting[CompanyAutonomy]]) -> None:
        self._companies.apply_autonomies(found)


class Calendars(SettingService[CalendarForm]):
    """A time zone, weekend and holidays of each company."""

    kind = CALENDAR

    def merged(self, before: CalendarForm, changes: Mapping[str, Any]) -> CalendarForm:
        """A calendar has each day once and in order."""
        value = super().merged(before, changes)
        weekend = tuple(sorted(set(value.weekend), key=WEEKDAYS.index))
        return structs.replace(value, weekend=weekend, holidays=tuple(sorted(set(value.holidays))))


BOUND_MAX, BOUND_TO_MAX = 200, 5_000
"""So many functions a company may have bound at once, to so many groups and members."""


class TooManyFunctions(Exception):
    """The company has as many functions bound as it may have, or to as many groups and members."""


class Functions(SettingService[FunctionBindings]):
    """Who fills the functions that the templates of each company name."""

    kind = FUNCTIONS

    def merged(self, before: FunctionBindings, changes: Mapping[str, BindingForm]) -> FunctionBindings:
        """The bindings with those of the named functions in their place; an empty one ends."""
        bound = {**before.functions, **{name: _in_order(one) for name, one in changes.items()}}
        found = {name: bound[name] for name in sorted(bound) if bound[name] != BindingForm()}
        after = FunctionBindings(functions=found)
        if len(found) > BOUND_MAX or after.weight > BOUND_TO_MAX:
            raise TooManyFunctions
        return after


def _in_order(one: BindingForm) -> BindingForm:
    return BindingForm(groups=tuple(sorted(set(one.groups))), members=tuple(sorted(set(one.members))))


LANGUAGE = "en_US"


class UnknownCountry(Exception):
    """There are no holidays of this country."""


class UnknownSubdivision(Exception):
    """The country has no such part with holidays of its own; the argument names those it has."""


@lru_cache(256)
def public_holidays(country: str, subdivision: str | None, year: int) -> tuple[tuple[str, str], ...]:
    """Dates with names, in order; it takes some milliseconds."""
    import holidays  # noqa: PLC0415 - takes a fifteenth of a second, and few ask

    parts = holidays.list_supported_countries(include_aliases=True).get(country)
    if parts is None:
        raise UnknownCountry
    if subdivision is not None and subdivision not in parts:
        raise UnknownSubdivision(", ".join(parts))
    found = holidays.country_holidays(country, subdiv=subdivision, years=year, language=LANGUAGE)
    return tuple((day.isoformat(), name) for day, name in sorted(found.items()))
