"""Background work: passivation, old rows, the search index, garbage collection."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from actors.directory import Directory
from actors.ports import StoreFailed
from daemon.model.reports.questions import KEPT as REPORTS_KEPT
from daemon.model.webhooks import KEPT_S
from daemon.stores.store import Store

DROP_OLD_S = 3_600.0
SWITCH_S = 0.0001
GC_THRESHOLDS = (2_000, 10, 1_000_000_000)
FULL_AFTER = 1_000
FULL_LOOKED_S = 1.0
FULL_WAITS_S = 300.0
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
LARGE_BLOCK_BYTES = 128 * 1024
ARENAS = 2
PASSIVATE_S, PASSIVATE_MORE_S = 0.25, 0.01
PASSIVATED_MAX = 100


async def passivate(directory: Directory) -> None:
    """Release the idle runs, a few at a time: releasing thousands at once would delay requests."""
    while directory.passivate(PASSIVATED_MAX) >= PASSIVATED_MAX:  # noqa: ASYNC110 - the pauses let others go on
        await asyncio.sleep(PASSIVATE_MORE_S)


async def drop_old(store: Store, now: Callable[[], datetime], receipts_kept: timedelta) -> None:
    """Delete expired tokens, sessions, links, holds, and old receipts, deliveries, report rows."""
    with suppress(StoreFailed):
        await store.drop_revocations(now())
        await store.drop_sessions(now())
        await store.drop_password_resets(now())
        await store.drop_holds(now())
        await store.drop_joins(now())
        await store.drop_receipts(now() - receipts_kept)
        await store.drop_deliveries(now() - timedelta(seconds=KEPT_S))
        await store.drop_reports((now() - REPORTS_KEPT).date())


class FullCollection:
    """Collects the oldest garbage, which stops the event loop, at a calm moment."""

    def __init__(self, calm: Callable[[], bool]) -> None:
        self._calm = calm
        self._until: float | None = None

    async def run_once(self) -> None:
        """Collect after `FULL_AFTER` middle collections; without calm after `FULL_WAITS_S` more."""
        if gc.get_count()[2] < FULL_AFTER:
            return
        now = asyncio.get_running_loop().time()
        self._until = self._until or now + FULL_WAITS_S
        if self._calm() or now >= self._until:
            self._until = None
            gc.collect()


def tune_interpreter() -> None:
    """Give the writer's thread its turn beside a busy event loop, and collect garbage less often.

    With the default interval the thread waits for seconds; with the default thresholds a collection
    stops the event loop for 0.1 to 0.6 s. A collection of the young visits each object once
    whatever their number: 20,000 at a time take 10 ms, and 100,000 took 50 ms.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    _return_large_blocks()


def _return_large_blocks() -> None:
    """Have glibc give each large block back to the system once it is freed (mallopt(3)).

    By its own rule it keeps them after the first, in an arena for each thread: large runs and lists
    left up to 100 MB behind.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)
    mallopt(M_ARENA_MAX, ARENAS)


TEND_S = 3_600.0
BATCH = 500
INDEXED = 250
SEARCH_S = 2.0
STEPS_MAX = 4
"""Steps of the index that one search makes; the rest of a long backlog comes in the background."""


async def tend_inbox(store: Store) -> None:
    """List the open gates that no commit has listed yet, and bring the search index up to date."""
    after: tuple[str, str] | None = ("", "")
    with suppress(StoreFailed):
        while after is not None:
            keys, after = await store.unlisted_gates(after, BATCH)
            for company_id, run_id in keys:
                run = await store.load(company_id, run_id)
                if run is not None:
                    await store.list_gates(company_id, run)
        while await store.unindex_gates(INDEXED):
            pass
        await index_gates(store)


async def index_gates(store: Store) -> None:
    """Let searches find every gate that is open."""
    while await store.index_gates(INDEXED):
        pass


async def index_runs(store: Store, company_id: str) -> None:
    """Let searches find the runs of a company that have started."""
    for _ in range(STEPS_MAX):
        if not await store.index_runs(company_id):
            break


async def index_all_runs(store: Store) -> None:
    with suppress(StoreFailed):
        while await store.index_any_runs():
            pass
