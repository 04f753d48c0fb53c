"""`make failover`: three daemons on a database whose primary dies, stands still, comes back or
lacks its standby: is everything as it has to be?
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import uvloop

from tests.cluster.__main__ import complaints
from tests.cluster.failover.cases import BROKE_OFF, NAMES, play
from tests.cluster.failover.outcome import Outcome


def played(names: list[str]) -> Iterator[Outcome]:
    """What came of these cases, each in a folder of its own."""
    for name in names:
        with (
            tempfile.TemporaryDirectory(prefix="penstock-failover-") as made,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            folder = Path(made)
            folder.chmod(0o755)
            (folder / "play").mkdir()
            try:
                outcome = runner.run(play(name, folder / "play", parent=folder))
            except BaseException:
                print(complaints(folder / "play"), flush=True)
                raise
            if BROKE_OFF in outcome.missed:
                print(complaints(folder / "play"), flush=True)
            print(outcome, flush=True)
            yield outcome


def main() -> int:
    """Print the figures; 1 unless every case was played and held."""
    parser = argparse.ArgumentParser(prog="make failover", description=__doc__)
    parser.add_argument("--only", choices=NAMES, nargs="*", default=list(NAMES))
    arguments = parser.parse_args()
    outcomes = list(played(arguments.only))
    print("\n".join(f"{outcome.case:<16}{outcome.verdict}" for outcome in outcomes))
    return 0 if all(outcome.sound for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
