"""Companies, their users, and revoked tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from actors.ports import Receipt
from daemon.model.audit_events import LogEvent, Logged
from daemon.model.sessions import UserSession


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
    """A user of a company; `email` is kept as written and compared case-insensitively.

    Tokens of an `epoch` before the user's no longer count.
    """

    id: str
    company_id: str
    email: str
    name: str | None
    role: str
    password_hash: str
    created_at: datetime
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    user: User
    company: Company


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

    async def account_by_email(self, email: str) -> Account | None:
        """The account of an e-mail address, whatever its case."""

    async def account(self, user_id: str) -> Account | None: ...

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
