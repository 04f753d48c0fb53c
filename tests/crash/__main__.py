"""`make crash`: kills the service under load, again and again, and has a checker say what became of
what it answered.

The service, the ledger that plays every external API, the driver that uses the service and the
checker are processes of their own; this one only starts and ends them.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.conductor import Conductor, Outcome
from tests.crash.driver import CLIENTS

SEASON_S = 240.0  # what a season leaves fits into memory, and a start looks at every page


async def main() -> int:
    """Perform, print the figures, and keep the folder if anything does not fit."""
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--season", type=float, default=SEASON_S, help="seconds on one folder, before a new one")
    arguments = parser.parse_args()
    this = asyncio.current_task()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel if this is not None else lambda: None)
    seasons = max(1, round(arguments.seconds / arguments.season))
    print(f"seed {arguments.seed}, {seasons} seasons", flush=True)
    outcome = Outcome()
    for season in range(seasons):
        folder = Path(tempfile.mkdtemp(prefix="penstock-crash-"))
        conductor = Conductor(folder, f"{arguments.seed}-{season}", arguments.clients, outcome=outcome)
        await conductor.perform(arguments.seconds / seasons)
        if not outcome.sound:
            print(f"what does not fit is in {folder}")
            break
        shutil.rmtree(folder)
    print(outcome)
    return 0 if outcome.sound and outcome.figures["verdicts acknowledged"] else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
