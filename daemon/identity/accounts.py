"""Accounts, login and tokens."""

from __future__ import annotations

import heapq
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import structlog

from actors.ports import Receipt
from daemon.identity.passwords import Passwords
from daemon.keys.keyring import KeyFileRefused, KeyRing, mark, read_ring
from daemon.model import SESSION, Account, Accounts, Company, User
from daemon.model.audit_events import SERVICE, Logged, LoggedIn, LoggedOut, LoginRefused, Registered
from daemon.runtime.clock import utc_now
from daemon.runtime.ids import new_id
from daemon.settings import Settings

ALGORITHM = "HS256"
TYPE = "JWT"
ISSUER = AUDIENCE = "penstock"
CLAIMS = ["iss", "aud", "sub", "company", "role", "jti", "iat", "exp"]
TEXTS = ("sub", "company", "role", "email", "jti")
CACHE_MAX = 10_000
KEYS_CHECKED_S = 0.5
TOKEN_CHARS_MAX = 4_096
OWNER = "owner"
EMAIL_CHARS_MAX = 320
_log = structlog.get_logger("penstock")


class NotAuthenticated(Exception):
    """The token does not count."""


class InvalidCredentials(Exception):
    """The e-mail address and the password do not belong together."""


@dataclass(frozen=True, slots=True)
class Principal:
    user_id: str
    company_id: str
    role: str
    email: str
    token_id: str
    expires_at: datetime
    via: str = SESSION


@dataclass(frozen=True, slots=True)
class Session:
    token: str
    expires_at: datetime
    account: Account
    token_id: str


class Revoked:
    """The revoked tokens that have not expired."""

    def __init__(self) -> None:
        self._expiries: list[tuple[datetime, str]] = []
        self._ids: set[str] = set()

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, token_id: str) -> bool:
        return token_id in self._ids

    def update(self, revoked: Mapping[str, datetime], now: datetime) -> None:
        """Add tokens with their expiry, and drop expired ones."""
        for token_id, expires_at in revoked.items():
            if token_id not in self._ids:
                self._ids.add(token_id)
                heapq.heappush(self._expiries, (expires_at, token_id))
        while self._expiries and self._expiries[0][0] <= now:
            self._ids.discard(heapq.heappop(self._expiries)[1])


