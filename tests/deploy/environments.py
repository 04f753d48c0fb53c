"""Fresh environments with a wheel in them, made of packages that are installed here."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from asyncio.subprocess import PIPE
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement


class Environment:
    """A virtual environment in a folder."""

    def __init__(self, folder: Path) -> None:
        subprocess.run((sys.executable, "-m", "venv", "--without-pip", folder), check=True)
        self.python = folder / "bin" / "python"
        (self.packages,) = folder.glob("lib/python*/site-packages")

    def install(self, wheel: Path) -> None:
        """Install a wheel, and nothing that it needs."""
        pip = (sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", "--quiet")
        subprocess.run((*pip, "install", "--no-index", "--no-deps", wheel), check=True, timeout=120)

    def lend(self, *names: str) -> None:
        """Give it these distributions and what they need, and no other."""
        for name in sorted(closure(*names)):
            for top in {
                file.parts[0] for file in metadata.files(name) or () if file.parts[0] not in {"..", "__pycache__"}
            }:
                (self.packages / top).symlink_to(Path(str(metadata.distribution(name).locate_file(top))))

    def installed(self) -> set[str]:
        """The names of all distributions in it."""
        return {normal(found.metadata["Name"]) for found in metadata.distributions(path=[str(self.packages)])}

    async def run(self, script: str, *arguments: str) -> str:
        """What a script prints; it has to end well, and to say nothing on standard error."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PENSTOCK_", "PYTHON"))}
        process = await asyncio.create_subprocess_exec(
            self.python, "-W", "error", "-c", script, *arguments, stdout=PIPE, stderr=PIPE, env=env, cwd=self.packages
        )
        out, err = await process.communicate()
        assert (process.returncode, err.decode()) == (0, "")
        return out.decode()


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(*names: str) -> set[str]:
    """Distributions and all that they need on this machine, by their normal names."""
    found: set[str] = set()
    left = [*names]
    while left:
        name = normal(left.pop())
        if name not in found:
            found.add(name)
            needed = map(Requirement, metadata.requires(name) or ())
            left += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found
