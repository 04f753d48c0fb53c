"""Appends commits to the trees and signs checkpoints, in the background or on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from actors.ports import StoreFailed
from daemon.audit.signer import Signer
from daemon.model.evidence import SEAL_MAX, Checkpoint
from daemon.stores.store import Store

UNSEALED_MAX = 1_000
SEALED_S = 60.0
LOOK_S = 1.0
_log = structlog.get_logger("penstock")


class Sealer:
    """Seals commits in batches, one batch at a time."""

    def __init__(self, store: Store, signer: Signer, sealed: Callable[[int, int], None] | None = None) -> None:
        """`sealed` receives (commits, checkpoints)."""
        self._store = store
        self._signer = signer
        self._sealed = sealed
        self._alone = asyncio.Lock()
        self._sealed_at: float | None = None

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
        signed: list[Checkpoint] = []

        def sign(company_id: str, size: int, root: bytes, previous: str | None) -> Checkpoint:
            signed.append(self._signer.sign(company_id, size, root, previous))
            return signed[-1]

        done = await self._store.seal(sign, only)
        if self._sealed is not None and done:
            self._sealed(done, len(signed))
        return done

    def sign(self, company_id: str, size: int, root: bytes, previous: str | None) -> Checkpoint:
        """Sign a checkpoint that is made together with what it covers."""
        return self._signer.sign(company_id, size, root, previous)

    def keys(self) -> dict[str, str]:
        return self._signer.keys()

    async def look(self) -> None:
        """Seal when much is unsealed or a minute has passed; wait a minute after a failure."""
        now = asyncio.get_running_loop().time()
        try:
            behind = await self._store.unsealed()
            due = self._sealed_at is None or now >= self._sealed_at + SEALED_S
            if behind >= UNSEALED_MAX or (due and (behind or await self._store.unrecorded())):
                await self.seal()
                self._sealed_at = now
        except StoreFailed as failed:
            self._sealed_at = now
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
