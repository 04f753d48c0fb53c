"""The URLs at which calls are answered later: signed, each for one visit."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from actors.core.messages import Call
from daemon.runtime.json_codec import NotJson, dumps, loads

HEADER = "X-Penstock-Callback"
TOKEN_CHARS_MAX = 1_000
MAC_BYTES = 32


class CallbackVisit(NamedTuple):
    """The visit whose call is answered."""

    company_id: str
    run_id: str
    step_id: str
    visit: int


class Callbacks:
    """Makes and reads the URLs; `keys` are the current one and those before it."""

    def __init__(self, keys: Callable[[], Sequence[bytes]], public_url: str) -> None:
        self._keys = keys
        self._public_url = public_url

    def url(self, call: Call) -> str:
        place = dumps([call.company_id, call.run_id, call.step_id, call.visit])
        return f"{self._public_url}/callbacks/{_encoded(_mac(self._keys()[0], place) + place)}"

    def place(self, token: str) -> CallbackVisit | None:
        """The visit of a token; None for what this service did not sign."""
        if len(token) > TOKEN_CHARS_MAX or not token.isascii():
            return None
        try:
            data = urlsafe_b64decode(token + "=" * (-len(token) % 4))
            mac, place = data[:MAC_BYTES], data[MAC_BYTES:]
            signed = any(hmac.compare_digest(mac, _mac(key, place)) for key in self._keys())
            return CallbackVisit(*loads(place)) if signed else None
        except (ValueError, NotJson):
            return None


def _mac(key: bytes, place: bytes) -> bytes:
    return hmac.new(key, place, sha256).digest()


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
