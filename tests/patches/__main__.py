"""Tries each stored patch on a copy of the tree, or renews one from what the tree has.

python -m tests.patches [NAME ...]
python -m tests.patches --renew NAME
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE, STDOUT

from tests.house.test_house import ROOT
from tests.patches.stored import PATCHES, Patch, StalePatch, apply, copied, renew

PAGE = "daemon/ui"
PYTHON = sys.executable


def main() -> None:
    match sys.argv[1:]:
        case ["--renew", name]:
            renew(next(patch for patch in PATCHES if patch.name == name))
        case names:
            wanted = [patch for patch in PATCHES if not names or patch.name in names]
            tries = [tried(patch) for patch in wanted]
            sys.exit(not all(tries))


def tried(patch: Patch) -> bool:
    """Whether a copy with the patch is sound: linted, typed, layered, and its own tests pass."""
    began = time.monotonic()
    with copied() as tree:
        try:
            apply(patch, tree)
            prove(patch, tree)
        except StalePatch as stale:
            print(stale, file=sys.stderr)
            return False
        except subprocess.CalledProcessError as failed:
            print(failed.stdout, f"{patch.name}: {failed}", sep="\n", file=sys.stderr)
            return False
    print(f"{patch.title}: {len(patch.files)} files, tried in {time.monotonic() - began:.0f} s")
    return True


def prove(patch: Patch, tree: Path) -> None:
    for module in ("tests.web.contract_file", "tests.house.reference"):
        run(tree, PYTHON, "-m", module)
    run(tree, PYTHON, "-m", "ruff", "check", *patch.python)
    run(tree, PYTHON, "-m", "ruff", "format", "--check", *patch.python)
    if (cache := ROOT / ".mypy_cache").is_dir():
        shutil.copytree(cache, tree / cache.name)
    run(tree, PYTHON, "-m", "mypy")
    run(tree, str(Path(PYTHON).with_name("lint-imports")))
    run(tree, PYTHON, "-m", "pytest", "--quiet", "-n", "0", *patch.proofs)
    if any(name.startswith(PAGE) for name in patch.files):
        if not (ROOT / PAGE / "node_modules").is_dir():
            print(f"{patch.name}: the page's tools are not installed, so its part is not tried (make ui)")
            return
        (tree / PAGE / "node_modules").symlink_to(ROOT / PAGE / "node_modules")
        for words in (("npm", "run", "--silent", "types"), ("npx", "tsc"), ("node", "check-texts.js")):
            run(tree / PAGE, *words)


def run(folder: Path, *words: str) -> None:
    """Run a program on what is in the copy, and not on what is installed."""
    tree = str(folder).removesuffix(f"/{PAGE}")
    environment = os.environ | {"PYTHONPATH": tree, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(words, cwd=folder, env=environment, check=True, text=True, stdout=PIPE, stderr=STDOUT)


if __name__ == "__main__":
    main()
