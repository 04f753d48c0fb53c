"""Commits from before there were MACs are given theirs once; later one without a MAC is forged."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from actors.ports import StoreFailed
from daemon.cli import app
from daemon.keys.commit_keys import FILE, CommitKeys
from daemon.keys.keyring import KeyFileRefused, KeyRing, write_ring
from daemon.model.audit_events import SERVICE, CommitsAdopted, KeysChanged, KeysForm, Logged
from daemon.stores.codec import decode_log
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.tables import commit_macs
from daemon.verification.stores import verify_store
from tests.histories import ACME, NOON, append, decide, start

FORGET = "UPDATE commits SET mac = NULL"


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A database as the version before wrote it, without a key."""
    path = tmp_path / "penstock.db"
    async with SqliteStore.open(path) as store:
        for number in range(7):
            await store.append(start(f"run-{number}"))
    beside(path, FORGET)
    beside(path, "DELETE FROM snapshots")
    (tmp_path / FILE).unlink()
    return path


def beside(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute(statement).fetchall()


def without(path: Path) -> int:
    return len(beside(path, "SELECT 1 FROM commits WHERE mac IS NULL"))


def counted(path: Path) -> tuple[int, int]:
    (found,) = [
        decode_log(events)[0] for (events,) in beside(path, "SELECT events FROM commits WHERE run_id = 'commit_macs'")
    ]
    assert isinstance(found, CommitsAdopted)
    return found.number, found.until


async def penstock(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, arguments)


def given(folder: Path) -> None:
    """A key file that an operator provided."""
    write_ring(folder / FILE, KeyRing("", {}).rotated())


async def test_the_first_start_gives_every_commit_its_mac_and_writes_down_how_many(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_macs, "ADOPTED_MAX", 3)
    async with SqliteStore.open(path) as store:
        assert counted(path) == (7, 7)
        run = await store.load(ACME, "run-1")
        assert run is not None
        await append(store, decide(run))
    assert without(path) == 0
    async with SqliteStore.open(path) as store:
        assert store.adopted == 0


async def test_a_commit_without_a_mac_that_comes_later_stays_forged_through_every_start(path: Path) -> None:
    async with SqliteStore.open(path):
        pass
    beside(path, f"{FORGET} WHERE run_id = 'run-1'")
    for _ in range(2):
        async with SqliteStore.open(path) as store:
            with pytest.raises(StoreFailed, match="there is no MAC"):
                await store.load(ACME, "run-1")
            assert await store.load(ACME, "run-2") is not None
    assert without(path) == 1


async def test_an_adoption_that_was_cut_off_goes_on_with_the_same_key(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = commit_macs._adopted, []

    async def cut(db: Any) -> int:
        calls.append(1)
        if len(calls) > 2:
            raise sqlite3.OperationalError("the power is gone")
        return await real(db)

    monkeypatch.setattr(commit_macs, "ADOPTED_MAX", 2)
    with monkeypatch.context() as patch:
        patch.setattr(commit_macs, "_adopted", cut)
        with pytest.raises(StoreFailed, match="the power is gone"):
            async with SqliteStore.open(path):
                pass
    assert (without(path), (path.parent / FILE).exists()) == (3, False)
    async with SqliteStore.open(path) as store:
        for number in range(7):
            assert await store.load(ACME, f"run-{number}") is not None
    assert without(path) == 0


async def test_with_a_key_that_was_there_before_an_operator_has_to_say_so(path: Path) -> None:
    given(path.parent)
    with pytest.raises(KeyFileRefused, match="penstock verify finds nothing, and call penstock commits adopt"):
        async with SqliteStore.open(path):
            pass
    said = await penstock("commits", "adopt", "--data-dir", str(path.parent))
    assert (said.exit_code, said.output.splitlines()[-1]) == (0, "7 commits were given MACs")
    async with SqliteStore.open(path) as store:
        assert await store.load(ACME, "run-1") is not None


async def test_the_service_does_not_start_without_its_key_and_says_which_is_missing(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        ring = CommitKeys.open(path.with_name(FILE), create=False).ring
        known = KeysForm(current=ring.current, known=tuple(ring.keys))
        event = KeysChanged(after=known, at=NOON, before=None, by="", purpose="commits", via="service")
        await store.log(Logged(SERVICE, event))
        await store.append(start("run-7"))
    path.with_name(FILE).unlink()
    for _ in range(2):
        with pytest.raises(KeyFileRefused, match=f"does not hold the key {ring.current}"):
            async with SqliteStore.open(path):
                pass
    said = await penstock("commits", "adopt", "--lost-keys", "--data-dir", str(path.parent))
    assert (said.exit_code, said.output.splitlines()[-1]) == (0, "10 commits were given MACs")
    keys = CommitKeys.open(path.with_name(FILE), create=False)
    assert {one.kind for one in verify_store(path, {}, commit_keys=keys)}.isdisjoint({"mac", "snapshot"})
    async with SqliteStore.open(path) as store:
        assert await store.load(ACME, "run-1") is not None
