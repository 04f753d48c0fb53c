"""What a browser or a command keeps for the service: sealed, for one purpose and a short time."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12
CHARS_MAX = 4_000
T = TypeVar("T", bound=msgspec.Struct)


class Sealed:
    """Seals by the first of the keys for a purpose, and opens by any of them."""

    def __init__(self, keys: Callable[[bytes], Sequence[bytes]], now: Callable[[], datetime]) -> None:
        self._keys = keys
        self._now = now

    def seal(self, value: msgspec.Struct, until: datetime) -> str:
        purpose, nonce = _purpose(type(value)), os.urandom(NONCE_BYTES)
        plain = msgspec.json.encode((until.timestamp(), value))
        raw = nonce + AESGCM(self._keys(purpose)[0]).encrypt(nonce, plain, purpose)
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    def open(self, text: str, form: type[T]) -> T | None:
        """What was sealed; None when it was not sealed here, for something else, or is too old."""
        if not text.isascii() or len(text) > CHARS_MAX:
            return None
        try:
            raw = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), b"-_", validate=True)
        except ValueError:
            return None
        purpose = _purpose(form)
        for key in self._keys(purpose):
            try:
                plain = AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], purpose)
            except (InvalidTag, ValueError):
                continue
            until, value = msgspec.json.decode(plain, type=tuple[float, form])  # type: ignore[valid-type]
            return value if self._now().timestamp() < until else None
        return None


def _purpose(form: type[msgspec.Struct]) -> bytes:
    return b"single sign-on " + form.__name__.encode() + b"\x00"
