"""Fills FOLDER for COMPANY with so many parked RUNS and a log of LOG_BYTES, and dies as by a
kill.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from actors.core.decider import TurnResult, step
from actors.core.messages import Start
from actors.ports import Commit, Receipt
from daemon.runtime.clock import new_id, utc_now
from daemon.stores.sqlite import engine
from daemon.stores.sqlite.store import SqliteStore
from daemon.templates.loading import CatalogEntry, shipped

VERTICAL = "prior-auth"
AT_ONCE = 256
FILLER_BYTES = 16 * 1024


def parked(entry: CatalogEntry, company_id: str) -> Commit:
    """The commit of a run that began and waits at its first gate."""
    message = Start(run_id=new_id(), company_id=company_id, by="ann", inputs=entry.example, at=utc_now())
    done = step(None, message, entry.template, {})
    assert isinstance(done, TurnResult)
    assert done.run.parked, done.run.status
    return Commit(done.run, done.events, done.run.resting)


def filler(number: int) -> Receipt:
    """Something that takes room in the log and is looked up by nobody."""
    return Receipt("nobody", "/", f"filler-{number}", b"", status=200, body=os.urandom(FILLER_BYTES))


async def together(works: list[Any]) -> None:
    """Many writes, so many to a commit."""
    for first in range(0, len(works), AT_ONCE):
        await asyncio.gather(*works[first : first + AT_ONCE])


async def fill(folder: Path, company_id: str, runs: int, log_bytes: int) -> None:
    """Write until both are reached, the second half without folding the log, and die without a
    word.
    """
    log = folder / "penstock.db-wal"
    (entry,) = (one for one in shipped() if one.template.vertical == VERTICAL)
    async with SqliteStore.open(folder / "penstock.db") as store:
        begun = [parked(entry, company_id) for _ in range(runs)]
        await together([store.append(one) for one in begun[: runs // 2]])
        engine.LOG_BYTES_MAX = 2**40
        await together([store.append(one) for one in begun[runs // 2 :]])
        number = 0
        while (missing := log_bytes - log.stat().st_size) > 0:
            count = max(1, min(AT_ONCE, missing // (2 * FILLER_BYTES)))
            await together([store.keep_receipt(filler(number + n)) for n in range(count)])
            number += count
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
