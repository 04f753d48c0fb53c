"""Judges the library of processes, and ends with 1 where one of them is not up to its standard."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.library.checks import findings, told
from tests.library.documents import here, library
from tests.library.report import row, table


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.library", description=__doc__)
    parser.add_argument("verticals", nargs="*", help="only these")
    parser.add_argument("--tree", type=Path, default=here(), help="the working copy whose library is judged")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    verticals = library(asked.tree, asked.verticals)
    found = [one for vertical in verticals for one in findings(vertical)]
    print("\n".join(table([row(vertical, 0) for vertical in verticals])))
    print(told(found) if found else "Nothing is wrong.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
