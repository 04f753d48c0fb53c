"""The systemd units as text: what they say, and the tools that judge them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

UNITS = Path(__file__).parents[2] / "systemd"
PREFIX = "/opt/penstock"


def said(name: str) -> dict[str, list[str]]:
    """The directives of a unit, each with its values in order."""
    found: dict[str, list[str]] = {}
    for line in (UNITS / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def tool(name: str, capfd: pytest.CaptureFixture[str]) -> str | None:
    """The path of a tool; where it is not on this machine that is said, for what it would judge is
    not judged here.
    """
    path = shutil.which(name)
    if path is None:
        with capfd.disabled():
            print(f"\n{name} is not on this machine: the units are only compared with a list", file=sys.stderr)
    return path


def installed(folder: Path) -> list[Path]:
    """The units as in a prefix of their own, beside a program of the right name."""
    program = folder / "opt" / "bin" / "penstock"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    copies = []
    for unit in sorted(UNITS.iterdir()):
        copies.append(folder / unit.name)
        text = unit.read_text(encoding="utf-8").replace(PREFIX, str(folder / "opt"))
        copies[-1].write_text(text, encoding="utf-8")
    return copies
