"""Runs the tests of effects at their full counts, and prints the figures that came of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.effects.scale import FIGURES, SCALE

TIMEOUT_S = 3_600


def main() -> int:
    """Run them; the exit code is pytest's."""
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory(prefix="penstock-effects-") as folder:
        figures = Path(folder) / "figures.jsonl"
        command = [sys.executable, "-m", "pytest", "--dist=worksteal", "--durations=10", *(sys.argv[1:] or [str(here)])]
        environment = {**os.environ, SCALE: "full", FIGURES: str(figures)}
        code = subprocess.run(command, env=environment, cwd=here.parents[1], timeout=TIMEOUT_S, check=False).returncode
        lines = figures.read_text(encoding="utf-8").splitlines() if figures.exists() else []
    for line in sorted(lines):
        found = json.loads(line)
        what = found.pop("what")
        told = ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in found.items())
        print(f"{what}: {told}")
    return code


if __name__ == "__main__":
    sys.exit(main())
