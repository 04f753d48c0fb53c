"""How many instructions of the interpreter a warm start and a warm verdict take in our code.

A service that runs in this process is asked over HTTP. Counted is what all its threads do in code
of ours between a request and its response; the least of several counts has nothing of what goes on
beside. Other versions of Python make other instructions of the same code.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable, Iterator
from types import FrameType
from typing import Any, TypeVar

from structlog.testing import capture_logs

from tests.house.bounds import Ledger, Measure
from tests.house.passed import OURS, Caller, served
from tests.house.test_house import ROOT

T = TypeVar("T")
COST = Ledger(ROOT / "tests" / "cost" / "bounds.md")
GIVE = 0.03
VERSION = (3, 11)
"""The version of Python whose instructions are in the file of bounds."""
BESIDE = tuple(f"{ROOT}/daemon/{name}.py" for name in ("observability/loop_watchdog", "runtime/background"))
"""What looks at the clock, and has more to do the longer the count takes."""
LOOPS = 12


def instructions() -> Iterator[Measure]:
    """Counted in a process of its own, in which nothing else has been done."""
    command = [sys.executable, "-m", "tests.house.instructions"]
    start, verdict = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    yield Measure("instructions of a start", start)
    yield Measure("instructions of a verdict", verdict)


class Count:
    """A trace function that counts the instructions of our code while it is asked to."""

    def __init__(self) -> None:
        self._counts = False
        self._count = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> Count | None:
        if event == "call":
            if not frame.f_code.co_filename.startswith(OURS) or frame.f_code.co_filename in BESIDE:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            self._count += self._counts
        return self

    async def during(self, asked: Awaitable[T]) -> tuple[T, int]:
        """What a request came to, and its instructions."""
        self._count, self._counts = 0, True
        try:
            return await asked, self._count
        finally:
            self._counts = False


async def _least(count: Count) -> tuple[int, int]:
    starts, verdicts = [], []
    async with served() as client:
        caller = Caller(client)
        await caller.register()
        for nth in range(LOOPS):
            path, spent = await count.during(caller.start(f"start-{nth}"))
            starts.append(spent)
            _, spent = await count.during(caller.resume(path, f"resume-{nth}"))
            verdicts.append(spent)
    return min(starts), min(verdicts)


def main() -> None:
    count = Count()
    threading.settrace(count)  # of the threads that the service begins
    sys.settrace(count)
    try:
        with capture_logs():
            found = asyncio.run(_least(count))
    finally:
        sys.settrace(None)
        threading.settrace(None)
    print(*found)


if __name__ == "__main__":
    main()
