"""Short runs have no snapshot: one statement reads them from their commits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from daemon.model.chain import HistoryBroken
from daemon.runtime.json_codec import dumps
from daemon.stores.postgres.journal import LOAD, SHORT_EVENTS
from daemon.stores.postgres.store import PostgresStore
from tests.histories import ACME, append, called, decide, start
from tests.postgres import KEYS
from tests.postgresql.test_polls import asked

if TYPE_CHECKING:
    from actors.core.run import Run

VERSIONS = "SELECT version FROM snapshots"


async def test_a_short_run_is_read_from_its_commits_by_one_statement(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        begun = start()
        ended = decide(begun.run)
        await store.append(begun)
        await append(store, ended)
        found: list[Run | None] = []

        async def look() -> None:
            found.append(await store.load(ACME, "run-1"))

        assert await asked(store, look()) == [LOAD]
        assert found == [ended.run]
        assert await store._read(lambda db: db.rows(VERSIONS)) == []


async def test_a_run_gets_a_snapshot_once_it_is_longer(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        one = start()
        await store.append(one)
        while one.run.version <= SHORT_EVENTS:
            assert await store._read(lambda db: db.rows(VERSIONS)) == []
            one = called(one.run)
            await append(store, one)
        assert await store._read(lambda db: db.rows(VERSIONS)) == [(one.run.version,)]
        assert await store.load(ACME, "run-1") == one.run


async def test_a_run_whose_values_have_an_order_of_their_own_keeps_it(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        begun = start(inputs={"zone": 1, "amount": {"unit": "EUR", "number": 2}})
        ended = decide(begun.run)
        await store.append(begun)
        await append(store, ended)
        found: list[Run | None] = []

        async def look() -> None:
            found.append(await store.load(ACME, "run-1"))

        assert await asked(store, look()) == [LOAD]
        assert [dumps(run) for run in found] == [dumps(ended.run)]
        assert await store._read(lambda db: db.rows(VERSIONS)) == [(begun.run.version,)]


async def test_what_was_changed_in_a_short_run_is_not_taken(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        begun = start()
        await store.append(begun)
        await append(store, decide(begun.run))
        changed = "UPDATE commits SET events = convert_to(replace(convert_from(events, 'UTF8'), 'bob', 'eve'), 'UTF8')"
        await store._read(lambda db: db.execute(changed))
        with pytest.raises(HistoryBroken):
            await store.load(ACME, "run-1")


async def test_many_short_runs_are_each_read_as_they_are(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        runs = [start(f"run-{number}").run for number in range(40)]
        await asyncio.gather(*(store.append(start(run.id)) for run in runs))
        assert await asyncio.gather(*(store.load(ACME, run.id) for run in runs)) == runs


async def test_many_rows_go_in_at_once_and_as_they_are(url: str) -> None:
    rows = [(ACME, 0, number, bytes([number])) for number in range(20)]
    async with PostgresStore.open(url, KEYS) as store:
        await store._write(ACME, lambda db: db.insert("audit_nodes (company_id, level, number, hash)", rows))
        found = await store._read(lambda db: db.rows("SELECT company_id, level, number, hash FROM audit_nodes"))
        assert found == rows
