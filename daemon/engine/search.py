"""Keeps the search index of runs up to date, beside their commits."""

from __future__ import annotations

from contextlib import suppress
from itertools import repeat

from actors.ports import StoreFailed
from daemon.stores.store import Store

LOOK_S = 2.0
STEPS_MAX = 4
"""Steps of the index that one search makes; the rest of a long backlog comes in the background."""


async def index_runs(store: Store, company_id: str) -> None:
    """Let searches find the runs of a company that have started."""
    for _ in repeat(None, STEPS_MAX):
        if not await store.index_runs(company_id):
            break


async def index_all_runs(store: Store) -> None:
    with suppress(StoreFailed):
        while await store.index_any_runs():
            pass
