"""People by the subject that an OpenID provider names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

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
