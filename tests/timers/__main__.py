"""`make timers`: many timers that are due within one minute. `make deadlines`: verdicts that race
with deadlines. Are all fired in time without a stall of the loop, and has each gate one outcome?
`make clocks`: the shipped processes, decided at each last moment. Is any clock breached?
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import uvloop

from daemon.templates.answers import unbounded
from tests.library.documents import Vertical, files, here
from tests.postgres import server
from tests.timers import crowd, deadlines, lawful


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


async def walk(runs: int, daemons: int, only: list[str]) -> bool:
    """Runs of the shipped processes with clocks; several daemons on PostgreSQL."""
    with unbounded():
        every = [Vertical(file, here()) for file in files(here(), only)]
    clocked = [one for one in every if one.template.clocks]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-clocks-")))
        url = None if daemons == 1 else await stack.enter_context(server()).made()
        outcome = await lawful.Docket(folder, clocked, runs, daemons, database_url=url).perform()
    print(outcome)
    return bool(outcome.clocks["stopped"]) and not outcome.faults


def main() -> int:
    """Print the figures; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="make timers", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="timers")
    parser.add_argument("--gates", type=int, default=0, help="race at so many gates instead")
    parser.add_argument("--turns", type=int, default=8, help="jumps of the clock, a kill with every second")
    parser.add_argument("--daemons", type=int, default=1, help="daemons that race")
    parser.add_argument("--lawful", type=int, default=0, help="so many runs of each process with clocks instead")
    parser.add_argument("--only", nargs="*", default=[], help="these processes alone")
    asked = parser.parse_args()
    if asked.lawful:
        work = walk(asked.lawful, asked.daemons, asked.only)
    else:
        work = race(asked.gates, asked.turns, asked.daemons) if asked.gates else fire(asked.count)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sound = runner.run(work)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
