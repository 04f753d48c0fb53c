"""The vault: encrypts secrets at rest, each bound to its company, connector and field.

Each company has a random data key, wrapped by a key-encryption key of the ring and unwrapped only
in memory; a rotation rewraps the data keys. A sealed secret is `version (1) | nonce (12) |
AES-256-GCM ciphertext and tag`, a wrapped key the same without the version.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from actors.core.canonical import canonical
from actors.failpoints import reach
from actors.ports import StoreFailed
from daemon.keys.keyring import KeyFileRefused, KeyRing, change_ring, mark, read_ring
from daemon.model import CompanyKey, CompanyKeys

AUTH_TOKEN = "auth_token"  # noqa: S105 - the name of a field
INVITATION = "invitation"
WEBHOOK_SECRET = "webhook_secret"  # noqa: S105 - as above
NOTIFICATION_TARGET = "notification_target"
WEBHOOK_URL = "webhook_url"
API_KEY = "api_key"
VERSION = 2
KEY_BYTES = 32
NONCE_BYTES = 12
UNWRAPPED_MAX = 10_000
REWRAPPED_AT_ONCE_MAX = 256


class SealBroken(Exception):
    """What was sealed does not open here: another place, another key, or changed bytes."""


@dataclass(frozen=True, slots=True)
class Rewrapped:
    """How many company keys were rewrapped, and how many the ring cannot unwrap."""

    done: int
    unreadable: int


class DataKey:
    """The unwrapped key of one company."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, place: tuple[str, str, str], plain: str) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return bytes((VERSION,)) + nonce + self._cipher.encrypt(nonce, plain.encode(), canonical(list(place)).encode())

    def open(self, place: tuple[str, str, str], sealed: bytes) -> str:
        """Open the secret of a field; SealBroken when it was sealed for another."""
        if not sealed or sealed[0] != VERSION or len(sealed) <= 1 + NONCE_BYTES:
            raise SealBroken("This is no sealed secret that this version can open.")
        nonce, closed = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
        try:
            return self._cipher.decrypt(nonce, closed, canonical(list(place)).encode()).decode()
        except InvalidTag:
            raise SealBroken("The secret was sealed for another place, or was changed.") from None


class Vault:
    """Seals and opens secrets with the data key of their company, which the ring's keys wrap."""

    def __init__(self, ring: KeyRing, keys: CompanyKeys, now: Callable[[], datetime]) -> None:
        self._ring = _fit(ring)
        self._keys = keys
        self._now = now
        self._unwrapped: OrderedDict[str, DataKey] = OrderedDict()
        self._wrapping = asyncio.Lock()

    async def seal(self, company_id: str, connector: str, field: str, plain: str) -> bytes:
        """Seal a field of a connector; SealBroken if its company has no readable key."""
        key = await self._key(company_id) or await self._made(company_id)
        return key.seal((company_id, connector, field), plain)

    async def open(self, company_id: str, connector: str, field: str, sealed: bytes) -> str:
        """The secret in that field; SealBroken when it was not sealed for it."""
        key = await self._key(company_id)
        if key is None:
            raise SealBroken("The secret was sealed for another company: this one has no key.")
        return key.open((company_id, connector, field), sealed)

    async def holds(self, company_id: str, connector: str, field: str, sealed: bytes, plain: str) -> bool:
        try:
            held = await self.open(company_id, connector, field, sealed)
        except SealBroken:
            return False
        return hmac.compare_digest(held.encode(), plain.encode())

    async def use_ring(self, ring: KeyRing) -> None:
        """Wrap with another ring's current key from now on."""
        fresh = _fit(ring)
        async with self._wrapping:
            self._ring = KeyRing(fresh.current, {**self._ring.keys, **fresh.keys})

    async def rewrap(self) -> Rewrapped:
        """Rewrap in batches all company keys that another key wraps; can be repeated."""
        ring, after, done, unreadable = self._ring, "", 0, 0
        while page := await self._keys.company_keys(ring.current, after, REWRAPPED_AT_ONCE_MAX):
            anew: list[CompanyKey] = []
            for kept in page:
                try:
                    anew.append(wrapped(ring, kept.company_id, unwrapped(ring, kept), kept.created_at))
                except SealBroken:
                    unreadable += 1
            reach("before-rewrap")
            await self._keys.rewrap_company_keys(anew)
            reach("after-rewrap")
            after, done = page[-1].company_id, done + len(anew)
        return Rewrapped(done, unreadable)

    async def _key(self, company_id: str) -> DataKey | None:
        """A company's key, cached; None when the company has none."""
        key = self._unwrapped.get(company_id)
        if key is not None:
            self._unwrapped.move_to_end(company_id)
            return key
        kept = await self._keys.company_key(company_id)
        return None if kept is None else self._held(kept)

    async def _made(self, company_id: str) -> DataKey:
        """Create a company's key, or take the one created concurrently."""
        async with self._wrapping:
            fresh = wrapped(self._ring, company_id, AESGCM.generate_key(KEY_BYTES * 8), self._now())
            kept = await self._keys.add_company_key(fresh)
            reach("company-key-kept")
            return self._held(kept)

    def _held(self, kept: CompanyKey) -> DataKey:
        key = self._unwrapped[kept.company_id] = DataKey(unwrapped(self._ring, kept))
        if len(self._unwrapped) > UNWRAPPED_MAX:
            self._unwrapped.popitem(last=False)
        return key


