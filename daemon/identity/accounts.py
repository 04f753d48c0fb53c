"""Accounts: registration, log-in and passwords."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from actors.core.people import rank
from actors.ports import Receipt
from daemon.identity.company.changes import Changes
from daemon.identity.company.companies import Companies
from daemon.identity.company.settings import Autonomies, Calendars, Functions, Policies
from daemon.identity.delegations import Delegations
from daemon.identity.invitations import Invitations, NewUser
from daemon.identity.passwords import InvalidCredentials, Passwords
from daemon.identity.people import NotPermitted, People, UnknownMember
from daemon.identity.proofs import Missing, ProofMissing, Proofs
from daemon.identity.second_factors import OTP, ChangeOrigin, SecondFactors, WrongCode
from daemon.identity.sessions import (
    API_CLIENT,
    BY_PASSWORD,
    BegunSession,
    ClientInfo,
    Lifetimes,
    SessionProof,
    Sessions,
)
from daemon.identity.tokens import PWD, NotAuthenticated, Principal, Tokens
from daemon.keys.vault import Vault
from daemon.model import SESSION, StoredAccount, StoredCompany, StoredMember, StoredMembership, StoredUser
from daemon.model.audit_events import SERVICE, Logged, LoginRefused, NameChanged, Registered, password_digest
from daemon.runtime.clock import new_id, utc_now
from daemon.settings import Settings
from daemon.stores.store import Store

OWNER, SWITCHED = "owner", "switch"
SECOND_FACTOR = "second_factor"
EMAIL_CHARS_MAX = 320
__all__ = [
    "BegunSession",
    "Identity",
    "InvalidCredentials",
    "NewOwner",
    "NotAuthenticated",
    "Principal",
    "open_identity",
]


class NewOwner(NamedTuple):
    """The first user of a new company."""

    company: str
    email: str
    password: str
    name: str | None = None


class NoCompany(Exception):
    """The person is a member of no company, or not of the one that was named."""


class Identity:
    """Registration, login and passwords, and all else that says who somebody is and may do."""

    companies: Companies
    autonomies: Autonomies
    calendars: Calendars
    delegations: Delegations
    functions: Functions
    changes: Changes
    people: People
    invitations: Invitations
    policies: Policies
    second_factors: SecondFactors

    def __init__(
        self, store: Store, passwords: Passwords, tokens: Tokens, sessions: Sessions, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._passwords = passwords
        self._tokens = tokens
        self._now = now
        self.sessions = sessions

    async def register(
        self,
        owner: NewOwner,
        client: ClientInfo = API_CLIENT,
        receipt: Callable[[BegunSession], Receipt | None] = lambda _: None,
    ) -> BegunSession:
        """Create a company, its first user and a session; EmailTaken if the address is known."""
        now, email = self._now(), owner.email
        hashed = await self._passwords.hash(owner.password)
        owned = StoredCompany(new_id(), owner.company, now)
        user = StoredUser(new_id(), owned.id, email, owner.name, hashed, now)
        account = StoredAccount(user, owned, first_member(user, OWNER))
        session, entered = self.sessions.begin(account, client, BY_PASSWORD)
        registered = Registered(
            at=now,
            by=email,
            company=owned.name,
            name=owner.name,
            password_digest=password_digest(hashed),
            role=OWNER,
            user=account.user.id,
        )
        logged = (Logged(owned.id, registered), entered)
        await self._store.register(account, receipt(session), logged, session.record)
        return session

    async def log_in(
        self,
        email: str,
        password: str,
        client: ClientInfo = API_CLIENT,
        *,
        company_id: str | None = None,
        code: str | None = None,
    ) -> BegunSession:
        """Create a session in a company, or in that entered last.

        InvalidCredentials without account or with a wrong password. Both take the same time:
        without an account the refusal goes into the service's own log. After the right password:
        CodeRequired or WrongCode of a person with a second factor, NoCompany of no member there,
        ProofMissing where the company takes no passwords.
        """
        account, amr = await self._proven(email, password, code, company_id)
        if account.member.status != "active":
            raise NoCompany
        if (missing := self.sessions.proofs.missing_in(account, "", amr)) == "single_sign_on":
            raise ProofMissing(missing)
        session, entered = self.sessions.begin(account, client, SessionProof(amr))
        if not await self._store.begin_session(session.record, account.user.epoch, entered):
            await self._refuse(account, email)  # the password was changed meanwhile
        return session

    async def proven(self, email: str, password: str, code: str | None) -> tuple[StoredUser, tuple[str, ...]]:
        """The user with that password and code, and what proved it; refused as a log-in is."""
        account, amr = await self._proven(email, password, code)
        return account.user, amr

    async def switch(
        self, principal: Principal, company_id: str, client: ClientInfo, password: str | None, code: str | None
    ) -> BegunSession:
        """A session for another company of the same person; a page's earlier one ends.

        ProofMissing when what proved the session does not count there and no password is given.
        """
        account = await self._store.account(principal.user_id, company_id)
        if account is None:
            raise UnknownMember
        proof = await self.sessions.carried(principal)
        missing = self._missing(account, principal, proof.amr)
        if missing is not None and password is not None:
            _, amr = await self.proven(account.user.email, password, code)
            proof = await self.sessions.carried(principal, amr)
            missing = self._missing(account, principal, proof.amr)
        if missing is not None:
            raise ProofMissing(missing)
        session, entered = self.sessions.begin(account, client, proof, SWITCHED)
        if not await self._store.begin_session(session.record, account.user.epoch, entered):
            raise NotAuthenticated  # all sessions of the person were ended meanwhile
        if client.kind == "page":
            await self.sessions.end(principal, principal.session_id)
        return session

    def _missing(self, account: StoredAccount, principal: Principal, amr: tuple[str, ...]) -> Missing | None:
        """What has to be proven before; who has no second factor can enrol one in the session."""
        missing = self.sessions.proofs.missing_in(account, principal.session_id, amr)
        return None if missing == "second_factor" and not self.second_factors.counts(account.user.id) else missing

    async def _proven(
        self, email: str, password: str, code: str | None, company_id: str | None = None
    ) -> tuple[StoredAccount, tuple[str, ...]]:
        account = await self._store.account_by_email(email, company_id)
        if not await self._fits(account, password) or account is None:
            await self._refuse(account, email)
        try:
            by_code = await self.second_factors.prove(account.user, code, SESSION)
        except WrongCode:
            refused = LoginRefused(at=self._now(), by=email[:EMAIL_CHARS_MAX], reason=SECOND_FACTOR)
            await self._store.log(Logged(account.company.id, refused))
            raise
        return account, (PWD, OTP) if by_code else (PWD,)

    async def confirm(self, email: str, password: str) -> StoredUser:
        """The user with that password; InvalidCredentials otherwise."""
        account = await self._store.account_by_email(email)
        if not await self._fits(account, password) or account is None:
            await self._refuse(account, email)
        return account.user

    async def has_account(self, email: str) -> bool:
        """Whether an address has an account: only for who may know."""
        return await self._store.account_by_email(email) is not None

    async def newcomer(self, email: str, password: str, name: str | None) -> NewUser:
        """A new user, to join the company of an invitation."""
        return NewUser(email, await self._passwords.hash(password), name)

    async def memberships(self, principal: Principal) -> Sequence[StoredMembership]:
        """The companies that a person is a member of."""
        return await self._store.memberships(principal.user_id)

    async def rename(self, principal: Principal, name: str | None) -> StoredAccount:
        """Give the caller another display name."""
        account = await self.account(principal)
        user = replace(account.user, name=name)
        event = NameChanged(at=self._now(), by=principal.email, name=name, user=user.id, via=principal.via)
        await self._store.rename(user, Logged(user.company_id, event))
        return replace(account, user=user)

    async def change_password(self, principal: Principal, current: str, new: str) -> None:
        """Replace the password, and end the user's other sessions; InvalidCredentials if wrong."""
        changed = False
        while not changed:
            account = await self.account(principal)
            if not await self._fits(account, current):
                await self._refuse(account, principal.email)
            changed = await self.set_password(account, new, principal.session_id, principal.via)

    async def set_password(self, account: StoredAccount, new: str, kept: str = "", via: str = "reset") -> bool:
        """Replace a password and end all sessions but `kept`; False when `account` is stale."""
        return await self.sessions.advance(account, kept, via, await self._passwords.hash(new))

    async def reset_second_factor(self, principal: Principal, member_id: str) -> None:
        """Remove another member's second factor, and end all sessions of that person.

        NotPermitted for a higher role, for oneself, and for a person of several companies: no
        company weakens what protects another.
        """
        member = await self._store.member(principal.company_id, member_id)
        if member is None or member.user_id is None or member.status != "active":
            raise UnknownMember(member_id)
        if rank(member.role) > rank(principal.role):
            raise NotPermitted("role", member.role)
        who = (member.user_id, principal.company_id)
        account = await self._store.account(*who)
        if account is None or member.id == principal.member_id:
            raise NotPermitted("account")
        companies = {one.company_id for one in await self._store.memberships(member.user_id)}
        if companies | {account.user.company_id} != {principal.company_id}:
            raise NotPermitted("account")
        change = ChangeOrigin(principal.email, principal.via, caller=principal.caller)
        done = await self.second_factors.reset(account.user, change)
        made: dict[str, Any] = {"by": principal.email, "caller": None if done else principal.caller}
        while account is not None and not await self.sessions.advance(account, "", principal.via, **made):
            account = await self._store.account(*who)

    async def account(self, principal: Principal) -> StoredAccount:
        """The account of a token; NotAuthenticated when it no longer exists."""
        account = await self._store.account(principal.user_id, principal.company_id)
        if account is None:
            raise NotAuthenticated
        return account

    def principal(self, token: str) -> Principal:
        """The holder of a token; NotAuthenticated when it is invalid, expired or ended."""
        return self.sessions.principal(token)

    def signed(self, claims: dict[str, Any], key_id: str) -> str:
        """Token with these claims, always the same bytes; NotAuthenticated if the key is gone."""
        return self._tokens.signed(claims, key_id)

    def claims(self, token: str) -> tuple[dict[str, Any], str]:
        """The claims of a valid token, and the id of its key."""
        return self._tokens.claims(token)

    def derived(self, purpose: bytes) -> list[bytes]:
        """Secrets for a purpose: by the current key of tokens, then by the others."""
        return self._tokens.derived(purpose)

    async def _fits(self, account: StoredAccount | None, password: str) -> bool:
        return await self._passwords.verify(None if account is None else account.user.password_hash, password)

    async def _refuse(self, account: StoredAccount | None, email: str) -> NoReturn:
        company_id = SERVICE if account is None else account.company.id
        await self._store.log(Logged(company_id, LoginRefused(at=self._now(), by=email[:EMAIL_CHARS_MAX])))
        raise InvalidCredentials


