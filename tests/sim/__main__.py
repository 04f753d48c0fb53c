"""Plays seeds and says which of them break an invariant; or plants faults and says how soon they
are found.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

from tests.seeds import drawn
from tests.sim.plants import PLANTS, planted
from tests.sim.seeds import Played, play

SEEDS_MAX = 1_000_000
CHUNK = 25
SHOWN_MAX = 3
PLANTS_SEEDS = 10_000


def played(seed: int, plant: str | None = None) -> Played:
    """What came of a seed; its trace only where it is needed."""
    with planted(plant):
        one = play(seed)
    return one if one.wrong else replace(one, trace=())


def each(seeds: range, plant: str | None = None) -> Iterator[Played]:
    """What came of each seed, in order, a bounded number of them ahead."""
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        for start in range(seeds.start, seeds.stop, CHUNK * cores):
            block = range(start, min(seeds.stop, start + CHUNK * cores))
            yield from pool.map(partial(played, plant=plant), block, chunksize=CHUNK)


def hunt(seeds: range) -> int:
    """Play seeds; print those that break an invariant, then what was played."""
    begun, broken = time.monotonic(), 0
    turns = acks = sends = deaths = 0
    for one in each(seeds):
        turns, acks, sends, deaths = turns + one.turns, acks + one.acks, sends + one.sends, deaths + one.deaths
        if one.wrong is not None:
            broken += 1
            if broken <= SHOWN_MAX:
                print(one, f"again: python -m tests.sim --first {one.seed} --seeds 1", sep="\n", end="\n\n", flush=True)
    seconds = time.monotonic() - begun
    print(
        f"{len(seeds):,} seeds in {seconds:,.0f} s: {turns:,} turns, {acks:,} acknowledged, {sends:,} calls sent, "
        f"{deaths:,} ends of a process; {broken} seeds break an invariant"
    )
    return 1 if broken else 0


def found(name: str, seeds: range) -> bool:
    """Plant a fault and say which seed is the first to show it."""
    first = next((one for one in each(seeds, name) if one.wrong is not None), None)
    if first is None:
        print(f"{name:28} not found within {len(seeds):,} seeds")
        return False
    print(f"{name:28} found after {first.seed - seeds.start + 1:,} seeds: {first.wrong}", flush=True)
    return True


def main() -> int:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, help="how many seeds")
    parser.add_argument("--first", type=int, help="the first seed; drawn unless given")
    parser.add_argument("--plant", choices=sorted(PLANTS), help="find this planted fault")
    parser.add_argument("--plants", action="store_true", help="find every planted fault")
    parser.add_argument("--hashes", action="store_true", help="print the hash of each trace")
    asked = parser.parse_args()
    finding = asked.plants or asked.plant is not None
    count = min(SEEDS_MAX, asked.seeds or (PLANTS_SEEDS if finding else 1_000))
    first = drawn() if asked.first is None else asked.first
    seeds = range(first, first + count)
    if asked.hashes:
        for seed in seeds:
            print(seed, play(seed).hash)
        return 0
    if not finding:
        return hunt(seeds)
    names = list(PLANTS) if asked.plants else [asked.plant]
    missed = [name for name in names if not found(name, seeds)]
    print(f"{len(names) - len(missed)} of {len(names)} planted faults found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
