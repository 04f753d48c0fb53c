"""Sessions and their refresh tokens: begun, refreshed, listed and ended."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Any, Literal, NamedTuple, Self

import structlog
from msgspec import structs

from actors.ports import StoreFailed
from daemon.identity.proofs import Proofs, by_provider, merged
from daemon.identity.revocations import Epochs, MembershipStates, Revoked, RightsChanged
from daemon.identity.tokens import PWD, SSO, NotAuthenticated, Principal, Tokens
from daemon.model import (
    EpochChange,
    MembershipState,
    RefreshHashes,
    SessionEnd,
    SessionKind,
    SessionQuery,
    StoredAccount,
    TokenEpoch,
    UserSession,
)
from daemon.model.audit_events import (
    PASSWORD,
    Caller,
    Logged,
    LoggedIn,
    LoggedOut,
    PasswordChanged,
    SessionEnded,
    SessionsEnded,
    password_digest,
)
from daemon.runtime.clock import new_id
from daemon.settings import Settings
from daemon.stores.store import Store

GRACE = timedelta(seconds=10)
CHARS_MAX = 300
SECRET_BYTES = 32


class RefreshToken(NamedTuple):
    """The session, a secret of all its refresh tokens, and the secret of this one.

    Nobody without the secret of the family can pretend that a token is used again.
    """

    session_id: str
    family: str
    secret: str

    @classmethod
    def new(cls, session_id: str) -> Self:
        return cls(session_id, secrets.token_hex(SECRET_BYTES), secrets.token_hex(SECRET_BYTES))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        parts = text.split(".") if len(text) <= CHARS_MAX and text.isascii() else []
        return cls(*parts) if len(parts) == len(cls._fields) else None

    def __str__(self) -> str:
        return ".".join(self)

    def hashes(self, at: datetime) -> RefreshHashes:
        """What is kept of the first token of a session."""
        return RefreshHashes(hashed(self.family), hashed(self.secret), b"", at)

    def belongs_to(self, kept: RefreshHashes) -> bool:
        """Whether the token is one of the session's, however old."""
        return compare_digest(hashed(self.family), kept.family)

    def is_current(self, kept: RefreshHashes) -> bool:
        return compare_digest(hashed(self.secret), kept.current)

    def is_repeated(self, kept: RefreshHashes, now: datetime) -> bool:
        """Whether the token was replaced a moment ago: another tab or a retry sent it again."""
        return compare_digest(hashed(self.secret), kept.previous) and now < kept.rotated_at + GRACE

    def replaced(self, kept: RefreshHashes, successor: str, at: datetime) -> RefreshHashes:
        """What is kept from the use of the current token on."""
        return RefreshHashes(kept.family, hashed(successor), kept.current, at)


def known_among(successors: Iterable[str], kept: RefreshHashes) -> str | None:
    """The successor that took the place of the previous token."""
    return next((one for one in successors if compare_digest(hashed(one), kept.current)), None)


def hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


USED_S, HOUR_S = 60.0, 3_600
TOUCH_MAX, PAGE_MAX = 500, 200
REFRESH, COMMAND = "refresh", "command"
OPERATOR = "operator"
UNPROVEN = frozenset({"switch", "invitation"})
"""How sessions of earlier versions began of which nobody knows what proved them."""
# Daemons' clocks may differ, and a token may be issued while its session ends.
MARGIN = timedelta(minutes=1)
EndReason = Literal["ended", "reused"]
_log = structlog.get_logger("penstock")


class ClientInfo(NamedTuple):
    """Who asks for a session: a page or an API client, and where it runs."""

    kind: SessionKind = "api"
    address: str = ""
    user_agent: str = ""


API_CLIENT = ClientInfo()


@dataclass(frozen=True, slots=True)
class BegunSession:
    """A session with a new token, and for a page its new refresh token."""

    token: str
    expires_at: datetime
    account: StoredAccount
    token_id: str
    record: UserSession
    refresh: str = ""


class SessionProof(NamedTuple):
    """What proved a session, the provider's session, and how long the provider's word counts."""

    amr: tuple[str, ...]
    provider_sid: str = ""
    until: datetime | None = None


