"""The inside of a worker process: requests in, answers out, within bounds of memory and time."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

SIZE_BYTES = 4
WORN = 1 << 31
"""Stands with the size of an answer after which the process should be ended, as it has grown."""
WORN_BYTES = 48 * 2**20
ROOM_BYTES = 96 * 2**20
CPU_S = 0.5
CPU_S_PER_MIB = 1.0
NICE = 5


def serve(answer: Callable[[bytes], bytes]) -> None:
    """Answer requests from standard input until it ends, as it does with the service.

    The process is killed when an answer takes more processor time than the size of its request
    allows, and ends when it needs more than `ROOM_BYTES` of memory.
    """
    # At a stop the service waits for answers under way; the end of standard input is the signal.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):  # the unit's system call filter may forbid it
        os.nice(NICE)
    _bound_memory()
    begun_bytes = _resident_bytes()
    source, target = sys.stdin.buffer, sys.stdout.buffer
    with suppress(BrokenPipeError):
        while (request := _read(source)) is not None:
            signal.setitimer(signal.ITIMER_PROF, CPU_S + CPU_S_PER_MIB * len(request) / 2**20)
            done = answer(request)
            signal.setitimer(signal.ITIMER_PROF, 0)
            worn = WORN if _resident_bytes() > begun_bytes + WORN_BYTES else 0
            target.write((len(done) | worn).to_bytes(SIZE_BYTES) + done)
            target.flush()


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def _bound_memory() -> None:
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = used + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (bound if hard == resource.RLIM_INFINITY else min(bound, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(source: BinaryIO) -> bytes | None:
    head = source.read(SIZE_BYTES)
    if len(head) < SIZE_BYTES:
        return None
    size = int.from_bytes(head)
    request = source.read(size)
    return request if len(request) == size else None
