"""Starts the service on many parked runs and a long log that a kill has left, up to the first
answered request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from daemon.stores.sqlite import inspection
from tests.crash.service import serving, write_templates

SECONDS_MAX = 5.0
RSS_MIB_MAX = 256
MIB = 2**20


@dataclass(frozen=True)
class Cost:
    """What a service has cost up to now: seconds of a processor, and the most memory at once."""

    cpu_s: float
    rss_mib: float

    @classmethod
    def of(cls, pid: int) -> Cost:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
        return cls((int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"), int(kib) / 1024)


@dataclass(frozen=True)
class Started:
    """How a start went: seconds up to the first answer, what it cost, and what it found."""

    seconds: float
    cost: Cost
    log_mib: float
    parked: int
    recovered: int


async def filled(folder: Path, runs: int, log_mib: int) -> tuple[str, Cost]:
    """A data folder as a kill leaves it; returns a token of the runs' company, and what a start
    without runs cost.
    """
    write_templates(folder / "templates")
    async with serving(folder) as service:
        await service.register()
        cost = Cost.of(service.process.pid)
        _, me = await service.send("GET", "/auth/me")
        service.process.terminate()
        await service.process.wait()
    arguments = (str(folder / "data"), me["company"]["id"], str(runs), str(log_mib * MIB))
    filling = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.scale.parked", *arguments)
    assert await filling.wait() < 0
    return service.token, cost


async def started(folder: Path, token: str) -> Started:
    """Start the service, ask it once, and let it take one verdict, after which it has folded the
    log.
    """
    log_mib = log_of(folder).stat().st_size / MIB
    (folder / "service.log").unlink()
    began = time.perf_counter()
    async with serving(folder, token, log_level="info") as service:
        status, page = await service.send("GET", "/process-runs/?status=parked&limit=1")
        seconds = time.perf_counter() - began
        assert (status, len(page)) == (200, 1), page
        await service.resume(page[0]["id"])
        cost = Cost.of(service.process.pid)
    with inspection.looking(log_of(folder).with_name("penstock.db")) as db:
        count = inspection.statuses(db)["parked"]
    said = map(json.loads, service.log.read_text(encoding="utf-8").splitlines())
    (recovered,) = (one["runs"] for one in said if one["event"] == "recovered")
    return Started(seconds, cost, log_mib, count, recovered)


def log_of(folder: Path) -> Path:
    """The write-ahead log of the service on that folder."""
    return folder / "data" / "penstock.db-wal"


async def main() -> int:
    """Fill, start so many times, and hold the worst against the bounds."""
    parser = argparse.ArgumentParser(prog="make startup", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--log-mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    worst_s = worst_mib = 0.0
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory(prefix="penstock-startup-") as name:
            token, _ = await filled(Path(name), arguments.runs, arguments.log_mib)
            one = await started(Path(name), token)
        print(
            f"{one.parked + 1:,} parked runs, a log of {one.log_mib:.0f} MiB: first answer after {one.seconds:.2f} s, "
            f"{one.cost.cpu_s:.2f} s of a processor, {one.cost.rss_mib:.0f} MiB at most"
        )
        assert (one.parked, one.recovered) == (arguments.runs - 1, 0), one
        worst_s, worst_mib = max(worst_s, one.seconds), max(worst_mib, one.cost.rss_mib)
    print(f"worst: {worst_s:.2f} s and {worst_mib:.0f} MiB; bounds: {SECONDS_MAX:.0f} s and {RSS_MIB_MAX} MiB")
    return 0 if worst_s <= SECONDS_MAX and worst_mib <= RSS_MIB_MAX else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
