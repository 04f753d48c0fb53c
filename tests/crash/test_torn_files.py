"""Bytes of the files are flipped, torn or lost after a kill: a prefix of the history is served, or
nothing is.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from actors.ports import StoreFailed
from daemon.model import RecordedEvent
from daemon.model.event_log import shown_event
from daemon.runtime.json_codec import dumps, loads
from daemon.stores import codec
from daemon.stores.sqlite.store import SqliteStore
from daemon.web.resources.run_json import run_json
from tests.crash.forked import forked
from tests.crash.service import Service, together, write_templates

EXIT_STORE_FAILED, EXIT_CONFIG = 74, 78
RUNS, LATER = 20, 20
PAGE_BYTES, SECTOR_BYTES = 4096, 512
FRAME_BYTES = 24 + PAGE_BYTES
LAST_FRAMES = 150


@dataclass(frozen=True)
class Left:
    """What a killed service left behind: its folder, its runs, and the history of each as it was
    acknowledged.
    """

    folder: Path
    company_id: str
    token: str
    histories: dict[str, list[dict[str, Any]]]


async def worked(service: Service, number: int) -> list[str]:
    """Runs of which every other one was decided on."""
    runs = [run["id"] for run in await service.start("held", number)]
    await together(service.resume(run_id) for run_id in runs[::2])
    return runs


@pytest.fixture(scope="session")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """A database, and a log with the later half of what happened, as a kill under load leaves
    them.
    """
    folder = tmp_path_factory.mktemp("left")
    write_templates(folder / "templates")

    async def live() -> Left:
        async with forked(folder) as service:
            await service.register()
            runs = await worked(service, RUNS)
            service.process.terminate()
            await service.process.wait()
        async with forked(folder) as again:
            again.token = service.token
            runs += await worked(again, LATER)
            histories = {run_id: await again.history(run_id) for run_id in runs}
            _, me = await again.send("GET", "/auth/me")
            load = [asyncio.create_task(again.start("held", 5)) for _ in range(3)]
            await asyncio.wait(load, return_when=asyncio.FIRST_COMPLETED)
            await again.kill()
            await asyncio.gather(*load, return_exceptions=True)
        return Left(folder, me["company"]["id"], again.token, histories)

    return asyncio.run(live())


Damage = Callable[[Path, random.Random], None]


def in_last_frames(chance: random.Random, log: Path) -> int:
    """A place in one of the last frames of a log."""
    size = log.stat().st_size
    return size - 1 - chance.randrange(min(size - 32, LAST_FRAMES * FRAME_BYTES))


def overwrite(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


def flip(data: Path, chance: random.Random) -> None:
    """One bit of the log."""
    log = data / "penstock.db-wal"
    place = in_last_frames(chance, log)
    overwrite(log, place, bytes((log.read_bytes()[place] ^ 1 << chance.randrange(8),)))


def tear(data: Path, chance: random.Random) -> None:
    """A sector of the log that never came to the disk."""
    log = data / "penstock.db-wal"
    place = in_last_frames(chance, log) // SECTOR_BYTES * SECTOR_BYTES
    overwrite(log, place, bytes(SECTOR_BYTES))


def cut(data: Path, chance: random.Random) -> None:
    """The end of the log."""
    log = data / "penstock.db-wal"
    with log.open("r+b") as file:
        file.truncate(in_last_frames(chance, log))


def header(data: Path, chance: random.Random) -> None:
    """A bit of the head of the log: all of it is lost."""
    log = data / "penstock.db-wal"
    place = chance.randrange(32)
    overwrite(log, place, bytes((log.read_bytes()[place] ^ 1 << chance.randrange(8),)))


def index(data: Path, chance: random.Random) -> None:
    """The index of the log, which can be made anew."""
    shared = data / "penstock.db-shm"
    shared.write_bytes(chance.randbytes(shared.stat().st_size if chance.random() < 0.5 else 100))


def page(data: Path, chance: random.Random) -> None:
    """The head of one of the last pages of the database."""
    database = data / "penstock.db"
    pages = database.stat().st_size // PAGE_BYTES
    overwrite(database, (pages - 1 - chance.randrange(8)) * PAGE_BYTES, chance.randbytes(16))


def shortened(data: Path, chance: random.Random) -> None:
    """The last pages of the database."""
    database = data / "penstock.db"
    with database.open("r+b") as file:
        file.truncate(database.stat().st_size - PAGE_BYTES * chance.randint(1, 8))


def first_page(data: Path, chance: random.Random) -> None:
    """The head of the database."""
    overwrite(data / "penstock.db", 0, chance.randbytes(PAGE_BYTES))


CASES = (
    *((flip, seed) for seed in range(6)),
    *((tear, seed) for seed in range(4)),
    *((cut, seed) for seed in range(4)),
    *((header, seed) for seed in range(2)),
    *((index, seed) for seed in range(2)),
    *((page, seed) for seed in range(4)),
    *((shortened, seed) for seed in range(2)),
    *((first_page, seed) for seed in range(1)),
)
LOSES_NOTHING = {index}


@pytest.mark.parametrize(("damage", "seed"), CASES, ids=lambda value: getattr(value, "__name__", value))
async def test_a_damaged_database_gives_a_prefix_of_its_history_or_is_refused(
    tmp_path: Path, left: Left, damage: Damage, seed: int
) -> None:
    shutil.copytree(left.folder / "data", tmp_path / "data")
    shutil.copytree(left.folder / "templates", tmp_path / "templates")
    damage(tmp_path / "data", random.Random(seed))
    async with forked(tmp_path) as service:
        service.token = left.token
        if not service.address:
            assert damage not in LOSES_NOTHING
            await names_what_is_wrong(service)
            return
        shown = {run_id: (await service.send("GET", f"/process-runs/{run_id}")) for run_id in left.histories}
        await service.kill()
    assert {status for status, _ in shown.values()} <= {200, 401, 404, 503}
    if damage in LOSES_NOTHING:
        assert {status for status, _ in shown.values()} == {200}
    await check_shown(tmp_path, left, {run_id: run for run_id, (status, run) in shown.items() if status == 200})


async def names_what_is_wrong(service: Service) -> None:
    code = await service.process.wait()
    said = service.log.read_text(encoding="utf-8")
    assert code in (EXIT_STORE_FAILED, EXIT_CONFIG)
    assert "penstock: " in said
    assert "penstock.db" in said or "database" in said
    assert "Traceback" not in said


async def check_shown(folder: Path, left: Left, shown: dict[str, Any]) -> None:
    """Each run that was shown is what its history makes of it, and that history is the beginning of
    the true one.
    """
    async with SqliteStore.open(folder / "data" / "penstock.db") as store:
        for run_id, run in shown.items():
            try:
                recorded = await store.history(left.company_id, run_id, 0, 1_000)
            except StoreFailed:
                continue
            told = [loads(dumps(shown_event(one.seq, one.event))) for one in recorded]
            assert told == left.histories[run_id][: len(told)]
            assert run == loads(dumps(run_json(folded(recorded))))


def folded(recorded: Sequence[RecordedEvent]) -> Any:
    return codec.fold(one.event for one in recorded)


async def test_what_the_kill_left_is_whole(tmp_path: Path, left: Left) -> None:
    shutil.copytree(left.folder / "data", tmp_path / "data")
    shutil.copytree(left.folder / "templates", tmp_path / "templates")
    async with forked(tmp_path) as service:
        service.token = left.token
        assert {run_id: await service.history(run_id) for run_id in left.histories} == left.histories
        shown = {run_id: await service.read(run_id) for run_id in left.histories}
        await service.kill()
    await check_shown(tmp_path, left, shown)
