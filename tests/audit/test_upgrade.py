"""A data folder from before there was evidence becomes one with it, and nothing in it is lost."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from actors.ports import Commit, StoreFailed
from daemon.audit.sealer import Sealer, Signer, read_public
from daemon.keys.commit_keys import FILE, CommitKeys
from daemon.keys.keyring import KeyRing, write_ring
from daemon.runtime.json_codec import dumps
from daemon.stores import codec
from daemon.stores.migrations import read_migrations
from daemon.stores.rows import iso, run_row
from daemon.stores.sqlite import upgrade
from daemon.stores.sqlite.backups import restore
from daemon.stores.sqlite.engine import migrate
from daemon.stores.sqlite.store import SqliteStore
from daemon.verification.stores import verify_store
from tests.histories import ACME, NOON, append, change, decide, start, stored_connector, work

OLDER = ("via", "was")


def old_form(commit: Commit) -> bytes:
    """The events as one JSON array in the order of their fields, without what they did not have
    then.
    """
    events = [
        {name: value for name, value in json.loads(dumps(one)).items() if name not in OLDER} for one in commit.events
    ]
    return json.dumps(events).encode()


def write_old(db: sqlite3.Connection, commits: list[Commit]) -> None:
    for one in commits:
        run = one.run
        version, resting, status, parked, updated, vertical, created = run_row(run)
        row = (run.company_id, run.id, version, resting, status, vertical, parked, created, updated)
        db.execute(
            "INSERT INTO runs (company_id, id, version, resting, status, vertical, parked, created_at, updated_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (company_id, id) DO UPDATE SET version = excluded.version, "
            "resting = excluded.resting, status = excluded.status, parked = excluded.parked",
            row,
        )
        values = (run.company_id, run.id, run.version, one.expected_version + 1, old_form(one))
        db.execute(
            "INSERT INTO commits (company_id, run_id, version, first_seq, events) VALUES (?, ?, ?, ?, ?)", values
        )


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of schema 2, with runs, a connector and its changes."""
    path = tmp_path / "penstock.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = wal").fetchall()
        migrate(db, read_migrations()[:2], "then")
        for number in range(4):
            begun = start(f"run-{number}", inputs={"number": number, "share": 1.0, "näme": "雪 \U0001f600"})
            write_old(db, [begun] if number % 2 else [begun, decide(begun.run)])
        busy = [start("busy", gates=())]
        for _ in range(3):
            busy.append(work(busy[-1].run))
        write_old(db, busy)
        for number in (1, 2):
            one = change(number)
            states = (codec.encode_connector(one.before), codec.encode_connector(one.after))
            row = (ACME, one.tool_id, number, number, iso(one.at), one.by, one.secret, *states)
            db.execute("INSERT INTO connector_changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        stored = stored_connector(version=2)
        times = (iso(stored.created_at), iso(stored.updated_at), stored.updated_by)
        kept = (ACME, "chart-fetch", codec.encode_connector(stored.connector), None, *times)
        db.execute("INSERT INTO connectors VALUES (?, ?, ?, ?, ?, ?, ?)", kept)
    return path


async def test_an_older_data_folder_has_its_runs_and_then_its_evidence(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "REWRITE_MAX", 3)
    write_ring(old.parent / "audit.keys", KeyRing("", {}).rotated())
    signer = Signer(old.parent / "audit.keys", old.parent / "audit.pub", lambda: NOON)
    async with SqliteStore.open(old) as store:
        run = await store.load(ACME, "run-1")
        assert run is not None
        assert repr(run.inputs["share"]) == "1.0"
        assert len(await store.history(ACME, "run-0", 0, 100)) == 5
        assert len(await store.connector_changes(ACME, "chart-fetch", None, 9)) == 2
        await append(store, decide(run))
        await store.put_connector(stored_connector(version=3), change(3))
        await Sealer(store, signer).seal()
    keys = read_public(old.parent / "audit.pub")
    assert list(verify_store(old, keys)) == []
    with closing(sqlite3.connect(old)) as db:
        before = db.execute("SELECT * FROM commits ORDER BY position").fetchall()
    async with SqliteStore.open(old):
        pass
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("SELECT * FROM commits ORDER BY position").fetchall() == before
        assert upgrade.upgrade(db, CommitKeys.open(old.with_name(FILE), create=False)) == 0


async def test_a_database_is_copied_before_it_is_migrated_and_the_copy_brings_it_back(old: Path) -> None:
    with closing(sqlite3.connect(old)) as db:
        before = list(db.iterdump())
    for _ in range(2):  # the second opening has nothing to migrate
        async with SqliteStore.open(old) as store:
            await store.append(start(f"later-{len(await store.history(ACME, 'later-0', 0, 9))}"))
    (kept,) = old.parent.glob("penstock.db.schema-*")
    assert (kept.name, kept.stat().st_mode & 0o777) == ("penstock.db.schema-2", 0o600)
    restore(kept, old, lambda: NOON, replace=True)
    with closing(sqlite3.connect(old)) as db:
        assert list(db.iterdump()) == before


async def test_a_new_database_is_not_copied(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db"):
        pass
    assert [name for name in os.listdir(tmp_path) if ".schema-" in name] == []  # noqa: PTH208


async def test_a_connector_from_before_there_were_changes_has_one_that_says_what_is_known(old: Path) -> None:
    with closing(sqlite3.connect(old)) as db, db:
        for tool, sealed in (("bare", None), ("sealed", b"x")):
            one = codec.encode_connector(stored_connector(tool, version=3).connector)
            row = (ACME, tool, one, sealed, iso(NOON), iso(NOON), "bob")
            db.execute("INSERT INTO connectors VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    write_ring(old.parent / "audit.keys", KeyRing("", {}).rotated())
    async with SqliteStore.open(old) as store:
        for tool, secret in (("bare", "none"), ("sealed", "set")):
            (found,) = await store.connector_changes(ACME, tool, None, 9)
            assert (found.number, found.version, found.by, found.via) == (1, 3, "bob", "upgrade")
            assert (found.before, found.secret) == (None, secret)
            assert found.after == stored_connector(tool, version=3).connector
        assert len(await store.connector_changes(ACME, "chart-fetch", None, 9)) == 2
        await Sealer(store, Signer(old.parent / "audit.keys", old.parent / "audit.pub", lambda: NOON)).seal()
    assert list(verify_store(old, read_public(old.parent / "audit.pub"))) == []
    with closing(sqlite3.connect(old)) as db, db:
        db.execute("UPDATE connectors SET tool_id = 'inserted' WHERE tool_id = 'bare'")
    async with SqliteStore.open(old) as store:
        assert await store.connector_changes(ACME, "inserted", None, 9) == []
    assert "connector" in {one.kind for one in verify_store(old, read_public(old.parent / "audit.pub"))}


async def test_a_rewriting_that_was_cut_off_goes_on_where_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = upgrade._rewrite, []

    def cut(db: sqlite3.Connection) -> int:
        calls.append(1)
        if len(calls) > 2:
            raise sqlite3.OperationalError("the power is gone")
        return real(db)

    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "REWRITE_MAX", 2)
        patch.setattr(upgrade, "_rewrite", cut)
        with pytest.raises(StoreFailed, match="the power is gone"):
            async with SqliteStore.open(old):
                pass
    async with SqliteStore.open(old) as store:
        assert await store.load(ACME, "busy") is not None
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("SELECT count(*) FROM commits WHERE head IS NULL").fetchone() == (0,)
