"""What stored runs cost: a start-up on many of them, memory, each kind of request beside ever more
of them, and a backup and a verification of all.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from daemon.audit.sealer import PUBLIC, read_public
from daemon.keys.commit_keys import FILE as COMMIT_KEYS
from daemon.keys.commit_keys import CommitKeys
from daemon.runtime.clock import utc_now
from daemon.runtime.durable_files import make_folder
from daemon.stores.sqlite import inspection
from daemon.stores.sqlite.backups import back_up
from daemon.verification.stores import verify_store
from tests.bench import folders, machine
from tests.bench.plan import Plan
from tests.bench.servers import Served, serving
from tests.bench.shooting import Cost, begun, chosen, gets, lasting, medians, reads, shoot, starts, verdicts
from tests.load.pump import Shot

KINDS = ("starts", "reads", "resumes", "resumes_of_new")
LISTS = {
    "inbox": "/gates/?limit={limit}",
    "inbox_counted": "/gates/count",
    "by_status": "/process-runs/?status=completed&limit={limit}",
    "by_vertical": "/process-runs/?vertical=refund&limit={limit}",
    "by_vertical_of_none": "/process-runs/?vertical=aml&limit={limit}",
    "search_of_few": "/process-runs/?q=m{member}&limit={limit}",
    "search_of_many": "/process-runs/?q=prior&limit={limit}",
    "report": "/reports/summary?first_day={day}&last_day={day}",
}
"""What asks for more than one run; every other run has the vertical and the word of many."""
LISTED = 20
GROWN_FROM = 10_000
"""From so many runs on, no kind of request may grow by more than the bar says."""
LISTS_A_TIME = 8
RUNS_MAX = "10000000"
"""More than the default, which the largest folder reaches."""
CHUNK = 16 * 2**20
SEEN = 500
AT_ONCE = 64
GIB = 2**30
PATIENCE_S = 60.0


@dataclass(slots=True)
class Stored:
    """So many stored runs, and those of them that wait for a verdict."""

    runs: int
    folder: Path
    token: str
    pool: list[str]


async def measured(folder: Path, plan: Plan) -> dict[str, Any]:
    """Make a data folder of each size, or take those that are kept, and measure on them."""
    place = plan.kept or folder
    make_folder(place)
    made_s, token = await _made(place, plan)
    try:
        largest = place / str(max(plan.sizes)) / folders.DATABASE
        found: dict[str, Any] = {"sizes": list(plan.sizes), "largest_made_s": max(made_s, default=0.0)}
        found["largest_bytes"] = largest.stat().st_size
        found["startup"] = await _startup(place, token, plan)
        found["memory"] = await _memory(folder, plan)
        found |= await _growth(place, token, plan)
        found["linear"] = {str(runs): _linear(place / str(runs), folder / "copy.db") for runs in plan.sizes}
        # The last of all, since it has the system forget the file.
        return found | {"page_us": machine.paged_us(largest, plan.pages)}
    finally:
        for runs in plan.sizes if plan.kept is None else ():
            shutil.rmtree(place / str(runs), ignore_errors=True)


async def _made(place: Path, plan: Plan) -> tuple[Sequence[float], str]:
    """How long it took to make each folder that was not there, the largest beside the others, and
    the token of the company.
    """
    if not (place / "token").exists():
        token, _ = await folders.empty(place / "none")
        (place / "token").write_text(token, encoding="ascii")
    token = (place / "token").read_text(encoding="ascii")
    missing = sorted(runs for runs in plan.sizes if not (place / str(runs) / "ids").exists())
    check_room(place, sum(missing) + max(plan.sizes))

    async def make(some: Sequence[int]) -> list[float]:
        return [await folders.filled(place / "none", place / str(runs), token, runs) for runs in some]

    largest, others = await asyncio.gather(make(missing[-1:]), make(missing[:-1]))
    return largest + others, token


def check_room(folder: Path, runs: int) -> None:
    """Say so before anything is made, when there is no room for it."""
    needed, free = 15 * 1024 * runs + GIB // 4, shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(f"{needed / GIB:.0f} GiB are needed in {folder}, and {free / GIB:.0f} are free")


async def _startup(folder: Path, token: str, plan: Plan) -> dict[str, Any]:
    """From nothing to the first answer, on no runs and on many, in turns."""
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in ("none", *map(str, plan.sizes))}
    for number in range(plan.startup_rounds):
        for name in found if number % 2 == 0 else reversed(found):
            _read_whole(folder / name / folders.DATABASE)
            began = time.perf_counter()
            async with serving(folder / name) as service:
                answer = await service.get("/process-runs/?status=parked&limit=1", token)
                seconds = time.perf_counter() - began
                assert (answer.status, len(answer.json)) == (200, int(name != "none")), answer.body
                found[name].append((seconds, service.cpu_s, service.rss_kib))
    told = {
        name: {
            "seconds": statistics.median(one[0] for one in all_of),
            "cpu_s": statistics.median(one[1] for one in all_of),
            "rss_kib": statistics.median(one[2] for one in all_of),
        }
        for name, all_of in found.items()
    }
    many = told[str(plan.startup_runs)]
    apart = many["rss_kib"] - told["none"]["rss_kib"]
    sizes = {str(runs): told[str(runs)] for runs in plan.sizes}
    kept = {"runs": plan.startup_runs, "bytes_a_stored_run": apart * 1024 / plan.startup_runs}
    return {"none": told["none"], "many": many, "sizes": sizes} | kept


def _read_whole(file: Path) -> None:
    """Have all of a file in the system's memory."""
    with file.open("rb", buffering=0) as pages:
        while pages.read(CHUNK):
            pass


