"""What people and programs prove who they are with, beside passwords."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple

from daemon.model.audit_events import Logged
from daemon.model.key_terms import KeyTerms, Scopes
from daemon.model.people.accounts import StoredAccount
from daemon.model.people.members import MemberEdit

KeyKind = Literal["service", "agent"]
API_KEYS_MAX = 100


class KeyNameTaken(Exception):
    """A live key of the company has this name."""


class TooManyApiKeys(Exception):
    """The company has as many live keys as it may have."""


@dataclass(frozen=True, slots=True)
class StoredApiKey:
    """A key by its SHA-256; a deleted one stays, since records name it."""

    company_id: str
    id: str
    name: str
    kind: KeyKind
    role: str
    prefix: str
    key_hash: bytes
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    deleted_at: datetime | None = None
    acts_for: bool = False
    """Whether it may say for whom it starts a run."""
    model: str | None = None
    models: tuple[str, ...] = ()
    """Globs of the models of which each call may name one."""
    scopes: Scopes | None = None
    """What it may do of what its role lets it; None for all of that."""

    @property
    def terms(self) -> KeyTerms:
        """What may be changed of it."""
        return KeyTerms(model=self.model, models=self.models, scopes=self.scopes)

    def under(self, terms: KeyTerms) -> StoredApiKey:
        """The same key under other terms."""
        return replace(self, model=terms.model, models=terms.models, scopes=terms.scopes)

    @property
    def made_by(self) -> str:
        """Who made it, and counts as doing what it does."""
        return self.created_by


class AddedKey(NamedTuple):
    """A new key, what the log says of it, and how many keys a company may have."""

    key: StoredApiKey
    logged: Logged
    most: int


@dataclass(frozen=True, slots=True)
class StoredSecondFactor:
    """A person's second factor; it counts from `confirmed_at`, and no more without a secret.

    `number` counts its changes. `last_step` is the time step of the last code that was used, and
    `session_id` the session in which it was confirmed.
    """

    company_id: str
    user_id: str
    number: int
    sealed_secret: bytes | None
    created_at: datetime
    confirmed_at: datetime | None = None
    last_step: int = 0
    session_id: str = ""

    @property
    def counts(self) -> bool:
        return self.sealed_secret is not None and self.confirmed_at is not None


class Enrolment(NamedTuple):
    """Whether a person's second factor counts after so many changes, and who confirmed it where."""

    number: int
    counts: bool
    session_id: str = ""


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

    account: StoredAccount
    edit: MemberEdit
    subject: Subject
