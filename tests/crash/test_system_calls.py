"""Killed as it enters a system call that writes or syncs: strace counts them and sends the
signal.
"""

from __future__ import annotations

import shutil
import signal
from itertools import count
from pathlib import Path

import pytest

from tests.crash.forked import LONG
from tests.crash.service import PROGRAM, FarSide, Service, serving
from tests.crash.test_failpoints import Day, Died, lives_on

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace here to count system calls")


def killed_at(call: str, nth: int) -> tuple[str, ...]:
    """The service under strace, which stands beside it and goes with it."""
    how = ("-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={nth}")
    return ("strace", "-D", "-f", "-qq", "-o", "/dev/null", *how, *PROGRAM)


async def lives_till_it_dies(service: Service, day: Day) -> None:
    """The day, and then more of the same for as long as there is somebody to ask."""
    try:
        await day.live(service)
        for number in count():
            run = await day.post(service, f"more-{number}", "/process-runs/", {"vertical": "held"})
            await day.resume(service, f"sign-{number}", run["id"])
    except Died:
        assert await service.process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(("call", "nth"), [("fdatasync", 9), ("fdatasync", 16), ("pwrite64", 30), ("pwrite64", 100)])
async def test_killed_at_a_system_call_it_has_what_it_acknowledged(
    folder: Path, far_side: FarSide, call: str, nth: int
) -> None:
    (folder / "templates" / "long.yaml").write_text(LONG, encoding="utf-8")
    far_side.released.set()
    day = Day(far_side)
    async with serving(folder):
        pass  # its first start writes the tables, more with each migration, and dies in tests of its own
    async with serving(folder, program=killed_at(call, nth), run_idle_s="0") as service:
        await lives_till_it_dies(service, day)
    await lives_on(folder, day)
