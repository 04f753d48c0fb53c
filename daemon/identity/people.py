"""People of a company: invited, joined, given roles, grouped, removed; and companies switched."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from actors.core.authority import rank
from actors.ports import Receipt
from daemon.identity.sessions import ClientInfo, Session, Sessions
from daemon.identity.tokens import NotAuthenticated, Principal
from daemon.keys.vault import INVITATION, Vault
from daemon.model import (
    Account,
    AlreadyMember,
    Group,
    GroupEdit,
    Invitation,
    Joining,
    Member,
    MemberChanged,
    MemberEdit,
    PeopleChange,
    Store,
    User,
)
from daemon.model import audit_events as log
from daemon.model.audit_events import Logged
from daemon.runtime.ids import new_id

INVITATION_LIFE = timedelta(days=7)
TOKEN_BYTES = 32
TOKEN_CHARS_MAX = 100
MEMBERS_MAX = 10_000
GROUPS_MAX = 500
ATTEMPTS_MAX = 5
OWNER, ADMIN = "owner", "admin"
ACCEPTED, SWITCHED = "invitation", "switch"
_TICK = timedelta(microseconds=1)
NoPermission = Literal["role", "email", "account"]


class UnknownMember(Exception):
    """The company has no such member."""


class UnknownGroup(Exception):
    """The company has no such group."""


class UnknownInvitation(Exception):
    """No invitation with this token was ever made."""


class InvitationEnded(Exception):
    """The invitation was used, replaced or withdrawn, or has expired."""


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


class Invited(NamedTuple):
    """An invited member, and the token that is shown once."""

    member: Member
    token: str
    expires_at: datetime


class Looked(NamedTuple):
    """What the holder of an invitation is told."""

    member: Member
    company: str
    has_account: bool
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A new user, with the hash of the password."""

    email: str
    password_hash: str
    name: str | None


