"""Pages end early by their bytes, so that no reader makes the store load more than a page."""

from __future__ import annotations

import sys
from functools import partial

import pytest

from daemon.engine.upkeep import index_all_runs
from daemon.model import RunQuery
from daemon.model.event_log import BEGINNING
from daemon.model.pages import PAGE_BYTES_MAX
from daemon.stores.store import Store
from daemon.stores.tables.lists import search
from daemon.stores.tables.lists.search import WORDS_CHARS_MAX
from tests.histories import ACME, start
from tests.stores.contract.test_evidence import sign

LARGE = {"text": "x" * 1_000_000}
RUNS = 7
AT_ONCE = 5
"""So many runs of 1 MB are more than a page by less than one of them."""


@pytest.fixture
async def store(store: Store) -> Store:
    for number in range(RUNS):
        await store.append(start(f"run-{number}", inputs=LARGE))
    return store


async def test_runs_are_loaded_for_one_page_only(store: Store) -> None:
    first = await store.find(ACME, RunQuery(limit=201))
    assert len(first) < AT_ONCE
    assert first.more
    rest = await store.find(ACME, RunQuery(limit=201, before=first[-1].id))
    assert [run.id for run in (*first, *rest)] == [f"run-{number}" for number in reversed(range(RUNS))]
    assert not rest.more


async def test_small_runs_are_one_page(store: Store) -> None:
    for number in range(RUNS):
        await store.append(start(f"small-{number}"))
    found = await store.find(ACME, RunQuery(limit=RUNS))
    assert (len(found), found.more) == (RUNS, False)


async def test_an_entry_that_is_larger_than_a_page_is_a_page(store: Store) -> None:
    huge = "x" * (PAGE_BYTES_MAX + 1)
    await store.append(start("zz-huge", inputs={"text": huge}))
    found = await store.find(ACME, RunQuery(limit=2))
    assert ([run.id for run in found], found.more) == (["zz-huge"], True)
    assert sys.getsizeof(found[0].inputs["text"]) > PAGE_BYTES_MAX
    assert [one.seq for one in await store.history(ACME, "zz-huge", 0, 50)] == [1, 2, 3]


async def test_events_of_a_company_are_read_for_one_page_only(store: Store) -> None:
    await store.seal(sign)
    found, after, pages = [], BEGINNING, 0
    while page := await store.read_after(ACME, after, 200):
        assert sum(len(str(one.event)) for one in page) < PAGE_BYTES_MAX + 2_000_000
        found += [(one.run_id, one.seq) for one in page]
        after, pages = page[-1].position, pages + 1
    assert found == [(f"run-{number}", seq) for number in range(RUNS) for seq in (1, 2, 3)]
    assert pages > 1


@pytest.mark.parametrize("sealed", [False, True])
async def test_no_commit_is_read_behind_those_whose_events_are_asked_for(store: Store, sealed: bool) -> None:
    if sealed:
        await store.seal(sign)
    page = await store.read_after(ACME, BEGINNING, 3)
    assert [(one.run_id, one.seq) for one in page] == [("run-0", 1), ("run-0", 2), ("run-0", 3)]
    assert page.size < 2 * len(LARGE["text"])
    page = await store.read_after(ACME, page[0].position, 3)
    assert [(one.run_id, one.seq) for one in page] == [("run-0", 2), ("run-0", 3), ("run-1", 1)]
    assert page.size < 3 * len(LARGE["text"])


async def test_sealed_commits_are_read_for_one_page_only(store: Store) -> None:
    await store.seal(sign)
    first = await store.entries(ACME, 0, RUNS)
    assert len(first) < AT_ONCE
    rest = await store.entries(ACME, first[-1].number + 1, RUNS)
    assert [one.number for one in (*first, *rest)] == list(range(RUNS))


async def test_runs_of_many_words_are_made_found_a_few_at_a_time(store: Store) -> None:
    said = " ".join(f"{number:040}" for number in range(200))
    for number in range(2 * WORDS_CHARS_MAX // len(said)):
        await store.append(start(f"wordy-{number:03}", inputs={"said": f"w{number} {said}"}))
    steps, more = 0, True
    while more:
        found = await store._read(partial(search.unindexed, company_id=ACME))
        assert found is not None
        assert sum(len(words) for *_, words in found.runs[:-1]) < WORDS_CHARS_MAX
        steps, more = steps + 1, await store.index_runs(ACME)
    assert steps > 1
    for number in (0, 100, 2 * WORDS_CHARS_MAX // len(said) - 1):
        [run] = await store.find(ACME, RunQuery(limit=2, words=(f"w{number}",)))
        assert run.id == f"wordy-{number:03}"


async def test_runs_of_every_company_are_made_found(store: Store) -> None:
    companies = ("a-company", "b-company")
    for company_id in companies:
        for number in range(3):
            await store.append(start(f"{number}-{company_id}", company_id=company_id, inputs={"said": "something"}))
    await index_all_runs(store)
    for company_id in companies:
        assert await store._read(partial(search.unindexed, company_id=company_id)) is None
        found: list[str] = []
        before = None
        while page := await store.find(company_id, RunQuery(limit=1, words=("some",), before=before)):
            found, before = [*found, page[0].id], page[0].id
        assert found == [f"{number}-{company_id}" for number in (2, 1, 0)]
