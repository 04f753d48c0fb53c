"""A process that archives a run and is killed at a failpoint: give the folder and the point."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

from actors import failpoints
from daemon.audit.sealer import Sealer, Signer
from daemon.retention import ArchiveFiles, Archiver
from daemon.stores.sqlite.store import SqliteStore
from tests.histories import NOON

DAYS = 30


async def archive(folder: Path, point: str | None = None) -> None:
    """Archive what is due; with a point, die at it in the transaction that does it."""
    signer = Signer(folder / "audit.keys", folder / "audit.pub", lambda: NOON)
    async with SqliteStore.open(folder / "penstock.db", clock=lambda: NOON) as store:
        sealer = Sealer(store, signer)
        files = ArchiveFiles(folder / "archive")
        await sealer.seal()
        archiver = Archiver(store, sealer, files, lambda: NOON + timedelta(days=DAYS, seconds=1))
        if point is not None:
            keep = store.keep_archives

            async def deadly(*arguments: object) -> frozenset[str]:
                failpoints.arm(lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == point else None)
                return await keep(*arguments)  # type: ignore[arg-type]

            store.keep_archives = deadly  # type: ignore[method-assign,assignment]
        await archiver.tick()


if __name__ == "__main__":
    asyncio.run(archive(Path(sys.argv[1]), sys.argv[2]))
