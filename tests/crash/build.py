"""The test build: `penstock` with one failpoint armed, at which the process kills itself as SIGKILL
would.

    FAILPOINT=name[:nth] python -m tests.crash.build serve …
    python -m tests.crash.build --list

`nth` counts how often the place is reached, from 1. Nothing else differs from `penstock`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from typing import get_args

from actors import failpoints
from daemon.cli import app

VARIABLE = "FAILPOINT"


def names() -> tuple[str, ...]:
    """All failpoints, in the order in which they are listed in the code."""
    return get_args(failpoints.Failpoint)


def deadly(spec: str) -> Callable[[str], None]:
    """What kills this process when it comes to the place for the nth time."""
    wanted, _, nth = spec.partition(":")
    if wanted not in failpoints.NAMES:
        raise SystemExit(f"{VARIABLE}: there is no failpoint {wanted}; --list names them all")
    last, reached = int(nth or 1), count(1)

    def hook(name: str) -> None:
        if name == wanted and next(reached) == last:
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # the signal may take a moment to arrive; nothing happens behind this place

    return hook


def main() -> None:
    """Arm what the environment asks for, then be `penstock`."""
    if sys.argv[1:] == ["--list"]:
        print("\n".join(names()))
        return
    if spec := os.environ.get(VARIABLE):
        failpoints.arm(deadly(spec))
    app(prog_name="penstock")


if __name__ == "__main__":
    main()
