"""Copies of a database: whole, of one moment, never in anybody's way, and put back without a
gap.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from actors.ports import StoreFailed
from daemon.stores.migrations import read_migrations
from daemon.stores.sqlite import backups, inspection
from daemon.stores.sqlite.backups import CopyRefused, back_up, examined, restore
from daemon.stores.sqlite.connection import in_use, locked
from daemon.stores.sqlite.store import SqliteStore
from tests.histories import account, append, change, decide, start, stored_connector

THEN = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def now() -> datetime:
    return THEN


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "penstock.db"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


def fill(database: Path, *run_ids: str) -> None:
    asyncio.run(filled(database, *run_ids))


async def filled(database: Path, *run_ids: str) -> None:
    async with SqliteStore.open(database) as store:
        for run_id in run_ids:
            await store.append(start(run_id))


def run_ids(database: Path) -> list[str]:
    with inspection.looking(database) as db:
        return [run_id for (run_id,) in db.execute("SELECT id FROM runs ORDER BY id")]


def left_by_a_kill(database: Path) -> None:
    """The folder as a kill leaves it: what was committed last stands in the log alone."""
    script = (
        "import asyncio, os, signal, sys; from pathlib import Path\n"
        "from daemon.stores.sqlite.store import SqliteStore; from tests.histories import start\n"
        "async def main():\n"
        "    async with SqliteStore.open(Path(sys.argv[1])) as store:\n"
        "        await store.append(start('in-the-log'))\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(database)], check=False, timeout=60).returncode < 0
    assert database.with_name("penstock.db-wal").stat().st_size > 0


def prints(folder: Path) -> dict[str, str]:
    """What each file holds; what is shared between processes beside it is no content."""
    files = (one for one in folder.iterdir() if not one.name.endswith("-shm"))
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


async def test_a_copy_beside_a_running_store_holds_all_that_was_committed(database: Path, file: Path) -> None:
    async with SqliteStore.open(database) as store:
        for number in range(5):
            await store.append(start(f"run-{number}"))
        await append(store, decide(start("run-0").run))
        holding = await asyncio.to_thread(back_up, database, file)
        await store.append(start("later"))
    assert (holding.schema, holding.runs) == (len(read_migrations()), {"completed": 1, "parked": 4})
    assert len(run_ids(file)) == 5


async def test_a_copy_says_until_when_it_holds_all_of_people_and_connectors_too(database: Path, file: Path) -> None:
    async with SqliteStore.open(database) as store:
        assert back_up(database, file).last_at is None
        await store.register(account(), None)
        await store.put_connector(stored_connector(version=7), change(7))
    holding = await asyncio.to_thread(back_up, database, file, replace=True)
    assert holding.last_at is not None
    assert datetime.fromisoformat(holding.last_at) == change(7).at


def test_a_copy_is_one_file_for_its_owner_alone(database: Path, file: Path) -> None:
    fill(database, "run-1")
    holding = back_up(database, file)
    assert holding.size_bytes == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {one.name for one in file.parent.iterdir()} == {"data", "copy.db"}


async def test_a_copy_is_of_one_moment_while_others_write(database: Path, file: Path) -> None:
    """Each write adds two runs or none; a copy that mixed moments would hold an odd number or be
    damaged.
    """
    async with SqliteStore.open(database) as store:

        async def pair(number: int) -> None:
            await asyncio.gather(
                *(store.append(start(f"{number:04}-{half}", inputs={"t": "x" * 9_000})) for half in "ab")
            )

        for number in range(200):
            await pair(number)
        copying = asyncio.create_task(asyncio.to_thread(back_up, database, file))
        number = 200
        while not copying.done():
            await pair(number)
            number += 1
        holding = await copying
        assert number > 205
    (parked,) = holding.runs.values()
    assert (parked % 2, 200 <= parked // 2 < number) == (0, True)


def test_a_copy_never_writes_to_what_it_copies_nor_folds_the_log(database: Path, file: Path) -> None:
    left_by_a_kill(database)
    before = prints(database.parent)
    assert back_up(database, file).runs == {"parked": 1}
    assert prints(database.parent) == before


def test_a_copy_of_a_stopped_store_is_whole(database: Path, file: Path) -> None:
    fill(database, "run-1")
    before = prints(database.parent)
    assert back_up(database, file).runs == {"parked": 1}
    assert {name: text for name, text in prints(database.parent).items() if name != "penstock.db-wal"} == before
    fill(database, "run-2")
    assert run_ids(database) == ["run-1", "run-2"]


def test_a_file_that_is_there_is_replaced_only_when_that_is_said(database: Path, file: Path) -> None:
    fill(database, "run-1")
    file.write_text("a letter", encoding="utf-8")
    with pytest.raises(CopyRefused, match="is there already; choose another name, or say --replace"):
        back_up(database, file)
    assert file.read_text(encoding="utf-8") == "a letter"
    back_up(database, file, replace=True)
    assert run_ids(file) == ["run-1"]


@pytest.mark.parametrize("name", ["penstock.db", "copy.db", "jwt.keys"])
def test_nothing_is_written_into_the_data_folder(database: Path, name: str) -> None:
    fill(database, "run-1")
    before = prints(database.parent)
    with pytest.raises(CopyRefused, match="lies in the data folder"):
        back_up(database, database.with_name(name), replace=True)
    assert prints(database.parent) == before


def test_without_a_database_there_is_nothing_to_copy(database: Path, file: Path) -> None:
    with pytest.raises(CopyRefused, match="There is no database"):
        back_up(database, file)
    assert not database.parent.exists()


def damage(database: Path) -> None:
    """Make an index disagree with its table."""
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE").fetchall()
        (page,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'runs_by_status'").fetchone()
    with database.open("r+b") as raw:
        raw.seek((page - 1) * 4096 + 3)
        raw.write(b"\x00\x00")


def test_a_damaged_database_makes_no_copy_and_leaves_nothing_behind(database: Path, file: Path) -> None:
    fill(database, "run-1", "run-2")
    damage(database)
    with pytest.raises(CopyRefused, match="damaged"):
        back_up(database, file)
    assert list(file.parent.iterdir()) == [database.parent]


def test_what_was_copied_is_put_back_and_the_earlier_database_aside(database: Path, file: Path) -> None:
    fill(database, "run-1")
    back_up(database, file)
    left_by_a_kill(database)
    holding, aside = restore(file, database, now, replace=True)
    assert aside == database.with_name("penstock.db.replaced-20260302T120000000000Z")
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert not list(database.parent.glob("*-wal"))
    assert (holding.runs, run_ids(database)) == ({"parked": 1}, ["run-1"])
    fill(database, "run-2")
    assert run_ids(database) == ["run-1", "run-2"]
    assert run_ids(aside) == ["in-the-log", "run-1"]


def test_a_copy_is_put_where_there_is_no_database_yet(database: Path, file: Path) -> None:
    fill(database, "run-1")
    back_up(database, file)
    elsewhere = file.parent / "other" / "penstock.db"
    assert restore(file, elsewhere, now)[1] is None
    assert run_ids(elsewhere) == ["run-1"]
    assert stat.S_IMODE(elsewhere.parent.stat().st_mode) == 0o700


def test_a_database_that_is_there_stays_unless_that_is_said(database: Path, file: Path) -> None:
    fill(database, "run-1")
    back_up(database, file)
    with pytest.raises(CopyRefused, match="say --replace to put it aside"):
        restore(file, database, now)


async def test_nothing_is_put_into_a_folder_in_use(database: Path, file: Path) -> None:
    await filled(database, "run-1")
    back_up(database, file)
    async with SqliteStore.open(database) as store:
        assert in_use(database.parent)
        with pytest.raises(StoreFailed, match="Another process uses the data folder"):
            restore(file, database, now, replace=True)
        await store.append(start("run-2"))
    assert not in_use(database.parent)
    assert run_ids(database) == ["run-1", "run-2"]


def test_a_damaged_copy_changes_nothing(database: Path, file: Path) -> None:
    fill(database, "run-1")
    back_up(database, file)
    damage(file)
    before = prints(database.parent)
    with pytest.raises(CopyRefused, match="damaged"):
        restore(file, database, now, replace=True)
    assert prints(database.parent) == before


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("INSERT INTO migrations VALUES (99, 'tomorrow', 'x', 'x')", "written by a newer one"),
        ("UPDATE migrations SET checksum = 'x' WHERE number = 1", "is not the one that comes with"),
        ("DROP TABLE migrations", "no database of Penstock"),
    ],
)
def test_a_copy_of_another_schema_changes_nothing(database: Path, file: Path, statement: str, why: str) -> None:
    fill(database, "run-1")
    back_up(database, file)
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute(statement)
    before = prints(database.parent)
    with pytest.raises(CopyRefused, match=why):
        restore(file, database, now, replace=True)
    assert prints(database.parent) == before


def test_a_database_in_use_is_no_backup(database: Path, file: Path) -> None:
    left_by_a_kill(database)
    with pytest.raises(CopyRefused, match="has a log beside it"):
        restore(database, file.parent / "other" / "penstock.db", now)
    with pytest.raises(CopyRefused, match="There is no file"):
        restore(file, database, now)


def test_a_log_without_its_database_is_not_thrown_away(database: Path, file: Path) -> None:
    fill(database, "run-1")
    back_up(database, file)
    left_by_a_kill(database)
    database.rename(file.with_name("moved.db"))
    before = prints(database.parent)
    with pytest.raises(CopyRefused, match=r"stands in .* without its database"):
        restore(file, database, now)
    assert prints(database.parent) == before


def test_an_earlier_database_that_nobody_can_open_is_put_aside_as_it_is(database: Path, file: Path) -> None:
    fill(database, "run-1")
    back_up(database, file)
    for log in ("-wal", "-shm"):
        database.with_name(database.name + log).unlink(missing_ok=True)
    database.write_bytes(b"a letter to a friend" * 1_000)
    _, aside = restore(file, database, now, replace=True)
    assert aside is not None
    assert aside.read_bytes().startswith(b"a letter")
    assert run_ids(database) == ["run-1"]


def test_an_earlier_database_is_never_parted_from_a_log_that_it_needs(database: Path, file: Path) -> None:
    fill(database, "run-1")
    back_up(database, file)
    left_by_a_kill(database)
    database.write_bytes(b"a letter to a friend" * 1_000)
    before = prints(database.parent)
    with pytest.raises(CopyRefused, match=r"Move penstock\.db and penstock\.db-wal elsewhere, together"):
        restore(file, database, now, replace=True)
    assert prints(database.parent) == before


def test_a_restore_that_is_killed_anywhere_leaves_the_earlier_database_or_the_copy(tmp_path: Path) -> None:
    """A child is killed at its first, second, … touch of the folder, until one comes through."""
    database, file = tmp_path / "data" / "penstock.db", tmp_path / "copy.db"
    fill(database, "copied")
    back_up(database, file)
    left_by_a_kill(database)
    shutil.copytree(database.parent, tmp_path / "as-it-was")
    cut = [sys.executable, "-m", "tests.crash.cut", str(tmp_path)]
    killed = int(subprocess.run(cut, check=True, capture_output=True, timeout=120).stdout)
    assert killed >= 8
    stood = [stands_after_a_kill(tmp_path / f"cut-{number}" / "penstock.db", file) for number in range(1, killed + 1)]
    assert stood == sorted(stood, key=["the earlier one", "the copy"].index)
    assert len(set(stood)) == 2


def stands_after_a_kill(cut: Path, file: Path) -> str:
    """Which database a service finds; the other is whole, too, and the restore can be repeated."""
    fill(cut)
    found = run_ids(cut)
    asides = [one for one in cut.parent.glob("*.replaced-*") if not one.samefile(cut)]
    if found == ["copied"]:
        assert [run_ids(one) for one in asides] == [["copied", "in-the-log"]]
    else:
        assert (found, asides) == (["copied", "in-the-log"], [])
    restore(file, cut, now, replace=True)
    assert run_ids(cut) == ["copied"]
    assert not list(cut.parent.glob(f".*{backups.PARTIAL}"))
    assert {one.stat().st_nlink for one in cut.parent.iterdir()} == {1}
    return "the copy" if found == ["copied"] else "the earlier one"


@pytest.fixture
def of_another() -> Iterator[Path]:
    """A folder of another user, in one that every user can enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can act as somebody else")
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        folder = Path(place) / "data"
        folder.mkdir(mode=0o700)
        os.chown(folder, 12_345, 12_345)
        yield folder