BY_PASSWORD = SessionProof((PWD,))


class Lifetimes(NamedTuple):
    """How long tokens of each kind, sessions of the page and those by a provider last."""

    api_token: timedelta
    page_token: timedelta
    page_idle: timedelta
    page_session: timedelta
    provider_session: timedelta

    @classmethod
    def from_settings(cls, settings: Settings) -> Lifetimes:
        seconds = (settings.token_ttl_s, settings.page_token_ttl_s, settings.page_idle_s, settings.page_session_ttl_s)
        return cls(*(timedelta(seconds=one) for one in (*seconds, settings.oidc_session_hours * HOUR_S)))

    @property
    def longest(self) -> timedelta:
        """The longest lifetime of a token."""
        return max(self.api_token, self.page_token)


class Sessions:
    """Which tokens count: ended sessions and past epochs are kept in memory."""

    def __init__(
        self, store: Store, tokens: Tokens, lifetimes: Lifetimes, proofs: Proofs, now: Callable[[], datetime]
    ) -> None:
        self.proofs = proofs
        self._store = store
        self._tokens = tokens
        self._lifetimes = lifetimes
        self._now = now
        self._revoked = Revoked()
        self._epochs = Epochs()
        self.standings = MembershipStates()
        self.rights_changed = RightsChanged()
        self.standings.subscribe(self.rights_changed.tell)
        self._used: set[str] = set()

    async def open(self) -> None:
        now = self._now()
        changed = await self._store.standings(now - self._lifetimes.longest - MARGIN)
        self.apply(await self._store.revoked(), await self._store.epochs(now), changed)

    def apply(
        self,
        revoked: Mapping[str, datetime],
        epochs: Mapping[str, TokenEpoch],
        standings: Mapping[str, MembershipState],
    ) -> None:
        """Add what was ended and which roles were changed by other daemons."""
        self.standings.update(standings)
        self._revoked.update(revoked, self._now())
        self._epochs.update(epochs, self._now())
        if revoked or epochs:
            self.rights_changed.tell()

    def principal(self, token: str) -> Principal:
        """The holder of a token; NotAuthenticated when it is invalid, expired or ended."""
        known = self._tokens.verified(token)
        if known.expires_at <= self._now() or known.session_id in self._revoked:
            raise NotAuthenticated
        if self._epochs.past(known.user_id, known.epoch, known.session_id):
            raise NotAuthenticated
        known = self.standings.with_present_role(known)
        self._used.add(known.session_id)
        return known

    def begin(
        self, account: StoredAccount, client: ClientInfo, proof: SessionProof, via: str = PASSWORD, session_id: str = ""
    ) -> tuple[BegunSession, Logged]:
        """A new session, perhaps under a given id, and its event; the caller keeps both."""
        now, session_id, user = self._now().replace(microsecond=0), session_id or new_id(), account.user
        page = client.kind == "page"
        refresh = RefreshToken.new(session_id) if page else None
        until = now + (self._lifetimes.page_session if page else self._lifetimes.api_token)
        if by_provider(proof.amr):
            until = min(until, proof.until or now + self._lifetimes.provider_session)
        company_id = account.company.id
        where = (company_id, session_id, user.id, client.kind, now, until, now, client.address, client.user_agent)
        hashes = None if refresh is None else refresh.hashes(now)
        record = UserSession(*where, refresh=hashes, via=via, amr=proof.amr, provider_sid=proof.provider_sid)
        session = self._issued(account, record, session_id, "" if refresh is None else str(refresh))
        names: dict[str, Any] = {"session": session_id, "token": session_id, "until": until, "via": via}
        if proof.provider_sid:
            names["provider_sid"] = proof.provider_sid
        logged = LoggedIn(at=self._now(), amr=proof.amr, by=user.email, kind=client.kind, **names)
        return session, Logged(company_id, logged)

    async def carried(self, principal: Principal, more: tuple[str, ...] = ()) -> SessionProof:
        """The proof of a session for another one, which ends no later where a provider vouches."""
        amr, record = merged(self.proofs.amr(principal), more), await self._store.session(principal.session_id)
        if record is None:
            return SessionProof(amr, until=principal.expires_at)
        return SessionProof(amr, record.provider_sid, record.expires_at)

    async def refresh(self, text: str) -> BegunSession:
        """A new token for a refresh token, which is replaced; NotAuthenticated when it fails.

        A token that was replaced earlier may be a thief's, or the thief has its successor: the
        session ends.
        """
        given, now = RefreshToken.parse(text), self._now()
        record = None if given is None else await self._store.session(given.session_id)
        if given is None or record is None or record.refresh is None or not given.belongs_to(record.refresh):
            raise NotAuthenticated
        # Read before the session is looked at last: an epoch that began in between ended it.
        account = await self._store.account(record.user_id, record.company_id)
        if account is None or not self._live(record, now):
            raise NotAuthenticated
        if given.is_current(record.refresh):
            successor = next(self._tokens.successors(given.secret))
            if await self._store.rotate_session(record, given.replaced(record.refresh, successor, now)):
                return self._issued(account, record, new_id(), str(given._replace(secret=successor)))
        return await self._repeated(given, account, record.id)

    async def live(self, principal: Principal, before: str | None, limit: int) -> Sequence[UserSession]:
        """The user's sessions that count, newest first; of who has not shown the password, here."""
        now = self._now()
        idle_since = now - self._lifetimes.page_idle
        query = SessionQuery(principal.user_id, now, idle_since, before, limit, _confined(principal))
        found = await self._store.sessions_of(query)
        # When the caller's own was used is written later.
        return [replace(one, last_used_at=now) if one.id == principal.session_id else one for one in found]

    async def end(self, principal: Principal, session_id: str) -> bool:
        """End a session of the user, as `live` lists them; False when there is none of this id."""
        record = await self._store.session(session_id)
        if record is None or record.user_id != principal.user_id or not self._live(record, self._now()):
            return False
        if _confined(principal) not in ("", record.company_id):
            return False
        return await self._end(record, principal.email, "ended", principal.via)

    async def end_by_provider(self, record: UserSession) -> None:
        """End a session whose provider has ended its own."""
        account = await self._store.account(record.user_id, record.company_id)
        await self._end(record, "" if account is None else account.user.email, "ended", SSO)

    async def log_out(self, principal: Principal) -> None:
        now, session_id = self._now(), principal.session_id
        until = max(principal.expires_at, now + self._lifetimes.page_token + MARGIN)
        names: dict[str, Any] = {
            "by": principal.email,
            "token": principal.token_id,
            "session": session_id,
            "via": principal.via,
        }
        logged = Logged(principal.company_id, LoggedOut(at=now, until=until, **names))
        if not await self._store.end_session(SessionEnd(principal.company_id, session_id, now, until, logged)):
            await self._store.revoke(session_id, until, logged)  # a token of an earlier version
        self._revoked.update({session_id: until}, now)
        self.rights_changed.tell()

    async def end_others(self, principal: Principal) -> None:
        """End all sessions of the user, as `live` lists them, but that of the caller."""
        if _confined(principal):
            before = None
            while page := await self.live(principal, before, PAGE_MAX):
                before = page[-1].id
                for one in page:
                    if one.id != principal.session_id:
                        await self._end(one, principal.email, "ended", principal.via)
            return
        who = (principal.user_id, principal.company_id)
        account = await self._store.account(*who)
        while account is not None and not await self.advance(account, principal.session_id, principal.via):
            account = await self._store.account(*who)

    async def advance(
        self,
        account: StoredAccount,
        kept: str,
        via: str,
        password_hash: str | None = None,
        *,
        by: str | None = None,
        caller: Caller | None = None,
    ) -> bool:
        """End all sessions of a user but `kept`, perhaps with a new password; False when stale."""
        now = self._now()
        epoch = TokenEpoch(account.user.epoch + 1, kept, now + self._lifetimes.longest + MARGIN)
        change = EpochChange(account.user.company_id, account.user.id, epoch, password_hash)
        logged = structs.replace(epoch_begun(change, by or account.user.email, via, now), caller=caller)
        if not await self._store.advance_epoch(change, now, logged):
            return False
        self._epochs.update({change.user_id: change.epoch}, now)
        self.rights_changed.tell()
        return True

    async def record_use(self) -> None:
        """Write when sessions were used, a bounded number in each transaction."""
        used, self._used = sorted(self._used), set()
        for first in range(0, len(used), TOUCH_MAX):
            with suppress(StoreFailed):  # it is written with the next use
                await self._store.touch_sessions(used[first : first + TOUCH_MAX], self._now())

    async def _repeated(self, given: RefreshToken, account: StoredAccount, session_id: str) -> BegunSession:
        """The successor again for a token that was just replaced; otherwise the session ends."""
        record, now = await self._store.session(session_id), self._now()
        if record is None or record.refresh is None or not self._live(record, now):
            raise NotAuthenticated
        if given.is_repeated(record.refresh, now):
            successor = known_among(self._tokens.successors(given.secret), record.refresh)
            if successor is not None:
                return self._issued(account, record, new_id(), str(given._replace(secret=successor)))
        _log.warning("refresh_token_reused", company_id=record.company_id, session_id=record.id)
        await self._end(record, account.user.email, "reused", REFRESH)
        raise NotAuthenticated

    async def _end(self, record: UserSession, by: str, reason: EndReason, via: str) -> bool:
        now = self._now()
        latest = now + self._lifetimes.page_token + MARGIN
        until = record.expires_at if record.kind == "api" else min(record.expires_at, latest)
        ended = SessionEnded(at=now, by=by, reason=reason, session=record.id, until=until, via=via)
        logged = Logged(record.company_id, ended)
        known = await self._store.end_session(SessionEnd(record.company_id, record.id, now, until, logged))
        self._revoked.update({record.id: until}, now)
        self.rights_changed.tell()
        return known

    def _live(self, record: UserSession, now: datetime) -> bool:
        if record.ended_at is not None or record.expires_at <= now:
            return False
        if not record.amr and record.via in UNPROVEN:
            return False
        if by_provider(record.proofs) and now >= record.created_at + self._lifetimes.provider_session:
            return False  # also one of an earlier version, which set no such end
        return record.kind == "api" or now < record.last_used_at + self._lifetimes.page_idle

    def _issued(self, account: StoredAccount, record: UserSession, token_id: str, refresh: str) -> BegunSession:
        now = self._now().replace(microsecond=0)
        life = self._lifetimes.page_token if record.kind == "page" else self._lifetimes.api_token
        expires = min(now + life, record.expires_at)
        token = self._tokens.issued(account, record, token_id, now, expires)
        return BegunSession(token, expires, account, token_id, record, refresh)


