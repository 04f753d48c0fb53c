"""Keeps the inbox complete, and its search index and that of runs up to date."""

from __future__ import annotations

from contextlib import suppress

from actors.ports import StoreFailed
from daemon.stores.store import Store

TEND_S = 3_600.0
BATCH = 100
INDEXED = 250
SEARCH_S = 2.0
STEPS_MAX = 4
"""Steps of the index that one search makes; the rest of a long backlog comes in the background."""


async def tend_inbox(store: Store) -> None:
    """List the open gates that no commit has listed yet, and bring the search index up to date."""
    after: tuple[str, str] | None = ("", "")
    with suppress(StoreFailed):
        while after is not None:
            keys = await store.unlisted_gates(after, BATCH)
            for company_id, run_id in keys:
                run = await store.load(company_id, run_id)
                if run is not None:
                    await store.list_gates(company_id, run)
            after = keys[-1] if len(keys) == BATCH else None
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
