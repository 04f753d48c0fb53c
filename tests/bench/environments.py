"""Environments of their own for what the service does not need: made once, from files with hashes,
in `var/bench`.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests" / "bench"
PLACE = ROOT / "var" / "bench"
INSTALLED_S = 240.0
LOCKED = ("--require-hashes", "--no-deps", "--only-binary", ":all:")
PIP = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", *LOCKED)


class NotInstalled(Exception):
    """The environment cannot be had here; the text says why."""


async def environment(name: str, *, installs: bool = True, place: Path = PLACE, here: Path = HERE) -> Path:
    """The `bin` folder of the environment that `<name>.txt` describes, installed unless it is
    there.
    """
    if not installs:
        raise NotInstalled("nothing is to be installed")
    wanted = here / f"{name}.txt"
    folder = place / name
    mark = folder / "installed"
    digest = hashlib.sha256(wanted.read_bytes() + sys.version.encode()).hexdigest()
    if mark.exists() and mark.read_text(encoding="ascii") == digest:
        return folder / "bin"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    print(f"installing {name} into {folder}", flush=True)
    await run(sys.executable, "-m", "venv", str(folder))
    await run(str(folder / "bin" / "python"), *PIP, "--requirement", str(wanted))
    mark.write_text(digest, encoding="ascii")
    return folder / "bin"


async def run(*command: str) -> None:
    """Run a command to its end; NotInstalled with the last of what it said when it fails or takes
    too long.
    """
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)
    try:
        async with asyncio.timeout(INSTALLED_S):
            _, said = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise NotInstalled(f"it took more than {INSTALLED_S:.0f} s") from None
    if process.returncode != 0:
        lines = said.decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
        raise NotInstalled(lines[-1])