def _linear(folder: Path, copy: Path) -> dict[str, float]:
    """What a backup and a verification of everything take of a processor for each run."""
    database, keys = folder / folders.DATABASE, CommitKeys.open(folder / COMMIT_KEYS, create=False)
    _read_whole(database)
    began = time.process_time()
    back_up(database, copy, pause_s=0)
    backed_up = time.process_time()
    copy.unlink()
    wrong = list(verify_store(folder, read_public(folder / PUBLIC), commit_keys=keys))
    verified = time.process_time()
    assert not wrong, wrong[:3]
    with inspection.looking(database) as db:
        stored = sum(inspection.statuses(db).values())
    told = {"runs": stored, "bytes": database.stat().st_size, "findings": len(wrong)}
    return told | {"backup_us": (backed_up - began) / stored * 1e6, "verify_us": (verified - backed_up) / stored * 1e6}


async def _memory(folder: Path, plan: Plan) -> dict[str, Any]:
    """What a run takes while its actor lives, and what is left of it when it has been let go."""
    found: dict[str, Any] = {"runs": plan.live}
    for name, idle_s in (("live", "3600"), ("let_go", "0")):
        async with serving(folder / name, run_idle_s=idle_s) as service:
            token, _ = await service.register()
            await shoot(service, (shot for shot, _ in zip(starts(token), range(SEEN), strict=False)), AT_ONCE)
            kib = service.rss_kib
            await shoot(service, (shot for shot, _ in zip(starts(token), range(plan.live), strict=False)), AT_ONCE)
            if name == "let_go":
                await _passivated(service)
            found[f"bytes_{name}"] = (service.rss_kib - kib) * 1024 / plan.live
            found[f"actors_{name}"] = (await service.counted("actors"))["actors"]
    return found


async def _passivated(service: Served) -> None:
    """Wait until all actors have been let go."""
    async with asyncio.timeout(PATIENCE_S):
        while (await service.counted("actors"))["actors"] > 0:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.1)


