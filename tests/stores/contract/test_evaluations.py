"""Evaluations that were begun: one under which a daemon ended is not begun again."""

from __future__ import annotations

from daemon.stores.store import Store

RUN = ("acme", "run-1")


async def test_an_evaluation_under_which_a_daemon_ended_is_not_begun_again(store: Store) -> None:
    assert await store.begin_evaluation(*RUN, 3, 1_000_001)
    assert await store.begin_evaluation(*RUN, 3, 1_000_001)
    assert not await store.begin_evaluation(*RUN, 3, 1_000_002)
    assert not await store.begin_evaluation(*RUN, 3, 1_000_002)
    assert await store.begin_evaluation("acme", "run-2", 3, 1_000_002)
    assert await store.begin_evaluation("other", "run-1", 3, 1_000_002)


async def test_a_run_that_has_gone_on_since_is_evaluated_and_so_is_one_whose_evaluation_has_ended(store: Store) -> None:
    assert await store.begin_evaluation(*RUN, 3, 1_000_001)
    assert await store.begin_evaluation(*RUN, 4, 1_000_002)
    await store.end_evaluation(*RUN, 1_000_001)  # not its own any more
    assert not await store.begin_evaluation(*RUN, 4, 1_000_003)
    await store.end_evaluation(*RUN, 1_000_002)
    assert await store.begin_evaluation(*RUN, 4, 1_000_003)
