"""`make cluster`: three daemons on one PostgreSQL, killed, frozen and cut off: is everything as it
has to be?
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

import uvloop

from tests.cluster.cluster import DAEMONS, Play, clustered
from tests.cluster.crowded import closed_once
from tests.cluster.namespaces import Network, enter, why_not
from tests.postgres import Server, server

LOG_CHARS = 4_000
FAULTS = ("kill", "freeze", "cut_backends", "partition", "restart_database")


def complaints(folder: Path) -> str:
    """What the daemons said last."""
    logs = [(path.name, path.read_text(encoding="utf-8", errors="replace")) for path in sorted(folder.glob("*.log"))]
    return "\n".join(f"--- {name}\n{text[-LOG_CHARS:]}" for name, text in logs)


def arranged(arguments: argparse.Namespace) -> Network | None:
    """The network that the daemons are in, for which the program begins anew within a namespace;
    None without one.
    """
    if arguments.within:
        # The first process of a namespace is not ended by a signal that it does not take.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        print("three daemons in namespaces of their own", flush=True)
        return Network(DAEMONS)
    why = "as was asked for" if arguments.processes else why_not()
    if why is None:
        enter("-m", "tests.cluster", *sys.argv[1:], "--within")
    print(f"three processes: {why}", flush=True)
    return None


async def played(folder: Path, database: Server, network: Network | None, arguments: argparse.Namespace) -> bool:
    """Whether everything was as it has to be."""
    async with clustered(folder, database, network=network) as cluster:
        try:
            outcome = await Play(cluster, arguments.seconds, pause_s=2.0).perform(*FAULTS)
        except BaseException:
            print(complaints(folder), flush=True)
            raise
        print(outcome, flush=True)
        if not outcome.sound:
            print(complaints(folder), flush=True)
        once = await closed_once(cluster, arguments.gates, arguments.callers)
        print(once)
    return outcome.sound and once.sound


def main() -> int:
    """Print the figures; 1 if anything is not as it has to be."""
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--gates", type=int, default=5_000)
    parser.add_argument("--callers", type=int, default=30)
    parser.add_argument("--processes", action="store_true", help="no namespaces, whether there could be any or not")
    parser.add_argument("--within", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    network = arranged(arguments)
    with tempfile.TemporaryDirectory(prefix="penstock-cluster-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with (
            server("shared_buffers=256MB", parent=folder, network=network.database if network else None) as database,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            (folder / "play").mkdir()
            return 0 if runner.run(played(folder / "play", database, network, arguments)) else 1


if __name__ == "__main__":
    sys.exit(main())
