"""Housekeeping: the garbage collector leaves alone what was made at the start, and finds rings of
garbage soon.
"""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from daemon.engine.upkeep import FULL_AFTER, FullCollection

TUNED = """
import gc
from daemon.engine.upkeep import tune_interpreter

tune_interpreter()
print(gc.isenabled(), gc.get_threshold()[:2] == (2_000, 10))
print(gc.get_freeze_count() > 10_000, len(gc.get_objects()) < 1_000)
"""

TANGLED = """
import gc
from daemon.engine.upkeep import tune_interpreter

class Ring:
    alive = 0
    def __init__(self):
        Ring.alive += 1
        self.me = self
    def __del__(self):
        Ring.alive -= 1

tune_interpreter()
most = 0
for _ in range(200_000):
    Ring()
    most = max(most, Ring.alive)
print(most)
"""


def said_by(program: str) -> list[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()


def test_the_collector_looks_at_everything_seldom_and_at_what_was_made_at_the_start_never() -> None:
    assert said_by(TUNED) == ["True"] * 4


def test_rings_of_garbage_never_become_many() -> None:
    assert 1_000 < int(said_by(TANGLED)[0]) < 3_000


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A full collection is due; the list gets an entry for each one that is made."""
    made: list[int] = []
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, FULL_AFTER))
    monkeypatch.setattr(gc, "collect", lambda: made.append(1))
    return made


async def test_a_full_collection_waits_for_a_calm_moment(collected: list[int]) -> None:
    calm = False
    collection = FullCollection(lambda: calm)
    await collection.run_once()
    assert collected == []
    calm = True
    await collection.run_once()
    assert collected == [1]


async def test_without_a_calm_moment_it_is_made_in_the_end(
    collected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.engine.upkeep.FULL_WAITS_S", 0.0)
    collection = FullCollection(lambda: False)
    await collection.run_once()
    assert collected == [1]
