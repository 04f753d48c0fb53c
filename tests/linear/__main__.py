"""`make linear`: many gates, many callers who decide on each at once, kills in between: is every
record sound?
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import uvloop

from tests.linear.harness import Harness, Outcome


async def perform(arguments: argparse.Namespace) -> Outcome:
    """The whole of it, in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="penstock-linear-") as folder:
        asked = arguments.gates, arguments.callers, arguments.kills, arguments.seconds
        return await Harness(Path(folder), *asked).perform()


def main() -> int:
    """Print the figures; 1 if a record is not linearizable."""
    parser = argparse.ArgumentParser(prog="make linear", description=__doc__)
    parser.add_argument("--gates", type=int, default=10_000)
    parser.add_argument("--callers", type=int, default=50)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=420.0)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        outcome = runner.run(perform(parser.parse_args()))
    print(outcome)
    return 1 if outcome.faults or not outcome.decided else 0


if __name__ == "__main__":
    sys.exit(main())
