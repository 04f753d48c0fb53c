"""A process that redacts a run and is killed at a failpoint: give the folder and the point."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from actors import failpoints
from daemon.audit.sealer import Signer
from daemon.model.retention.records import StoredRedaction
from daemon.stores.sqlite.store import SqliteStore
from tests.histories import ACME, NOON

ASKED = StoredRedaction(ACME, "run-1", 0, "request 31", NOON, "ann", ("/inputs/member",))


async def redact(folder: Path, point: str | None = None) -> None:
    """Redact a value; with a point, die at it in the transaction that does it."""
    signer = Signer(folder / "audit.keys", folder / "audit.pub", lambda: NOON)
    async with SqliteStore.open(folder / "penstock.db", clock=lambda: NOON) as store:
        if point is not None:
            failpoints.arm(lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == point else None)
        await store.redact(ASKED, "session", signer.sign)


if __name__ == "__main__":
    asyncio.run(redact(Path(sys.argv[1]), sys.argv[2]))
