"""Housekeeping: the garbage collector leaves alone what was made at the start, and finds rings of
garbage soon.
"""

from __future__ import annotations

import subprocess
import sys

TUNED = """
import gc
from daemon.engine.passivation import tune_interpreter

tune_interpreter()
print(gc.isenabled(), gc.get_threshold() == (10_000, 10, 200))
print(gc.get_freeze_count() > 10_000, len(gc.get_objects()) < 1_000)
"""

TANGLED = """
import gc
from daemon.engine.passivation import tune_interpreter

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
    assert 1_000 < int(said_by(TANGLED)[0]) < 11_000
