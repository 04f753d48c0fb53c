"""People by the subject that an OpenID provider names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from daemon.model.audit_events import Logged
from daemon.model.people.accounts import Account
from daemon.model.people.members import MemberEdit


@dataclass(frozen=True, slots=True)
class Subject:
    """A user as a provider names them; the company is the one that they came to by it."""

    issuer: str
    subject: str
    company_id: str
    user_id: str
    created_at: datetime


class Arrival(NamedTuple):
    """A new user without a password, who becomes a member by single sign-on."""

    account: Account
    edit: MemberEdit
    subject: Subject


class SubjectRepository(Protocol):
    async def subject(self, issuer: str, subject: str) -> Subject | None: ...

    async def link_subject(self, subject: Subject, logged: Logged) -> bool:
        """Keep who a subject is; False when it is somebody already."""

    async def arrive(self, arrival: Arrival, logged: tuple[Logged, ...]) -> None:
        """Keep a new user as a member; EmailTaken, or MemberChanged for another one meanwhile."""

    async def is_linked(self, user_id: str, issuer: str) -> bool:
        """Whether the issuer names the user under some subject already."""

    async def was_removed(self, company_id: str, email: str) -> bool:
        """Whether a member with this address was removed from the company."""
