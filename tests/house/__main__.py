"""Prints the measures of the tree, and fails where a bound is not held or rose without a reason.

python -m tests.house [--lower]
"""

from __future__ import annotations

import sys

from tests.house.bounds import HOUSE
from tests.house.measures import measures


def main() -> None:
    found = [*measures()]
    if "--lower" in sys.argv:
        HOUSE.lower(found)
    wrong = [*HOUSE.judge(found)]
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
