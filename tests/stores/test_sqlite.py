"""SQLite underneath the store: its settings, its files, and what happens when it fails."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import aiosqlite
import pytest

from actors.ports import StoreFailed
from daemon.audit.sealer import Signer
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model import DiskFull, GroupEdit, RunQuery, SchemaMismatch
from daemon.model.audit_events import GroupChanged, Logged
from daemon.model.retention.records import StoredRedaction
from daemon.stores.sqlite import connection, journal
from daemon.stores.sqlite.database import Rows, _statement, numbered
from daemon.stores.sqlite.engine import LOG_BYTES_MAX
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.tables.agents import actions
from daemon.stores.tables.lists import search
from daemon.stores.tables.runs import listing
from tests.histories import (
    ACME,
    NOON,
    account,
    append,
    change,
    commit,
    decide,
    receipt,
    start,
    stored_connector,
    work,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from daemon.stores.database import Database


LETTER = b"a letter to a friend" * 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "penstock.db"


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    (tmp_path / "penstock.db").write_bytes(LETTER)
    return tmp_path / "penstock.db"


def content(path: Path) -> bytes:
    return path.read_bytes()


@asynccontextmanager
async def opened(path: Path, alarms: list[str] | None = None) -> AsyncIterator[SqliteStore]:
    alarms = [] if alarms is None else alarms
    async with SqliteStore.open(path, on_failed=lambda: alarms.append("failed"), clock=lambda: NOON) as store:
        yield store


def beside(path: Path, statement: str) -> list[Any]:
    """Run a statement on the closed database."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute(statement).fetchall()


async def underneath(store: SqliteStore, work: Callable[[sqlite3.Connection], Any]) -> None:
    """Do something to the connection that writes, behind the store's back."""
    engine: Any = store._writer._engine
    await engine._connection.run(work)


def limited(pages: int) -> Callable[[sqlite3.Connection], Any]:
    """Let the database grow by so many pages and no more, as on a disk that is nearly full."""

    def limit(db: sqlite3.Connection) -> None:
        (count,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {count + pages}").fetchall()

    return limit


async def test_every_connection_has_the_settings_that_durability_rests_on(path: Path) -> None:
    async with opened(path) as store:
        wanted = [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("wal_autocheckpoint", 0)]
        engine: Any = store._writer._engine
        for one in (engine._connection, *store._readers):
            for name, value in wanted:
                assert await one.run(lambda db, name=name: db.execute(f"PRAGMA {name}").fetchone()) == (value,)


async def test_the_one_private_name_of_aiosqlite_is_there() -> None:
    async with aiosqlite.connect(":memory:") as db:
        assert await db._execute(lambda number: number + 1, 1) == 2  # type: ignore[no-untyped-call]


async def test_readers_cannot_write(path: Path) -> None:
    async with opened(path) as store:
        for reader in store._readers:
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                await reader.run(lambda db: db.execute("DELETE FROM runs"))


def test_a_setting_that_does_not_take_is_refused_by_name() -> None:
    with (
        closing(sqlite3.connect(":memory:", isolation_level=None)) as db,
        pytest.raises(SchemaMismatch, match="journal_mode = wal"),
    ):
        connection.configure(db, connection.WRITER_PRAGMAS)


async def test_only_the_owner_can_read_the_files(path: Path) -> None:
    async with opened(path) as store:
        await store.append(start())
        files = {one.name: oct(one.stat().st_mode & 0o777) for one in path.parent.iterdir()}
        assert path.parent.stat().st_mode & 0o777 == 0o700
    names = ("commit.keys", "penstock.db", "penstock.db-wal", "penstock.db-shm", "penstock.lock")
    assert files == dict.fromkeys(names, "0o600")


async def test_a_reopened_store_has_everything(path: Path) -> None:
    begun = start(receipt=receipt(run_id="run-1", status=201))
    async with opened(path) as store:
        await store.append(begun)
        await append(store, decide(begun.run))
        await store.append(start("run-2", gates=()))
        await store.register(account(), None)
        await store.put_connector(stored_connector(), change())
        await store.revoke("token-1", NOON.replace(year=2030))
    async with opened(path) as store:
        assert await store.load(ACME, "run-1") == decide(begun.run).run
        assert len(await store.history(ACME, "run-1", 0, 100)) == 5
        assert await store.unfinished() == [(ACME, "run-2")]
        assert await store.account_by_email("ann@example.test") == account()
        assert list(await store.connectors_of(ACME)) == [stored_connector()]
        assert await store.revoked() == {"token-1": NOON.replace(year=2030)}
        assert await store.receipt(ACME, "/process-runs/", "key-1") == begun.receipt


async def test_a_second_opener_is_refused_until_the_first_has_closed(path: Path) -> None:
    async with opened(path):
        with pytest.raises(StoreFailed, match="Another process uses the data folder"):
            async with opened(path):
                pass
    async with opened(path) as store:
        await store.ping()


async def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(letter: Path) -> None:
    with pytest.raises(SchemaMismatch, match="not a database"):
        async with opened(letter):
            pass
    assert content(letter) == LETTER


async def test_a_database_with_an_unknown_migration_is_refused(path: Path) -> None:
    async with opened(path):
        pass
    beside(path, "INSERT INTO migrations VALUES (99, 'tomorrow', 'x', 'x')")
    with pytest.raises(SchemaMismatch, match="tomorrow"):
        async with opened(path):
            pass


async def test_closing_leaves_one_whole_file(path: Path) -> None:
    async with opened(path) as store:
        await store.append(start())
    assert {one.name for one in path.parent.iterdir()} == {"commit.keys", "penstock.db", "penstock.lock"}
    assert beside(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE snapshots SET schema = 0, body = '[]'",
        "UPDATE snapshots SET schema = 999",
        "UPDATE snapshots SET body = CAST('[{}]' AS BLOB)",
        "UPDATE snapshots SET version = 1",
        "DELETE FROM snapshots",
    ],
)
async def test_a_snapshot_that_is_not_of_our_kind_is_passed_over_for_the_events(path: Path, damage: str) -> None:
    begun = start()
    async with opened(path) as store:
        await store.append(begun)
        await append(store, work(begun.run))
    beside(path, damage.replace("'[]'", "CAST('[]' AS BLOB)"))
    async with opened(path) as store:
        assert await store.load(ACME, "run-1") == work(begun.run).run
        assert await store.find(ACME, RunQuery()) == [work(begun.run).run]


