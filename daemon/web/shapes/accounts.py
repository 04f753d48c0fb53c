"""The shapes of people and companies, and who a token stands for."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from typing_extensions import TypedDict


class UserShape(TypedDict):
    """A person."""

    id: str
    email: str
    name: str | None


class CompanyShape(TypedDict):
    """A tenant."""

    id: str
    name: str


class AccountShape(TypedDict):
    """Who a token stands for."""

    user: UserShape
    company: CompanyShape
    role: str


class SessionShape(AccountShape):
    """A token, and who it stands for."""

    token: str
    token_type: Literal["bearer"]
    expires_at: datetime
