"""What a company says of its people and business days, in either store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from actors.core.autonomy import CompanyAutonomy, LearnableTerms
from daemon.identity.company import companies as kept
from daemon.identity.company.companies import Companies
from daemon.identity.people import member_changed
from daemon.model import GroupEdit, MemberEdit, PeopleChange, StoredMember
from daemon.model.audit_events import GroupChanged, Logged
from daemon.model.events.company import (
    AutonomyChanged,
    BindingForm,
    CalendarChanged,
    CalendarForm,
    CompanyPolicy,
    DelegationEnded,
    DelegationMade,
    FunctionBindings,
    FunctionsChanged,
    PolicyChanged,
)
from daemon.model.people.companies import (
    AUTONOMY,
    CALENDAR,
    FUNCTIONS,
    POLICY,
    CompanyRecord,
    NotActive,
    StoredDelegation,
    StoredSetting,
    TooManyDelegations,
)
from daemon.stores.store import Store
from daemon.stores.tables.people import companies as read
from tests.audit.scenario import registered
from tests.histories import ACME, NOON, OTHER, account

DAY = timedelta(days=1)


def made(one: StoredDelegation) -> Logged:
    event = DelegationMade(
        at=one.created_at,
        begins=one.begins_at,
        by="ann",
        delegation=one.id,
        ends=one.ends_at,
        giver=one.giver,
        to=one.recipient,
        verticals=one.verticals,
        via="session",
    )
    return Logged(one.company_id, event)


def ended(one: StoredDelegation) -> Logged:
    event = DelegationEnded(
        at=NOON, by="ann", delegation=one.id, giver=one.giver, reason="ended", to=one.recipient, via="session"
    )
    return Logged(one.company_id, event)


def delegation(number: int, giver: str = "user-ann", to: str = "m1", days: int = 1) -> StoredDelegation:
    return StoredDelegation(ACME, f"d{number}", giver, to, NOON, NOON + days * DAY, ("line",), NOON)


async def people(store: Store, number: int) -> None:
    """Acme with ann and so many more."""
    ann = account("ann", ACME, "ann@ann.test")
    await store.register(ann, None, [registered(ann)])
    for each in range(1, number + 1):
        who = (ACME, f"m{each}", f"u{each}", f"p{each}@x.test", "manager")
        edit = MemberEdit(None, StoredMember(*who, "active", NOON, joined_at=NOON))
        await store.change_people(PeopleChange(ACME, (edit,), (member_changed(edit, "ann", "session"),)))


async def group(store: Store, name: str, *members: str) -> None:
    event = GroupChanged(at=NOON, after=members, before=None, by="ann", group=name, via="session")
    assert await store.edit_group(GroupEdit(ACME, name, None, members, "ann", NOON, Logged(ACME, event)))


async def calendar(store: Store, form: CalendarForm, number: int) -> bool:
    event = CalendarChanged(at=NOON, by="ann", before=CalendarForm(), after=form, number=number, via="session")
    return await store.put_setting(CALENDAR, Logged(ACME, event))


async def test_autonomy_follows_on_the_one_before_and_companies_that_clear_nothing_are_found(store: Store) -> None:
    off = CompanyAutonomy(auto_resolve=False, learnable={"refund/pay": LearnableTerms(0.9, 10)})
    for number, one, put in ((1, off, True), (1, off, False), (3, off, False)):
        event = AutonomyChanged(at=NOON, by="ann", before=CompanyAutonomy(), after=one, number=number, via="session")
        assert await store.put_setting(AUTONOMY, Logged(ACME, event)) is put
    assert (await store.company_record(ACME, NOON)).autonomy == off
    assert [(one.company_id, one.value) for one in await store.watched_settings(AUTONOMY)] == [(ACME, off)]
    event = AutonomyChanged(at=NOON, by="ann", before=off, after=CompanyAutonomy(), number=2, via="session")
    assert await store.put_setting(AUTONOMY, Logged(ACME, event))
    assert await store.watched_settings(AUTONOMY) == []
    assert await store.setting(AUTONOMY, ACME) == StoredSetting(ACME, CompanyAutonomy(), 2)


async def test_people_and_groups_are_read_in_pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "PAGE", 2)
    await people(store, 4)
    await group(store, "board", "m1", "m3")
    await group(store, "nurses", "m1", "m2", "m3", "m4")
    record = await store.company_record(ACME, NOON)
    found = {one.member_id: sorted(one.groups) for one in record.people.values()}
    assert found == {
        "user-ann": [],
        "m1": ["board", "nurses"],
        "m2": ["nurses"],
        "m3": ["board", "nurses"],
        "m4": ["nurses"],
    }
    assert (record.joined, record.weight) == (5, 11)


async def test_a_company_that_nobody_knows_has_nothing(store: Store) -> None:
    record = await store.company_record(OTHER, NOON)
    assert (record.people, record.delegations, record.calendar, record.joined) == ({}, (), CalendarForm(), 0)


async def test_a_calendar_follows_on_the_one_before(store: Store) -> None:
    first = CalendarForm(timezone="Europe/Vienna")
    assert await calendar(store, first, 1)
    assert not await calendar(store, CalendarForm(), 1)
    assert not await calendar(store, CalendarForm(), 3)
    assert (await store.company_record(ACME, NOON)).calendar == first
    assert await calendar(store, CalendarForm(), 2)
    assert await store.setting(CALENDAR, ACME) == StoredSetting(ACME, CalendarForm(), 2)


async def test_who_fills_functions_follows_on_what_stood_before_and_is_read_with_all_other_settings(
    store: Store,
) -> None:
    bound = FunctionBindings(functions={"director": BindingForm(groups=("board",), members=("m1", "m2"))})
    steps = ((1, FunctionBindings(), bound, True), (1, FunctionBindings(), bound, False), (3, bound, bound, False))
    for number, before, after, put in steps:
        event = FunctionsChanged(at=NOON, by="ann", before=before, after=after, number=number, via="session")
        assert await store.put_setting(FUNCTIONS, Logged(ACME, event)) is put
    named = CompanyPolicy(solo=False, functions="required")
    policy = PolicyChanged(at=NOON, by="ann", before=CompanyPolicy(), after=named, number=1, via="session")
    assert await store.put_setting(POLICY, Logged(ACME, policy))
    assert await calendar(store, CalendarForm(timezone="Europe/Vienna"), 1)
    record = await store.company_record(ACME, NOON)
    assert (record.functions, record.may_be_solo, record.calendar.timezone) == (bound, False, "Europe/Vienna")
    assert record.autonomy == CompanyAutonomy()
    assert await store.setting_value(POLICY, ACME) == named
    other = await store.company_record(OTHER, NOON)
    assert (other.functions, other.may_be_solo) == (FunctionBindings(), True)


async def test_a_delegation_is_between_active_members_and_within_the_budget(store: Store) -> None:
    await people(store, 2)
    for wrong in (delegation(1, to="nobody"), delegation(1, giver="nobody")):
        with pytest.raises(NotActive):
            await store.add_delegation(wrong, made(wrong), None)
    first, second = delegation(1), delegation(2)
    await store.add_delegation(first, made(first), None, 1)
    with pytest.raises(TooManyDelegations):
        await store.add_delegation(second, made(second), None, 1)
    assert await store.delegations_of(ACME, NOON) == [first]


async def test_a_delegation_ends_once_or_by_itself(store: Store) -> None:
    await people(store, 1)
    first, second = delegation(1), delegation(2, days=2)
    for one in (first, second):
        await store.add_delegation(one, made(one), None)
    assert [one.id for one in await store.delegations_of(ACME, NOON + DAY)] == ["d2"]
    assert not await store.end_delegation(first, NOON + DAY, ended(first))
    assert await store.end_delegation(second, NOON + DAY, ended(second))
    assert not await store.end_delegation(second, NOON + DAY, ended(second))
    assert await store.delegations_of(ACME, NOON) == [first]


async def test_a_removed_member_ends_what_was_given_and_got(store: Store) -> None:
    await people(store, 2)
    for one in (delegation(1), delegation(2, "m1", "m2"), delegation(3, "user-ann", "m2")):
        await store.add_delegation(one, made(one), None)
    before = await store.member(ACME, "m1")
    assert before is not None
    edit = MemberEdit(before, replace(before, status="removed", changed_at=NOON + timedelta(seconds=1)))
    await store.change_people(PeopleChange(ACME, (edit,), (member_changed(edit, "ann", "session"),)))
    assert [one.id for one in await store.delegations_of(ACME, NOON)] == ["d3"]


class Changing(Store):
    """A repository whose company changes while it is read for the first time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.companies: Companies | None = None
        self.reads = 0

    async def company_record(self, company_id: str, at: datetime) -> CompanyRecord:
        found = await self.store.company_record(company_id, at)
        self.reads += 1
        if self.reads == 1 and self.companies is not None:
            await calendar(self.store, CalendarForm(weekend=()), 1)
            self.companies.changed(company_id)
        return found


async def test_what_was_read_before_a_change_is_not_kept(store: Store) -> None:
    changing = Changing(store)
    companies = changing.companies = Companies(changing, lambda: NOON)
    found = await asyncio.gather(*(companies.load(ACME) for _ in range(5)))
    assert {one.calendar.weekend for one in found} == {frozenset()}
    assert changing.reads == 2


async def test_companies_with_many_people_make_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "WEIGHT_MAX", 4)
    await people(store, 2)
    companies = Companies(store, lambda: NOON)
    large = await companies.load(ACME)
    assert await companies.load(ACME) is large  # alone it may be as large as it is
    await companies.load(OTHER)
    assert await companies.load(ACME) is not large


async def test_a_time_zone_of_a_later_version_counts_as_utc(store: Store) -> None:
    await calendar(store, CalendarForm(timezone="Moon/Tranquility"), 1)
    zone = (await Companies(store, lambda: NOON).load(ACME)).calendar.zone
    assert zone.utcoffset(NOON) == timedelta()
