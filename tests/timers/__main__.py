"""`make timers`: many timers that are due within one minute. `make deadlines`: verdicts that race
with deadlines. Are all fired in time without a stall of the loop, and has each gate one outcome?
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import uvloop

from tests.postgres import server
from tests.timers import crowd, deadlines


async def fire(count: int) -> bool:
    """Timers, in a folder that goes with them."""
    with tempfile.TemporaryDirectory(prefix="penstock-timers-") as folder:
        outcome = await crowd.Crowd(Path(folder), count).perform()
    print(outcome)
    return outcome.sound and outcome.smooth


async def race(gates: int, turns: int, daemons: int) -> bool:
    """Gates and their deadlines, in a folder that goes with them; several daemons on PostgreSQL."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-deadlines-")))
        url = None if daemons == 1 else await stack.enter_context(server()).made()
        outcome = await deadlines.Race(folder, gates, turns, daemons, url).perform()
    print(outcome)
    return bool(outcome.gates) and not outcome.faults


def main() -> int:
    """Print the figures; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="make timers", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="timers")
    parser.add_argument("--gates", type=int, default=0, help="race at so many gates instead")
    parser.add_argument("--turns", type=int, default=8, help="jumps of the clock, a kill with every second")
    parser.add_argument("--daemons", type=int, default=1, help="daemons that race")
    asked = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sound = runner.run(race(asked.gates, asked.turns, asked.daemons) if asked.gates else fire(asked.count))
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