def first_member(user: StoredUser, role: str) -> StoredMember:
    """The founder of a company as its member, under the user's id."""
    at = user.created_at
    return StoredMember(user.company_id, user.id, user.id, user.email, role, "active", at, joined_at=at, name=user.name)


@asynccontextmanager
async def open_identity(settings: Settings, keys: Path, store: Store, vault: Vault) -> AsyncIterator[Identity]:
    lifetimes = Lifetimes.from_settings(settings)
    tokens = Tokens(keys, lifetimes.longest, utc_now)
    companies = Companies(store, utc_now)
    policies, second_factors = Policies(store, utc_now, companies), SecondFactors(store, vault, utc_now)
    sessions = Sessions(store, tokens, lifetimes, Proofs(policies, second_factors), utc_now)
    await sessions.open()
    autonomies = Autonomies(store, utc_now, companies)
    await autonomies.open()
    sessions.standings.subscribe(companies.changed)
    with closing(Passwords(settings.password_hashes_max)) as passwords:
        identity = Identity(store, passwords, tokens, sessions, utc_now)
        identity.companies = companies
        identity.autonomies = autonomies
        identity.calendars = Calendars(store, utc_now, companies)
        identity.functions = Functions(store, utc_now, companies)
        identity.changes = Changes(store, utc_now, companies, policies)
        identity.delegations = Delegations(store, utc_now, companies.changed, settings.company_delegations_max)
        identity.people = People(store, sessions, utc_now, settings.company_groups_max, companies.changed)
        identity.invitations = Invitations(store, sessions, vault, utc_now, settings.company_members_max)
        identity.policies, identity.second_factors = policies, second_factors
        await identity.policies.open()
        await identity.second_factors.open()
        yield identity