def _confined(principal: Principal) -> str:
    """The company in which a session counts that no password has proven; nothing for others."""
    return "" if PWD in principal.amr else principal.company_id


async def end_all(store: Store, email: str, lifetimes: Lifetimes, now: Callable[[], datetime]) -> bool:
    """End all sessions of an account for the operator; False when there is no such account."""
    ended = False
    while not ended:
        account = await store.account_by_email(email)
        if account is None:
            return False
        at = now()
        epoch = TokenEpoch(account.user.epoch + 1, "", at + lifetimes.longest + MARGIN)
        change = EpochChange(account.user.company_id, account.user.id, epoch)
        ended = await store.advance_epoch(change, at, epoch_begun(change, OPERATOR, COMMAND, at))
    return True


def epoch_begun(change: EpochChange, by: str, via: str, at: datetime) -> Logged:
    """The event of a new epoch: of a new password, or of sessions that were ended."""
    number, kept, until = change.epoch
    names: dict[str, Any] = {"by": by, "epoch": number, "kept": kept, "until": until, "user": change.user_id}
    if change.password_hash is None:
        return Logged(change.company_id, SessionsEnded(at=at, via=via, **names))
    digest = password_digest(change.password_hash)
    return Logged(change.company_id, PasswordChanged(at=at, via=via, digest=digest, **names))
