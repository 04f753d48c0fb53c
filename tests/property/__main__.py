"""Previews against what happens, or random panels, over many templates; ends with a figure."""

from __future__ import annotations

import sys
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, settings

from tests.property import panels
from tests.property.test_previews import TALLY, walk, walks


def main(amount: int) -> None:
    every = list(HealthCheck)
    many = settings(
        max_examples=amount, phases=[Phase.generate], suppress_health_check=every, deadline=None, database=None
    )
    tried: Callable[[], None] = many(walks(walk))
    tried()
    sys.stdout.write(
        f"{amount} templates, {TALLY['walks']} decisions: {TALLY['steps']} steps ran before the next human, "
        f"all announced; {TALLY['certain']} were certain, and all of them ran\n"
    )


if __name__ == "__main__":
    if sys.argv[1] == "panels":
        sys.stdout.write(panels.main(int(sys.argv[2])))
    else:
        main(int(sys.argv[1]))
