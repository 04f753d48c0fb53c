"""Builds the wheels and source distributions of the service and of its client: the same bytes from
the same files.

The client is a distribution of its own, with `penstock_client` for `daemon.client` and
`penstock_client.contract` for `daemon.contract`. Its source distribution builds its wheel without
the rest of this tree.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENT = Path("daemon/client")
CONTRACT = Path("daemon/contract")
PACKAGE = "penstock_client"
NAMES = re.compile(r"\bdaemon\.(client|contract)\b")
IMPORTED = {"client": PACKAGE, "contract": f"{PACKAGE}.contract"}


def built(root: Path, folder: Path) -> dict[str, str]:
    """The SHA-256 of each package built from a source tree into a folder, by file name."""
    _build(root, folder)
    with tempfile.TemporaryDirectory() as project:
        _build(laid_out(root, Path(project)), folder)
    files = sorted([*folder.glob("penstock*.whl"), *folder.glob("penstock*.tar.gz")])
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def laid_out(root: Path, project: Path) -> Path:
    """The client as a project of its own."""
    for file in (CLIENT / "pyproject.toml", CLIENT / "README.md", Path("LICENSE")):
        shutil.copyfile(root / file, project / file.name)
    package = project / PACKAGE
    for source, target in ((CLIENT, package), (CONTRACT, package / "contract")):
        for module in sorted((root / source).rglob("*.py")):
            place = target / module.relative_to(root / source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_renamed(module), encoding="utf-8")
    (package / "py.typed").touch()
    return project


def _renamed(module: Path) -> str:
    """The text of a module with the names that its package has in the distribution."""
    return NAMES.sub(lambda found: IMPORTED[found[1]], module.read_text(encoding="utf-8"))


def _build(root: Path, folder: Path) -> None:
    command = (sys.executable, "-m", "hatchling", "build", "--directory", str(folder.absolute()))
    env = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=300, env=env)


if __name__ == "__main__":
    for name, digest in built(ROOT, Path(sys.argv[1])).items():
        print(f"{digest}  {name}")
