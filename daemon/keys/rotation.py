"""Rotation of the keys that wrap the companies' keys."""

from __future__ import annotations

from pathlib import Path

import structlog

from actors.ports import StoreFailed
from daemon.keys.keyring import KeyFileRefused, KeyRing, change_ring, mark, read_ring
from daemon.keys.vault import Vault
from daemon.model import CompanyKeys

KEYS_CHECKED_S = 1.0
_log = structlog.get_logger("penstock")


class KeyRotation:
    """Follows the key file; after a change, rewraps all company keys with the current key."""

    def __init__(self, path: Path, vault: Vault) -> None:
        self._path = path
        self._vault = vault
        self._seen: tuple[int, int, int] | None = None
        self._behind = False

    async def look(self) -> None:
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
