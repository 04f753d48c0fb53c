"""Prints how often what is cleared is wrong, by judge and floor: `make calibration`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.calibration.judges import JUDGES, VISITS, Judge, clear_all

FLOORS = (0.70, 0.95)
SEEDS = 20
ALLOWED = 0.05
"""Of all seeds, so many may be beyond the bound."""


def main(seeds: int) -> int:
    """Print a row for each judge and floor; 1 where more seeds than chance explains are beyond."""
    sys.stdout.write(f"{VISITS} visits each, seeds 0 to {seeds - 1}\n\n")
    sys.stdout.write(
        "| judge | floor | cleared | wrong of these | allowed | seeds beyond |\n|---|---|---|---|---|---|\n"
    )
    beyond = 0
    for name, judge, floor, learns in _cases():
        found = [clear_all(judge, floor, seed, learns=learns) for seed in range(seeds)]
        cleared, wrong = sum(one.cleared for one in found), sum(one.wrong for one in found)
        above = sum(one.beyond(1 - floor) for one in found)
        beyond = max(beyond, above)
        share = f"{wrong / cleared:.1%}" if cleared else "none"
        row = (name, f"{floor:.2f}", f"{cleared / (seeds * VISITS):.1%}", share, f"{1 - floor:.0%}", str(above))
        sys.stdout.write(f"| {' | '.join(row)} |\n")
        sys.stdout.flush()
    return int(beyond > max(1, ALLOWED * seeds))


def _cases() -> Iterator[tuple[str, Judge, float, bool]]:
    for name, judge in JUDGES.items():
        for floor in FLOORS:
            yield name, judge, floor, False
        yield f"{name}, learnable", judge, FLOORS[-1], True


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS))