def test_what_root_restores_belongs_to_the_owner_of_the_folder(database: Path, file: Path, of_another: Path) -> None:
    fill(database, "run-1")
    back_up(database, file)
    restore(file, of_another / "penstock.db", now)
    assert {one.stat().st_uid for one in of_another.iterdir()} == {12_345}


def test_root_follows_no_link_that_the_owner_of_a_folder_has_put_there(
    database: Path, file: Path, of_another: Path, tmp_path: Path
) -> None:
    fill(database, "run-1")
    back_up(database, file)
    secret = tmp_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    (of_another / "penstock.lock").symlink_to(secret)
    with pytest.raises(CopyRefused):
        restore(file, of_another / "penstock.db", now)
    assert (secret.stat().st_uid, stat.S_IMODE(secret.stat().st_mode), secret.read_text()) == (0, 0o600, "root's")
    assert os.geteuid() == 0


def test_root_backs_up_no_file_that_the_owner_of_the_folder_cannot_read(
    database: Path, file: Path, of_another: Path
) -> None:
    fill(database, "run-1")
    (of_another / "penstock.db").symlink_to(database)
    with pytest.raises(CopyRefused):
        back_up(of_another / "penstock.db", file)
    assert not file.exists()


def test_a_folder_is_in_use_while_somebody_holds_it(tmp_path: Path) -> None:
    assert not in_use(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        assert in_use(tmp_path)
    assert not in_use(tmp_path)


def test_a_sound_copy_is_told_from_a_file_that_is_none(file: Path) -> None:
    file.write_bytes(b"a letter to a friend" * 1_000)
    with pytest.raises(CopyRefused, match="damaged: file is not a database"):
        examined(file)
