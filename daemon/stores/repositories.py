"""What a store offers of people, reports and retention, in both databases."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from actors.ports import Receipt, StoreFailed
from daemon.model import GroupEdit, MembershipConflict, PeopleChange, SessionStart
from daemon.model.audit_events import Logged
from daemon.model.key_terms import KeyTerms
from daemon.model.people.changes import OPEN_CHANGES_MAX, ChangeDecision, ChangeStale, StoredChange
from daemon.model.people.companies import DELEGATIONS_MAX, CompanySetting, StoredDelegation
from daemon.model.people.credentials import API_KEYS_MAX, Arrival, StoredApiKey, StoredSecondFactor, Subject
from daemon.stores.database import Access, read, write
from daemon.stores.group_commit import drop_all
from daemon.stores.rows import iso
from daemon.stores.tables import archives, reading
from daemon.stores.tables.people import changes, companies, credentials, saved_views, sessions, settings
from daemon.stores.tables.people import members as members_table
from daemon.stores.tables.reports import entries, following, numbers
from daemon.stores.tables.retention import archiving, redactions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import date

    from daemon.model.events.company import RunArchived
    from daemon.model.evidence import Sign
    from daemon.model.retention.records import RedactionMade, StoredRedaction


T = TypeVar("T")


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

    async def join_with_session(self, change: PeopleChange, start: SessionStart) -> None:
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

    # settings, second factors

    setting_value = read(settings.setting_value)
    setting = read(settings.setting)
    watched_settings = read(settings.watched_settings)

    async def put_setting(
        self, kind: CompanySetting[T], logged: Logged, decision: ChangeDecision | None = None
    ) -> bool:
        """Store the setting of an event; False when its number does not follow on the stored one.

        Every daemon knows it when this returns. A `decision` is kept with it: then ChangeStale
        stands for False.
        """

        async def work(db: Any) -> bool:
            put = await settings.put_setting(db, kind, logged)
            if decision is not None and not put:
                raise ChangeStale
            return put

        put = await self._write(logged.company_id, self.decided(decision, work))
        await self._await_peers()
        return put

    second_factor = read(credentials.second_factor)
    enrolments = read(credentials.enrolments)
    use_step = write(credentials.use_step)

    async def put_second_factor(self, factor: StoredSecondFactor, logged: Logged) -> bool:
        """Store a second factor; False when its number does not follow on the stored one.

        Every daemon knows it when this returns.
        """
        put = await self._write(factor.company_id, lambda db: credentials.put_second_factor(db, factor, logged))
        await self._await_peers()
        return put

    # companies, delegations

    company_record = read(companies.company_record)
    delegations_of = read(companies.delegations_of)

    async def add_delegation(
        self, delegation: StoredDelegation, logged: Logged, receipt: Receipt | None, most: int = DELEGATIONS_MAX
    ) -> None:
        at = iso(self._clock())
        add = partial(companies.add_delegation, one=delegation, logged=logged, receipt=receipt, at=at, most=most)
        await self._write(delegation.company_id, add)
        await self._await_peers()

    async def end_delegation(self, delegation: StoredDelegation, at: datetime, logged: Logged) -> bool:
        """End a delegation; False when it has ended. No daemon goes by it when this returns."""
        end = partial(companies.end_delegation, one=delegation, at=at, logged=logged)
        ended = await self._write(delegation.company_id, end)
        await self._await_peers()
        return ended

    # changes that another person approves

    gated_change = read(changes.gated_change)
    gated_changes = read(changes.gated_changes)

    async def add_gated_change(
        self, one: StoredChange, logged: Logged, receipt: Receipt | None, most: int = OPEN_CHANGES_MAX
    ) -> None:
        """Keep an open change; TooManyChanges where the company has so many."""
        at = iso(self._clock())
        add = partial(changes.add_gated_change, one=one, logged=logged, receipt=receipt, at=at, most=most)
        await self._write(one.company_id, add)

    async def decide_change(self, decision: ChangeDecision) -> None:
        """Close a change without doing it; ChangeDecided where it is not open."""
        at = iso(self._clock())
        await self._write(decision.change.company_id, lambda db: changes.decide_change(db, decision, at))

    def decided(
        self, decision: ChangeDecision | None, work: Callable[[Any], Awaitable[T]]
    ) -> Callable[[Any], Awaitable[T]]:
        """Work of which a decision is part, if there is one: both are written or neither."""
        if decision is None:
            return work
        at = iso(self._clock())

        async def both(db: Any) -> T:
            await changes.decide_change(db, decision, at)
            return await work(db)

        return both

    # API keys

    api_key = read(credentials.api_key)
    api_keys_of = read(credentials.api_keys_of)

    async def add_api_key(
        self, key: StoredApiKey, logged: Logged, receipt: Receipt | None, most: int = API_KEYS_MAX
    ) -> None:
        at = iso(self._clock())
        await self._write(
            key.company_id, lambda db: credentials.add_api_key(db, key, logged, receipt, at=at, most=most)
        )
        await self._await_peers()

    async def change_api_key(
        self, company_id: str, key_id: str, terms: KeyTerms, logged: Callable[[StoredApiKey], Logged]
    ) -> StoredApiKey | None:
        """Put a key under other terms; no daemon goes by the earlier ones when this returns."""
        changed = await self._write(
            company_id, lambda db: credentials.change_api_key(db, company_id, key_id, terms, logged)
        )
        await self._await_peers()
        return changed

    async def delete_api_key(self, company_id: str, key_id: str, at: datetime, logged: Logged) -> bool:
        """Delete a key; False when there is none. No daemon accepts it when this returns."""
        deleted = await self._write(
            company_id, lambda db: credentials.delete_api_key(db, company_id, key_id, at, logged)
        )
        await self._await_peers()
        return deleted

    async def touch_api_keys(self, key_ids: Collection[str], at: datetime) -> None:
        """Record that keys were used at that time."""
        await self._write("", lambda db: credentials.touch_api_keys(db, key_ids, at))

    # single sign-on

    subject = read(credentials.subject)
    is_linked = read(credentials.is_linked)
    was_removed = read(credentials.was_removed)

    async def link_subject(self, subject: Subject, logged: Logged) -> bool:
        """Keep who a subject is; False when it is somebody already."""
        return await self._write(subject.company_id, lambda db: credentials.link_subject(db, subject, logged))

    async def arrive(self, arrival: Arrival, logged: tuple[Logged, ...]) -> None:
        """Keep a new user as a member; EmailTaken, or MembershipConflict for one who came first."""
        await self._write(arrival.subject.company_id, lambda db: credentials.arrive(db, arrival, logged))


class ReportRepositories(Access):
    """Reports of companies, kept from their commits."""

    shared: bool

    reports_behind = read(following.companies_behind)
    report_totals = read(numbers.report_totals)
    report_days = read(numbers.report_days)
    report_gates = read(numbers.report_gates)
    report_people = read(numbers.report_people)
    report_steps = read(numbers.report_steps)
    report_tools = read(numbers.report_tools)
    report_clocks = read(numbers.report_clocks)
    reported_decisions = read(entries.reported_decisions)
    reported_failures = read(entries.reported_failures)
    reported_gates = read(entries.reported_gates)
    judged_cases = read(entries.judged_cases)
    judged_steps = read(entries.judged_steps)

    async def follow_commits(self, company_id: str, commits_max: int, since: date) -> bool:
        """Read and fold on a reading connection; the writer has to store the rows alone."""
        holder = company_id if self.shared else ""
        found = await self._read(partial(following.later_commits, holder=holder, commits_max=commits_max))
        if found is None:
            return False
        keep = partial(following.keep_following, found=found, since=since.isoformat())
        kept = await self._write(holder, keep)
        return found.more or not kept

    async def drop_reports(self, before: date) -> int:
        drop = partial(following.drop_reports, before=before.isoformat())
        return await drop_all(lambda: self._write("", drop))


class RetentionRepositories(Access):
    """How runs of companies are kept."""

    visible_among = read(reading.visible_among)
    whom_it_is_about = read(reading.whom_it_is_about)
    is_guarded = read(reading.is_guarded)
    retained = read(archives.retained)
    put_hold = write(archives.put_hold)
    drop_hold = write(archives.drop_hold)
    archiving_policies = read(archiving.archiving_policies)
    claim_archiving = write(archiving.claim_archiving)
    archivable = read(archiving.archivable)

    async def redact(
        self,
        asked: StoredRedaction,
        via: str,
        sign: Sign | None,
        receipt: Callable[[RedactionMade], Receipt | None] = lambda _: None,
    ) -> RedactionMade:
        planned = await self._read(partial(redactions.plan, asked=asked))  # others may write meanwhile
        work = partial(redactions.redact, asked=asked, via=via, sign=sign, receipt=receipt, planned=planned)
        try:
            made = await self._write(asked.company_id, work)
        except archiving.NotSealed:
            raise StoreFailed("No checkpoint could cover the redaction now.", "not_applied") from None
        with suppress(StoreFailed):  # it has happened, whatever becomes of this
            while sign is not None and await self._write(asked.company_id, redactions.forget_words):
                pass
        return made

    async def keep_archives(self, company_id: str, events: Sequence[RunArchived], sign: Sign) -> frozenset[str]:
        """Record archives under a checkpoint, and drop the events in them: all of it or nothing.

        Returns the runs that it was done for: not those that are held, archived or at another
        version by now, and none when no checkpoint could be made.
        """
        try:
            return await self._write(company_id, lambda db: archiving.keep_archives(db, company_id, events, sign))
        except archiving.NotSealed:
            return frozenset()
