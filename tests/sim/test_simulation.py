"""The short form of the simulation: no seed breaks an invariant, and every planted fault is
found.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from functools import cache
from random import Random

import pytest

from tests.seeds import drawn
from tests.sim.loop import SimLoop
from tests.sim.plants import PLANTS, planted
from tests.sim.seeds import Played, play

BLOCKS = 20
SEEDS_IN_BLOCK = 30
ENOUGH_SEEDS = 1_000
COMPARED = 12


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_seed_breaks_an_invariant(block: int) -> None:
    first = drawn() + block * SEEDS_IN_BLOCK
    for seed in range(first, first + SEEDS_IN_BLOCK):
        played = play(seed)
        assert played.wrong is None, str(played)


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_found_soon(plant: str) -> None:
    with planted(plant):
        assert any(play(seed).wrong is not None for seed in range(ENOUGH_SEEDS))


def test_a_planted_fault_is_gone_when_it_is_over() -> None:
    for plant in PLANTS:
        with planted(plant):
            pass
    assert play(0).wrong is None


def hashes(hash_seed: str) -> list[str]:
    """The hashes of a few traces, made in a process of their own."""
    command = [sys.executable, "-m", "tests.sim", "--hashes", "--first", "0", "--seeds", str(COMPARED)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()


def test_the_same_seed_gives_the_same_trace_in_every_process() -> None:
    here = [f"{seed} {play(seed).hash}" for seed in range(COMPARED)]
    assert len(set(here)) == COMPARED
    assert hashes("1") == here
    assert hashes("4711") == here


@cache
def some() -> tuple[Played, ...]:
    """A few seeds as they were played."""
    return tuple(play(seed) for seed in range(50))


def test_the_seeds_see_what_can_go_wrong() -> None:
    trace = "\n".join(line for one in some() for line in one.trace)
    for word in (
        "between write and sync",
        "between sync and answer",
        "on the wire",
        "after the answer",
        "on a sudden",
        "store: not applied",
        "store: unknown, and lost",
        "store: unknown, and kept",
        "not read",
        "it was told to",
        "its store failed",
        "the clock jumps",
        "fails over",
        "leaves",
        "what is due not read",
        "Overloaded",
        "Stopped",
        "503 unknown",
        ", kept",
        "never",
        "late",
        "b1",
    ):
        assert word in trace, word
    assert sum(one.turns for one in some()) > 400
    assert sum(one.sends for one in some()) > 200


def test_nothing_of_a_dead_process_runs_any_more() -> None:
    for one in some():
        dead: set[str] = set()
        for line in one.trace:
            name, _, what = line[11:].partition(" ")
            assert name not in dead, f"seed {one.seed}: {line}"
            if what in ("killed", "stopped"):
                dead.add(name)


def test_time_passes_only_when_nothing_is_ready() -> None:
    async def wait() -> float:
        await asyncio.sleep(3_600)
        return asyncio.get_running_loop().time()

    assert SimLoop(Random(0), 0.5).play(wait(), lambda: False) == 3_600.0