async def test_a_history_that_cannot_be_read_is_a_failure_and_not_a_missing_run(path: Path) -> None:
    async with opened(path) as store:
        await store.append(start())
    beside(path, "UPDATE commits SET events = x'00'")
    async with opened(path) as store:
        with pytest.raises(StoreFailed, match="could not be read"):
            await store.history(ACME, "run-1", 0, 10)


async def test_a_run_that_cannot_be_read_fails_alone_when_many_are_asked_for_at_once(path: Path) -> None:
    async with opened(path) as store:
        await asyncio.gather(*(store.append(start(f"run-{number}")) for number in range(5)))
    beside(path, "UPDATE commits SET events = x'00' WHERE run_id = 'run-3'")
    beside(path, "DELETE FROM snapshots")
    async with opened(path) as store:
        asked = (store.load(ACME, f"run-{number}") for number in range(6))
        found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one).__name__ for one in found] == ["Run", "Run", "Run", "HistoryBroken", "Run", "NoneType"]


async def test_a_large_run_is_not_written_whole_at_every_commit(path: Path) -> None:
    turn, behind = start(inputs={"text": "x" * 40_000}), 0
    async with opened(path) as store:
        for _ in range(50):
            await append(store, turn)
            ((kept,),) = await store._readers[0].run(lambda db: db.execute("SELECT version FROM snapshots").fetchall())
            assert turn.run.version * 4 <= kept * 5 + 12
            behind += kept < turn.run.version
            assert await store.load(ACME, "run-1") == turn.run
            turn = work(turn.run)
    assert behind > 25


async def test_the_log_stays_short_under_many_writes(path: Path) -> None:
    log = path.with_name("penstock.db-wal")
    longest = 0
    async with opened(path) as store:
        for n in range(60):
            await store.append(start(f"run-{n:02}", inputs={"text": "x" * 300_000}))
            longest = max(longest, log.stat().st_size)
        assert (await store.load(ACME, "run-59")) is not None
    assert LOG_BYTES_MAX < longest < 2 * LOG_BYTES_MAX


