"""Runs of a SQLite file that come from a snapshot and from what was committed after it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from daemon.model import RunQuery
from daemon.model.chain import HistoryBroken, text_of_hash
from daemon.model.evidence import StoredCheckpoint
from daemon.stores import codec
from daemon.stores.sqlite.database import SIZES, Rows
from daemon.stores.sqlite.journal import ENDED_EVENTS_MAX
from daemon.stores.sqlite.store import SqliteStore
from tests.histories import ACME, append, commit, decide, start, work

if TYPE_CHECKING:
    from pathlib import Path

    from actors.ports import Commit

ODD_COMPANY, ODD_RUN = "a:b,c|d", "run:1,2:é"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "penstock.db"


async def written(path: Path, *commits: Commit) -> None:
    async with SqliteStore.open(path) as store:
        for one in commits:
            await append(store, one)


def beside(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute(statement).fetchall()


def sign(company: str, size: int, root: bytes, previous: str | None) -> StoredCheckpoint:
    return StoredCheckpoint(
        at="now", company=company, key_id="k", previous=previous, root=text_of_hash(root), signature="s", size=size
    )


def kept(path: Path) -> list[int]:
    """The versions of the snapshots."""
    return [version for (version,) in beside(path, "SELECT version FROM snapshots ORDER BY run")]


async def test_a_run_that_ends_keeps_the_snapshot_from_before_and_is_read_as_it_ended(path: Path) -> None:
    begun = start()
    ended = decide(begun.run)
    await written(path, begun, ended)
    assert kept(path) == [begun.run.version]
    async with SqliteStore.open(path) as store:
        assert await store.load(ACME, "run-1") == ended.run
        assert await store.find(ACME, RunQuery()) == [ended.run]


async def test_a_run_that_begins_and_ends_at_once_has_a_snapshot(path: Path) -> None:
    begun = start()
    whole = commit(None, *begun.events, *decide(begun.run).events)
    await written(path, whole)
    assert kept(path) == [whole.run.version]


async def test_a_run_that_ends_with_many_events_has_a_snapshot_of_its_end(path: Path) -> None:
    begun = start()
    turn = work(begun.run)
    events = list(turn.events)
    while len(events) <= ENDED_EVENTS_MAX:
        turn = work(turn.run)
        events += turn.events
    whole = commit(begun.run, *events, *decide(turn.run).events)
    await written(path, begun, whole)
    assert kept(path) == [whole.run.version]


async def test_a_run_many_commits_behind_its_snapshot_is_read_as_its_last_commit_left_it(path: Path) -> None:
    turn = start(inputs={"text": "x" * codec.SNAPSHOT_BYTES_MAX})
    async with SqliteStore.open(path) as store:
        await append(store, turn)
        for _ in range(19):
            turn = work(turn.run)
            await append(store, turn)
        assert await store.load(ACME, "run-1") == turn.run
        assert await store.find(ACME, RunQuery()) == [turn.run]
    between = "version > (SELECT version FROM snapshots) AND version < (SELECT max(version) FROM commits)"
    assert beside(path, f"SELECT count(*) >= 2 FROM commits WHERE {between}") == [(1,)]  # noqa: S608


async def test_many_ended_runs_are_read_together_in_the_order_asked_for(path: Path) -> None:
    begun = [start(f"run-{number:03}") for number in range(150)]
    ended = [decide(one.run) for one in begun[::2]]
    async with SqliteStore.open(path) as store:
        await asyncio.gather(*(append(store, one) for one in begun))
        await asyncio.gather(*(append(store, one) for one in ended))
        wanted = {one.run.id: one.run for one in (*begun, *ended)}
        assert await store.find(ACME, RunQuery(limit=200)) == [
            wanted[run_id] for run_id in sorted(wanted, reverse=True)
        ]
        assert await asyncio.gather(*(store.load(ACME, run_id) for run_id in wanted)) == list(wanted.values())


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM commits WHERE run_id = 'run-2' AND first_seq > 1",
        "DELETE FROM commits WHERE run_id = 'run-2' AND first_seq = 1",
        "UPDATE commits SET head = zeroblob(32) WHERE run_id = 'run-2' AND first_seq = 1",
        "UPDATE commits SET events = CAST(replace(CAST(events AS TEXT), 'bob', 'eve') AS BLOB) WHERE run_id = 'run-2'",
    ],
)
async def test_an_ended_run_whose_history_was_changed_fails_alone(path: Path, damage: str) -> None:
    begun = [start(f"run-{number}") for number in range(1, 4)]
    ended = [decide(one.run) for one in begun]
    await written(path, *begun, *ended)
    beside(path, damage)
    async with SqliteStore.open(path) as store:
        asked = (store.load(ACME, one.run.id) for one in begun)
        one, broken, three = await asyncio.gather(*asked, return_exceptions=True)
    assert (one, three) == (ended[0].run, ended[2].run)
    assert isinstance(broken, HistoryBroken)
    assert broken.stream == "run-2"


async def test_ids_of_any_letters_are_chained_and_sealed_like_others(path: Path) -> None:
    begun = start(ODD_RUN, ODD_COMPANY)
    turn = work(begun.run)
    async with SqliteStore.open(path) as store:
        await store.append(begun)
        await append(store, turn)
        assert await store.load(ODD_COMPANY, ODD_RUN) == turn.run
        assert len(await store.history(ODD_COMPANY, ODD_RUN, 0, 100)) == turn.run.version
        assert await store.seal(sign) == 2
        leaves = await store.entries(ODD_COMPANY, 0, 9)
    assert [(one.stream, one.version) for one in leaves] == [(ODD_RUN, begun.run.version), (ODD_RUN, turn.run.version)]


def test_any_number_of_rows_is_written_by_few_statements() -> None:
    asked = Rows("SELECT * FROM (", columns=1, after=")")
    with closing(sqlite3.connect(":memory:")) as db:
        for count in range(1, SIZES[-1] + 1):
            rows = [(number,) for number in range(count)]
            assert asked.read(db, rows) == rows
            assert len(list(asked._run(db, rows))) <= 3
