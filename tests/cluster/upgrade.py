"""`make upgrade`: three daemons of the last release, replaced one by one by this version under
load.

Exit 0: as it has to be. 1: not. 2: the release is not in this checkout's history.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import uvloop

from daemon.web.problems import RETRY_AFTER_S
from tests.cluster.__main__ import complaints
from tests.cluster.daemons import Daemon
from tests.cluster.failover.load import Load, loaded
from tests.cluster.failover.outcome import Outcome
from tests.cluster.failover.stage import Direct, staged
from tests.crash.notes import lines
from tests.house.packages import ROOT
from tests.replication import replicated

LAST_RELEASE, VERSION = "944b4702", "0.1.0"  # it has no tag
WORK_S = 3.0
PATIENCE_S = 60.0
POLL_S = 0.02


class Released(Direct):
    """A place whose daemon is of another version, until that is taken away."""

    def __init__(self, tree: Path) -> None:
        super().__init__()
        self.tree: Path | None = tree

    def command(self, *words: str) -> Sequence[str]:
        """What runs a command; modules of the version come before those that are installed."""
        return words if self.tree is None else ("env", f"PYTHONPATH={self.tree}", *words)


def check_out(tree: Path) -> bool:
    """Unpack the last release, with the name by which it finds its version; False where it is not
    there.
    """
    archive = subprocess.run(("git", "archive", LAST_RELEASE), cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        return False
    subprocess.run(("tar", "-x", "-C", tree), input=archive.stdout, check=True)
    about = tree / f"penstock-{VERSION}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: penstock\nVersion: {VERSION}\n", encoding="utf-8")
    return True


async def replace(daemon: Daemon) -> None:
    """End a daemon in order, and wait for the one of this version in its place."""
    assert isinstance(daemon.place, Released)
    daemon.place.tree, ended = None, daemon.ends.total()
    daemon.send(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE_S):
        while daemon.ends.total() == ended:  # noqa: ASYNC110 - the supervisor has no event for it
            await asyncio.sleep(POLL_S)
        await daemon.ready()


def refused_twice(load: Load) -> int:
    """How many requests got no answer, or a 5xx, to the retry that they were told to make as well.

    The clients retry at once. What counts is a refusal as late as `Retry-After` allows, or a retry
    without any answer.
    """
    first, refused = dict[int, float](), set[int]()
    for line in lines(load.log):
        number, lost = line["n"], line["type"] == "lost"
        if not lost and line.get("status", 0) < 500:
            continue
        if number in first and (lost or line["at"] >= first[number] + RETRY_AFTER_S):
            refused.add(number)
        first.setdefault(number, line["at"])
    return len(refused)


async def rolled(folder: Path, tree: Path, parent: Path) -> Outcome:
    """Roll all daemons, and hold what was told against what there is in the end."""
    outcome = Outcome("upgrade")
    async with (
        replicated(synchronous=False, parent=parent) as pair,
        staged(folder, pair, place=partial(Released, tree)) as stage,
        loaded(stage) as load,
    ):
        stage.survivor = pair.primary
        await load.work(WORK_S)
        for daemon in stage.daemons:
            await replace(daemon)
            await load.work(WORK_S)
        outcome.note("refused beyond one retry", refused_twice(load), held=not refused_twice(load))
        await load.compare(outcome)
    ended = sum((daemon.ends for daemon in stage.daemons), Counter[int]())
    outcome.note("daemons that ended otherwise than asked", ended.total() - ended[0], held=set(ended) == {0})
    return outcome


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="penstock-upgrade-") as made:
        folder, tree = Path(made), Path(made) / VERSION
        folder.chmod(0o755)
        for one in (tree, folder / "play"):
            one.mkdir()
        if not check_out(tree):
            print(f"{LAST_RELEASE}, the release {VERSION}, is not in the history here.", file=sys.stderr)
            return 2
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            try:
                outcome = runner.run(rolled(folder / "play", tree, folder))
            except BaseException:
                print(complaints(folder / "play"), flush=True)
                raise
        print(outcome)
        if not outcome.sound:
            print(complaints(folder / "play"))
    return 0 if outcome.sound else 1


if __name__ == "__main__":
    sys.exit(main())