def wrapped(ring: KeyRing, company_id: str, key: bytes, at: datetime) -> CompanyKey:
    nonce = os.urandom(NONCE_BYTES)
    closed = AESGCM(ring.keys[ring.current]).encrypt(nonce, key, _wrapping_of(company_id, ring.current))
    return CompanyKey(company_id, ring.current, nonce + closed, at)


def unwrapped(ring: KeyRing, kept: CompanyKey) -> bytes:
    """Unwrapped data key; SealBroken if the ring has no key for it, or it is another company's."""
    if kept.key_id not in ring.keys:
        raise SealBroken("The company's key is wrapped by a key that is not here.")
    nonce, closed = kept.wrapped[:NONCE_BYTES], kept.wrapped[NONCE_BYTES:]
    try:
        return AESGCM(ring.keys[kept.key_id]).decrypt(nonce, closed, _wrapping_of(kept.company_id, kept.key_id))
    except (InvalidTag, ValueError):
        raise SealBroken("The company's key is another company's, or was changed.") from None


def _wrapping_of(company_id: str, key_id: str) -> bytes:
    return canonical(["company_key", company_id, key_id]).encode()


def _fit(ring: KeyRing) -> KeyRing:
    if any(len(key) != KEY_BYTES for key in ring.keys.values()):
        raise ValueError(f"A key of the vault has {KEY_BYTES} bytes, neither less nor more.")
    return ring


KEYS_CHECKED_S = 1.0
_log = structlog.get_logger("penstock")


class KeyRotation:
    """Follows the key file; after a change, rewraps all company keys with the current key."""

    def __init__(self, path: Path, vault: Vault) -> None:
        self._path = path
        self._vault = vault
        self._seen: tuple[int, int, int] | None = None
        self._behind = False

    async def run_once(self) -> None:
        """Follow the file; failures are retried at the next look."""
        seen = mark(self._path)
        if seen != self._seen:
            self._seen = seen
            try:
                await self._vault.use_ring(read_ring(self._path))
            except (KeyFileRefused, ValueError) as refused:
                _log.error("vault_keys_invalid", reason=str(refused))
            else:
                self._behind = True
        if self._behind:
            await self._rewrap()

    async def _rewrap(self) -> None:
        try:
            rewrapped = await self._vault.rewrap()
        except StoreFailed as failure:
            _log.warning("company_key_rewrap_failed", reason=str(failure))
            return
        self._behind = False
        if rewrapped.done or rewrapped.unreadable:
            log = _log.error if rewrapped.unreadable else _log.info
            log("company_keys_rewrapped", rewrapped=rewrapped.done, unreadable=rewrapped.unreadable)


async def prune(path: Path, keys: CompanyKeys) -> tuple[KeyRing, int]:
    """Delete all keys but the current one; returns how many were deleted.

    KeyFileRefused while another key wraps a company's key. The service must be stopped.
    """
    ring = read_ring(path)
    if await keys.company_keys(ring.current, "", 1):
        raise KeyFileRefused(f"{path}: company keys are wrapped by an earlier key; start the service to wrap them anew")
    after = change_ring(path, lambda found: found.pruned() if found.current == ring.current else found)
    return after, len(ring.keys) - len(after.keys)
