"""What the checker goes by: the driver's log, the ledger and the exported history, put together run
by run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tests.crash.notes import lines

Line = dict[str, Any]
ACKNOWLEDGED = 300


@dataclass(slots=True)
class Said:
    """One request of the driver, however often it was sent, and every answer to it, in the order of
    the log.
    """

    n: int
    asked: Line | None = None
    answers: list[Line] = field(default_factory=list)

    @property
    def do(self) -> str:
        """What was asked for."""
        return str((self.asked or self.answers[0])["do"])

    @property
    def keyed(self) -> bool:
        """Whether it had an Idempotency-Key."""
        return self.asked is not None and "Idempotency-Key" in self.asked["headers"]

    @property
    def acknowledged(self) -> Line | None:
        """The first answer that says it was done."""
        return next((line for line in self.answers if line["status"] < ACKNOWLEDGED), None)

    @property
    def refused(self) -> bool:
        """Whether every answer says that it was not done."""
        return bool(self.answers) and all(
            line["status"] >= 400 and (line["status"] < 500 or line["outcome"] == "not_applied")
            for line in self.answers
        )


@dataclass(slots=True)
class Case:
    """All that is known of one run."""

    run_id: str
    vertical: str
    seen: Line
    events: list[Line]
    said: dict[int, Said]
    calls: list[Line]

    @property
    def verdicts(self) -> Iterator[Line]:
        """The verdicts in its history."""
        return (event for event in self.events if event["type"] == "verdict_given")


class Plans:
    """The driver's log by the run that it is about; a plan is what the driver calls a run before it
    has an id.
    """

    def __init__(self, file: Path) -> None:
        self._lines: defaultdict[int, list[bytes]] = defaultdict(list)
        for line in lines(file):
            self._lines[line["plan"]].append(orjson.dumps(line))

    def take(self, plan: int) -> dict[int, Said]:
        """What was said of one run; it is forgotten here."""
        said: dict[int, Said] = {}
        for line in map(orjson.loads, self._lines.pop(plan, [])):
            one = said.setdefault(line["n"], Said(line["n"]))
            if line["type"] == "asked":
                one.asked = one.asked or line
            elif line["type"] == "answered":
                one.answers.append(line)
        return {n: one for n, one in said.items() if one.asked is not None or one.answers}

    def __iter__(self) -> Iterator[int]:
        """The plans that nobody has taken."""
        return iter(list(self._lines))


def calls_by_run(ledger: Path) -> defaultdict[str, list[Line]]:
    """The ledger's calls by the run that their keys name, in the order in which they came."""
    calls: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines(ledger):
        calls[line["key"].split(":")[0]].append(line)
    return calls
