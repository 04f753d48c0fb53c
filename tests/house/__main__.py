"""Prints the measures of the tree, and fails where a bound is not held or rose without a reason.

python -m tests.house [--lower]
"""

from __future__ import annotations

import sys

from tests.house.bounds import BOUNDS, lowered, shown, table, unexplained, versions
from tests.house.measures import measures


def main() -> None:
    bounds, found = table().bounds, {}
    wrong = [*unexplained(versions())]
    print(f"{'':<52}{'found':>9}{'bound':>11}{'goal':>9}")
    for one in measures():
        found[one.name] = one.found
        bound = bounds.get(one.name)
        if bound is None:
            wrong.append(f"bounds.md has no line for: {one.name}")
            continue
        held = f"{'≥' if bound.least else '≤'} {shown(bound.value)}"
        goal = "" if bound.goal is None else shown(bound.goal)
        verdict = bound.wrong(one.found)
        print(f"{one.name:<52}{shown(one.found):>9}{held:>11}{goal:>9}  {verdict or one.detail}")
        wrong += [f"{one.name}: {verdict} {one.detail}"] if verdict else []
    wrong += [f"bounds.md has a line for what is not measured: {name}" for name in bounds.keys() - found.keys()]
    if "--lower" in sys.argv:
        BOUNDS.write_text(lowered(BOUNDS.read_text(encoding="utf-8"), found), encoding="utf-8")
    print(*wrong, sep="\n", file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
