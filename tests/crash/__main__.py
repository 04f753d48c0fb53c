"""`make crash`: kills the service under load, again and again, and has a checker say what became of what it answered.

The service, the ledger that plays every external API, the driver that uses the service and the checker are processes
of their own; this one only starts and ends them.
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

from tests.crash.conductor import Conductor
from tests.crash.driver import CLIENTS


async def main() -> int:
    """Perform, print the figures, and keep the folder if anything does not fit."""
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--clients", type=int, default=CLIENTS)
    arguments = parser.parse_args()
    this = asyncio.current_task()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel if this is not None else lambda: None)
    folder = Path(tempfile.mkdtemp(prefix="penstock-crash-"))
    print(f"seed {arguments.seed}, in {folder}", flush=True)
    outcome = await Conductor(folder, arguments.seed, arguments.clients).perform(arguments.seconds)
    print(outcome)
    if outcome.sound:
        shutil.rmtree(folder)
    return 0 if outcome.sound else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