async def test_a_full_disk_refuses_the_batch_and_the_store_goes_on_when_there_is_room(path: Path) -> None:
    alarms: list[str] = []
    async with opened(path, alarms) as store:
        await store.append(start("run-0"))
        await underneath(store, limited(pages=20))
        large = [start(f"run-{n}", inputs={"text": "x" * 50_000}) for n in (1, 2, 3)]
        results = await asyncio.gather(*(append(store, one) for one in large), return_exceptions=True)
        assert [one.outcome for one in results if isinstance(one, StoreFailed)] == ["not_applied"] * 3
        assert [run.id for run in await store.find(ACME, RunQuery())] == ["run-0"]
        await underneath(store, limited(pages=10_000))
        for one in large:
            await append(store, one)
        assert [run.id for run in await store.find(ACME, RunQuery())] == ["run-3", "run-2", "run-1", "run-0"]
        assert not store.failed
    assert alarms == []
    assert beside(path, "PRAGMA integrity_check") == [("ok",)]


async def test_with_too_little_room_nothing_is_written_and_all_can_be_read(path: Path) -> None:
    alarms: list[str] = []
    async with opened(path, alarms) as store:
        await store.append(start("run-0"))
    async with SqliteStore.open(path, free_bytes_min=2**62, on_failed=lambda: alarms.append("failed")) as store:
        for write in (store.ping(), store.append(start("run-1")), store.register(account(), None)):
            with pytest.raises(DiskFull, match="bytes free") as full:
                await write
            assert full.value.outcome == "not_applied"
        assert [run.id for run in await store.find(ACME, RunQuery())] == ["run-0"]
        assert not store.failed
    assert alarms == []


async def test_after_an_error_of_the_disk_before_the_commit_nothing_more_is_written(path: Path) -> None:
    alarms: list[str] = []
    async with opened(path, alarms) as store:
        await store.append(start("run-0"))
        await underneath(store, lambda db: db.execute("PRAGMA query_only = 1").fetchall())
        with pytest.raises(StoreFailed, match="SQLITE_READONLY") as failure:
            await store.append(start("run-1"))
        assert failure.value.outcome == "not_applied"
        await underneath(store, lambda db: db.execute("PRAGMA query_only = 0").fetchall())
        with pytest.raises(StoreFailed, match="has failed"):
            await store.append(start("run-2"))
        assert [run.id for run in await store.find(ACME, RunQuery())] == ["run-0"]
    assert alarms == ["failed"]


async def test_a_damaged_page_is_found_after_an_unclean_stop_and_named(path: Path, tmp_path: Path) -> None:
    async with opened(path) as store:
        for number in range(100):
            await store.append(start(f"run-{number}"))
    async with opened(path) as store:
        await store.append(start("last"))
        shutil.copytree(path.parent, tmp_path / "killed")
    left = tmp_path / "killed" / path.name
    with left.open("r+b") as file:
        file.seek(left.stat().st_size - 16 * 4096)
        file.write(bytes(15 * 4096))
    with pytest.raises(StoreFailed, match=r"The database is damaged: .*Page"):
        async with opened(left):
            pass


async def test_a_writer_that_has_lost_its_connection_answers_everybody_and_says_so(path: Path) -> None:
    alarms: list[str] = []
    async with opened(path, alarms) as store:
        await store.append(start("run-0"))
        await underneath(store, lambda db: db.close())
        writes = [store.append(start(f"run-{n}")) for n in range(300)]
        results = await asyncio.gather(*writes, return_exceptions=True)
        outcomes = [one.outcome for one in results if isinstance(one, StoreFailed)]
        assert outcomes == ["unknown"] * 256 + ["not_applied"] * 44
        assert store.failed
        for write in (store.ping(), store.append(start()), store.register(account(), None)):
            with pytest.raises(StoreFailed, match="has failed"):
                await write
        assert await store.load(ACME, "run-0") == start("run-0").run
    assert alarms == ["failed"]


async def test_a_commit_that_fails_at_its_very_end_is_of_unknown_outcome(path: Path) -> None:
    alarms: list[str] = []

    async def orphan(db: Database) -> None:
        await db.rows("PRAGMA defer_foreign_keys = 1")
        await db.execute(
            "INSERT INTO users (company_id, id, email, email_key, password_hash, created_at) "
            "VALUES ('nowhere', 'u', 'e', 'e', 'p', 'now')"
        )

    async with opened(path, alarms) as store:
        with pytest.raises(StoreFailed) as failure:
            await store._writer.submit(orphan)
        assert failure.value.outcome == "unknown"
        assert store.failed
        assert await store.account("u", "nowhere") is None
    assert alarms == ["failed"]


