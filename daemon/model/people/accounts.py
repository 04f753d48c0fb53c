"""Accounts, and the views that a person keeps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from daemon.model.audit_events import LogEvent
from daemon.model.people.members import MemberEdit, StoredInvitation, StoredMember


class EmailTaken(Exception):
    """An account with this e-mail address exists."""


@dataclass(frozen=True, slots=True)
class StoredCompany:
    """A tenant; its data is invisible to all others."""

    id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StoredUser:
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
class StoredAccount:
    """A person as a member of a company."""

    user: StoredUser
    company: StoredCompany
    member: StoredMember


@dataclass(frozen=True, slots=True)
class StoredPasswordReset:
    """The hash of a token that sets a new password, until it expires or the password changes."""

    token_hash: bytes
    company_id: str
    user_id: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Joining:
    """A new user who takes the place of an invited member."""

    account: StoredAccount
    edit: MemberEdit
    invitation: StoredInvitation


class NextEvent(Protocol):
    """Computes the event to append after the last one in a log."""

    def __call__(self, last: LogEvent | None, *, has_peers: bool) -> LogEvent | None:
        """The next event, if any; `has_peers` if another daemon holds its lease now."""


VIEWS_MAX = 100


@dataclass(frozen=True, slots=True)
class StoredView:
    """A view of a list under a name of the person's own; `query` is that of the page's address."""

    company_id: str
    user_id: str
    list: str
    name: str
    query: str
    saved_at: datetime
