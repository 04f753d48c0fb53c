"""What is built, what it consists of, and what is known of that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.house.advisories import Result, of_page, of_python
from tests.house.packages import ROOT, built


def copied(folder: Path, umask: int, modified: float) -> Path:
    """The files of the tree elsewhere, with other permissions and times."""
    names = subprocess.run(("git", "ls-files", "-z"), cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if name.startswith("tests/") or not (ROOT / name).is_file():
            continue
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
        copy.chmod(0o666 & ~umask)
        os.utime(copy, (modified, modified))
    return folder


def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    first = built(copied(tmp_path / "one", 0o022, 1_000_000_000), tmp_path / "first")
    second = built(copied(tmp_path / "another" / "place", 0o077, 1_700_000_000), tmp_path / "second")
    assert {Path(name).suffix for name in first} == {".whl", ".gz"}
    assert first == second


def test_packages_that_no_database_knows_are_not_taken_for_sound() -> None:
    report = {
        "dependencies": [
            {"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]},
            {"name": "b", "skip_reason": "not found"},
        ]
    }
    assert of_python(report) == Result(1, ["a 1: CVE-1"], "1 of 2 packages: not found")
    assert of_page({"message": "405"}) == Result(0, [], "405")
    page = {"auditReportVersion": 2, "vulnerabilities": {"c": {"severity": "high"}}}
    page["metadata"] = {"dependencies": {"total": 7}}
    assert of_page(page) == Result(7, ["c: high"])