async def test_a_row_that_the_schema_refuses_fails_alone(path: Path) -> None:
    async with opened(path) as store:
        await store.register(account(), None)
        again = account(email="other@example.test")
        results = await asyncio.gather(
            store.append(start()), store.register(again, None), store.append(start("run-2")), return_exceptions=True
        )
        assert [type(one) for one in results] == [bytes, StoreFailed, bytes]
        assert not store.failed


async def test_what_cannot_be_stored_is_refused_before_it_is_queued(path: Path) -> None:
    begun = start()
    async with opened(path) as store:
        with pytest.raises(ValueError, match="surrogates"):
            await store.append(start("run-2", inputs={"half": "\ud800"}))
        await store.append(begun)
        await append(store, commit(begun.run, resting=False))
        assert not store.failed


async def test_a_change_of_a_connector_stays_whoever_writes(path: Path) -> None:
    async with opened(path) as store:
        await store.put_connector(stored_connector(), change())
    for statement in ("UPDATE connector_changes SET by = 'eve'", "DELETE FROM connector_changes"):
        with pytest.raises(sqlite3.IntegrityError, match="is never"):
            beside(path, statement)
    async with opened(path) as store:
        assert list(await store.connector_changes(ACME, "chart-fetch", None, 9)) == [change()]


async def test_a_redaction_keeps_the_writer_from_others_no_longer_for_many_old_receipts(
    path: Path, tmp_path: Path
) -> None:
    write_ring(tmp_path / "audit.keys", KeyRing("one", {"one": secrets.token_bytes(32)}))
    signer, counted = Signer(tmp_path / "audit.keys", tmp_path / "audit.pub", lambda: NOON), [0]

    def count() -> None:
        counted[0] += 1

    async def counting(db: Any) -> None:
        db.connection.set_progress_handler(count, 10)

    async with opened(path) as store:

        async def steps(run_id: str) -> int:
            """The tens of steps that the writing connection takes for a redaction."""
            await store.append(start(run_id, inputs={"member": run_id}, receipt=receipt(run_id, run_id=run_id)))
            run = await store.load(ACME, run_id)
            assert run is not None
            await append(store, decide(run))
            asked = StoredRedaction(ACME, run_id, 0, "31", NOON + timedelta(hours=1), "ann", ("/inputs/member",))
            counted[0] = 0
            await store.redact(asked, "session", signer.sign)
            kept = await store.receipt(ACME, "/process-runs/", run_id)
            assert kept is not None
            assert kept.status == 410
            return counted[0]

        await store._write(ACME, counting)
        few = await steps("run-1")
        for number in range(2_000):
            await store.keep_receipt(receipt(f"{number}", status=201))
        assert await steps("run-2") < 3 * few


async def test_words_of_redacted_runs_leave_a_large_index_a_piece_at_a_time(path: Path) -> None:
    async def said(db: Database, first: int) -> None:
        for number in range(first, first + 400):
            words = " ".join(f"{number * word:x}{word}" for word in range(200))
            await db.execute("INSERT INTO run_words (rowid, words) VALUES ($1, $2)", number + 1, words)

    async def piece(db: Database) -> bool:
        before = await db.value("SELECT total_changes()")
        more = await search.forget_words(db, begin=not written)
        written.append(await db.value("SELECT total_changes()") - before)
        return more

    written: list[int] = []
    async with opened(path) as store:
        for first in range(0, 2_000, 400):
            await store._write(ACME, partial(said, first=first))
        while await store._write(ACME, piece):
            pass
    assert len(written) > 2
    assert max(written) < 4 * search.FORGOTTEN_PAGES < sum(written)


async def test_a_group_is_changed_without_a_look_at_all_others(path: Path) -> None:
    async with opened(path) as store:
        await store.register(account(), None)

        async def others(db: Database) -> None:
            rows = [(ACME, f"g{group}", f"m{member}") for group in range(100) for member in range(100)]
            await db.insert("group_members (company_id, group_name, member_id)", rows)

        async def steps(name: str) -> int:
            event = GroupChanged(at=NOON, after=("user-ann",), before=None, by="ann", group=name, via="session")
            edit = GroupEdit(ACME, name, None, ("user-ann",), "ann", NOON, Logged(ACME, event))
            counted[0] = 0
            assert await store.edit_group(edit)
            return counted[0]

        def count() -> None:
            counted[0] += 1

        async def counting(db: Any) -> None:
            db.connection.set_progress_handler(count, 10)

        counted = [0]
        await store._write(ACME, counting)
        few = await steps("nurses")
        await store._write(ACME, others)
        assert await steps("physicians") < 3 * few


