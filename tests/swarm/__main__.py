"""`make swarm`: agents want thousands of calls made while daemons are killed: was each made at most
once, with somebody's consent, and is none lost?
"""

from __future__ import annotations

import argparse
import asyncio
import pickle
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import uvloop

from tests.cluster.__main__ import complaints
from tests.postgres import server
from tests.swarm.checker import faults
from tests.swarm.plants import missed
from tests.swarm.rig import Outcome, Rig, Size

EXAMPLES_MAX = 5


def played(size: Size) -> Outcome:
    """What came of a performance in a folder of its own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-swarm-")))
        folder.chmod(0o755)
        database = stack.enter_context(server(parent=folder)) if size.daemons > 1 else None
        runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # all that was started is ended then, too
        try:
            return runner.run(Rig(folder, size, database).perform())
        except BaseException:
            print(complaints(folder), flush=True)
            raise


def main() -> int:
    """Print the figures; 1 if anything does not fit, or a planted fault is not found."""
    parser = argparse.ArgumentParser(prog="make swarm", description=__doc__)
    parser.add_argument("--actions", type=int, default=10_000)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--daemons", type=int, default=1, help="more than one are on PostgreSQL")
    parser.add_argument("--seconds", type=float, default=1_500.0)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--kept", type=Path, help="a file for everything that the checker reads")
    given = parser.parse_args()
    size = Size(given.actions, given.agents, given.daemons, given.seconds, given.seed)
    print(f"seed {size.seed}", flush=True)
    outcome = played(size)
    if given.kept is not None:
        given.kept.write_bytes(pickle.dumps(outcome.notes))
    found, unseen = faults(outcome.notes), missed(outcome.notes)
    print(outcome)
    print(f"{'faults':<26}{sum(map(len, found.values())):,}")
    for kind, where in found.items():
        print(f"  {kind} x {len(where):,}: {'; '.join(where[:EXAMPLES_MAX])}")
    print(f"{'planted faults missed':<26}{', '.join(unseen) or 'none'}")
    if outcome.out_of_time:
        print(f"only {len(outcome.notes.intents):,} calls were wanted within {size.seconds:,.0f} s")
    return 1 if found or unseen or outcome.out_of_time or not outcome.kills else 0


if __name__ == "__main__":
    sys.exit(main())
