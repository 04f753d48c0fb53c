"""Invitations: made, looked at, and accepted with an account or a new one."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from actors.ports import Receipt
from daemon.contract.base import email_key
from daemon.identity.people import NotPermitted, TooMany, changed_after, check_rank, member_changed
from daemon.identity.proofs import ProofMissing
from daemon.identity.sessions import BY_PASSWORD, BegunSession, ClientInfo, SessionProof, Sessions
from daemon.identity.tokens import NotAuthenticated, Principal
from daemon.keys.vault import INVITATION, Vault
from daemon.model import (
    AlreadyMember,
    Joining,
    MemberEdit,
    MembershipConflict,
    PeopleChange,
    SessionStart,
    StoredAccount,
    StoredInvitation,
    StoredMember,
    StoredUser,
)
from daemon.runtime.clock import new_id
from daemon.stores.store import Store

LIFETIME = timedelta(days=7)
TOKEN_BYTES = 32
TOKEN_CHARS_MAX = 100
ACCEPTED = "invitation"


class UnknownInvitation(Exception):
    """No invitation with this token was ever made."""


class InvitationEnded(Exception):
    """The invitation was used, replaced or withdrawn, or has expired."""


class Invited(NamedTuple):
    """An invited member, and the token that is shown once."""

    member: StoredMember
    token: str
    expires_at: datetime


class Looked(NamedTuple):
    """What the holder of an invitation is told."""

    member: StoredMember
    company: str
    has_account: bool
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewUser:
    """A new user, with the hash of the password."""

    email: str
    password_hash: str
    name: str | None


class Prover(NamedTuple):
    """A user, and what proved that it is them."""

    user: StoredUser
    proof: SessionProof


class Invitations:
    """Invites people and lets them join; each joining counts on every daemon when it returns."""

    def __init__(
        self, store: Store, sessions: Sessions, vault: Vault, now: Callable[[], datetime], members_max: int
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._vault = vault
        self._now = now
        self._members_max = members_max

    async def invite(
        self,
        principal: Principal,
        email: str,
        role: str,
        receipt: Callable[[Invited, bytes], Receipt | None] = lambda *_: None,
    ) -> Invited:
        """Invite a person; one who is invited already gets another invitation for this one."""
        check_rank(principal, role)
        company_id = principal.company_id
        before = await self._store.member_by_email(company_id, email)
        if before is None and await self._store.count_members(company_id) >= self._members_max:
            raise TooMany("members", self._members_max)
        if before is not None:
            if before.status == "active":
                raise AlreadyMember
            check_rank(principal, before.role)
        at = changed_after(self._now, before)
        pending = StoredMember(company_id, new_id(), None, email, role, "pending", at, principal.email, at)
        after = pending if before is None else replace(pending, id=before.id, email=before.email)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        invitation = StoredInvitation(hashed(token), company_id, after.id, at, at + LIFETIME)
        invited = Invited(after, token, invitation.expires_at)
        edit = MemberEdit(before, after)
        event = member_changed(edit, principal.email, principal.via, invitation)
        sealed = await self._vault.seal(company_id, after.id, INVITATION, token)
        given = (invitation, receipt(invited, sealed), principal.caller)
        change = PeopleChange(company_id, (edit,), (event,), *given)
        await self._store.change_people(change)
        return invited

    async def open(self, company_id: str, member_id: str, sealed: bytes) -> str:
        """The token of an invitation, as it was sealed for a receipt."""
        return await self._vault.open(company_id, member_id, INVITATION, sealed)

    async def describe(self, token: str) -> Looked:
        """What an invitation is for."""
        invitation, member = await self._invited(token)
        company = next(one for one in [await self._store.company(invitation.company_id)] if one is not None)
        account = await self._store.account_by_email(member.email)
        return Looked(member, company.name, account is not None, invitation.expires_at)

    async def accept(
        self,
        principal: Principal,
        token: str,
        client: ClientInfo,
        receipt: Callable[[BegunSession], Receipt | None],
    ) -> BegunSession:
        """Join a company with the account of the caller, whose address must be the invited one."""
        account = await self._store.account(principal.user_id, principal.company_id)
        if account is None:
            raise NotAuthenticated
        return await self.admit(Prover(account.user, await self._sessions.carried(principal)), token, client, receipt)

    async def admit(
        self, prover: Prover, token: str, client: ClientInfo, receipt: Callable[[BegunSession], Receipt | None]
    ) -> BegunSession:
        """Join a company with an account that was proven to be the caller's.

        ProofMissing where the proof is by a provider that has no say in the company.
        """
        user, proof = prover
        _, before = await self._invited(token)
        company = await self._store.company(before.company_id)
        if email_key(user.email) != email_key(before.email):
            raise NotPermitted("email")
        edit = MemberEdit(before, self._joined(before, user))
        assert company is not None  # noqa: S101 - it has invited
        account = StoredAccount(user, company, edit.after)
        if self._sessions.proofs.missing_in(account, "", proof.amr) == "password":
            raise ProofMissing("password")
        session, entered = self._sessions.begin(account, client, proof, ACCEPTED)
        joined = member_changed(edit, user.email, ACCEPTED)
        change = PeopleChange(company.id, (edit,), (joined,), receipt=receipt(session))
        try:
            await self._store.join_with_session(change, SessionStart(session.record, user.epoch, entered))
        except MembershipConflict:
            await self._invited(token)  # it ended in the same moment, unless only the role was changed
            raise
        self._sessions.standings.update({edit.after.id: edit.after.membership_state})
        return session

    async def join(
        self, newcomer: NewUser, token: str, client: ClientInfo, receipt: Callable[[BegunSession], Receipt | None]
    ) -> BegunSession:
        """Join a company with a new account; EmailTaken if the address has one."""
        invitation, before = await self._invited(token)
        if email_key(newcomer.email) != email_key(before.email):
            raise NotPermitted("email")
        company = await self._store.company(before.company_id)
        assert company is not None  # noqa: S101 - it has invited
        name, hashed_password = newcomer.name, newcomer.password_hash
        user = StoredUser(new_id(), company.id, newcomer.email, name, hashed_password, changed_after(self._now, before))
        edit = MemberEdit(before, self._joined(before, user))
        account = StoredAccount(user, company, edit.after)
        session, entered = self._sessions.begin(account, client, BY_PASSWORD, ACCEPTED)
        joined = member_changed(edit, user.email, ACCEPTED, new_user=user)
        try:
            joining = Joining(account, edit, invitation)
            await self._store.join(joining, receipt(session), (joined, entered), session.record)
        except MembershipConflict:
            await self._invited(token)  # it ended in the same moment, unless only the role was changed
            raise
        self._sessions.standings.update({edit.after.id: edit.after.membership_state})
        return session

    async def _invited(self, token: str) -> tuple[StoredInvitation, StoredMember]:
        found = await self._store.invitation(hashed(token)) if len(token) <= TOKEN_CHARS_MAX else None
        if found is None:
            raise UnknownInvitation
        member = await self._store.member(found.company_id, found.member_id)
        if found.ended_at is not None or found.expires_at <= self._now() or member is None:
            raise InvitationEnded
        if member.status != "pending":
            raise InvitationEnded
        return found, member

    def _joined(self, before: StoredMember, user: StoredUser) -> StoredMember:
        at = changed_after(self._now, before)
        joined = replace(before, user_id=user.id, email=user.email, name=user.name)
        return replace(joined, status="active", joined_at=at, changed_at=at)


def hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
