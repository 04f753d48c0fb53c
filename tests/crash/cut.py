"""Restores a copy in a child that is killed at its first touch of the data folder, its second, and
so on.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from daemon.runtime.clock import utc_now
from daemon.stores.sqlite.backups import restore

TOUCHES = frozenset({"open", "os.link", "os.rename", "os.remove", "os.chown", "sqlite3.connect"})
TOUCHES_MAX = 60


def kill_at(touch: int, folder: Path) -> None:
    """From now on, end this process right before its touch of that number."""
    left = touch

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in TOUCHES and str(folder) in str(arguments):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)


def came_through(touch: int, file: Path, folder: Path) -> bool:
    """Whether a restore that would be killed at that touch had ended before."""
    child = os.fork()
    if child == 0:
        kill_at(touch, folder)
        restore(file, folder / "penstock.db", utc_now, replace=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0, status
    return status == 0


def main() -> None:
    """Cut after cut, each on a fresh copy of the folder `as-it-was`, until one comes through."""
    base = Path(sys.argv[1])
    for touch in range(1, TOUCHES_MAX):
        folder = base / f"cut-{touch}"
        shutil.copytree(base / "as-it-was", folder)
        if came_through(touch, base / "copy.db", folder):
            sys.stdout.write(str(touch - 1))
            return
    raise SystemExit("no restore came through")


if __name__ == "__main__":
    main()
