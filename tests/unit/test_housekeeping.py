"""Housekeeping: what is garbage in a ring is found, soon, and what stays is not looked at again and again."""

from __future__ import annotations

import subprocess
import sys

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
