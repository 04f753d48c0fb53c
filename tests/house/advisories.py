"""Looks for known vulnerabilities in the locked packages, with pip-audit and npm audit.

Exit 0: all were looked up and none is known. 1: some are known. 2: some could not be looked up.
Runs in .venv/supply, which has nothing of the service.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
LOCKS = tuple(f"requirements{name}.txt" for name in ("", "-tracing", "-dev", "-supply", "-deploy"))
TIMEOUT_S = 300


class Result(NamedTuple):
    """`unknown` says why packages were not looked up."""

    looked_up: int
    known: list[str]
    unknown: str = ""


def of_python(report: dict[str, Any]) -> Result:
    """The result in a JSON report of pip-audit, which ends with 0 for packages that it skips."""
    found = report["dependencies"]
    skipped = [one for one in found if "skip_reason" in one]
    known = [f"{one['name']} {one['version']}: {each['id']}" for one in found for each in one.get("vulns", ())]
    unknown = f"{len(skipped)} of {len(found)} packages: {skipped[0]['skip_reason']}" if skipped else ""
    return Result(len(found) - len(skipped), known, unknown)


def of_page(report: dict[str, Any]) -> Result:
    """The result in a JSON report of npm audit."""
    if "auditReportVersion" not in report:
        return Result(0, [], str(report.get("message") or report.get("error") or "npm gave no report"))
    found = report["vulnerabilities"]
    return Result(report["metadata"]["dependencies"]["total"], [f"{name}: {found[name]['severity']}" for name in found])


def _reported(*command: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit {done.returncode}"]
        return {"message": last[0], "dependencies": [{"name": "all", "skip_reason": last[0]}]}
    return report


def main() -> int:
    program = str(Path(sys.executable).with_name("pip-audit"))
    results = {}
    for lock in LOCKS:
        options = ("--disable-pip", "--require-hashes", "--format", "json", "--progress-spinner", "off")
        results[lock] = of_python(_reported(program, *options, "--requirement", lock, folder=ROOT))
    npm = shutil.which("npm")
    command = (npm or "npm", "audit", "--package-lock-only", "--json")
    results["package-lock.json"] = (
        of_page(_reported(*command, folder=ROOT / "daemon" / "ui")) if npm else Result(0, [], "there is no npm here")
    )
    for name, (looked_up, known, unknown) in results.items():
        print(f"{name}: {looked_up} looked up, {len(known)} known vulnerabilities")
        for line in known:
            print(f"  {line}")
        if unknown:
            print(f"  NOT LOOKED UP: {unknown}")
    if any(one.known for one in results.values()):
        print("vulnerable")
        return 1
    if any(one.unknown for one in results.values()):
        print("nothing is proven: a database of advisories was not reached")
        return 2
    print("sound")
    return 0


if __name__ == "__main__":
    sys.exit(main())
