"""The machine that the figures are of: what it is, how fast its disk syncs, and whether it had
something else to do.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import random
import re
import sqlite3
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.environments import ROOT
from tests.bench.plan import Plan

LIBRARIES = ("aiohttp", "uvloop", "orjson", "pydantic", "aiosqlite", "pyjwt")
PAGE = b"\0" * 4096
LOOK_S = 1.0


def described(folder: Path, plan: Plan) -> dict[str, Any]:
    """What somebody needs to know who wants to compare."""
    memory_kib = int(re.findall(r"MemTotal:\s+(\d+)", _read("/proc/meminfo"))[0])
    models = re.findall(r"model name\s*: (.*)", _read("/proc/cpuinfo")) or [platform.processor()]
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "revision": _revision(),
        "processor": models[0],
        "processors": os.cpu_count(),
        "memory_gib": memory_kib / 2**20,
        "kernel": platform.release(),
        "file_system": _file_system(folder),
        "sync_ms": synced_ms(folder, plan.syncs),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _revision() -> str:
    """The commit that is measured, where git knows it."""
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.decode().strip()


def _file_system(folder: Path) -> str:
    """The kind of file system that a folder is on."""
    mounts = [line.split()[1:3] for line in _read("/proc/mounts").splitlines()]
    above = {str(one) for one in (folder.resolve(), *folder.resolve().parents)}
    return max(((len(place), kind) for place, kind in mounts if place in above), default=(0, "unknown"))[1]


def synced_ms(folder: Path, count: int) -> dict[str, float]:
    """How long it takes until a page that is appended to a file is on the disk."""
    took_ms = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(count):
            began = time.perf_counter()
            file.write(PAGE)
            file.flush()
            os.fdatasync(file.fileno())
            took_ms.append((time.perf_counter() - began) * 1000)
    took_ms.sort()
    return {"p50": took_ms[len(took_ms) // 2], "p99": took_ms[int(len(took_ms) * 0.99)]}


def paged_us(file: Path, count: int) -> dict[str, float]:
    """The processor time that it takes to read a page of a file, from the disk and then from the
    system's memory.
    """
    last, found = file.stat().st_size // len(PAGE), {}
    places = [some * len(PAGE) for some in random.Random(count).choices(range(last), k=count)]
    with file.open("rb") as pages:
        os.posix_fadvise(pages.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for whence in ("disk", "memory"):
            began = time.thread_time()
            for place in places:
                os.pread(pages.fileno(), len(PAGE), place)
            found[whence] = (time.thread_time() - began) / count * 1e6
    return found


def busy_share() -> float:
    """How much of the processors others use, while nothing is measured."""
    before = _ticks()
    time.sleep(LOOK_S)
    busy, total = (after - earlier for after, earlier in zip(_ticks(), before, strict=True))
    return busy / max(1, total)


def _ticks() -> tuple[int, int]:
    """Ticks in which a processor did something, waiting for a disk not counted, and all ticks."""
    ticks = [int(one) for one in _read("/proc/stat").split("\n", 1)[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
