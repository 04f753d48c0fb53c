"""Cuts the power at thousands of places, proves that it would notice a loss, and prints what came
of it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import sys
import time
from pathlib import Path

from tests.power.harness import Found, after_answers, examine, is_complete, look, scratch
from tests.power.recording import Kind, syncs
from tests.power.served import FAULTS
from tests.power.workload import Plan, Recording, planted, record, recorder
from tests.seeds import drawn

IMAGES_EACH = 500
IMAGES_FAULT = 200
LOG_BYTES = (64 * 1024, 256 * 1024, 1024 * 1024, 0)
WORKERS = os.cpu_count() or 1


def rounds(folder: Path, by: dict[str, str], images: int, seed: int) -> Found:
    """Records of the service as it is, each cut at a share of the places."""
    total, chance = Found(), random.Random(seed)
    number = 0
    while total.images < images:
        plan = Plan(runs=80, lives=chance.choice((2, 3, 4)), log_bytes=LOG_BYTES[number % 4], seed=seed + number)
        recording = recorded(folder, plan, by)
        found = examine(recording, min(IMAGES_EACH, images - total.images), seed=seed + number, workers=WORKERS)
        checkpoints = syncs(recording.records, "penstock.db")
        told = sum(one.kind is Kind.TOLD for one in recording.records)
        print(
            f"record {number + 1}: {plan.lives} lives, {len(recording.records):,} operations, {told:,} answers, "
            f"{checkpoints} syncs of the database; {found.images} cuts, {found.wrong} lost something",
            flush=True,
        )
        total.add(found)
        number += 1
    return total


def recorded(folder: Path, plan: Plan, by: dict[str, str]) -> Recording:
    """A record that tells the whole story."""
    here = folder / "record"
    shutil.rmtree(here, ignore_errors=True)
    recording = asyncio.run(record(here, plan, by))
    # What recorder.c does not see it cannot lose, and what is within sees keys only when they are
    # synced.
    if not plan.fault and not is_complete(recording):
        raise SystemExit("the record is not what the folder holds: something writes that is not seen")
    return recording


def blind(folder: Path, by: dict[str, str], seed: int) -> list[str]:
    """The planted faults that were not noticed."""
    missed = []
    for fault in FAULTS:
        recording = recorded(folder, planted(fault, runs=40, seed=seed), by)
        found = look(recording, after_answers(recording.records, IMAGES_FAULT, random.Random(seed)), seed)
        print(f"planted, {fault}: {found.wrong} of {found.images} cuts lost something", flush=True)
        missed += [] if found.wrong else [fault]
    return missed


def main() -> int:
    """Cut, and say what was lost; the exit code is 0 when nothing was, and every planted fault was
    noticed.
    """
    parser = argparse.ArgumentParser(prog="make power", description=__doc__)
    parser.add_argument("--images", type=int, default=1_000)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    seed = drawn() if given.seed is None else given.seed
    began, folder = time.monotonic(), scratch()
    try:
        by = recorder(folder)
        if by is None:
            print("nothing can record here: there is no C compiler, and SQLite's functions cannot be reached")
            return 1
        print(f"recorded {'by recorder.c' if 'LD_PRELOAD' in by else 'within the process'}")
        total = rounds(folder, by, given.images, seed)
        missed = blind(folder, by, seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for example in total.examples:
        print(example)
    print(
        f"{total.images:,} power cuts, {total.served} of them opened by the service, {total.wrong} lost something; "
        f"{len(FAULTS) - len(missed)} of {len(FAULTS)} planted faults noticed; {time.monotonic() - began:.0f} s"
    )
    return 1 if total.wrong or missed else 0


if __name__ == "__main__":
    sys.exit(main())
