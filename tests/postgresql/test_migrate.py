"""An installation moves from SQLite to PostgreSQL whole or not at all, and goes on there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from daemon.audit.sealer import Signer
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model import FolderInUse, RunQuery, SchemaMismatch, TokenEpoch
from daemon.model.chain import text_of_hash
from daemon.model.event_log import BEGINNING
from daemon.model.evidence import StoredCheckpoint
from daemon.stores import migrate
from daemon.stores.postgres.store import PostgresStore
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.store import Store
from tests.audit.scenario import first_half, second_half
from tests.histories import ACME, NOON, OTHER, Clock, account, append, change, decide, receipt, start, stored_connector
from tests.postgres import KEYS
from tests.stores.contract.test_sessions import HASHES, UNTIL, USER, advanced, session
from tests.stores.contract.test_webhooks import hook, log_of

if TYPE_CHECKING:
    from actors.core.run import Run
    from tests.postgres import Server


def sign(company: str, size: int, root: bytes, previous: str | None) -> StoredCheckpoint:
    return StoredCheckpoint(
        at="now", company=company, key_id="k", previous=previous, root=text_of_hash(root), signature="s", size=size
    )


async def filled(path: Path) -> list[Run]:
    """Two companies with runs, an account, a connector, a webhook; some of it is sealed."""
    async with SqliteStore.open(path, clock=Clock(), keys=KEYS) as store:
        await store.register(account(), receipt("first", ""), (), session("a", refresh=HASHES))
        assert await store.advance_epoch(*advanced(1, "a", "$argon2id$another"))
        await store.put_connector(stored_connector(), change())
        one, two, busy = start("run-1"), start("run-2", OTHER), start("run-3", gates=())
        await append(store, one)
        await store.append(two)
        await store.seal(sign)
        await store.append(busy)
        await append(store, decide(one.run))
        await store.add_webhook(hook(), log_of(hook()), None)
        return [decide(one.run).run, two.run, busy.run]


async def runs_of(store: Store) -> list[Run]:
    return [run for company in (ACME, OTHER) for run in await store.find(company, RunQuery())]


async def moved(path: Path, url: str) -> list[str]:
    said: list[str] = []
    await migrate.move(path, url, KEYS, Clock(), said.append)
    return said


def stopping_after(last: str) -> Any:
    """A move that fails when the table of that name is copied."""
    every = migrate.tables

    async def some(old: sqlite3.Connection, db: Any) -> list[migrate.MigratedTable]:
        found = await every(old, db)
        names = [one.name for one in found]
        return [*found[: names.index(last) + 1], migrate.MigratedTable("no_such_table", ("x",), "SELECT 1")]

    return some


def counts(path: Path) -> dict[str, int]:
    """The rows of each table of a database that is moved as it is."""
    with closing(sqlite3.connect(path)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM pragma_table_list WHERE type = 'table'")]
        found = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}  # noqa: S608
    of_sqlite = ("audit_sealed", "audit_stopped", "sqlite_")
    return {
        name: count for name, count in found.items() if name not in migrate.MADE_ANEW and not name.startswith(of_sqlite)
    }


async def test_every_row_of_every_table_is_moved(postgres: Server, tmp_path: Path) -> None:
    await filled(tmp_path / "penstock.db")
    with closing(sqlite3.connect(tmp_path / "penstock.db", isolation_level=None)) as db:
        db.execute("INSERT INTO run_redactions VALUES ('acme', 'run-1', 1, 'asked for', 'now', 'ann', '[]')")
    expected = counts(tmp_path / "penstock.db")
    url = await postgres.made()
    await moved(tmp_path / "penstock.db", url)
    db = await asyncpg.connect(url)
    try:
        found = {name: await db.fetchval(f"SELECT count(*) FROM {name}") for name in expected}  # noqa: S608
    finally:
        await db.close()
    assert found == expected
    assert found["run_redactions"] == 1


async def test_a_store_with_rows_of_every_kind_is_moved(postgres: Server, tmp_path: Path) -> None:
    write_ring(tmp_path / "audit.keys", KeyRing("old", {"old": bytes(32)}).rotated())
    signer = Signer(tmp_path / "audit.keys", tmp_path / "audit.pub", lambda: NOON)
    async with SqliteStore.open(tmp_path / "penstock.db", clock=Clock(), keys=KEYS) as store:
        await first_half(store, signer)
        await second_half(store, signer)
    expected = counts(tmp_path / "penstock.db") | {"report_cursors": 2}
    assert 0 not in {expected[name] for name in ("autonomies", "archived_runs", "report_decisions", "report_judged")}
    url = await postgres.made()
    await moved(tmp_path / "penstock.db", url)
    db = await asyncpg.connect(url)
    try:
        found = {name: await db.fetchval(f"SELECT count(*) FROM {name}") for name in expected}  # noqa: S608
    finally:
        await db.close()
    assert found == expected
    async with PostgresStore.open(url, KEYS) as store:
        while await store.index_runs(ACME):
            pass
        assert await store.find(ACME, RunQuery(words=("prior",)))
        assert not await store.follow_commits(ACME, 10_000, NOON.date())


async def test_everything_is_there_afterwards_and_goes_on(postgres: Server, tmp_path: Path) -> None:
    runs = await filled(tmp_path / "penstock.db")
    async with SqliteStore.open(tmp_path / "penstock.db", keys=KEYS) as before:
        there, told = await runs_of(before), await before.read_after(ACME, BEGINNING, 100)
    url = await postgres.made()
    said = await moved(tmp_path / "penstock.db", url)
    assert said[-1] == "compared: 7 commits and 2 checkpoints are the same, byte for byte"
    async with PostgresStore.open(url, KEYS) as store:
        assert await runs_of(store) == there
        assert await store.read_after(ACME, BEGINNING, 100) == told
        there_account = await store.account_by_email("ann@example.test")
        assert there_account is not None
        assert (there_account.user.epoch, there_account.user.password_hash) == (1, "$argon2id$another")
        assert await store.epochs(NOON) == {USER: TokenEpoch(1, "a", UNTIL)}
        assert await store.session("a") == session("a", refresh=HASHES)
        assert list(await store.connectors_of(ACME)) == [stored_connector()]
        assert list(await store.claim()) == [(ACME, "run-3")]
        await append(store, decide(runs[1]))
        assert await store.seal(sign) == 4
        webhook = await store.webhook(*hook().key)
        assert webhook is not None
        assert await store.read_after(ACME, webhook.cursor, 100) == []
        await store.append(start("run-9"))
        assert {one.run_id for one in await store.read_after(ACME, webhook.cursor, 100)} == {"run-9"}


async def test_a_move_that_was_broken_off_keeps_daemons_out_and_is_begun_again(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(tmp_path / "penstock.db")
    url = await postgres.made()
    with monkeypatch.context() as broken:
        broken.setattr(migrate, "tables", stopping_after("revocations"))
        with pytest.raises(Exception, match="no_such_table"):
            await moved(tmp_path / "penstock.db", url)
    with pytest.raises(SchemaMismatch, match="not finished"):
        async with PostgresStore.open(url, KEYS):
            pass
    await moved(tmp_path / "penstock.db", url)
    async with PostgresStore.open(url, KEYS) as store:
        assert len(await runs_of(store)) == 3


async def test_nothing_is_moved_over_an_installation_nor_twice(postgres: Server, template: str, tmp_path: Path) -> None:
    await filled(tmp_path / "penstock.db")
    url = await postgres.made(template)
    async with PostgresStore.open(url, KEYS) as store:
        await store.append(start("run-7"))
    with pytest.raises(migrate.MigrationRefused, match="already"):
        await moved(tmp_path / "penstock.db", url)
    fresh = await postgres.made()
    await moved(tmp_path / "penstock.db", fresh)
    with pytest.raises(migrate.MigrationRefused, match="already"):
        await moved(tmp_path / "penstock.db", fresh)


async def test_what_was_changed_there_meanwhile_is_found(postgres: Server, tmp_path: Path) -> None:
    await filled(tmp_path / "penstock.db")
    url = await postgres.made()
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(migrate, "tables", stopping_after("commits"))
        with pytest.raises(Exception, match="no_such_table"):
            await moved(tmp_path / "penstock.db", url)
    await postgres.told("UPDATE commits SET events = events || 'x'", url.rpartition("/")[2])
    with pytest.raises(migrate.MigrationRefused, match="commits are not the same"):
        await moved(tmp_path / "penstock.db", url)


async def test_a_service_that_runs_is_not_moved(postgres: Server, tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db", keys=KEYS):
        with pytest.raises(FolderInUse):
            await moved(tmp_path / "penstock.db", await postgres.made())