class Identity:
    """Registration, login, logout, and checks of tokens; checked tokens are cached."""

    def __init__(
        self, accounts: Accounts, passwords: Passwords, keys: Path, *, token_ttl_s: int, now: Callable[[], datetime]
    ) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._keys = keys
        self._ring = read_ring(keys)
        self._ring_mark = mark(keys)
        self._ring_checked = 0.0
        self._ttl = timedelta(seconds=token_ttl_s)
        self._now = now
        self._revoked = Revoked()
        self._known: dict[str, Principal] = {}

    async def open(self) -> None:
        self.add_revoked(await self._accounts.revoked())

    def add_revoked(self, revoked: Mapping[str, datetime]) -> None:
        """Add tokens that were revoked by other daemons."""
        self._revoked.update(revoked, self._now())

    async def register(
        self,
        company: str,
        email: str,
        password: str,
        name: str | None,
        receipt: Callable[[Session], Receipt | None] = lambda _: None,
    ) -> Session:
        """Create a company, its first user and a session; EmailTaken if the address is known."""
        now = self._now()
        hashed = await self._passwords.hash(password)
        owned = Company(new_id(), company, now)
        account = Account(User(new_id(), owned.id, email, name, OWNER, hashed, now), owned)
        session = self._session(account)
        registered = Registered(at=now, by=email, company=company, role=OWNER, user=account.user.id)
        logged = (Logged(owned.id, registered), self._logged_in(session))
        await self._accounts.register(account, receipt(session), logged)
        return session

    async def log_in(self, email: str, password: str) -> Session:
        """Create a session; InvalidCredentials without account or with a wrong password.

        Both take the same time: without an account the refusal goes into the service's own log.
        """
        account = await self._accounts.account_by_email(email)
        if not await self._fits(account, password) or account is None:
            company_id = SERVICE if account is None else account.company.id
            refused = LoginRefused(at=self._now(), by=email[:EMAIL_CHARS_MAX])
            await self._accounts.log(Logged(company_id, refused))
            raise InvalidCredentials
        session = self._session(account)
        await self._accounts.log(self._logged_in(session))
        return session

    async def confirms(self, email: str, password: str) -> bool:
        return await self._fits(await self._accounts.account_by_email(email), password)

    async def log_out(self, principal: Principal) -> None:
        now = self._now()
        left = LoggedOut(at=now, by=principal.email, token=principal.token_id, via=principal.via)
        await self._accounts.revoke(principal.token_id, principal.expires_at, Logged(principal.company_id, left))
        self._revoked.update({principal.token_id: principal.expires_at}, now)
        self._known = {token: known for token, known in self._known.items() if known.token_id != principal.token_id}

    async def account(self, principal: Principal) -> Account:
        """The account of a token; NotAuthenticated when it no longer exists."""
        account = await self._accounts.account(principal.user_id)
        if account is None:
            raise NotAuthenticated
        return account

    def principal(self, token: str) -> Principal:
        """The owner of a token; NotAuthenticated when it is invalid, expired or revoked."""
        if time.monotonic() >= self._ring_checked + KEYS_CHECKED_S:
            self._current_ring()
        known = self._known.get(token)
        if known is None:
            self._current_ring()
            known = self._verified(token)
            if len(self._known) >= CACHE_MAX:
                del self._known[next(iter(self._known))]
            self._known[token] = known
        if known.expires_at <= self._now() or known.token_id in self._revoked:
            raise NotAuthenticated
        return known

    def signed(self, claims: dict[str, Any], key_id: str) -> str:
        """Token with these claims, always the same bytes; NotAuthenticated if the key is gone."""
        ring = self._current_ring()
        if key_id not in ring.keys:
            raise NotAuthenticated
        return jwt.encode(claims, ring.keys[key_id], ALGORITHM, headers={"kid": key_id})

    def claims(self, token: str) -> tuple[dict[str, Any], str]:
        """The claims of a valid token, and the id of its key."""
        return (
            jwt.decode(token, options={"verify_signature": False, "verify_exp": False, "verify_aud": False}),
            jwt.get_unverified_header(token)["kid"],
        )

    async def _fits(self, account: Account | None, password: str) -> bool:
        return await self._passwords.verify(None if account is None else account.user.password_hash, password)

    def _logged_in(self, session: Session) -> Logged:
        user = session.account.user
        entered = LoggedIn(at=self._now(), by=user.email, token=session.token_id, until=session.expires_at)
        return Logged(user.company_id, entered)

    def _session(self, account: Account) -> Session:
        issued = self._now().replace(microsecond=0)
        expires, token_id = issued + self._ttl, new_id()
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": account.user.id,
            "company": account.company.id,
            "role": account.user.role,
            "email": account.user.email,
            "jti": token_id,
            "iat": int(issued.timestamp()),
            "exp": int(expires.timestamp()),
        }
        return Session(self.signed(claims, self._current_ring().current), expires, account, token_id)

    def _verified(self, token: str) -> Principal:
        if len(token) > TOKEN_CHARS_MAX:
            raise NotAuthenticated
        try:
            header = jwt.get_unverified_header(token)
            key_id = header.get("kid")
            key = self._ring.keys.get(key_id) if isinstance(key_id, str) else None
            if header.get("typ") != TYPE or key is None:
                raise NotAuthenticated
            claims = jwt.decode(token, key, [ALGORITHM], audience=AUDIENCE, issuer=ISSUER, options={"require": CLAIMS})
        except (jwt.PyJWTError, ValueError) as error:
            raise NotAuthenticated from error
        lifetime_s = claims["exp"] - claims["iat"]
        if lifetime_s > self._ttl.total_seconds() or not all(isinstance(claims.get(name), str) for name in TEXTS):
            raise NotAuthenticated
        return Principal(
            user_id=claims["sub"],
            company_id=claims["company"],
            role=claims["role"],
            email=claims["email"],
            token_id=claims["jti"],
            expires_at=datetime.fromtimestamp(claims["exp"], self._now().tzinfo),
        )

    def _current_ring(self) -> KeyRing:
        """The keys in the file; the earlier ones while it cannot be read."""
        self._ring_checked, seen = time.monotonic(), mark(self._keys)
        if seen != self._ring_mark:
            self._ring_mark = seen
            try:
                self._ring, self._known = read_ring(self._keys), {}
            except KeyFileRefused as refused:
                _log.error("token_keys_invalid", reason=str(refused))
        return self._ring


@asynccontextmanager
async def open_identity(settings: Settings, keys: Path, accounts: Accounts) -> AsyncIterator[Identity]:
    with closing(Passwords(settings.password_hashes_max)) as passwords:
        identity = Identity(accounts, passwords, keys, token_ttl_s=settings.token_ttl_s, now=utc_now)
        await identity.open()
        yield identity
