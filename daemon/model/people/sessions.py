"""Sessions: what a log-in began, until it is ended or expires."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from daemon.model.audit_events import PASSWORD, Logged

SessionKind = Literal["page", "api"]


class RefreshHashes(NamedTuple):
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
