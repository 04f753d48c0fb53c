"""Keeps the inbox complete and its search index small."""

from __future__ import annotations

from contextlib import suppress

from actors.ports import StoreFailed
from daemon.stores.store import Store

TEND_S = 3_600.0
BATCH = 100
INDEXED = 1_000


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
