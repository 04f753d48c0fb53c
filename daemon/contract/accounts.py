"""Who uses the service: people, companies, sessions, second factors and API keys."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StringConstraints

from daemon.contract.base import Email, Glob, Name, Request, Response, example

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


class SecondFactorRequest(Request):
    """The password of who enrols a second factor."""

    model_config = example({"password": "correct horse"})

    password: str = Field(max_length=1_000)


class SecondFactor(Response):
    """A secret for an app that makes codes; it counts once a code of it is confirmed."""

    model_config = example(
        {
            "secret": "JBSWY3DPEHPK3PXP",
            "uri": "otpauth://totp/Penstock:ada%40example.test?secret=JBSWY3DPEHPK3PXP&issuer=Penstock",
        }
    )

    secret: str = Field(repr=False)
    uri: str = Field(repr=False)


class SecondFactorCode(Request):
    """A code of a second factor."""

    model_config = example({"code": "123456"})

    code: Code


class RecoveryCodes(Response):
    """Codes that each stand in once for one of the app."""

    model_config = example({"recovery_codes": ["QXVN-MCT4-7Y2K-PLAD"]})

    recovery_codes: list[str] = Field(repr=False)


class SecondFactorRemoval(Request):
    """The password, and a code of the second factor."""

    model_config = example({"password": "correct horse", "code": "123456"})

    password: str = Field(max_length=1_000)
    code: Code


KeyKind = Literal["service", "agent"]
KeyRole = Literal["viewer", "member", "manager", "admin"]
RESERVED = frozenset({"autopilot", "deadline", "operator", "service"})
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d")
NEVER = r"@\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
"""What a name never holds: an at sign, controls, and characters that cannot be seen."""
KEY_NAME = re.compile(rf"[^{NEVER}]*[^\s{NEVER}][^{NEVER}]*")


def _name(value: str) -> str:
    """Records name a key as they name people and the service."""
    if not KEY_NAME.fullmatch(value):
        raise ValueError("holds an @, which is for people, or characters that cannot be seen")
    if value.casefold() in RESERVED:
        raise ValueError("is what records call the service itself")
    return value


def _written(value: Any) -> Any:
    """Only text of RFC 3339: pydantic takes numbers for times, too."""
    if not isinstance(value, str) or not MOMENT.match(value):
        raise ValueError("is no RFC 3339 time with its offset")
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("is beyond all times") from None


Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written), AfterValidator(_in_utc)]


VerticalGlob = Annotated[str, Field(pattern=r"^[a-z0-9*?-]{1,200}$")]
Globs = Annotated[list[Glob], Field(max_length=100)]
VerticalGlobs = Annotated[list[VerticalGlob], Field(max_length=100)]


class KeyScopesForm(Request):
    """What a key may do of what its role lets it, by globs of `*` and `?`; all of it without one.

    `start` names processes, and `call` tools of actions: `tool`, or `server/tool` for those of a
    server. `read` is what it reads of runs: `own`, those that it started, or processes, or `all`.
    """

    start: VerticalGlobs | None = None
    call: Globs | None = None
    read: Literal["own", "all"] | VerticalGlobs | None = None


class ApiKeyTerms(Request):
    """Which model uses a key, and how little it may do.

    A call may say its model in `context.model` where it is one of `models`, which are globs; what
    else it says there is not believed.
    """

    model_config = example({"model": "assistant-4", "models": [], "scopes": {"call": ["stripe/*"], "read": "own"}})

    model: Glob | None = None
    models: Globs = Field(default_factory=list)
    scopes: KeyScopesForm | None = None


class ApiKeyDefinition(ApiKeyTerms):
    """A name, and what the key may do: an agent at most what a member may, a service an admin."""

    model_config = example({"name": "triage agent", "role": "member", "kind": "agent"})

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
        AfterValidator(_name),
        Field(json_schema_extra={"pattern": f"^{KEY_NAME.pattern}$"}),
    ]
    role: KeyRole
    kind: KeyKind
    expires_at: Moment | None = None
    acts_for: bool = Field(default=False, description="Whether it may start runs on behalf of members.")


class KeyScopes(Response):
    """What a key may do of what its role lets it, by globs."""

    start: list[str] | None = None
    call: list[str] | None = None
    read: Literal["own", "all"] | list[str] | None = None


class ApiKey(Response):
    """A key, without its secret; use is recorded once a minute."""

    id: str
    name: str
    kind: KeyKind
    role: str
    prefix: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    made_by: str = Field(description="Who counts, for four eyes, as doing what the key does.")
    acts_for: bool = False
    model: str | None = Field(None, description="The model that uses it.")
    models: list[str] = Field([], description="Globs of the models of which a call may name one.")
    scopes: KeyScopes | None = Field(None, description="What it may do of what its role lets it.")


class NewApiKey(ApiKey):
    """A new key, with its secret; it is not shown again."""

    key: str = Field(repr=False)
