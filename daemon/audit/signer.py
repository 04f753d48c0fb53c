"""The Ed25519 keys that sign checkpoints, and their public keys."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from daemon.keys.keyring import KeyFileRefused, KeyRing, mark, read_ring
from daemon.model.chain import text_of_hash
from daemon.model.evidence import Checkpoint, signed
from daemon.runtime.durable_files import write_beside

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

    def sign(self, company_id: str, size: int, root: bytes, previous: str | None) -> Checkpoint:
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
        return Checkpoint(**document, signature=base64.b64encode(signature).decode())  # type: ignore[arg-type]


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
