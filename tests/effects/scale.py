"""How large the counts are: small in `make test-rigs`, whole in `make effects`; and the figures
that come of them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCALE, FIGURES = "PENSTOCK_EFFECTS", "PENSTOCK_EFFECTS_FIGURES"
FULL = os.environ.get(SCALE) == "full"


@dataclass(frozen=True)
class Count:
    """How many there are of something, in either scale."""

    reduced: int
    full: int

    @property
    def now(self) -> int:
        return self.full if FULL else self.reduced


UNKNOWN_OUTCOMES = Count(40, 1_000)
IDEMPOTENT_CALLS = Count(40, 1_000)
KILLED_CALLS = Count(8, 100)
GENERATED_TEMPLATES = Count(12, 80)
GENERATED_RUNS = Count(60, 2_000)
RESTARTS = Count(2, 12)
LIVE_EFFECTS = Count(60, 2_000)
CANARIES = Count(25, 200)


def note(what: str, **figures: Any) -> None:
    """Keep the figures of a test for the one who asked for them."""
    if FIGURES in os.environ:
        line = json.dumps({"what": what, **figures}) + "\n"
        with Path(os.environ[FIGURES]).open("a", encoding="utf-8") as file:
            file.write(line)