async def test_a_search_asks_for_the_words_of_the_index_that_begin_like_its_own(path: Path) -> None:
    said = [
        "prior",
        "prior-auth",
        "Priöre",
        "prioritize",
        "apriori",
        "übrig",
        *(f"many{number}" for number in range(20)),
    ]
    async with opened(path) as store:
        for number, one in enumerate(said):
            await store.append(start(f"run-{number:02}", inputs={"said": one}))
        await store.index_runs(ACME)
        asked = ("prior", "priora", "priore", "p", "ubrig", "übr", "many", "many1", "nobody")
        terms = await store._read(lambda db: search.terms_of(db, asked))
        for word in asked:
            found = await store.find(ACME, RunQuery(limit=50, words=(word,)))
            begun = await store._read(partial(gathered, word=word))
            assert ([run.id for run in found], bool(found)) == (begun, word != "nobody"), word
        assert terms["prior"] == ["prior", "priorauth", "priore", "prioritize"]
        assert [word for word in asked if word not in terms] == ["übr", "many"]
        query = RunQuery(limit=50, words=("prior", "many"))
        _, (_, _, match) = listing("sqlite", ACME, query, terms) or ("", [])
        assert match.endswith('" AND ("prior" OR "priorauth" OR "priore" OR "prioritize") AND "many"*')


async def gathered(db: Database, word: str) -> list[str]:
    """The runs that have a word with that beginning, as the index itself finds them."""
    statement = "SELECT id FROM run_words JOIN runs ON number = run_words.rowid WHERE run_words MATCH $1"
    return [run_id for (run_id,) in await db.rows(f"{statement} ORDER BY number DESC", f'"{word}"*')]


async def test_runs_whose_clock_is_due_are_found_without_those_that_have_none(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db"):
        pass
    found = listing("sqlite", "c", RunQuery(clock_due_before=NOON))
    assert found is not None
    statement, values = found
    with closing(sqlite3.connect(tmp_path / "penstock.db")) as db:
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement.replace('$', '?')}", values)]
    assert any("runs_by_clock" in line for line in plan), plan


GIVEN = re.compile(r"SCAN (?:\d+ )?(?:CONSTANT ROWS?|asked|new)")
WRITTEN_TOGETHER = {name: one for name, one in vars(journal).items() if isinstance(one, Rows)}


@pytest.mark.parametrize("count", [1, 2, 64])
@pytest.mark.parametrize("name", WRITTEN_TOGETHER)
async def test_what_commits_write_together_looks_at_no_rows_of_others(tmp_path: Path, name: str, count: int) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db"):
        pass
    rows = WRITTEN_TOGETHER[name]
    with closing(sqlite3.connect(tmp_path / "penstock.db")) as db:
        asked = db.execute(
            f"EXPLAIN QUERY PLAN {_statement(rows, count)}",
            [None] * rows.columns * count,
        )
        plan = [row[3] for row in asked]
    assert [line for line in plan if line.startswith("SCAN") and not GIVEN.fullmatch(line)] == []


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (actions._CLAIMED, "actions_in_doubt (company_id=? AND outcome=? AND fingerprint=?)"),
        (actions._SPENT, "actions_spent (company_id=? AND rule=? AND spent_at>?)"),
        (actions._SPENT_BY_AGENT, "actions_spent_by_agent (company_id=? AND rule=? AND agent=? AND spent_at>?)"),
        (actions._HITS.format(seen=""), "actions_by_rule (company_id=?)"),
    ],
)
async def test_what_actions_are_decided_by_is_found_in_an_index_alone(
    tmp_path: Path, statement: str, index: str
) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db"):
        pass
    with closing(sqlite3.connect(tmp_path / "penstock.db")) as db:
        count = len({*re.findall(r"\$\d", statement)})
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {numbered(statement)}", [None] * count)]
    assert f"SEARCH actions USING COVERING INDEX {index}" in plan
