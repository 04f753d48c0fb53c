"""Builds the wheel and the source distribution: the same bytes from the same files."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def built(root: Path, folder: Path) -> dict[str, str]:
    """The SHA-256 of each package built from a source tree into a folder, by file name."""
    command = (sys.executable, "-m", "hatchling", "build", "--directory", str(folder.absolute()))
    env = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=300, env=env)
    files = sorted([*folder.glob("penstock-*.whl"), *folder.glob("penstock-*.tar.gz")])
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


if __name__ == "__main__":
    for name, digest in built(ROOT, Path(sys.argv[1])).items():
        print(f"{digest}  {name}")
