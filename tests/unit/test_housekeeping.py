"""Housekeeping: the garbage collector works as Python has it, but leaves what was made at the start alone."""

from __future__ import annotations

import subprocess
import sys

TUNED = """
import gc
before = gc.get_threshold()
from daemon.housekeeping import tune_interpreter

tune_interpreter()
print(gc.isenabled(), gc.get_threshold() == before, gc.get_freeze_count() > 10_000, len(gc.get_objects()) < 1_000)
"""


def test_the_collector_has_its_defaults_and_what_was_made_at_the_start_is_frozen() -> None:
    said = subprocess.run([sys.executable, "-c", TUNED], capture_output=True, text=True, check=True).stdout.split()
    assert said == ["True"] * 4
