"""Refresh tokens of the page: each is used once, and replaced by its successor."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import NamedTuple, Self

from daemon.model import RefreshHashes

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
