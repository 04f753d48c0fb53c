"""Whenever the power goes, the disk has whatever was acknowledged; and whoever syncs too little is
caught.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.power.disk import Disk
from tests.power.harness import after_answers, examine, is_complete, look, scratch
from tests.power.recording import Log, read, syncs
from tests.power.served import FAULTS
from tests.power.workload import Plan, Recording, planted, record, recorder
from tests.seeds import drawn

RECORDED_S = 60
MAKE_KEYS = """
import os
from pathlib import Path
from tests.power import within
if "POWER_RECORDER" in os.environ:
    within.watch()
from daemon.runtime.durable_files import make_folder
from daemon.keys.keyring import KeyRing, write_ring
folder = Path(os.environ["POWER_ROOT"]) / "a" / "b"
make_folder(folder)
write_ring(folder / "keys", KeyRing("", {}).rotated())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory: what a power cut would take is worked out, so no real disk need wait."""
    found = scratch()
    yield found
    shutil.rmtree(found, ignore_errors=True)


def recorded(folder: Path, plan: Plan, by: dict[str, str]) -> Recording:
    return asyncio.run(record(folder, plan, by))


def recording_by(folder: Path, *, compiled: bool = True) -> dict[str, str]:
    found = recorder(folder, compiled=compiled)
    if found is None:
        pytest.skip("nothing can record here: there is no C compiler, and SQLite's functions cannot be reached")
    return found


def test_nothing_acknowledged_is_lost_whenever_the_power_goes(folder: Path) -> None:
    recording = recorded(folder / "one", Plan(runs=50, log_bytes=128 * 1024), recording_by(folder))
    assert is_complete(recording)
    assert syncs(recording.records, "penstock.db") > 3, "the log was never moved into the database"
    found = examine(recording, 120, seed=drawn())
    assert found.examples == []
    assert found.images == 120
    assert found.served > 0


def test_a_machine_without_a_compiler_can_record_too(folder: Path) -> None:
    recording = recorded(folder / "one", Plan(runs=30, lives=1), recording_by(folder, compiled=False))
    assert is_complete(recording)
    assert examine(recording, 40, seed=drawn()).examples == []


@pytest.mark.parametrize("fault", FAULTS)
def test_whoever_keeps_too_little_is_caught(folder: Path, fault: str) -> None:
    recording = recorded(folder / "one", planted(fault, runs=24), recording_by(folder))
    assert look(recording, after_answers(recording.records, 40, random.Random(1)), seed=1).wrong > 0


def test_new_folders_keep_their_names_once_they_are_made(folder: Path) -> None:
    root, log = folder / "disk", Log(folder / "record")
    root.mkdir()
    env = {"POWER_ROOT": str(root), "POWER_LOG": str(log.path), **recording_by(folder)}
    here = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", MAKE_KEYS], env=env, cwd=here, check=True, timeout=RECORDED_S)
    log.close()
    recording = Recording(root, root, read(log.path))
    assert is_complete(recording)
    disk = Disk(str(root))
    for one in recording.records:
        disk.apply(one)
    for seed in range(50):
        assert disk.cut(random.Random(seed)) == {"a/b/keys": (root / "a" / "b" / "keys").read_bytes()}
