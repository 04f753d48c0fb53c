"""What a start, a verdict, a read, an allowed action, an idle second and a start of the process
cost, beside another commit: both services live at the same time, and are asked in turns.

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
import json
import math
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
from typing import Any
from uuid import uuid4

from aiohttp import web

from tests.attack.wire import ask
from tests.bench.environments import ROOT
from tests.bench.servers import Served
from tests.bench.shooting import begun, reads, starts, verdicts
from tests.listening import Listener
from tests.load.__main__ import START, Server
from tests.load.pump import Shot, Volley, fire, wire
from tests.programs import announced

CALLERS = 32
IDLE_S = 5.0
BUSY_MAX = 20
LOOPS = 300
LOOPS_COUNTED = 150
WARM = 100
PROCESSES = ROOT / "tests/cost/processes"
STARTED = START | {"vertical": "measured"}
ACTIONS = ("allowed action", "allowed action, sent")
"""Whose tool has no connector, as those of the loop have none, and one whose call is sent."""
SHARE = "allowed action of a loop"
KINDS = ("process start", "start", "resume", "read", "loop", "idle second", "loops a second", *ACTIONS, SHARE)
ALLOWS = {"rules": [{"id": "allows", "tool": "*", "decision": "allow", "when": "arguments.amount <= 100000"}]}
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
    given |= {"PENSTOCK_EGRESS_ALLOW": "127.0.0.0/8", "PENSTOCK_TEMPLATES_DIR": str(PROCESSES)}
    settings = others | given | {"PYTHONHASHSEED": "0"}
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
    agent: str
    """The key of an agent; empty where the tree has none."""
    spent: Callable[[], float]


@asynccontextmanager
async def warmed(tree: Path, plan: Plan) -> AsyncIterator[Side]:
    """A new service of a tree that has answered `WARM` requests of each kind."""
    with tempfile.TemporaryDirectory(prefix="penstock-cost-") as folder:
        async with serving(tree, Path(folder) / "data", plan) as server, Far() as far:
            token, company_id = await server.register()
            agent = await prepared(server, token, company_id, far)
            side = Side(server, token, agent, partial(plan.spent, server))
            await requests(side, WARM, lambda: 0.0)
            yield side


class Far(Listener):
    """What the tool that has a connector is sent to."""

    async def handle(self, _: web.Request) -> web.Response:
        return web.json_response({"done": True})


async def prepared(server: Served, token: str, company_id: str, far: Far) -> str:
    """The key of an agent whose calls are allowed."""

    async def send(method: str, path: str, body: Any) -> Any:
        request = wire(method, path, json.dumps(body).encode(), {"Authorization": f"Bearer {token}"})
        answer = await ask(server.port, request)
        for _ in range(BUSY_MAX):
            if answer is not None and answer.status == 422:  # a busy machine has no time to check rules
                answer = await ask(server.port, request)
        assert answer is not None
        assert answer.status in (200, 201, 404), answer.body
        return answer.json if answer.status < 300 else None

    if await send("PUT", f"/companies/{company_id}/action-rules", ALLOWS) is None:
        return ""
    how = {"base_url": far.url, "path": "/do", "method": "POST", "body_map": {"n": "inputs.n"}, "reversible": True}
    await send("PUT", "/connectors/sent", how)
    return str((await send("POST", "/api-keys", {"name": "bench", "role": "member", "kind": "agent"}))["key"])


def actions(tool: str, agent: str) -> Iterator[Shot]:
    """Calls of a tool that an agent wants, each another one, without end."""
    while True:
        said = {"tool": tool, "arguments": {"n": str(uuid4()), "amount": 4_900}, "reasoning": "charged twice"}
        headers = {"Authorization": f"Bearer {agent}", "Idempotency-Key": str(uuid4())}
        yield Shot(None, wire("POST", "/actions/", json.dumps(said).encode(), headers))


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
    return await requests(side, count, lambda: side.spent() - (time.perf_counter() - began) * idle)


async def requests(side: Side, count: int, spent: Callable[[], float]) -> Figures:
    """What each of so many requests cost; `spent` says what the service has spent so far."""
    marks, took_s, token = [spent()], 0.0, side.token

    async def send(shots: Iterator[Shot]) -> Volley:
        nonlocal took_s
        volley = await fire(side.server.port, islice(shots, count), CALLERS)
        assert all(hit.status in (200, 201) for hit in volley.hits), Counter(hit.status for hit in volley.hits)
        took_s += volley.took_s
        await asyncio.sleep(IDLE_S / 5)
        marks.append(spent())
        return volley

    run_ids = begun(await send(starts(token, STARTED)))
    await send(verdicts(run_ids, token))
    rate = count / took_s
    await send(reads(run_ids, token))
    for tool in ("recorded", "sent") if side.agent else ():
        await send(actions(tool, side.agent))
    start, resume, read, *acted = ((after - before) / count for before, after in pairwise(marks))
    loop, made = start + resume, dict(zip(ACTIONS, acted or (math.nan, math.nan), strict=True))
    share = {SHARE: made[ACTIONS[0]] / loop if loop else math.nan}
    return {"start": start, "resume": resume, "read": read, "loop": loop, "loops a second": rate, **made, **share}


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
        digits = 2 if kind == SHARE else 0
        print(f"{kind:26}{was:10,.{digits}f}{now:12,.{digits}f}{now / was:8.2f}")


if __name__ == "__main__":
    asyncio.run(main())
