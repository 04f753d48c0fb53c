"""Prints the measures of the tree, and fails where a bound is not held or rose without a reason.

python -m tests.house [--lower]
"""

from __future__ import annotations

import sys

from tests.house.bounds import HOUSE, Ledger, Measure
from tests.house.instructions import COST, GIVE, VERSION, instructions
from tests.house.measures import measures


def main() -> None:
    wrong = [*_judged(HOUSE, [*measures()])]
    if sys.version_info[:2] == VERSION:
        wrong += _judged(COST, [*instructions()], GIVE)
    else:
        print("The instructions are bounded on Python {}.{} alone.".format(*VERSION))
    sys.exit("\n".join(wrong) if wrong else 0)


def _judged(ledger: Ledger, found: list[Measure], give: float = 0.0) -> list[str]:
    if "--lower" in sys.argv:
        ledger.lower(found)
    return [*ledger.judge(found, give)]


if __name__ == "__main__":
    main()
