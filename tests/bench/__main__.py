"""Measures the service beside a bare server, on many stored runs and beside other engines, and
prints what it finds.

It ends with 1 when a bar was missed. The figures go into `var/bench/figures.json`, and with --write
into a guide with its chart.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.bench import growth, layers, loops, machine, pages, rounds, watching
from tests.bench.bars import Bar, bars, unsound
from tests.bench.chart import drawn
from tests.bench.environments import PLACE
from tests.bench.plan import PLANS, Plan

try:
    from uvloop import new_event_loop
except ImportError:
    from asyncio import new_event_loop  # type: ignore[assignment]

Part = Callable[[Path, Plan], Awaitable[dict[str, Any]]]
# In this order: what needs a quiet disk comes before what fills it.
PARTS: dict[str, Part] = {
    "rounds": rounds.measured,
    "watching": watching.measured,
    "loops": loops.measured,
    "layers": layers.measured,
    "growth": growth.measured,
}
FIGURES = PLACE / "figures.json"


async def measured(parts: list[str], given: argparse.Namespace, folder: Path, figures: dict[str, Any]) -> None:
    """Put the figures of these parts beside those that are there; each is kept as soon as it is
    measured.
    """
    plans, plan = figures.setdefault("plans", {}), replace(PLANS[given.plan], kept=given.kept)
    if given.sizes:
        plan = replace(plan, sizes=given.sizes, startup_runs=given.sizes[-1])
    figures["machine"] = machine.described(folder, plan)
    for name in parts:
        busy = await asyncio.to_thread(machine.busy_share)
        figures["machine"]["busy_before"] = max(busy, figures["machine"].get("busy_before", 0.0))
        print(f"== {name}", flush=True)
        began = time.monotonic()
        (own := folder / name).mkdir()
        figures[name] = await PARTS[name](own, plan)
        plans[name] = given.plan
        show({name: figures[name]})
        keep(figures)
        print(f"   took {time.monotonic() - began:.0f} s", flush=True)


def show(figures: dict[str, Any]) -> None:
    """The tables of some parts, as they stand on the page, and their bars."""
    for name, section in pages.SECTIONS.items():
        if name in figures:
            print(section(figures[name]), flush=True)
    print_bars(bars(figures))


def print_bars(found: list[Bar]) -> None:
    """Each bar in a line."""
    for bar in found:
        print(f"{bar.what:<88}{bar.found:9.3f}   ({bar.asked})  {bar.verdict}", flush=True)


def keep(figures: dict[str, Any]) -> None:
    """Write the figures."""
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def write(figures: dict[str, Any], guide: Path) -> None:
    """Write the guide, with its chart beside it."""
    guide.write_text(pages.written(figures), encoding="utf-8")
    guide.with_name(pages.CHART).write_text(drawn(figures), encoding="utf-8")
    print(f"written: {guide} and {guide.with_name(pages.CHART)}", flush=True)


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="measure these parts; keep the other figures")
    parser.add_argument("--plan", choices=PLANS, default="full", help="how much: trial and short say little of speed")
    parser.add_argument("--write", type=Path, metavar="GUIDE", help="write the guide and its chart")
    parser.add_argument("--again", action="store_true", help="measure nothing, show and write what was measured last")
    parser.add_argument("--place", type=Path, help="folder for the data, on the disk that is to be measured")
    parser.add_argument("--sizes", type=_sizes, help="numbers of stored runs, such as 10000,100000,1000000")
    parser.add_argument("--kept", type=Path, help="folder where those of stored runs are kept, and taken from")
    return parser.parse_args()


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted(map(int, text.split(","))))


async def main(given: argparse.Namespace) -> int:
    """Measure, print, write."""
    anew = not (given.only or given.again)
    figures: dict[str, Any] = {} if anew or not FIGURES.exists() else json.loads(FIGURES.read_text(encoding="utf-8"))
    if given.again:
        show(figures)
    else:
        with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=given.place) as folder:
            await measured(given.only or list(PARTS), given, Path(folder), figures)
    if given.write is not None:
        write(figures, given.write)
    print("\n== bars", flush=True)
    print_bars(found := bars(figures))
    for said in unsound(figures):
        print(f"mind: {said}")
    missed = [bar.what for bar in found if not bar.held]
    print("missed: " + "; ".join(missed) if missed else "every bar is held")
    return 1 if missed else 0


if __name__ == "__main__":
    asked = arguments()
    gc.freeze()
    gc.set_threshold(50_000, 20, 1_000)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        sys.exit(runner.run(main(asked)))
