"""Fills the inbox with the gates of runs that were parked before there was one."""

from __future__ import annotations

from contextlib import suppress

from actors.ports import StoreFailed
from daemon.model import Store

FILL_S = 3_600.0
BATCH = 100


async def fill_inbox(store: Store) -> None:
    """List the open gates that no commit has listed yet."""
    after: tuple[str, str] | None = ("", "")
    with suppress(StoreFailed):
        while after is not None:
            keys = await store.unlisted_gates(after, BATCH)
            for company_id, run_id in keys:
                run = await store.load(company_id, run_id)
                if run is not None:
                    await store.list_gates(company_id, run)
            after = keys[-1] if len(keys) == BATCH else None
