"""Appends commits to the trees, and signs checkpoints with Ed25519 keys."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from actors.ports import StoreFailed
from daemon.keys.keyring import KeyFileRefused, KeyRing, mark, read_ring
from daemon.model.chain import text_of_hash
from daemon.model.evidence import SEAL_MAX, StoredCheckpoint, signed
from daemon.runtime.durable_files import write_beside
from daemon.stores.store import Store

SEED_BYTES = 32
PUBLIC = "audit.pub"
_log = structlog.get_logger("penstock")


class Signer:
    """Signs checkpoints with the current key; follows its file without a restart."""

    def __init__(self, path: Path, public: Path, now: Callable[[], datetime]) -> None:
        self._path = path
        self._public = public
        self._now = now
        self._ring = read_ring(path)
        self._seen = mark(path)
        write_public(public, self._ring)

    def follow(self) -> None:
        """Reload the key file after a change; keep the earlier keys while it is unreadable."""
        seen = mark(self._path)
        if seen != self._seen:
            try:
                self._ring = read_ring(self._path)
            except KeyFileRefused as refused:
                _log.error("audit_keys_invalid", reason=str(refused))
            else:
                write_public(self._public, self._ring)
            self._seen = seen

    def keys(self) -> dict[str, str]:
        self.follow()
        return published(self._ring)

    def sign(self, company_id: str, size: int, root: bytes, previous: str | None) -> StoredCheckpoint:
        ring = self._ring
        document = {
            "at": self._now().astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "company": company_id,
            "key_id": ring.current,
            "previous": previous,
            "root": text_of_hash(root),
            "size": size,
        }
        signature = _private(ring.keys[ring.current]).sign(signed(document))
        return StoredCheckpoint(**document, signature=base64.b64encode(signature).decode())  # type: ignore[arg-type]


def published(ring: KeyRing) -> dict[str, str]:
    """The public keys of a ring by id, as base64."""
    return {
        key_id: base64.b64encode(_private(seed).public_key().public_bytes_raw()).decode()
        for key_id, seed in ring.keys.items()
    }


def write_public(path: Path, ring: KeyRing) -> None:
    """Write the public keys of a ring to a world-readable file, unless it has them."""
    content = json.dumps(published(ring), indent=1, sort_keys=True).encode()
    if not path.exists() or path.read_bytes() != content:
        write_beside(path, content, 0o644).replace(path)


def read_public(path: Path) -> dict[str, bytes]:
    """Read public keys from a file; KeyFileRefused when it has none."""
    try:
        found = json.loads(path.read_bytes())
        keys = {str(key_id): base64.b64decode(key, validate=True) for key_id, key in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise KeyFileRefused(f"{path} holds no public keys: {error}") from error
    if not keys or any(len(key) != SEED_BYTES for key in keys.values()):
        raise KeyFileRefused(f"{path} holds no public keys of {SEED_BYTES} bytes")
    return keys


def _private(seed: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(seed[:SEED_BYTES])


LOOK_S = 1.0
FAILED_PAUSE_S = 60.0


class Sealer:
    """Seals commits in batches, one batch at a time."""

    def __init__(self, store: Store, signer: Signer, sealed: Callable[[int, int], None] | None = None) -> None:
        """`sealed` receives (commits, checkpoints)."""
        self._store = store
        self._signer = signer
        self._sealed = sealed
        self._alone = asyncio.Lock()
        self._due_at = 0.0

    async def seal(self, company_id: str | None = None) -> int:
        """Cover all commits, or those of a company, by checkpoints; returns how many there were.

        With all, the service's tree covers the roots of all companies' trees, too.
        """
        self._signer.follow()
        total = 0
        while True:
            async with self._alone:
                done = await self._piece(company_id)
            total += done
            if done < SEAL_MAX and (company_id is not None or not await self._store.record_roots()):
                return total

    async def adopt(self) -> None:
        """Complete the logs that an earlier version wrote, once."""
        try:
            while await self._store.adopt():
                pass
        except StoreFailed as failed:  # a full disk, or a damaged log: the next start tries again
            _log.error("adoption_failed", reason=str(failed))

    async def _piece(self, only: str | None) -> int:
        signed: list[StoredCheckpoint] = []

        def sign(company_id: str, size: int, root: bytes, previous: str | None) -> StoredCheckpoint:
            signed.append(self._signer.sign(company_id, size, root, previous))
            return signed[-1]

        done = await self._store.seal(sign, only)
        if self._sealed is not None and done:
            self._sealed(done, len(signed))
        return done

    def sign(self, company_id: str, size: int, root: bytes, previous: str | None) -> StoredCheckpoint:
        """Sign a checkpoint that is made together with what it covers."""
        return self._signer.sign(company_id, size, root, previous)

    def keys(self) -> dict[str, str]:
        return self._signer.keys()

    async def tick(self) -> None:
        """Seal what the last second brought, so that a checkpoint covers it."""
        now = asyncio.get_running_loop().time()
        try:
            if now >= self._due_at and (await self._store.unsealed() or await self._store.unrecorded()):
                await self.seal()
        except StoreFailed as failed:
            self._due_at = now + FAILED_PAUSE_S
            _log.error("checkpoint_failed", reason=str(failed))

    async def close(self) -> None:
        """Seal the last commits before the store closes."""
        try:
            await self.seal()
        except (StoreFailed, OSError) as failed:
            _log.warning("checkpoint_failed", reason=str(failed))


@asynccontextmanager
async def open_sealer(
    store: Store, signer: Signer, sealed: Callable[[int, int], None] | None = None
) -> AsyncIterator[Sealer]:
    """The sealer of a service, with the logs of an earlier version completed."""
    sealer = Sealer(store, signer, sealed)
    await sealer.adopt()
    try:
        yield sealer
    finally:
        await sealer.close()
