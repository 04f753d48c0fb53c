"""Callers in threads, each taking one run after the other from its start to its end; the standard
library alone.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

INPUTS = {"member_id": "M-1", "procedure_code": "70551", "diagnosis": "G43.909"}
# The steps of the process `prior-auth` on these inputs, before the gate and behind it, with what
# they answer.
BEFORE: dict[str, dict[str, Any]] = {
    "pull-chart": {"documents": 4},
    "check-eligibility": {"active": True},
    "match-criteria": {"met": False},
    "request-records": {"received": True},
    "recommend": {"recommendation": "refer to medical director"},
}
BEHIND: dict[str, dict[str, Any]] = {"issue-authorization": {}, "notify-approval": {}}
WARM = 20


def drive(loop: Callable[[str], None], callers: int, seconds: float) -> None:
    """Run loops until the time is over, and print what came of it as JSON."""
    numbers = itertools.count()
    for _ in range(WARM):
        loop(f"warm-{next(numbers)}")
    took_s: list[float] = []
    until = time.perf_counter() + seconds

    def call() -> None:
        while (began := time.perf_counter()) < until:
            loop(f"run-{next(numbers)}")
            took_s.append(time.perf_counter() - began)

    began, cpu_s = time.perf_counter(), time.process_time()
    with ExitStack() as stack:
        for _ in range(callers):
            thread = threading.Thread(target=call)
            stack.callback(thread.join)
            thread.start()
    say(took_s, time.perf_counter() - began, time.process_time() - cpu_s)


def say(took_s: list[float], seconds: float, cpu_s: float) -> None:
    """The figures, as the one who started this process reads them."""
    ordered = sorted(took_s)
    figures = {
        "loops": len(took_s),
        "rate": len(took_s) / seconds,
        "p50_ms": ordered[len(ordered) // 2] * 1000,
        "p99_ms": ordered[int(len(ordered) * 0.99)] * 1000,
        "cpu_us": cpu_s / len(took_s) * 1e6,
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()
