"""Prints the measures of the tree, and fails where a bound that is a gate is not held."""

from __future__ import annotations

import sys

from tests.house.measures import measures


def main() -> None:
    found = list(measures())
    for one in found:
        print(one)
    sys.exit(any(one.gate and not one.held for one in found))


if __name__ == "__main__":
    main()
