"""Fuzzes the service and its parsers for so many seconds; exit 1 on whatever is no answer."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.fuzz.campaign import campaign
from tests.seeds import drawn


async def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-fuzz-") as folder:
        done = await campaign(Path(folder), given.seconds, drawn() if given.seed is None else given.seed)
    print("\n".join(done.lines()))
    print(f"{sum(done.tried.values()):,} examples, {len(done.found)} findings")
    return 1 if done.found else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
