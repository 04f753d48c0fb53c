"""What a start, a verdict, a read, an idle second and a start of the process cost, beside another
commit: both services live at the same time, and are asked in turns.

    python -m tests.cost --beside HEAD~1 --rounds 6
    python -m tests.cost --beside HEAD~1 --instructions

Processor time is that of all threads and child processes of the service. Valgrind counts
instructions, which do not depend on what else the machine does. What an idle service spends in the
same time is taken off each request. The process that runs is the same in both trees
(`processes/measured.yaml`): shipped ones grow from commit to commit.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

from tests.bench.environments import ROOT
from tests.bench.servers import Served
from tests.bench.shooting import begun, reads, starts, verdicts
from tests.load.__main__ import START, Server
from tests.load.pump import Shot, Volley, fire
from tests.programs import announced

CALLERS = 32
IDLE_S = 5.0
LOOPS = 300
LOOPS_COUNTED = 150
WARM = 100
PROCESSES = ROOT / "tests/cost/processes"
STARTED = START | {"vertical": "measured"}
KINDS = ("process start", "start", "resume", "read", "loop", "idle second", "loops a second")
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is read of a service, under which program, over how many loops."""

    unit: str
    spent: Callable[[Server], float]
    under: tuple[str, ...]
    loops: int


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A commit in a folder of its own, unless it is a folder."""
    if Path(commit).is_dir():
        yield Path(commit)
        return
    with tempfile.TemporaryDirectory(prefix="penstock-cost-") as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def family(pid: int) -> list[int]:
    """A process and all that it has started and that still runs."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            found += map(int, task.read_text(encoding="ascii").split())
    return found


@asynccontextmanager
async def serving(tree: Path, folder: Path, plan: Plan) -> AsyncIterator[Served]:
    """The service of a tree, as the plan has it; on this tree's packages where it has none."""
    others = {name: text for name, text in os.environ.items() if not name.startswith("PENSTOCK_")}
    given = {"PENSTOCK_DATA_DIR": str(folder), "PENSTOCK_PORT": "0", "PENSTOCK_RATE_LIMITS": "off"}
    settings = others | given | {"PENSTOCK_TEMPLATES_DIR": str(PROCESSES), "PYTHONHASHSEED": "0"}
    log = folder.with_name(f"{folder.name}.log")
    own = tree / ".venv/bin/python"
    python = str(own) if own.exists() else sys.executable
    serve = announced("daemon", "serve", env=settings, log=log, cwd=tree, under=plan.under, python=python)
    async with serve as (process, port):
        yield Served(port, process.pid)


@dataclass(frozen=True, slots=True)
class Side:
    """A warm service of a tree, and what reads its figure so far."""

    server: Served
    token: str
    spent: Callable[[], float]


@asynccontextmanager
async def warmed(tree: Path, plan: Plan) -> AsyncIterator[Side]:
    """A new service of a tree that has answered `WARM` requests of each kind."""
    with tempfile.TemporaryDirectory(prefix="penstock-cost-") as folder:
        async with serving(tree, Path(folder) / "data", plan) as server:
            token, _ = await server.register()
            await requests(server, token, WARM, lambda: 0.0)
            yield Side(server, token, partial(plan.spent, server))


async def started(tree: Path, plan: Plan) -> float:
    """What a start of the process costs on an empty folder."""
    with tempfile.TemporaryDirectory(prefix="penstock-cost-") as folder:
        async with serving(tree, Path(folder) / "data", plan) as server:
            return plan.spent(server)


async def compared(trees: Mapping[str, Path], plan: Plan, rounds: int) -> dict[str, list[Figures]]:
    """What each kind costs in each tree, by rounds: their services live at the same time, because
    a machine is faster in one minute than in the next; and each begins first in half of the rounds,
    because that one is quicker.
    """
    found: dict[str, list[Figures]] = {name: [] for name in trees}
    names, later = list(trees), rounds // 2
    for begun_first, share in ((names, rounds - later), (names[::-1], later)):
        if share:
            async with AsyncExitStack() as stack:
                sides = {name: await stack.enter_async_context(warmed(trees[name], plan)) for name in begun_first}
                await asyncio.sleep(IDLE_S)  # until what goes on behind the last answers is done
                for number in range(share):
                    await _add_round(found, trees, sides, plan, names[:: 1 if number % 2 == 0 else -1])
    return found


