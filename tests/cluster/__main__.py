"""`make cluster`: three daemons on one PostgreSQL, killed, frozen and cut off: is everything as it has to be?"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import uvloop

from tests.cluster.cluster import Play, clustered
from tests.cluster.crowded import closed_once
from tests.postgres import server

LOG_CHARS = 4_000
FAULTS = ("kill", "freeze", "cut_backends", "partition", "restart_database")


def complaints(folder: Path) -> str:
    """What the daemons said last."""
    logs = [(path.name, path.read_text(encoding="utf-8", errors="replace")) for path in sorted(folder.glob("*.log"))]
    return "\n".join(f"--- {name}\n{text[-LOG_CHARS:]}" for name, text in logs)


def main() -> int:
    """Print the figures; 1 if anything is not as it has to be."""
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--gates", type=int, default=5_000)
    parser.add_argument("--callers", type=int, default=30)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-cluster-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with (
            server("shared_buffers=256MB", parent=folder) as database,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):

            async def play() -> bool:
                (folder / "play").mkdir()
                async with clustered(folder / "play", database) as cluster:
                    try:
                        outcome = await Play(cluster, arguments.seconds, pause_s=2.0).perform(*FAULTS)
                    except BaseException:
                        print(complaints(folder / "play"), flush=True)
                        raise
                    print(outcome, flush=True)
                    if not outcome.sound:
                        print(complaints(folder / "play"), flush=True)
                    once = await closed_once(cluster, arguments.gates, arguments.callers)
                    print(once)
                return outcome.sound and once.sound

            return 0 if runner.run(play()) else 1


if __name__ == "__main__":
    sys.exit(main())
