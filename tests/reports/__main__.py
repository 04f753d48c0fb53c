"""Random histories, whose reports are compared with a recount; ends with a figure."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

import structlog

from actors.core.messages import VerdictGiven
from daemon.model.reports.projection import FOLLOWS
from tests.reports.comparing import differences, played, store_in
from tests.seeds import drawn

COMPANY = 100
"""The histories of a company, whose numbers are counted together."""
SHOWN_MAX = 3


class Compared(NamedTuple):
    """What came of the histories of a company."""

    seeds: range
    events: int
    decisions: int
    wrong: list[str]


def compared(seeds: range) -> Compared:
    """Let the histories of a company happen on a real database, and compare all its reports."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    return asyncio.run(_compared(seeds))


async def _compared(seeds: range) -> Compared:
    company_id = f"company-{seeds.start}"
    with tempfile.TemporaryDirectory(prefix="penstock-reports-") as folder:
        async with store_in(Path(folder)) as store:
            recount, events = await played(store, seeds, company_id)
            wrong = await differences(store, company_id, recount, Random(seeds.start))
            return Compared(seeds, events, len(recount.decisions), wrong)


def fault_is_found() -> bool:
    """Whether the comparison notices verdicts that are not counted."""
    follow = FOLLOWS.pop(VerdictGiven)
    try:
        return bool(compared(range(COMPANY)).wrong)
    finally:
        FOLLOWS[VerdictGiven] = follow


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--first", type=int)
    asked = parser.parse_args()
    first = drawn() if asked.first is None else asked.first
    begun, end = time.monotonic(), first + asked.histories
    if not fault_is_found():
        print("the planted fault was not found")
        return 1
    companies = [range(start, min(start + COMPANY, end)) for start in range(first, end, COMPANY)]
    events = decisions = wrong = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for one in pool.map(compared, companies):
            events, decisions, wrong = events + one.events, decisions + one.decisions, wrong + len(one.wrong)
            for sentence in one.wrong[:SHOWN_MAX]:
                again = f"python -m tests.reports --first {one.seeds.start} --histories {len(one.seeds)}"
                print(sentence, f"again: {again}", sep="\n", flush=True)
    print(
        f"{asked.histories:,} histories of {len(companies)} companies in {time.monotonic() - begun:,.0f} s: "
        f"{events:,} events, {decisions:,} decisions; {wrong} numbers differ from the recount"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
