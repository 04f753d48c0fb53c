"""Holds the driver's log, the ledger and the exported history against each other, and names what
does not fit.

`python -m tests.crash.checker DRIVER LEDGER HISTORY` prints what it found and ends with 1 if that
is anything. It knows nothing else: no table of the service, and no code of it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash import answers, outside
from tests.crash.notes import lines
from tests.crash.records import Case, Line, Plans, calls_by_run

EXAMPLES_MAX = 3
LOST = frozenset({"verdict lost", "start lost", "cancel lost", "state lost"})
Check = Callable[[Case], Iterator[str]]
CHECKS: tuple[Check, ...] = (*answers.CHECKS, *outside.CHECKS)


@dataclass
class Report:
    """What was checked, and what did not fit."""

    runs: int = 0
    verdicts: int = 0
    effects: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def fault(self, run_id: str, what: str) -> None:
        """Note what does not fit; what stands before a colon is its kind."""
        kind = what.split(":", maxsplit=1)[0]
        self.faults[kind] += 1
        if self.faults[kind] <= EXAMPLES_MAX:
            self.examples.append(f"{run_id}: {what}")

    def of(self, *kinds: str) -> int:
        """How many faults there are of these kinds."""
        return sum(self.faults[kind] for kind in kinds)

    def __str__(self) -> str:
        figures = {
            "runs": self.runs,
            "verdicts acknowledged": self.verdicts,
            "irreversible effects": self.effects,
            "acknowledged and lost": self.of(*LOST),
            "irreversible effects twice": self.of("effect twice"),
            "effects without an earlier verdict": self.of("effect without verdict"),
            "runs stuck": self.of("run stuck"),
            "other faults": self.faults.total() - self.of(*LOST, *outside.COUNTED, "run stuck"),
        }
        width = max(map(len, figures)) + 2
        return "\n".join([*(f"{name:<{width}}{value:,}" for name, value in figures.items()), *self.examples])


def check(driver: Path, ledger: Path, history: Path) -> Report:
    """All checks on all runs."""
    report, plans, calls = Report(), Plans(driver), calls_by_run(ledger)
    started: set[int] = set()
    for line in lines(history):
        plan = _plan(line)
        if plan in started:
            report.fault(line["id"], "started twice: one request to start made two runs")
        started.add(plan)
        case = Case(
            line["id"], line["vertical"], line["seen"], line["events"], plans.take(plan), calls.pop(line["id"], [])
        )
        _check_one(case, report)
    for plan in plans:
        if any(one.do == "start" and one.acknowledged for one in plans.take(plan).values()):
            report.fault(f"plan {plan}", "start lost: it was acknowledged and there is no such run")
    for run_id in calls:
        report.fault(run_id, "effect without verdict: the ledger has calls of a run that there is not")
    return report


def _plan(line: Line) -> int:
    return int(line["events"][0]["inputs"]["plan"]) if line["events"] else -1


def _check_one(case: Case, report: Report) -> None:
    report.runs += 1
    report.verdicts += sum(one.do == "resume" and one.acknowledged is not None for one in case.said.values())
    report.effects += outside.irreversible_effects(case)
    for one in CHECKS:
        for what in one(case):
            report.fault(case.run_id, what)


if __name__ == "__main__":
    found = check(*map(Path, sys.argv[1:4]))
    print(found)
    sys.exit(1 if found.faults else 0)
