"""What the service itself does with a history that was changed: it says so, and serves no state of
it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from actors.ports import StoreFailed
from daemon.model.chain import HistoryBroken
from daemon.stores.sqlite.store import SqliteStore
from tests.histories import ACME, append, decide, start, work

LOSE_SNAPSHOTS = "DELETE FROM snapshots"
DAMAGES = {
    "an edited event": "UPDATE commits SET events = replace(CAST(events AS TEXT), 'ann', 'eve') WHERE first_seq = 1",
    "an edited head": "UPDATE commits SET head = zeroblob(32) WHERE first_seq = 1",
    "a lost beginning": "DELETE FROM commits WHERE first_seq = 1",
    "a lost middle": "DELETE FROM commits WHERE first_seq = 4",
    "a lost end": "DELETE FROM commits WHERE first_seq = 7",
    "another exact form": "UPDATE commits SET exact = replace(CAST(exact AS TEXT), '1.0', '2.0') WHERE first_seq = 1",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "penstock.db"


async def written(path: Path) -> None:
    turn = start(inputs={"share": 1.0, "by": "ann"})
    async with SqliteStore.open(path) as store:
        for _ in range(3):
            await append(store, turn)
            turn = work(turn.run)


def beside(path: Path, statement: str) -> int:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        statement = statement.replace("SET events = replace(CAST(events AS TEXT), 'ann', 'eve')", EDITED)
        statement = statement.replace("replace(CAST(exact AS TEXT), '1.0', '2.0')", EXACT)
        return db.execute(statement).rowcount


EDITED = "SET events = CAST(replace(CAST(events AS TEXT), 'ann', 'eve') AS BLOB)"
EXACT = "CAST(replace(CAST(exact AS TEXT), '1.0', '2.0') AS BLOB)"


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_changed_history_is_neither_folded_nor_listed(path: Path, damage: str) -> None:
    await written(path)
    assert beside(path, damage) == 1
    beside(path, LOSE_SNAPSHOTS)
    async with SqliteStore.open(path) as store:
        for read in (store.load(ACME, "run-1"), store.history(ACME, "run-1", 0, 100)):
            with pytest.raises(StoreFailed) as broken:
                await read
            assert broken.value.outcome == "not_applied"
            assert "run-1" in str(broken.value) or "exact" in str(broken.value)


@pytest.mark.parametrize("first_seq", [1, 4])
async def test_a_store_in_which_a_head_is_missing_is_refused_by_name(path: Path, first_seq: int) -> None:
    await written(path)
    beside(path, f"UPDATE commits SET head = NULL WHERE first_seq = {first_seq}")  # noqa: S608
    with pytest.raises(HistoryBroken, match=f"run-1 .* event {first_seq} "):
        async with SqliteStore.open(path):
            pass


async def test_a_run_whose_last_commit_is_gone_takes_nothing_more(path: Path) -> None:
    begun = start()
    async with SqliteStore.open(path) as store:
        await store.append(begun)
    beside(path, "DELETE FROM commits")
    async with SqliteStore.open(path) as store:
        with pytest.raises(HistoryBroken, match=r"run-1 .* event 3"):
            await append(store, decide(begun.run))
        await store.append(start("run-2"))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE snapshots SET mac = zeroblob(16)",
        "UPDATE snapshots SET body = CAST(replace(CAST(body AS TEXT), 'ann', 'eve') AS BLOB)",
        "UPDATE snapshots SET run = (SELECT max(number) FROM runs)",
    ],
)
async def test_a_snapshot_that_was_changed_is_passed_over_for_the_history(path: Path, damage: str) -> None:
    begun = start()
    async with SqliteStore.open(path) as store:
        await store.append(begun)
        await store.append(start("run-2", gates=("legal",)))
    beside(path, "DELETE FROM snapshots WHERE run = (SELECT max(number) FROM runs)")
    beside(path, damage)
    async with SqliteStore.open(path) as store:
        assert await store.load(ACME, "run-1") == begun.run
        assert await store.load(ACME, "run-2") == start("run-2", gates=("legal",)).run


async def test_evidence_is_added_and_never_changed_whoever_writes(path: Path) -> None:
    async with SqliteStore.open(path):
        pass
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT INTO audit_leaves VALUES ('c', 0, 's', 1, 1)")
        db.execute("INSERT INTO audit_nodes VALUES ('c', 0, 0, x'00')")
        db.execute("INSERT INTO audit_checkpoints VALUES ('c', 1, 'a', 'k', NULL, 'r', 's')")
        for table in ("audit_leaves", "audit_nodes", "audit_checkpoints"):
            for statement in (f"UPDATE {table} SET company_id = 'd'", f"DELETE FROM {table}"):  # noqa: S608
                with pytest.raises(sqlite3.IntegrityError, match="is never"):
                    db.execute(statement)