async def _add_round(
    found: Mapping[str, list[Figures]],
    trees: Mapping[str, Path],
    sides: Mapping[str, Side],
    plan: Plan,
    order: list[str],
) -> None:
    before = {name: side.spent() for name, side in sides.items()}
    await asyncio.sleep(IDLE_S)
    idle = {name: (side.spent() - before[name]) / IDLE_S for name, side in sides.items()}
    for name in order:
        at_start = {"process start": await started(trees[name], plan), "idle second": idle[name]}
        found[name].append(at_start | await costs(sides[name], plan.loops, idle[name]))


async def costs(side: Side, count: int, idle: float) -> Figures:
    """What each of so many requests costs, without what the service spends beside them."""
    began = time.perf_counter()
    return await requests(side.server, side.token, count, lambda: side.spent() - (time.perf_counter() - began) * idle)


async def requests(server: Served, token: str, count: int, spent: Callable[[], float]) -> Figures:
    """What each of so many requests cost; `spent` says what the service has spent so far."""
    marks, took_s = [spent()], 0.0

    async def send(shots: Iterator[Shot]) -> Volley:
        nonlocal took_s
        volley = await fire(server.port, islice(shots, count), CALLERS)
        assert all(hit.status in (200, 201) for hit in volley.hits), Counter(hit.status for hit in volley.hits)
        took_s += volley.took_s
        await asyncio.sleep(IDLE_S / 5)
        marks.append(spent())
        return volley

    run_ids = begun(await send(starts(token, STARTED)))
    await send(verdicts(run_ids, token))
    rate = count / took_s
    await send(reads(run_ids, token))
    start, resume, read = ((after - before) / count for before, after in pairwise(marks))
    return {"start": start, "resume": resume, "read": read, "loop": start + resume, "loops a second": rate}


def processor_us(server: Server) -> float:
    """The processor time of the service so far, with its children."""
    return sum(time.clock_gettime(~pid << 3 | 2) for pid in family(server.pid)) * 1e6


def instructions_k(server: Server) -> float:
    """The instructions of all threads of the service so far, in thousands, without its children."""
    asked = ["callgrind_control", "-e", str(server.pid)]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    threads = re.findall(r"^ +Th \d+ +([\d,]+)", said, re.MULTILINE)
    return sum(int(one.replace(",", "")) for one in threads) / 1000


TIMED = Plan("µs of processor", processor_us, (), LOOPS)
VALGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--quiet")
COUNTED = Plan(
    "thousand instructions",
    instructions_k,
    VALGRIND,
    LOOPS_COUNTED,
)


async def main() -> None:
    """Measure both trees in turns, and print the medians beside each other."""
    parser = argparse.ArgumentParser(prog="python -m tests.cost", description=__doc__)
    parser.add_argument(
        "--beside", default="HEAD~1", help="the commit, or the checkout, beside which this tree is measured"
    )
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--instructions", action="store_true", help="count instructions, by Valgrind")
    given = parser.parse_args()
    plan = COUNTED if given.instructions else TIMED
    with checked_out(given.beside) as before:
        found = await compared({"before": before, "now": ROOT}, plan, given.rounds)
    print(f"{plan.unit:24}{'before':>12}{'now':>12}{'ratio':>8}")
    for kind in KINDS:
        was, now = (statistics.median(one[kind] for one in found[name]) for name in ("before", "now"))
        print(f"{kind:24}{was:12,.0f}{now:12,.0f}{now / was:8.2f}")


if __name__ == "__main__":
    asyncio.run(main())
