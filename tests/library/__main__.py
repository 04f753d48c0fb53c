"""Judges the library of processes, and ends with 1 where one of them is not up to its standard."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from daemon.templates.answers import unbounded
from daemon.templates.loading import TemplateRefused
from tests.library.checks import Finding, findings, told
from tests.library.documents import Vertical, files, here
from tests.library.report import Row, row, table
from tests.library.score import BAR, BARRED, Shown, score, score_of, scored, shown
from tests.library.served import served
from tests.library.trials import played


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.library", description=__doc__)
    parser.add_argument("verticals", nargs="*", help="only these")
    parser.add_argument("--tree", type=Path, default=here(), help="the working copy whose library is judged")
    parser.add_argument("--runs", type=int, default=1_000, help="random runs of each")
    parser.add_argument("--served", type=int, default=0, help="random runs of each on a real service")
    parser.add_argument("--static", action="store_true", help="only what is found without a run")
    parser.add_argument("--score", type=float, default=100 * BAR, help="so much of what enforces rules is shown, in %%")
    parser.add_argument("--unnoticed", action="store_true", help="list the changes that rehearsals do not notice")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes that play")
    return parser.parse_args()


class Judged(NamedTuple):
    """The figures of a process, all that is wrong with it, and how its rules are shown."""

    figures: Row | None
    found: list[Finding]
    rules: list[Shown]


def judged(vertical: Vertical, runs: int) -> Judged:
    found = findings(vertical)
    if runs:
        found += played(vertical, runs).found
    return Judged(row(vertical, runs), found, [*shown(vertical.entry, vertical.document)])


def _judged(file: Path, tree: Path, runs: int) -> Judged:
    try:
        with unbounded():
            return judged(Vertical(file, tree), runs)
    except TemplateRefused as refused:
        return Judged(None, [Finding(file.stem, "refused", sentence) for sentence in refused.sentences], [])


def main() -> int:
    asked = arguments()
    judge = partial(_judged, tree=asked.tree, runs=0 if asked.static else asked.runs)
    with ProcessPoolExecutor(asked.workers) as workers:
        every = [*workers.map(judge, files(asked.tree, asked.verticals))]
    found = [finding for one in every for finding in one.found]
    print("\n".join(table([one.figures for one in every if one.figures is not None])))
    rules = [rule for one in every for rule in one.rules]
    print("\n".join(scored(rules, unnoticed=asked.unnoticed)))
    if rules and 100 * score(rules) < asked.score:
        found += [
            Finding(one.vertical, "rule_not_shown", f"{one.rule}: {one.name}") for one in rules if not one.is_shown
        ]
    found += [
        Finding("library", "change_not_noticed", f"{kind}: {score_of(kind, rules):.1%} of what rules name")
        for kind in BARRED
        if rules and not asked.verticals and 100 * score_of(kind, rules) < asked.score
    ]
    if asked.served:
        sound = [Vertical(file, asked.tree) for file in files(asked.tree, asked.verticals)]
        ends, stuck = asyncio.run(served(sound, asked.served))
        found += stuck
        print("on a real service: " + ", ".join(f"{number} {end}" for end, number in ends.most_common()))
    print(told(found) if found else "Nothing is wrong.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
