"""Housekeeping: what is garbage in a ring is found, soon, and what stays is not looked at again and again."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator

from daemon.housekeeping import collect_all, resident_bytes

MIB = 1024 * 1024

TANGLED = """
import gc
from daemon.housekeeping import tune_interpreter

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

KEPT = """
import gc
from daemon.housekeeping import tune_interpreter

tune_interpreter()
looks = [0, 0, 0]

def count(phase, told):
    looks[told["generation"]] += phase == "stop"

gc.callbacks.append(count)
kept = [[] for _ in range(200_000)]
print(*looks, len(gc.get_objects(2)) > 150_000)
"""


def said_by(program: str) -> list[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()


def test_rings_of_garbage_never_become_many() -> None:
    assert 1_000 < int(said_by(TANGLED)[0]) < 11_000


def test_what_stays_is_looked_at_twice_at_most_and_then_let_be() -> None:
    young, middle, all_of_it, let_be = said_by(KEPT)
    assert int(young) + int(middle) in (18, 19, 20)
    assert int(young) - int(middle) in (0, 1)
    assert (all_of_it, let_be) == ("0", "True")


class Ring:
    """What only the collector can free."""

    def __init__(self) -> None:
        self.me = self


async def found_at(*sizes_mib: int) -> AsyncIterator[bool]:
    """Whether garbage that is no longer young has been found, each time when memory has come to be so large."""
    mib = [100]
    task = asyncio.create_task(collect_all(lambda: mib[0] * MIB, every_s=0.0))
    await asyncio.sleep(0)
    for mib[0] in sizes_mib:
        ring = Ring()
        gc.collect()
        left = weakref.ref(ring)
        del ring
        await asyncio.sleep(0)
        yield left() is None
    task.cancel()


async def test_everything_is_looked_at_when_memory_has_grown_by_a_quarter_and_by_64_mib() -> None:
    assert [found async for found in found_at(100, 164, 165, 229, 230)] == [False, False, True, False, True]
    assert [found async for found in found_at(900, 1_125, 1_126, 50, 1_407, 1_408)] == [
        True,
        False,
        True,
        False,
        False,
        True,
    ]


def test_the_memory_of_this_process_is_known() -> None:
    before = resident_bytes()
    held = b"\1" * (64 * MIB)
    assert 60 * MIB < resident_bytes() - before < 100 * MIB
    assert len(held) == 64 * MIB
