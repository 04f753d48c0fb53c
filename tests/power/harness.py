"""Cuts a record at random places and looks at what a disk could have kept, on all cores."""

from __future__ import annotations

import asyncio
import logging
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from tests.power.checks import Known, faults, faults_of_service
from tests.power.disk import Disk, found, lay_out
from tests.power.recording import Kind, Record
from tests.power.workload import Recording

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
TOLD_MAX = 5
OPENED_ONE_IN, OPENED_EARLY_ONE_IN = 60, 10
NAMING = {Kind.CREATE, Kind.RENAME, Kind.UNLINK, Kind.MKDIR}


@dataclass(slots=True)
class Found:
    """What came of some images."""

    images: int = 0
    served: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        self.images += other.images
        self.served += other.served
        self.wrong += other.wrong
        self.examples = [*self.examples, *other.examples][:TOLD_MAX]


def scratch() -> Path:
    """A folder of our own, in memory where that can be had."""
    return Path(tempfile.mkdtemp(prefix="penstock-power-", dir=MEMORY if MEMORY.is_dir() else None))


def is_complete(recording: Recording) -> bool:
    """Whether the record tells the whole story: played back, it gives what really is in the
    folder.
    """
    disk = Disk(str(recording.root))
    for record in recording.records:
        disk.apply(record)
    return disk.whole() == found(recording.root)


def cuts(records: list[Record], number: int, chance: random.Random) -> list[int]:
    """Where to cut: anywhere, just before a sync, just after an answer, and wherever names come and
    go.
    """
    places: list[list[int]] = [
        list(range(1, len(records) + 1)),
        [at for at, record in enumerate(records) if record.kind is Kind.SYNC],
        [at + 1 for at, record in enumerate(records) if record.kind is Kind.TOLD],
        [at + 1 + more for at, record in enumerate(records) if record.kind in NAMING for more in (0, 1, 2)],
    ]
    chosen = chance.choices(places, (40, 25, 25, 10), k=number)
    return sorted(min(chance.choice(some), len(records)) for some in chosen)


def after_answers(records: list[Record], number: int, chance: random.Random) -> list[int]:
    """So many places just after somebody was told something, and all those just after a call
    arrived outside.
    """
    told = [at + 1 for at, record in enumerate(records) if record.kind is Kind.TOLD]
    called = [at for at in told if b'"called"' in records[at - 1].data]
    return sorted(called + chance.choices(told, k=number))


def look(recording: Recording, places: Iterable[int], seed: int) -> Found:
    """Cut at each place, in order, and look at one image each."""
    log = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    result, chance, folder = Found(), random.Random(seed), scratch()
    try:
        for number, (place, disk, known) in enumerate(_at(recording, places)):
            image = folder / str(number)
            lay_out(disk.cut(chance), image)
            one_in = OPENED_ONE_IN if known else OPENED_EARLY_ONE_IN
            wrong = _wrong(recording, image, known, result, served=number % one_in == one_in - 1)
            result.images += 1
            result.wrong += bool(wrong)
            result.examples += [f"cut at {place}: {wrong[0]}"] if wrong and len(result.examples) < TOLD_MAX else []
            shutil.rmtree(image, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        structlog.configure(**log)
    return result


def _at(recording: Recording, places: Iterable[int]) -> Iterator[tuple[int, Disk, Known]]:
    disk, known, at = Disk(str(recording.root)), Known(), 0
    for place in places:
        for record in recording.records[at:place]:
            disk.apply(record)
            if record.kind is Kind.TOLD:
                known.add(record.data)
        at = place
        yield place, disk, known


def _wrong(recording: Recording, image: Path, known: Known, result: Found, *, served: bool) -> list[str]:
    data = image / "data"
    if not data.exists():
        return ["the data folder is gone"] if known else []
    wrong = faults(data, known)
    if served and not wrong:
        result.served += 1
        wrong = asyncio.run(faults_of_service(data, recording.templates, known))
    return wrong


def examine(recording: Recording, images: int, *, seed: int, workers: int = 1) -> Found:
    """Look at so many images, shared among processes."""
    places = cuts(recording.records, images, random.Random(seed))
    if workers == 1:
        return look(recording, places, seed)
    result = Found()
    with ProcessPoolExecutor(workers) as pool:
        shares = [places[first::workers] for first in range(workers)]
        for share in pool.map(look, [recording] * workers, shares, range(seed, seed + workers)):
            result.add(share)
    return result
