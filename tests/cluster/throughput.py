"""`make throughput`: starts and verdicts a second of one daemon on SQLite, and of one and two on
PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import uvloop

from tests.cluster.daemons import KEYS, make_keys
from tests.crash.provoke import registered
from tests.crash.service import environment, write_templates
from tests.load.__main__ import resume, started
from tests.load.pump import Shot, Volley, fire
from tests.postgres import Server, below, server
from tests.programs import announced

CONNECTIONS = 64


@dataclass
class Measured:
    """What so many daemons did."""

    name: str
    loops: int
    took_s: float
    latency_ms: float
    cpu_ms: float
    database_ms: float

    @property
    def rate(self) -> float:
        """Loops of start and verdict a second."""
        return self.loops / self.took_s

    def __str__(self) -> str:
        return (
            f"{self.name:<28}{self.rate:>8,.0f} loops/s   {2 * self.rate:>8,.0f} requests/s   "
            f"p50 {self.latency_ms:6.1f} ms   {self.cpu_ms:5.2f} ms of processor a loop in the daemons, "
            f"{self.database_ms:5.2f} ms in PostgreSQL"
        )


@asynccontextmanager
async def serving(folder: Path, count: int, url: str | None) -> AsyncIterator[list[tuple[int, int]]]:
    """So many daemons: the port and the process of each."""
    keys = {f"{name}_file": str(folder / "keys" / file) for name, file in KEYS.items()}
    async with AsyncExitStack() as stack:
        found = []
        for number in range(count):
            settings = {"data_dir": str(folder / f"data-{number}"), **keys}
            if url is not None:
                settings["database_url"] = url
            env = environment(folder, log_level="error", **settings)
            process, port = await stack.enter_async_context(announced("daemon", "serve", "--port", "0", env=env))
            found.append((port, process.pid))
        yield found


def cpu_s(pids: list[int]) -> float:
    """The processor time that these processes have taken; one that has ended meanwhile does not
    count.
    """
    total = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            ticks = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            total += int(ticks[11]) + int(ticks[12])
    return total / 100


async def measured(name: str, daemons: list[tuple[int, int]], loops: int, database: int) -> Measured:
    """Start runs and decide on them, each daemon by its share of the connections."""
    ports, pids = [port for port, _ in daemons], [pid for _, pid in daemons]
    token = await registered(ports[0], "ada@example.test")
    each, connections = loops // len(ports), CONNECTIONS // len(ports)
    await asyncio.gather(*(_loop(port, 300, connections, token) for port in ports))
    backends = below(database)
    before, there, clock = cpu_s(pids), cpu_s(backends), asyncio.get_running_loop().time
    began = clock()
    volleys = await asyncio.gather(*(_loop(port, each, connections, token) for port in ports))
    took_s = clock() - began
    resumes = Volley([hit for volley in volleys for hit in volley.hits])
    assert all(hit.status == 200 for hit in resumes.hits)
    done = len(resumes.hits)
    spent, there = 1_000 * (cpu_s(pids) - before) / done, 1_000 * (cpu_s(backends) - there) / done
    return Measured(name, done, took_s, resumes.latency_ms(0.5), spent, there)


async def _loop(port: int, count: int, connections: int, token: str) -> Volley:
    _, run_ids = await started(port, count, connections, token)
    assert len(run_ids) == count
    return await fire(port, (Shot(one, resume(one, "approved", token)) for one in run_ids), connections)


async def compared(folder: Path, database: Server, loops: int, rounds: int) -> None:
    """Print them in turn, so that whatever else loads the machine loads all of them, and how they
    compare.
    """
    of_sqlite, of_one = [], []
    make_keys(folder)
    write_templates(folder / "templates")
    assert database.process is not None
    pid = database.process.pid
    for number in range(rounds):
        place = folder / f"sqlite-{number}"
        place.mkdir()
        (place / "keys").symlink_to(folder / "keys")
        (place / "templates").symlink_to(folder / "templates")
        async with serving(place, 1, None) as one:
            sqlite = await measured("1 on SQLite", one, loops, pid)
            print(sqlite, flush=True)
        found = []
        for count in (1, 2):
            url = await database.made()
            async with serving(folder, count, url) as some:
                found.append(await measured(f"{count} on PostgreSQL", some, loops, pid))
                print(found[-1], flush=True)
        of_sqlite.append(found[0].rate / sqlite.rate)
        of_one.append(found[1].rate / found[0].rate)
    for name, ratios, bar in (
        ("1 on PostgreSQL in 1 on SQLite", of_sqlite, 0.5),
        ("2 on PostgreSQL in 1", of_one, 1.3),
    ):
        listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"{name:<32}{median(ratios):.2f} in the middle of {listed}; bar {bar}")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="make throughput", description=__doc__)
    parser.add_argument("--loops", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-throughput-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with (
            server("shared_buffers=256MB", parent=folder) as database,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            (folder / "play").mkdir()
            runner.run(compared(folder / "play", database, arguments.loops, arguments.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
