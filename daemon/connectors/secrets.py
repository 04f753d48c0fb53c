"""The vault: secrets at rest, sealed so that they open only in the place that they were sealed for.

A sealed secret is `version (1) | length of the key id (1) | key id | nonce (12) | AES-256-GCM ciphertext and tag`.
Each company has a data key of its own, derived (HKDF-SHA256) from the key-encryption key that the envelope names.
Deriving rather than wrapping means that there is no second table to keep in step: to rotate, make a new key the
current one, seal again whatever `stale` points out, and drop the old key when nothing is stale.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from actors.canonical import canonical

if TYPE_CHECKING:
    from daemon.keyring import KeyRing

AUTH_TOKEN = "auth_token"  # noqa: S105 - the name of a field
VERSION = 1
KEY_BYTES = 32
NONCE_BYTES = 12
ID_BYTES_MAX = 255


class SealBroken(Exception):
    """What was sealed does not open here: another place, another key, or changed bytes."""


class Vault:
    """Seals and opens secrets with the keys of a ring."""

    def __init__(self, ring: KeyRing) -> None:
        """Seal with the ring's current key, open with any of its keys."""
        if any(not 0 < len(key_id.encode()) <= ID_BYTES_MAX for key_id in ring.keys):
            raise ValueError(f"A key id has 1 to {ID_BYTES_MAX} bytes.")
        self._ring = ring

    def seal(self, company_id: str, connector: str, field: str, plain: str) -> bytes:
        """Seal one field of a company's connector."""
        return self._seal(["company", company_id], [company_id, connector, field], plain.encode())

    def open(self, company_id: str, connector: str, field: str, sealed: bytes) -> str:
        """The secret in that field; SealBroken when it was not sealed for it."""
        return self._open(["company", company_id], [company_id, connector, field], sealed).decode()

    def seal_bytes(self, purpose: str, plain: bytes) -> bytes:
        """Seal bytes for any other purpose, under a key of that purpose."""
        return self._seal(["purpose", purpose], [purpose], plain)

    def open_bytes(self, purpose: str, sealed: bytes) -> bytes:
        """The bytes sealed for that purpose; SealBroken when they were not."""
        return self._open(["purpose", purpose], [purpose], sealed)

    def stale(self, sealed: bytes) -> bool:
        """Whether it was sealed with another key than the current one."""
        return _parts(sealed)[0] != self._ring.current

    def _seal(self, owner: list[str], place: list[str], plain: bytes) -> bytes:
        key_id = self._ring.current
        nonce = os.urandom(NONCE_BYTES)
        closed = self._cipher(key_id, owner).encrypt(nonce, plain, canonical(place).encode())
        name = key_id.encode()
        return bytes((VERSION, len(name))) + name + nonce + closed

    def _open(self, owner: list[str], place: list[str], sealed: bytes) -> bytes:
        key_id, nonce, closed = _parts(sealed)
        if key_id not in self._ring.keys:
            raise SealBroken("The secret was sealed with a key that is not here.")
        try:
            return self._cipher(key_id, owner).decrypt(nonce, closed, canonical(place).encode())
        except InvalidTag:
            raise SealBroken("The secret was sealed for another place, or was changed.") from None

    def _cipher(self, key_id: str, owner: list[str]) -> AESGCM:
        info = canonical(owner).encode()
        derived = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info)
        return AESGCM(derived.derive(self._ring.keys[key_id]))


def _parts(sealed: bytes) -> tuple[str, bytes, bytes]:
    """Key id, nonce and ciphertext of an envelope."""
    if len(sealed) < 2 or sealed[0] != VERSION:  # noqa: PLR2004 - the head of the envelope
        raise SealBroken("This is no sealed secret that this version can open.")
    start = 2 + sealed[1]
    end = start + NONCE_BYTES
    if len(sealed) < end:
        raise SealBroken("The sealed secret is cut off.")
    return sealed[2:start].decode(errors="replace"), sealed[start:end], sealed[end:]
