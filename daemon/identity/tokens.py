"""Tokens: JSON Web Tokens by the keys in a file; verified ones are cached."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import msgspec
import structlog

from actors.core.people import PrincipalKind
from actors.core.reading.scope import Reads
from daemon.keys.keyring import KeyFileRefused, KeyRing, mark, read_ring
from daemon.model import SESSION, StoredAccount, UserSession
from daemon.model.audit_events import Caller
from daemon.model.key_terms import NO_TERMS, KeyTerms

ALGORITHM = "HS256"
TYPE = "JWT"
ISSUER = AUDIENCE = "penstock"
CLAIMS = ["iss", "aud", "sub", "company", "role", "jti", "iat", "exp"]
SSO_PREFIX = "sso:"
SKEW_S = 30
"""How far ahead the clock of the daemon may be that issued a token."""
CACHE_MAX = 10_000
KEYS_CHECKED_S = 0.5
TOKEN_CHARS_MAX = 4_096
PWD = "pwd"  # noqa: S105 - a kind of proof, not a password
"""A password, as a proof (RFC 8176)."""
SSO = "sso"
"""How a session began, or a token came about, for which the provider vouches."""
_REFRESH = b"refresh token\x00"
# What a parser raises for claims and headers of any form: deep nesting and huge numbers, too.
_UNREADABLE = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)
_log = structlog.get_logger("penstock")


class OutOfScope(Exception):
    """The scopes of a key do not cover what it asks for: to start a vertical, or call a tool."""

    def __init__(self, scope: str, name: str) -> None:
        super().__init__(f"The scopes of this API key do not let it {scope} {name}.")
        self.required = f"{scope}:{name}"


class NotAuthenticated(Exception):
    """The token does not count."""


class MembershipEnded(NotAuthenticated):
    """The token is one of a member who was removed."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a request: a person with a session, or a machine with an API key.

    `email` is the name of a machine's key, and its `user_id` and `token_id` are the id of the key.
    Tokens of earlier versions are a session each. `amr` is what proved a person.
    """

    user_id: str
    company_id: str
    role: str
    email: str
    token_id: str
    expires_at: datetime
    via: str = SESSION
    session_id: str = ""
    epoch: int = 0
    member_id: str = ""
    kind: PrincipalKind = "person"
    amr: tuple[str, ...] = (PWD,)
    made_by: str | None = None
    """Of a machine's key: who made it."""
    acts_for: bool = False
    terms: KeyTerms = NO_TERMS

    @property
    def reads(self) -> Reads | None:
        """What it reads at most; None for all that its role does."""
        return None if self.terms.scopes is None else self.terms.scopes.reads

    def check_start(self, vertical: str) -> None:
        """OutOfScope where it may start no run of a vertical."""
        if self.terms.scopes is not None and not self.terms.scopes.may_start(vertical):
            raise OutOfScope("start", vertical)

    def check_call(self, tool: str, server: str | None) -> None:
        """OutOfScope where it may not call a tool."""
        name = tool if server is None else f"{server}/{tool}"
        if self.terms.scopes is not None and not self.terms.scopes.may_call(name):
            raise OutOfScope("call", name)

    def model(self, context: Mapping[str, Any] | None) -> str | None:
        """The model that makes a call: as its context says if the key lets it, else the key's."""
        said = (context or {}).get("model")
        return said if isinstance(said, str) and self.terms.lets_say(said) else self.terms.model

    @property
    def caller(self) -> Caller | None:
        """Who asks for a change, as the store looks at people within the write."""
        return Caller(self.member_id, self.role) if self.kind == "person" else None


class TokenClaims(msgspec.Struct, frozen=True):
    """The claims of a token, each of exactly this type."""

    iss: str
    aud: str
    sub: str
    company: str
    role: str
    email: str
    jti: str
    iat: int
    exp: int
    nbf: int = 0
    sid: str = ""
    epoch: int = 0
    member: str = ""
    via: str = ""
    amr: tuple[str, ...] = ()


class Tokens:
    """Signs and verifies tokens; the key file is read again when it changes."""

    def __init__(self, keys: Path, lifetime_max: timedelta, now: Callable[[], datetime]) -> None:
        self._keys = keys
        self._ring = read_ring(keys)
        self._ring_mark = mark(keys)
        self._ring_checked = 0.0
        self._lifetime_max_s = lifetime_max.total_seconds()
        self._now = now
        self._known: dict[str, Principal] = {}

    def verified(self, token: str) -> Principal:
        """The holder of a token that was valid once; NotAuthenticated when it is forged."""
        if time.monotonic() >= self._ring_checked + KEYS_CHECKED_S:
            self._current_ring()
        known = self._known.get(token)
        if known is None:
            self._current_ring()
            known = self._verified(token)
            if len(self._known) >= CACHE_MAX:
                del self._known[next(iter(self._known))]
            self._known[token] = known
        return known

    def issued(self, account: StoredAccount, session: UserSession, token_id: str, at: datetime, until: datetime) -> str:
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": account.user.id,
            "company": account.company.id,
            "member": account.member.id,
            "role": account.member.role,
            "email": account.user.email,
            "jti": token_id,
            "sid": session.id,
            "epoch": account.user.epoch,
            "iat": int(at.timestamp()),
            "exp": int(until.timestamp()),
            "amr": list(session.proofs),
        }
        if session.via == SSO:
            claims["via"] = SSO
        return self.signed(claims, self._current_ring().current)

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

    def derived(self, purpose: bytes) -> list[bytes]:
        """Secrets for a purpose: by the current key, then by the others."""
        ring = self._current_ring()
        ordered = sorted(ring.keys, key=lambda one: one != ring.current)
        return [hmac.new(ring.keys[key_id], purpose, hashlib.sha256).digest() for key_id in ordered]

    def successors(self, secret: str) -> Iterator[str]:
        """The secret that replaces one of a refresh token: by the current key, then by the others.

        It is computed and not drawn, so that each daemon gives the same one to a repeated request.
        """
        return (one.hex() for one in self.derived(_REFRESH + secret.encode()))

    def _verified(self, token: str) -> Principal:
        if len(token) > TOKEN_CHARS_MAX:
            raise NotAuthenticated
        try:
            header = jwt.get_unverified_header(token)
            key_id = header.get("kid")
            key = self._ring.keys.get(key_id) if isinstance(key_id, str) else None
            if header.get("typ") != TYPE or key is None:
                raise NotAuthenticated
            # Its beginning and its end are compared below, by the clock of the service.
            options = {"require": CLAIMS, "verify_exp": False, "verify_iat": False}
            known: Any = {"audience": AUDIENCE, "issuer": ISSUER, "options": options, "leeway": SKEW_S}
            claims = msgspec.convert(jwt.decode(token, key, [ALGORITHM], **known), TokenClaims)
        except _UNREADABLE as error:
            raise NotAuthenticated from error
        now = self._now().timestamp()
        begins = claims.iat <= now + SKEW_S  # the leeway is for the beginning alone
        if not begins or claims.exp <= now or claims.exp - claims.iat > self._lifetime_max_s:
            raise NotAuthenticated
        return Principal(
            user_id=claims.sub,
            company_id=claims.company,
            role=claims.role,
            email=claims.email,
            via=SSO if claims.via == SSO else SESSION,
            token_id=claims.jti,
            expires_at=datetime.fromtimestamp(claims.exp, self._now().tzinfo),
            session_id=claims.sid or claims.jti,
            epoch=claims.epoch,
            member_id=claims.member or claims.sub,
            amr=claims.amr or ((SSO_PREFIX,) if claims.via == SSO else (PWD,)),
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