async def _growth(folder: Path, token: str, plan: Plan) -> dict[str, Any]:
    """All sizes in turns, each time with a service that was begun for it.

    No run stays in memory, so that every read and every verdict finds its run in the store. And
    none was answered by this process before: of the runs that were answered last it keeps the
    bytes, which would be most of the few. The system has the whole file in memory; a page that it
    does not have costs as much whatever is stored.
    """
    costs: dict[int, dict[str, list[Cost]]] = {runs: defaultdict(list) for runs in plan.sizes}
    stored = []
    for runs in plan.sizes:
        ids = (folder / str(runs) / "ids").read_text(encoding="ascii").split()
        stored.append(Stored(runs, folder / str(runs), token, ids))
    for number in range(plan.growth_rounds):
        for one in stored if number % 2 == 0 else reversed(stored):
            _read_whole(one.folder / folders.DATABASE)
            async with serving(one.folder, figures=False, run_idle_s="0", company_runs_max=RUNS_MAX) as service:
                await shoot(service, lasting(starts(token), 0.2), AT_ONCE)
                found = await _one(one, service, plan.growth_requests, number)
                found |= await _lists(one, service, plan.growth_requests // 4, number)
            (one.folder / "ids").write_text("\n".join(one.pool), encoding="ascii")
            for kind, cost in found.items():
                costs[one.runs][kind].append(cost)
    return {"kinds": _told(costs, plan), "requests": plan.growth_requests}


async def _one(stored: Stored, service: Served, requests: int, seed: int) -> dict[str, Cost]:
    """Starts, reads of some at random, verdicts on some at random, and verdicts on what was started
    just now.
    """
    token = stored.token
    shots = (shot for shot, _ in zip(starts(token), range(2 * requests), strict=False))
    found: dict[str, Cost] = {}
    found["starts"], volley = await shoot(service, shots, AT_ONCE)
    new = begun(volley)
    # Not measured: what is done for the first time costs more.
    await shoot(service, reads(new, token), AT_ONCE)
    found["reads"], _ = await shoot(service, reads(chosen(stored.pool, requests, seed), token), AT_ONCE)
    old = chosen(stored.pool, requests, seed + 1)
    found["resumes"], _ = await shoot(service, verdicts(old, token), AT_ONCE)
    found["resumes_of_new"], _ = await shoot(service, verdicts(new[:requests], token), AT_ONCE)
    # What is decided is replaced, so that the smallest does not run out.
    gone = set(old)
    stored.pool = [run_id for run_id in stored.pool if run_id not in gone] + new[requests:]
    return found


async def _lists(stored: Stored, service: Served, requests: int, seed: int) -> dict[str, Cost]:
    """The lists, searches and a report of yesterday."""
    found = {}
    for kind, path in LISTS.items():
        # What is done for the first time is not measured: it reads what was committed meanwhile.
        await shoot(service, _listing(stored, path, 1, -seed), 1)
        found[kind], _ = await shoot(service, _listing(stored, path, requests, seed), LISTS_A_TIME)
    return found


def _listing(stored: Stored, path: str, requests: int, seed: int) -> Iterator[Shot]:
    some, day = random.Random(seed), (utc_now() - timedelta(days=1)).date().isoformat()
    members = max(1, stored.runs // folders.SAME_MEMBER)
    asked = (
        path.format(limit=LISTED, day=day, member=f"{some.randrange(members):0{len(folders.MEMBER)}d}")
        for _ in range(requests)
    )
    return gets(asked, stored.token)


def _told(costs: dict[int, dict[str, list[Cost]]], plan: Plan) -> dict[str, Any]:
    """The medians by kind and size, and the processor time in that with the fewest runs in the same
    round, and in that from which nothing may grow.
    """
    found: dict[str, Any] = {kind: {} for kind in (*KINDS, *LISTS)}
    from_runs = GROWN_FROM if GROWN_FROM in plan.sizes else plan.sizes[0]
    for kind, by_size in found.items():
        for runs in plan.sizes:
            by_size[str(runs)] = medians(costs[runs][kind])
            for name, base in (("cpu_times", plan.sizes[0]), ("grown", from_runs)):
                pairs = zip(costs[runs][kind], costs[base][kind], strict=True)
                by_size[str(runs)][name] = statistics.median(one.cpu_us / other.cpu_us for one, other in pairs)
    return found
