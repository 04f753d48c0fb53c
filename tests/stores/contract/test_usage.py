"""What companies have stored: each commit is counted once, a bounded number at a time."""

from __future__ import annotations

import asyncio

from daemon.model.budgets import Usage
from daemon.stores.store import Store
from tests.histories import ACME, OTHER, append, decide, start

BOTH = (ACME, OTHER)


async def count_all(store: Store, commits_max: int = 100) -> dict[str, Usage]:
    while await store.count_usage(BOTH, commits_max):
        pass
    return await store.usage(BOTH)


async def test_runs_and_bytes_of_each_company_are_counted(store: Store) -> None:
    first = start("run-1")
    await store.append(first)
    await store.append(start("run-2"))
    await store.append(start("run-3", company_id=OTHER))
    counted = await count_all(store)
    assert {company: usage.runs for company, usage in counted.items()} == {ACME: 2, OTHER: 1}
    assert counted[ACME].stored_bytes > counted[OTHER].stored_bytes > 0
    await append(store, decide(first.run))
    later = await count_all(store)
    assert later[OTHER] == counted[OTHER]
    assert later[ACME].runs == 2
    assert later[ACME].stored_bytes > counted[ACME].stored_bytes


async def test_what_was_counted_is_not_counted_again_in_however_small_steps(store: Store) -> None:
    for number in range(5):
        await store.append(start(f"run-{number}"))
    assert (await count_all(store, 2))[ACME].runs == 5
    assert (await count_all(store, 1))[ACME].runs == 5


async def test_who_counts_at_once_counts_everything_once(store: Store) -> None:
    for number in range(5):
        await store.append(start(f"run-{number}"))
    await asyncio.gather(*(store.count_usage(BOTH, 2) for _ in range(10)))
    assert (await count_all(store))[ACME].runs == 5


async def test_of_a_company_that_stored_nothing_nothing_is_known(store: Store) -> None:
    assert (await store.usage(("nobody",))).get("nobody", Usage()) == Usage()
