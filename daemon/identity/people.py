"""People of a company: given roles, grouped and removed; and the events that tell of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

from actors.core.people import ADMIN, OWNER, rank
from actors.ports import Receipt
from daemon.identity.sessions import Sessions
from daemon.identity.tokens import Principal
from daemon.model import (
    GroupEdit,
    MemberEdit,
    MembershipConflict,
    PeopleChange,
    StoredGroup,
    StoredInvitation,
    StoredMember,
    StoredUser,
)
from daemon.model import audit_events as log
from daemon.model.audit_events import Logged
from daemon.stores.store import Store

_TICK = timedelta(microseconds=1)


def changed_after(now: Callable[[], datetime], before: StoredMember | None) -> datetime:
    """The time, but later than the last change of a member, which it tells apart."""
    return now() if before is None else max(now(), before.changed_at + _TICK)


def member_changed(
    edit: MemberEdit, by: str, via: str, invitation: StoredInvitation | None = None, new_user: StoredUser | None = None
) -> Logged:
    """The event of an edit."""
    form = None
    if invitation is not None:
        form = log.InvitationForm(expires_at=invitation.expires_at, token_hash=invitation.token_hash.hex())
    event = log.MemberChanged(
        at=edit.after.changed_at,
        after=_form(edit.after),
        before=None if edit.before is None else _form(edit.before),
        by=by,
        invitation=form,
        member=edit.after.id,
        new_user=None if new_user is None else _user_form(new_user, edit.after.role),
        via=via,
    )
    return Logged(edit.after.company_id, event)


def _form(one: StoredMember) -> log.MemberForm:
    return log.MemberForm(
        email=one.email,
        invited_at=one.invited_at,
        invited_by=one.invited_by,
        joined_at=one.joined_at,
        role=one.role,
        status=one.status,
        user=one.user_id,
    )


def _user_form(user: StoredUser, role: str) -> log.UserForm:
    return log.UserForm(
        created_at=user.created_at,
        email=user.email,
        id=user.id,
        name=user.name,
        password_digest=log.password_digest(user.password_hash),
        role=role,
    )


ATTEMPTS_MAX = 5
NoPermission = Literal["role", "email", "account"]


class UnknownMember(Exception):
    """The company has no such member."""


class UnknownGroup(Exception):
    """The company has no such group."""


class LastOwner(Exception):
    """A company has its one owner until it is handed over."""


class TooMany(Exception):
    """The company has as many members or groups as it may have."""

    def __init__(self, what: Literal["members", "groups"], limit: int) -> None:
        super().__init__(what, limit)
        self.what = what
        self.limit = limit


class NotPermitted(Exception):
    """The role is below `required`, or it is not this person's or this company's to do."""

    def __init__(self, reason: NoPermission, required: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.required = required


class People:
    """Changes of members and groups; each counts on every daemon when it returns."""

    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        now: Callable[[], datetime],
        groups_max: int,
        changed: Callable[[str], None],
    ) -> None:
        """`changed` is called with the company after each change of groups."""
        self._store = store
        self._sessions = sessions
        self._now = now
        self._groups_max = groups_max
        self._changed = changed

    async def change_role(self, principal: Principal, member_id: str, role: str) -> StoredMember:
        """Give a member another role, nobody one above the caller's own."""
        check_rank(principal, role)
        before = await self._member(principal, member_id)
        if before.role == OWNER:
            raise LastOwner
        check_rank(principal, before.role)
        if before.role == role:
            return before
        return await self._edited(principal, before, role=role)

    async def remove(self, principal: Principal, member_id: str) -> None:
        """Remove a member or a pending invitation; whoever is not an admin removes oneself only."""
        before = await self._member(principal, member_id)
        if before.role == OWNER:
            raise LastOwner
        if before.id != principal.member_id:
            if rank(principal.role) < rank(ADMIN):
                raise NotPermitted("role", ADMIN)
            check_rank(principal, before.role)
        await self._edited(principal, before, status="removed")

    async def hand_over(
        self, principal: Principal, member_id: str, receipt: Callable[[StoredMember], Receipt | None] = lambda _: None
    ) -> StoredMember:
        """Make another member the owner; the caller becomes an admin."""
        heir, owner = await self._member(principal, member_id), await self._member(principal, principal.member_id)
        if heir.status != "active":
            raise UnknownMember
        if heir.id == owner.id:
            return owner
        edits = (
            MemberEdit(heir, replace(heir, role=OWNER, changed_at=changed_after(self._now, heir))),
            MemberEdit(owner, replace(owner, role=ADMIN, changed_at=changed_after(self._now, owner))),
        )
        events = tuple(member_changed(edit, principal.email, principal.via) for edit in edits)
        heir = edits[0].after
        await self._change(PeopleChange(principal.company_id, edits, events, None, receipt(heir), principal.caller))
        return heir

    async def put_group(self, principal: Principal, name: str, members: Sequence[str]) -> StoredGroup:
        """Write a group; UnknownMember for one that is none, or not active."""
        for _ in range(ATTEMPTS_MAX):
            groups = await self._store.groups(principal.company_id)
            before = next((one.members for one in groups if one.name == name), None)
            if before is None and len(groups) >= self._groups_max:
                raise TooMany("groups", self._groups_max)
            after = tuple(sorted(set(members)))
            for member_id in after:
                if (await self._member(principal, member_id)).status != "active":
                    raise UnknownMember(member_id)
            if after == before or await self._edit_group(principal, name, before, after):
                return StoredGroup(name, after)
        raise MembershipConflict

    async def delete_group(self, principal: Principal, name: str) -> None:
        for _ in range(ATTEMPTS_MAX):
            groups = await self._store.groups(principal.company_id)
            before = next((one.members for one in groups if one.name == name), None)
            if before is None:
                raise UnknownGroup
            if await self._edit_group(principal, name, before, None):
                return
        raise MembershipConflict

    async def edit_group(self, edit: GroupEdit) -> bool:
        """Write a group; False when it is not as it was before."""
        edited = await self._store.edit_group(edit)
        if edited:
            self._changed(edit.company_id)
        return edited

    async def _edit_group(
        self, principal: Principal, name: str, before: tuple[str, ...] | None, after: tuple[str, ...] | None
    ) -> bool:
        at, company_id = self._now(), principal.company_id
        event = log.GroupChanged(at=at, after=after, before=before, by=principal.email, group=name, via=principal.via)
        logged = Logged(company_id, event)
        edit = GroupEdit(company_id, name, before, after, principal.email, at, logged, principal.caller)
        return await self.edit_group(edit)

    async def _member(self, principal: Principal, member_id: str) -> StoredMember:
        found = await self._store.member(principal.company_id, member_id)
        if found is None:
            raise UnknownMember(member_id)
        return found

    async def _edited(
        self,
        principal: Principal,
        before: StoredMember,
        *,
        role: str | None = None,
        status: Literal["removed"] | None = None,
    ) -> StoredMember:
        at = changed_after(self._now, before)
        after = replace(before, role=role or before.role, status=status or before.status, changed_at=at)
        edit = MemberEdit(before, after)
        event = member_changed(edit, principal.email, principal.via)
        change = PeopleChange(before.company_id, (edit,), (event,), caller=principal.caller)
        await self._change(change)
        return after

    async def _change(self, change: PeopleChange) -> None:
        """Write a change; the roles count here at once, and elsewhere when the store returns."""
        await self._store.change_people(change)
        self._sessions.standings.update({edit.after.id: edit.after.membership_state for edit in change.edits})


def check_rank(principal: Principal, role: str) -> None:
    """Nobody gives, changes or takes away a role above one's own."""
    if rank(role) > rank(principal.role):
        raise NotPermitted("role", role)
