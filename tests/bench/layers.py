"""Where the time of a resume goes: py-spy's samples of the service under load, each counted for the
layer it was in.
"""

from __future__ import annotations

import asyncio
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.bench.environments import NotInstalled, environment
from tests.bench.plan import Plan
from tests.bench.servers import Served, serving
from tests.bench.shooting import Cost, begun, lasting, medians, shoot, starts, verdicts

SAMPLES_A_SECOND = 250
PATIENCE_S = 60.0
DEEPEST_SHOWN = 12
# The innermost frame that belongs to a layer counts; `file:function` is for files that serve two
# layers.
LAYERS: dict[str, tuple[str, ...]] = {
    "HTTP": ("aiohttp/", "daemon/web/server/", "uvloop/", "multidict/", "yarl/"),
    "gateway": ("daemon/web/middleware/", "daemon/web/problems.py", "actors/context.py"),
    "log and figures": ("daemon/observability/", "prometheus_client/"),
    "token": ("daemon/identity/", "jwt/"),
    "request and answer": ("daemon/web/",),
    "actor": ("actors/actor.py", "actors/directory.py", "daemon/connectors/", "daemon/templates/catalog.py"),
    "decision": ("actors/core/", "daemon/templates/"),
    "encoding": ("daemon/stores/codec.py", "daemon/stores/sqlite/journal.py:from_commit", "daemon/stores/rows.py"),
    "hash chain": ("daemon/audit/", "daemon/model/chain.py"),
    "group commit": ("daemon/stores/group_commit.py", "daemon/stores/sqlite/connection.py", "aiosqlite/"),
    "SQLite": ("daemon/stores/",),
    "publishing": ("daemon/engine/", "daemon/webhooks/"),
    "event loop": ("asyncio/", "daemon/cli/", "daemon/app.py", "daemon/__main__.py"),
}
OTHER = "other"
# Where a thread stands that waits for work; py-spy takes it for busy.
WAITING = ("aiosqlite/core.py:_connection_worker_thread", "concurrent/futures/thread.py:_worker")
_FRAME = re.compile(r"(?P<function>.*) \((?P<file>[^()]*?)(?::\d+)?\)")
_HEAD = re.compile(r".*/(?:site-packages/|lib/python3[^/]*/|(?=(?:daemon|actors)/))")


async def measured(folder: Path, plan: Plan) -> dict[str, Any]:
    """The share of each layer in a resume, and what that is in time; why not, where py-spy cannot
    be had.
    """
    try:
        profiler = await environment("profiler", installs=plan.installs) / "py-spy"
        async with serving(folder / "layers") as service:
            token, _ = await service.register()
            _, volley = await shoot(service, lasting(starts(token), plan.profile_seconds), plan.held_at)
            run_ids = begun(volley)
            plain, rest = run_ids[: len(run_ids) // 3], run_ids[len(run_ids) // 3 :]
            cost, _ = await shoot(service, verdicts(plain, token), plan.held_at)
            stacks = await _sampled(profiler, service, (rest, token), folder / "stacks", plan)
    except NotInstalled as why:
        print(f"skipped: no profile, since py-spy cannot be used here ({why})", flush=True)
        return {"skipped": str(why)}
    return told(stacks, cost)


async def _sampled(
    profiler: Path, service: Served, work: tuple[Sequence[str], str], into: Path, plan: Plan
) -> Counter[str]:
    """The stacks of the service while it takes verdicts, as often as each was seen."""
    how = ("--rate", str(SAMPLES_A_SECOND), "--format", "raw", "--full-filenames", "--output", str(into))
    process = await asyncio.create_subprocess_exec(
        str(profiler), "record", "--pid", str(service.pid), *how, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
    )
    run_ids, token = work
    await asyncio.sleep(plan.profile_seconds / 4)  # until it is attached; what stands idle is not counted
    await shoot(service, verdicts(run_ids, token), plan.held_at)
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        async with asyncio.timeout(PATIENCE_S):
            _, said = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise NotInstalled("it did not end") from None
    return _read(into, said.decode(errors="replace"))


def _read(into: Path, said: str) -> Counter[str]:
    if not into.exists():
        raise NotInstalled((said.strip().splitlines() or ["it wrote nothing"])[-1])
    return counted(into.read_text(encoding="utf-8").splitlines())


def counted(lines: Iterable[str]) -> Counter[str]:
    """The stacks of py-spy's raw format, `frame;frame;… count`."""
    stacks: Counter[str] = Counter()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        stacks[stack] += int(count)
    return stacks


def told(stacks: Counter[str], cost: Cost) -> dict[str, Any]:
    """Each layer's share of the samples and of the processor time of a resume, and the functions
    seen most.
    """
    layers: Counter[str] = Counter()
    functions: Counter[tuple[str, str]] = Counter()
    for stack, count in stacks.items():
        frames = [frame for frame in stack.split(";") if _FRAME.fullmatch(frame)]
        if not frames or _place(frames[-1]) in WAITING:
            continue
        layer = layer_of(frames)
        layers[layer] += count
        functions[layer, _shown(frames)] += count
    total = layers.total() or 1
    return {
        "samples": layers.total(),
        "resume": medians([cost]),
        "layers": {
            name: {"share": count / total, "us": cost.cpu_us * count / total} for name, count in layers.most_common()
        },
        "functions": [
            {"layer": layer, "function": name, "share": count / total}
            for (layer, name), count in functions.most_common(DEEPEST_SHOWN)
        ],
    }


def layer_of(frames: Sequence[str]) -> str:
    """The layer of the innermost frame that belongs to one; helpers that serve several belong to
    none.
    """
    for frame in reversed(frames):
        place = _place(frame)
        fitting = {len(part): name for name, parts in LAYERS.items() for part in parts if place.startswith(part)}
        if fitting:  # a function that is named goes before the file that it stands in
            return fitting[max(fitting)]
    return OTHER


def _place(frame: str) -> str:
    """A frame as `file:function`, the file from its package on."""
    found = _FRAME.fullmatch(frame)
    return "" if found is None else f"{_HEAD.sub('', found['file'])}:{found['function']}"


def _shown(frames: Sequence[str]) -> str:
    file, _, function = _place(frames[-1]).rpartition(":") if frames else ("", "", "")
    return f"{function} ({file})"
