"""Tampers with a stored history a thousand times, and counts what verification finds and names."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.audit import past
from tests.audit.hunt import hunt
from tests.seeds import drawn


def main() -> int:
    """Print a line for each kind and for whatever was missed; 0 when nothing was."""
    parser = argparse.ArgumentParser(prog="make tamper", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    seed = drawn() if arguments.seed is None else arguments.seed
    kinds: Counter[str] = Counter()
    missed, began = 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="penstock-tamper-") as folder:
        made = past.make(Path(folder))
        for one in hunt(made, Path(folder), arguments.count, seed):
            if one.found and one.named:
                kinds[one.kind] += 1
                continue
            missed += 1
            what = "; ".join(map(str, one.findings[:3])) or "nothing was found"
            print(f"MISSED {one.kind} (--seed {one.seed} --count 1): {what}")
    for kind, count in sorted(kinds.items()):
        print(f"{kind:<22}{count:>5} found and named")
    found = sum(kinds.values())
    print(f"{found:,} of {arguments.count:,} tamperings found and named in {time.monotonic() - began:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
