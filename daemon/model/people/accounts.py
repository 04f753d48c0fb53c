"""Companies, their users, and revoked tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from actors.ports import Receipt
from daemon.model.audit_events import LogEvent, Logged
from daemon.model.people.members import Invitation, Member, MemberEdit
from daemon.model.people.sessions import UserSession


class EmailTaken(Exception):
    """An account with this e-mail address exists."""


@dataclass(frozen=True, slots=True)
class Company:
    """A tenant; its data is invisible to all others."""

    id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class User:
    """A person; `email` is kept as written and compared case-insensitively.

    The log of the company tells of the person's password. Tokens of an `epoch` before the user's no
    longer count.
    """

    id: str
    company_id: str
    email: str
    name: str | None
    password_hash: str
    created_at: datetime
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """A person as a member of a company."""

    user: User
    company: Company
    member: Member


@dataclass(frozen=True, slots=True)
class PasswordReset:
    """The hash of a token that sets a new password, until it expires or the password changes."""

    token_hash: bytes
    company_id: str
    user_id: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Joining:
    """A new user who takes the place of an invited member."""

    account: Account
    edit: MemberEdit
    invitation: Invitation


class Following(Protocol):
    """Computes the event to append after the last one in a log."""

    def __call__(self, last: LogEvent | None, *, has_peers: bool) -> LogEvent | None:
        """The next event, if any; `has_peers` if another daemon holds its lease now."""


class Accounts(Protocol):
    async def register(
        self,
        account: Account,
        receipt: Receipt | None,
        logged: Sequence[Logged] = (),
        session: UserSession | None = None,
    ) -> None:
        """Keep a new company with its first user; EmailTaken when the address has an account."""

    async def join(
        self, joining: Joining, receipt: Receipt | None, logged: Sequence[Logged], session: UserSession
    ) -> None:
        """Keep a new user as a member; EmailTaken, or MemberChanged for an ended invitation."""

    async def account_by_email(self, email: str, company_id: str | None = None) -> Account | None:
        """The account of an e-mail address, whatever its case, in the company entered last.

        Its member is `removed` where the person belongs to no company, or not to that one.
        """

    async def account(self, user_id: str, company_id: str) -> Account | None:
        """The account of a user as an active member of the company."""

    async def company(self, company_id: str) -> Company | None: ...

    async def rename(self, user: User, logged: Logged) -> None:
        """Give a user the display name that `user` has."""

    async def add_password_reset(self, reset: PasswordReset, logged: Logged) -> None: ...

    async def account_by_reset(self, token_hash: bytes, at: datetime) -> Account | None:
        """The account whose password a token may set at that time."""

    async def drop_password_resets(self, before: datetime) -> None:
        """Delete the links for new passwords that expired before that time."""

    async def revoke(self, token_id: str, expires_at: datetime, logged: Logged | None = None) -> None:
        """Remember that a token no longer counts, until it would have expired."""

    async def revoked(self) -> dict[str, datetime]:
        """The revoked tokens that have not expired yet, and when each will."""

    async def drop_revocations(self, before: datetime) -> None:
        """Delete the revocations of tokens that expired before that time."""

    async def log(self, logged: Logged) -> None: ...

    async def last_logged(self, company_id: str, holding: str) -> LogEvent | None:
        """The latest event of a company's own log whose JSON holds this text."""

    async def log_after(self, company_id: str, holding: str, following: Following) -> None:
        """Append to a company's log what follows on its latest event with this text, atomically.

        An exception of `following` is raised here, and nothing is written.
        """
