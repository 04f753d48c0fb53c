"""Sessions: what a log-in began, until it is ended or expires."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from daemon.model.audit_events import PASSWORD, Logged
from daemon.model.events.policies import StoredPolicy
from daemon.model.people.second_factors import Enrolment, SecondFactor

SessionKind = Literal["page", "api"]


@dataclass(frozen=True, slots=True)
class RefreshHashes:
    """SHA-256 of what all refresh tokens of a session share, of the current one, and the last."""

    family: bytes
    current: bytes
    previous: bytes
    rotated_at: datetime


@dataclass(frozen=True, slots=True)
class UserSession:
    """A log-in of a user. A page's session has refresh tokens; an API client's has one token.

    `amr` is what proved it (RFC 8176): `pwd`, `otp`, or `sso:` with the issuer, whose session is
    `provider_sid`.
    """

    company_id: str
    id: str
    user_id: str
    kind: SessionKind
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime
    address: str
    user_agent: str
    ended_at: datetime | None = None
    refresh: RefreshHashes | None = None
    via: str = PASSWORD
    amr: tuple[str, ...] = ()
    provider_sid: str = ""

    @property
    def proofs(self) -> tuple[str, ...]:
        """What proved it; earlier versions kept only how it began."""
        return self.amr or (("sso:",) if self.via == "sso" else ("pwd",))


class TokenEpoch(NamedTuple):
    """Tokens of a user with a lower number do not count, but for those of the session `kept`.

    After `until` all of them have expired.
    """

    number: int
    kept: str
    until: datetime


class EpochChange(NamedTuple):
    """Ends all sessions of a user but the one that `epoch` keeps; may replace the password."""

    company_id: str
    user_id: str
    epoch: TokenEpoch
    password_hash: str | None = None


class SessionQuery(NamedTuple):
    """The sessions of a user that count at a time; a page's only if used after `idle_since`.

    With a company those in that alone.
    """

    user_id: str
    at: datetime
    idle_since: datetime
    before: str | None
    limit: int
    company_id: str = ""


class SessionEnd(NamedTuple):
    """The end of a session, whose tokens expire by `until`, and its event."""

    company_id: str
    session_id: str
    at: datetime
    until: datetime
    logged: Logged


class SessionStart(NamedTuple):
    """A new session, the user's epoch when it was made, and its event."""

    session: UserSession
    epoch: int
    logged: Logged


class SessionRepository(Protocol):
    async def begin_session(self, session: UserSession, epoch: int, logged: Logged) -> bool:
        """Keep a new session; False when the user's epoch is another one by now, or no member."""

    async def session(self, session_id: str) -> UserSession | None: ...

    async def sessions_of(self, query: SessionQuery) -> Sequence[UserSession]:
        """The sessions of a user, newest first; those before one of them for a further page."""

    async def provider_sessions(self, user_id: str, sid: str, at: datetime) -> Sequence[UserSession]:
        """The sessions by a provider that count: of a user, of a session of its own, or both."""

    async def rotate_session(self, session: UserSession, refresh: RefreshHashes) -> bool:
        """Replace the refresh token; False when it was replaced or the session ended meanwhile."""

    async def touch_sessions(self, session_ids: Collection[str], at: datetime) -> None:
        """Record that sessions were used at that time."""

    async def end_session(self, end: SessionEnd) -> bool:
        """End a session; False when there is none to end.

        No daemon accepts its tokens when this returns.
        """

    async def advance_epoch(self, change: EpochChange, at: datetime, logged: Logged) -> bool:
        """End a user's other sessions; False when the user's epoch is not the one before.

        No daemon accepts their tokens when this returns.
        """

    async def epochs(self, after: datetime) -> Mapping[str, TokenEpoch]:
        """The epochs by user that earlier tokens may still outlive at that time."""

    async def drop_sessions(self, before: datetime) -> int:
        """Delete the sessions that expired before that time; returns how many."""


class PolicyRepository(Protocol):
    async def policy(self, company_id: str) -> StoredPolicy | None: ...

    async def put_policy(self, policy: StoredPolicy, logged: Logged) -> bool:
        """Store a policy; False when its number does not follow on the stored one.

        Every daemon knows it when this returns.
        """

    async def demanding_policies(self) -> Sequence[StoredPolicy]:
        """The policies that ask for second factors."""


class SecondFactorRepository(Protocol):
    async def second_factor(self, user_id: str) -> SecondFactor | None: ...

    async def put_second_factor(self, factor: SecondFactor, logged: Logged) -> bool:
        """Store a second factor; False when its number does not follow on the stored one.

        Every daemon knows it when this returns.
        """

    async def use_step(self, factor: SecondFactor, step: int) -> bool:
        """Record the time step of a used code; False when one as late was used, or on a change."""

    async def enrolments(self) -> Mapping[str, Enrolment]:
        """The users whose second factor counts."""
