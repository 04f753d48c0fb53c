"""`make timers`: many timers that are due within one minute. `make deadlines`: verdicts that race
with deadlines. Are all fired in time, and has each gate one outcome?
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import uvloop

from tests.timers import crowd, deadlines


async def fire(count: int) -> bool:
    """Timers, in a folder that goes with them."""
    with tempfile.TemporaryDirectory(prefix="penstock-timers-") as folder:
        outcome = await crowd.Crowd(Path(folder), count).perform()
    print(outcome)
    return outcome.sound


async def race(gates: int, turns: int) -> bool:
    """Gates and their deadlines, in a folder that goes with them."""
    with tempfile.TemporaryDirectory(prefix="penstock-deadlines-") as folder:
        outcome = await deadlines.Race(Path(folder), gates, turns).perform()
    print(outcome)
    return bool(outcome.gates) and not outcome.faults


def main() -> int:
    """Print the figures; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="make timers", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="timers")
    parser.add_argument("--gates", type=int, default=0, help="race at so many gates instead")
    parser.add_argument("--turns", type=int, default=8, help="jumps of the clock, a kill with every second")
    asked = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sound = runner.run(race(asked.gates, asked.turns) if asked.gates else fire(asked.count))
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
