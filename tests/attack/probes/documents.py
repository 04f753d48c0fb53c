"""Template documents that are small and mean much: aliases of aliases, deep nesting."""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.attack.probes.world import Probe, World
from tests.attack.report import Report

LIMITS = "ulimit -v 4000000; ulimit -t 8; exec "
# Its own word for its memory: what the kernel tells a parent includes the memory of the parent.
CHECK = """
import atexit, pathlib, sys
atexit.register(lambda: print(pathlib.Path("/proc/self/status").read_text()))
from daemon.cli import app
app(["templates", "check", sys.argv[1]])
"""
CPU_S, MEMORY_MB = 5.0, 300.0


def aliases(levels: int = 9, width: int = 9) -> str:
    """Each level names the one below nine times."""
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    return "\n".join([*lines, "vertical: bomb", "inputs_schema:", f"  default: *a{levels - 1}", ""])


def merges(levels: int = 20) -> str:
    """Each level merges the one below twice."""
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{level}: &a{level} {{l: *a{level - 1}, r: *a{level - 1}}}" for level in range(1, levels)]
    return "\n".join([*lines, f"<<: *a{levels - 1}", ""])


DOCUMENTS = {"aliases": aliases(), "merges": merges(24), "deep": "[" * 5_000 + "]" * 5_000, "braces": "{a: " * 3_000}


@dataclass(frozen=True, slots=True)
class Checked:
    """What one check of a document cost."""

    code: int
    cpu_s: float
    memory_mb: float
    said: str


def check_document(text: str) -> Checked:
    """Have the command check a document, with a limit of memory and processor time."""
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder) / "document.yaml").write_text(text, encoding="utf-8")
        command = f"{LIMITS} {sys.executable} -c '{CHECK}' {file}"
        with subprocess.Popen(
            ["/bin/sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            said = process.stdout.read().decode(errors="replace")
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    return Checked(process.returncode, used.ru_utime + used.ru_stime, _peak_mb(said), said)


def _peak_mb(said: str) -> float:
    """The most memory that it had, which it says at its end; infinite where it was killed."""
    found = [line.split()[1] for line in said.splitlines() if line.startswith("VmHWM:")]
    return int(found[0]) / 1024 if found else math.inf


class Documents(Probe):
    """`templates check` on such documents, one after the other."""

    name = "documents"

    def __init__(self) -> None:
        super().__init__()
        self.checked: dict[str, Checked] = {}
        self._checking: asyncio.Task[None] | None = None

    async def attack(self, world: World) -> None:
        self._checking = asyncio.get_running_loop().create_task(self._check_all())
        await asyncio.shield(self._checking)

    async def _check_all(self) -> None:
        for name, text in DOCUMENTS.items():
            self.checked[name] = await asyncio.to_thread(check_document, text)

    async def check(self, world: World, report: Report) -> None:
        if self._checking is not None:
            await self._checking
        report.least("documents: checked", len(self.checked), len(DOCUMENTS))
        for name, found in self.checked.items():
            report.most(f"documents: {name}: processor time", found.cpu_s, CPU_S, " s")
            report.most(f"documents: {name}: memory", found.memory_mb, MEMORY_MB, " MB")
            report.least(f"documents: {name}: refused", int(found.code == 1 and "Traceback" not in found.said), 1)
