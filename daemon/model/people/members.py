"""Members of companies: invited, joined, with a role, or removed; and their groups."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from actors.ports import Receipt
from daemon.model.audit_events import Caller, Logged

MemberStatus = Literal["pending", "active", "removed"]


class MembershipState(NamedTuple):
    """The role of a member since a change, None for one who is not active."""

    role: str | None
    changed_at: datetime
    company_id: str


class AlreadyMember(Exception):
    """The e-mail address belongs to a member of the company."""


class MembershipConflict(Exception):
    """A member is not as it was read: another change came first."""


class CallerChanged(MembershipConflict):
    """Who asks for a change is no member any more, or of another role."""

    def __init__(self, role: str | None) -> None:
        super().__init__()
        self.role = role


@dataclass(frozen=True, slots=True)
class StoredMember:
    """A person's membership of a company; a `pending` one has no user yet.

    The first membership of a user has the user's id.
    """

    company_id: str
    id: str
    user_id: str | None
    email: str
    role: str
    status: MemberStatus
    changed_at: datetime
    invited_by: str | None = None
    invited_at: datetime | None = None
    joined_at: datetime | None = None
    name: str | None = None

    @property
    def membership_state(self) -> MembershipState:
        return MembershipState(self.role if self.status == "active" else None, self.changed_at, self.company_id)


@dataclass(frozen=True, slots=True)
class StoredInvitation:
    """The hash of a token with which a person joins; it counts until it expires or is ended."""

    token_hash: bytes
    company_id: str
    member_id: str
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None


class MemberEdit(NamedTuple):
    """A member as it has to stand, and as it shall; None before is a new one."""

    before: StoredMember | None
    after: StoredMember


@dataclass(frozen=True, slots=True)
class PeopleChange:
    """Edits of members of one company that are written together, or not at all.

    Open invitations of the members are ended; `invitation` is a new one. The `caller` has to stand
    as it says: CallerChanged otherwise.
    """

    company_id: str
    edits: tuple[MemberEdit, ...]
    logged: tuple[Logged, ...]
    invitation: StoredInvitation | None = None
    receipt: Receipt | None = None
    caller: Caller | None = None


@dataclass(frozen=True, slots=True)
class StoredMembership:
    """A company that a person is an active member of."""

    company_id: str
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """Members of a company under a name."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupEdit:
    """A group as it shall be, and its event; None after deletes it."""

    company_id: str
    name: str
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None
    by: str
    at: datetime
    logged: Logged
    caller: Caller | None = None