class People:
    """Changes of members and groups; each counts on every daemon when it returns."""

    def __init__(self, store: Store, sessions: Sessions, vault: Vault, now: Callable[[], datetime]) -> None:
        self._store = store
        self._vault = vault
        self._sessions = sessions
        self._now = now

    async def invite(
        self,
        principal: Principal,
        email: str,
        role: str,
        receipt: Callable[[Invited, bytes], Receipt | None] = lambda *_: None,
    ) -> Invited:
        """Invite a person; one who is invited already gets another invitation for this one."""
        _check_rank(principal, role)
        company_id = principal.company_id
        before = await self._store.member_by_email(company_id, email)
        if before is None and await self._store.count_members(company_id) >= MEMBERS_MAX:
            raise TooMany("members", MEMBERS_MAX)
        if before is not None:
            if before.status == "active":
                raise AlreadyMember
            _check_rank(principal, before.role)
        at = self._after(before)
        pending = Member(company_id, new_id(), None, email, role, "pending", at, principal.email, at)
        after = pending if before is None else replace(pending, id=before.id, email=before.email)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        invitation = Invitation(hashed(token), company_id, after.id, at, at + INVITATION_LIFE)
        invited = Invited(after, token, invitation.expires_at)
        edit = MemberEdit(before, after)
        event = member_changed(edit, principal.email, principal.via, invitation)
        sealed = await self._vault.seal(company_id, after.id, INVITATION, token)
        change = PeopleChange(company_id, (edit,), (event,), invitation, receipt(invited, sealed))
        await self._change(change)
        return invited

    async def open(self, company_id: str, member_id: str, sealed: bytes) -> str:
        """The token of an invitation, as it was sealed for a receipt."""
        return await self._vault.open(company_id, member_id, INVITATION, sealed)

    async def change_role(self, principal: Principal, member_id: str, role: str) -> Member:
        """Give a member another role, nobody one above the caller's own."""
        _check_rank(principal, role)
        before = await self._member(principal, member_id)
        if before.role == OWNER:
            raise LastOwner
        _check_rank(principal, before.role)
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
            _check_rank(principal, before.role)
        await self._edited(principal, before, status="removed")

    async def hand_over(
        self, principal: Principal, member_id: str, receipt: Callable[[Member], Receipt | None] = lambda _: None
    ) -> Member:
        """Make another member the owner; the caller becomes an admin."""
        heir, owner = await self._member(principal, member_id), await self._member(principal, principal.member_id)
        if heir.status != "active":
            raise UnknownMember
        if heir.id == owner.id:
            return owner
        edits = (
            MemberEdit(heir, replace(heir, role=OWNER, changed_at=self._after(heir))),
            MemberEdit(owner, replace(owner, role=ADMIN, changed_at=self._after(owner))),
        )
        events = tuple(member_changed(edit, principal.email, principal.via) for edit in edits)
        heir = edits[0].after
        await self._change(PeopleChange(principal.company_id, edits, events, receipt=receipt(heir)))
        return heir

    async def look(self, token: str) -> Looked:
        """What an invitation is for."""
        invitation, member = await self._invited(token)
        company = next(one for one in [await self._store.company(invitation.company_id)] if one is not None)
        account = await self._store.account_by_email(member.email)
        return Looked(member, company.name, account is not None, invitation.expires_at)

    async def accept(self, principal: Principal, token: str, client: ClientInfo) -> Session:
        """Join a company with the account of the caller, whose address must be the invited one."""
        account = await self._store.account(principal.user_id, principal.company_id)
        if account is None:
            raise NotAuthenticated
        return await self.enter(account.user, token, client)

    async def enter(self, user: User, token: str, client: ClientInfo) -> Session:
        """Join a company with an account that was proven to be the caller's."""
        _, before = await self._invited(token)
        if user.email.casefold() != before.email.casefold():
            raise NotPermitted("email")
        edit = MemberEdit(before, self._joined(before, user))
        await self._change(PeopleChange(before.company_id, (edit,), (member_changed(edit, user.email, ACCEPTED),)))
        return await self._begun(user.id, before.company_id, client, ACCEPTED)

    async def join(
        self, newcomer: Newcomer, token: str, client: ClientInfo, receipt: Callable[[Session], Receipt | None]
    ) -> Session:
        """Join a company with a new account; EmailTaken if the address has one."""
        invitation, before = await self._invited(token)
        if newcomer.email.casefold() != before.email.casefold():
            raise NotPermitted("email")
        company = await self._store.company(before.company_id)
        assert company is not None  # noqa: S101 - it has invited
        name, hashed_password = newcomer.name, newcomer.password_hash
        user = User(new_id(), company.id, newcomer.email, name, hashed_password, self._after(before))
        edit = MemberEdit(before, self._joined(before, user))
        account = Account(user, company, edit.after)
        session, entered = self._sessions.begin(account, client, ACCEPTED)
        joined = member_changed(edit, user.email, ACCEPTED, new_user=user)
        try:
            joining = Joining(account, edit, invitation)
            await self._store.join(joining, receipt(session), (joined, entered), session.record)
        except MemberChanged:
            raise InvitationEnded from None
        self._sessions.standings.update({edit.after.id: edit.after.standing})
        return session

    async def switch(self, principal: Principal, company_id: str, client: ClientInfo) -> Session:
        """A session for another company of the same person."""
        session = await self._begun(principal.user_id, company_id, client, SWITCHED)
        if client.kind == "page":
            await self._sessions.end(principal, principal.session_id)
        return session

    async def put_group(self, principal: Principal, name: str, members: Sequence[str]) -> Group:
        """Write a group; UnknownMember for one that is none, or not active."""
        for _ in range(ATTEMPTS_MAX):
            groups = await self._store.groups(principal.company_id)
            before = next((one.members for one in groups if one.name == name), None)
            if before is None and len(groups) >= GROUPS_MAX:
                raise TooMany("groups", GROUPS_MAX)
            after = tuple(sorted(set(members)))
            for member_id in after:
                if (await self._member(principal, member_id)).status != "active":
                    raise UnknownMember(member_id)
            if after == before or await self._edit_group(principal, name, before, after):
                return Group(name, after)
        raise MemberChanged

    async def delete_group(self, principal: Principal, name: str) -> None:
        for _ in range(ATTEMPTS_MAX):
            groups = await self._store.groups(principal.company_id)
            before = next((one.members for one in groups if one.name == name), None)
            if before is None:
                raise UnknownGroup
            if await self._edit_group(principal, name, before, None):
                return
        raise MemberChanged

    async def _edit_group(
        self, principal: Principal, name: str, before: tuple[str, ...] | None, after: tuple[str, ...] | None
    ) -> bool:
        at, company_id = self._now(), principal.company_id
        event = log.GroupChanged(at=at, after=after, before=before, by=principal.email, group=name, via=principal.via)
        edit = GroupEdit(company_id, name, before, after, principal.email, at, Logged(company_id, event))
        return await self._store.edit_group(edit)

    async def _invited(self, token: str) -> tuple[Invitation, Member]:
        found = await self._store.invitation(hashed(token)) if len(token) <= TOKEN_CHARS_MAX else None
        if found is None:
            raise UnknownInvitation
        member = await self._store.member(found.company_id, found.member_id)
        if found.ended_at is not None or found.expires_at <= self._now() or member is None:
            raise InvitationEnded
        if member.status != "pending":
            raise InvitationEnded
        return found, member

    async def _begun(self, user_id: str, company_id: str, client: ClientInfo, via: str) -> Session:
        account = await self._store.account(user_id, company_id)
        if account is None:
            raise UnknownMember
        session, entered = self._sessions.begin(account, client, via)
        if not await self._store.begin_session(session.record, account.user.epoch, entered):
            raise NotAuthenticated  # all sessions of the person were ended meanwhile
        return session

    async def _member(self, principal: Principal, member_id: str) -> Member:
        found = await self._store.member(principal.company_id, member_id)
        if found is None:
            raise UnknownMember(member_id)
        return found

    async def _edited(
        self, principal: Principal, before: Member, *, role: str | None = None, status: Literal["removed"] | None = None
    ) -> Member:
        at = self._after(before)
        after = replace(before, role=role or before.role, status=status or before.status, changed_at=at)
        edit = MemberEdit(before, after)
        event = member_changed(edit, principal.email, principal.via)
        await self._change(PeopleChange(before.company_id, (edit,), (event,)))
        return after

    async def _change(self, change: PeopleChange) -> None:
        """Write a change; the roles count here at once, and elsewhere when the store returns."""
        await self._store.change_people(change)
        self._sessions.standings.update({edit.after.id: edit.after.standing for edit in change.edits})

    def _joined(self, before: Member, user: User) -> Member:
        at = self._after(before)
        return replace(before, user_id=user.id, status="active", joined_at=at, changed_at=at, name=user.name)

    def _after(self, before: Member | None) -> datetime:
        """The time, but later than the last change of a member, which it tells apart."""
        now = self._now()
        return now if before is None else max(now, before.changed_at + _TICK)


def member_changed(
    edit: MemberEdit, by: str, via: str, invitation: Invitation | None = None, new_user: User | None = None
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


def hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _check_rank(principal: Principal, role: str) -> None:
    """Nobody gives, changes or takes away a role above one's own."""
    if rank(role) > rank(principal.role):
        raise NotPermitted("role", role)


def _form(one: Member) -> log.MemberForm:
    return log.MemberForm(
        email=one.email,
        invited_at=one.invited_at,
        invited_by=one.invited_by,
        joined_at=one.joined_at,
        role=one.role,
        status=one.status,
        user=one.user_id,
    )


def _user_form(user: User, role: str) -> log.UserForm:
    return log.UserForm(
        created_at=user.created_at,
        email=user.email,
        id=user.id,
        name=user.name,
        password_digest=log.password_digest(user.password_hash),
        role=role,
    )
