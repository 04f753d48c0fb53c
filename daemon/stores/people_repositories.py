"""The repositories of a company's people, which both stores share."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any

from actors.ports import Receipt
from daemon.model import GroupEdit, MembershipConflict, PeopleChange, SessionStart
from daemon.model.audit_events import Logged
from daemon.model.events.company import StoredAutonomy, StoredPolicy
from daemon.model.people.companies import DELEGATIONS_MAX, StoredCalendar, StoredDelegation
from daemon.model.people.credentials import API_KEYS_MAX, ApiKey, Arrival, SecondFactor, Subject
from daemon.stores.access import Access, read, write
from daemon.stores.rows import text
from daemon.stores.tables.people import (
    api_keys,
    autonomies,
    calendars,
    companies,
    delegations,
    policies,
    saved_views,
    second_factors,
    sessions,
    subjects,
)
from daemon.stores.tables.people import members as members_table


class PeopleRepositories(Access):
    """Members and groups, what companies ask of them, delegations, and other credentials."""

    # members

    members = read(members_table.members)
    count_members = read(members_table.count_members)
    member = read(members_table.member)
    member_by_email = read(members_table.member_by_email)
    memberships = read(members_table.memberships)
    invitation = read(members_table.invitation)
    is_invited = read(members_table.is_invited)
    standings = read(members_table.standings)
    groups = read(members_table.groups)

    async def change_people(self, change: PeopleChange) -> None:
        """Write the edits; MembershipConflict if a member stands otherwise or an address is taken.

        No daemon goes by the earlier roles when this returns.
        """
        await self._write(change.company_id, lambda db: members_table.change_people(db, change))
        await self._await_peers()

    async def edit_group(self, edit: GroupEdit) -> bool:
        """Write a group; False when it is not as it was before.

        Every daemon knows it when this returns.
        """
        edited = await self._write(edit.company_id, lambda db: members_table.edit_group(db, edit))
        await self._await_peers()
        return edited

    async def enter(self, change: PeopleChange, start: SessionStart) -> None:
        """Make a person a member and begin a session, or neither: MembershipConflict as above."""

        async def work(db: Any) -> None:
            await members_table.change_people(db, change)
            if not await sessions.begin_session(db, *start):
                raise MembershipConflict

        await self._write(change.company_id, work)
        await self._await_peers()

    # saved views

    views = read(saved_views.views)
    put_view = write(saved_views.put_view)
    delete_view = write(saved_views.delete_view)

    # policies, second factors

    policy = read(policies.policy)
    demanding_policies = read(policies.demanding_policies)
    second_factor = read(second_factors.second_factor)
    enrolments = read(second_factors.enrolments)
    use_step = write(second_factors.use_step)

    async def put_policy(self, policy: StoredPolicy, logged: Logged) -> bool:
        """Store a policy; False when its number does not follow on the stored one.

        Every daemon knows it when this returns.
        """
        put = await self._write(policy.company_id, lambda db: policies.put_policy(db, policy, logged))
        await self._await_peers()
        return put

    async def put_second_factor(self, factor: SecondFactor, logged: Logged) -> bool:
        """Store a second factor; False when its number does not follow on the stored one.

        Every daemon knows it when this returns.
        """
        put = await self._write(factor.company_id, lambda db: second_factors.put_second_factor(db, factor, logged))
        await self._await_peers()
        return put

    # autonomy, calendars, delegations

    autonomy = read(autonomies.autonomy)
    held_autonomies = read(autonomies.held_autonomies)
    company_record = read(companies.company_record)
    calendar = read(calendars.calendar)
    delegations_of = read(delegations.delegations_of)

    async def put_calendar(self, calendar: StoredCalendar, logged: Logged) -> bool:
        """Store a calendar; False when its number does not follow on the stored one.

        Every daemon knows it when this returns.
        """
        put = await self._write(calendar.company_id, lambda db: calendars.put_calendar(db, calendar, logged))
        await self._await_peers()
        return put

    async def put_autonomy(self, autonomy: StoredAutonomy, logged: Logged) -> bool:
        """Store settings; False when their number does not follow on the stored one.

        Every daemon knows them when this returns.
        """
        put = await self._write(autonomy.company_id, lambda db: autonomies.put_autonomy(db, autonomy, logged))
        await self._await_peers()
        return put

    async def add_delegation(
        self, delegation: StoredDelegation, logged: Logged, receipt: Receipt | None, most: int = DELEGATIONS_MAX
    ) -> None:
        at = text(self._clock())
        add = partial(delegations.add_delegation, one=delegation, logged=logged, receipt=receipt, at=at, most=most)
        await self._write(delegation.company_id, add)
        await self._await_peers()

    async def end_delegation(self, delegation: StoredDelegation, at: datetime, logged: Logged) -> bool:
        """End a delegation; False when it has ended. No daemon goes by it when this returns."""
        end = partial(delegations.end_delegation, one=delegation, at=at, logged=logged)
        ended = await self._write(delegation.company_id, end)
        await self._await_peers()
        return ended

    # API keys

    api_key = read(api_keys.api_key)
    api_keys_of = read(api_keys.api_keys_of)

    async def add_api_key(self, key: ApiKey, logged: Logged, receipt: Receipt | None, most: int = API_KEYS_MAX) -> None:
        at = text(self._clock())
        await self._write(key.company_id, lambda db: api_keys.add_api_key(db, key, logged, receipt, at=at, most=most))
        await self._await_peers()

    async def delete_api_key(self, company_id: str, key_id: str, at: datetime, logged: Logged) -> bool:
        """Delete a key; False when there is none. No daemon accepts it when this returns."""
        deleted = await self._write(company_id, lambda db: api_keys.delete_api_key(db, company_id, key_id, at, logged))
        await self._await_peers()
        return deleted

    async def touch_api_keys(self, key_ids: Collection[str], at: datetime) -> None:
        """Record that keys were used at that time."""
        await self._write("", lambda db: api_keys.touch_api_keys(db, key_ids, at))

    # single sign-on

    subject = read(subjects.subject)
    is_linked = read(subjects.is_linked)
    was_removed = read(subjects.was_removed)

    async def link_subject(self, subject: Subject, logged: Logged) -> bool:
        """Keep who a subject is; False when it is somebody already."""
        return await self._write(subject.company_id, lambda db: subjects.link_subject(db, subject, logged))

    async def arrive(self, arrival: Arrival, logged: tuple[Logged, ...]) -> None:
        """Keep a new user as a member; EmailTaken, or MembershipConflict for one who came first."""
        await self._write(arrival.subject.company_id, lambda db: subjects.arrive(db, arrival, logged))
