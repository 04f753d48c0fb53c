"""The sealer: gives commits their leaves and signs checkpoints, in the background and whenever somebody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from actors.ports import StoreFailed
from daemon.audit.keys import Signer
from daemon.audit.records import SEAL_MAX, Checkpoint, Evidence

UNSEALED_MAX = 1_000
SEALED_S = 60.0
LOOK_S = 1.0
_log = structlog.get_logger("penstock")


class Sealer:
    """One seal at a time, in pieces that nobody waits long behind."""

    def __init__(self, store: Evidence, signer: Signer, sealed: Callable[[int, int], None] | None = None) -> None:
        """Seal what this store holds with the keys of this signer; `sealed` hears of (commits, checkpoints)."""
        self._store = store
        self._signer = signer
        self._sealed = sealed
        self._alone = asyncio.Lock()

    async def seal(self) -> int:
        """Cover every commit there is by a checkpoint; returns how many were not."""
        async with self._alone:
            self._signer.follow()
            total = 0
            while True:
                done = await self._piece()
                total += done
                if done < SEAL_MAX:
                    return total

    async def _piece(self) -> int:
        signed: list[Checkpoint] = []

        def sign(company_id: str, size: int, root: bytes, previous: str | None) -> Checkpoint:
            signed.append(self._signer.sign(company_id, size, root, previous))
            return signed[-1]

        done = await self._store.seal(sign)
        if self._sealed is not None and done:
            self._sealed(done, len(signed))
        return done

    def keys(self) -> dict[str, str]:
        """The public keys by id, as base64."""
        return self._signer.keys()

    async def serve(self) -> None:
        """Seal when much is unsealed, or when a minute has passed; what failed is tried again a minute later."""
        loop = asyncio.get_running_loop()
        sealed_at = loop.time() - SEALED_S
        while True:
            try:
                behind = await self._store.unsealed()
                if behind >= UNSEALED_MAX or (behind and loop.time() >= sealed_at + SEALED_S):
                    sealed_at = loop.time()
                    await self.seal()
            except StoreFailed as failed:
                sealed_at = loop.time()
                _log.error("not_sealed", reason=str(failed))
            await asyncio.sleep(LOOK_S)

    async def close(self) -> None:
        """Seal what came last, before the store closes."""
        try:
            await self.seal()
        except StoreFailed as failed:
            _log.warning("not_sealed", reason=str(failed))
