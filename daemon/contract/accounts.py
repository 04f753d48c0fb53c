"""People, companies and sessions."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from daemon.contract.addresses import Email
from daemon.contract.base import Request, Response, example
from daemon.contract.text import Name

Code = Annotated[str, Field(min_length=1, max_length=64)]
AMR = "What proved the session: `pwd`, `otp`, or `sso:` with the issuer; `[]` for an API key."
Password = Annotated[str, Field(min_length=8, max_length=256)]


class Registration(Request):
    """A new company and its first user, or a new user in the company of an invitation."""

    model_config = example({"email": "ada@example.test", "password": "correct horse", "company_name": "Example Health"})

    email: Email
    password: Password
    company_name: Name | None = None
    invitation: str | None = Field(default=None, min_length=1, max_length=200, repr=False)
    name: Name | None = None
    code: Code | None = Field(default=None, description="With an invitation, of an account with a second factor.")


class Founding(Registration):
    """A registration without an invitation."""

    company_name: Name
    invitation: None = None
    code: None = None


class Newcomer(Registration):
    """A registration with an invitation."""

    company_name: None = None
    invitation: str = Field(min_length=1, max_length=200, repr=False)


class Login(Request):
    """An e-mail address and its password; a code where the person has a second factor."""

    model_config = example({"email": "ada@example.test", "password": "correct horse"})

    email: str = Field(max_length=1_000)
    password: str = Field(max_length=1_000)
    code: Code | None = None
    company_id: str | None = Field(default=None, max_length=100)


class SignOnCode(Request):
    """A code of single sign-on, and the secret whose challenge asked for it."""

    model_config = example({"code": "c2VhbGVk", "verifier": "s" * 43})

    code: str = Field(min_length=1, max_length=4_000)
    verifier: str = Field(min_length=43, max_length=128)


class NewPassword(Request):
    """A password and the one that takes its place."""

    model_config = example({"current": "correct horse", "new": "correct horse battery"})

    current: str = Field(max_length=1_000)
    new: Password


class ForgottenPassword(Request):
    """The e-mail address of an account."""

    model_config = example({"email": "ada@example.test"})

    email: Email


class PasswordReset(Request):
    """The token of a mailed link, and the new password."""

    model_config = example({"token": "3vJ0mZk8sYQ1hUe7xR2bTn4wLdCg6aPf9iKoXyMzA5E", "new": "correct horse battery"})

    token: str = Field(max_length=200, repr=False)
    new: Password


class AuthOptions(Response):
    """How one may get a session here: who may register, and whether links are mailed."""

    registration: Literal["open", "invited"] = "open"
    password_reset: bool = False
    sso: bool = False


class User(Response):
    """A person."""

    id: str
    email: str
    name: str | None = None


class Company(Response):
    """A tenant."""

    id: str
    name: str


class Account(Response):
    """The user, company and role that a token stands for."""

    user: User
    company: Company
    role: str


class Membership(Response):
    """A company of a person, and the role there."""

    id: str
    name: str
    role: str


class OwnAccount(Account):
    """Who makes the request, and the companies to switch to."""

    member_id: str | None = None
    kind: Literal["person", "service", "agent"]
    companies: list[Membership]
    second_factor: bool = False
    amr: tuple[str, ...] = Field((), description=AMR)
    has_password: bool = Field(False, description="False for who signs in by a provider alone.")  # noqa: FBT003


class Session(Account):
    """A token and its account."""

    token: str = Field(repr=False)
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - a kind of token
    expires_at: datetime


class PageSession(Account):
    """An account; the page's token is in a cookie, and expires then."""

    expires_at: datetime


class ActiveSession(Response):
    """A log-in of the caller that counts; `current` is that of the request."""

    id: str
    kind: Literal["page", "api"]
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    address: str
    user_agent: str
    amr: tuple[str, ...] = Field((), description=AMR)
    current: bool


_HALF = 1_000


def number_of(challenge: str) -> str:
    """The short number of a sign-in, by the challenge that begins it."""
    digits = int.from_bytes(hashlib.sha256(challenge.encode()).digest()[:8], "big") % (_HALF * _HALF)
    return f"{digits // _HALF:03d} {digits % _HALF:03d}"
