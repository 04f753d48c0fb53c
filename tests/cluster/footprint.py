"""`make footprint`: what daemons cost PostgreSQL, for a loop of start, verdict
and end, for a delivery to a webhook, and when nothing happens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, ClassVar

import asyncpg
import uvloop

from daemon.engine.change_poller import ChangePoller
from daemon.engine.feed import Feed
from daemon.engine.ownership import SharedJournal
from daemon.stores.postgres.store import PostgresStore
from tests.cluster.daemons import make_keys
from tests.cluster.throughput import cpu_s, serving
from tests.crash.provoke import registered
from tests.crash.service import write_templates
from tests.load.__main__ import resume
from tests.load.pump import Shot, Volley, fire, wire
from tests.postgres import KEYS, Server, below, server

CONNECTIONS = 32
PATIENCE_S = 120.0
POLL_S = 0.02
STARTED_S, IDLE_S = 45.0, 10.0
STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]+): (.*)")
SETTINGS = (
    *("shared_buffers=256MB", "checkpoint_timeout=1h", "max_wal_size=16GB", "autovacuum=off", "log_statement=all"),
    "max_connections=400",
)
COMPANY = "company-1"
WRITER = ("BEGIN", "COMMIT", "INSERT INTO clocks", "SELECT pg_notify", "SELECT epoch FROM daemons WHERE epoch = $1 FOR")
DATABASE = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
TABLES = "SELECT relname, n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del FROM pg_stat_user_tables"
FILES = "SELECT pg_relation_filenode(oid), relname FROM pg_class WHERE relkind IN ('r', 'i', 't')"
RECORD = re.compile(r"rmgr: .*?tot\): +(\d+)/ *(\d+), .*?desc: ([A-Z_+]+)(?:.*?rel \d+/\d+/(\d+))?")
ENDED = "SELECT count(*) FROM runs WHERE status = 'completed'"
ONLINE = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'penstock'"
Daemons = list[tuple[int, int]]


@dataclass
class Counted:
    """What PostgreSQL has counted; of daemons that have ended it is exact."""

    wal: int
    commits: int
    tables: dict[str, tuple[int, ...]]

    @classmethod
    async def read(cls, db: asyncpg.Connection[Any]) -> Counted:
        """The counters now."""
        wal = await db.fetchval("SELECT pg_current_wal_lsn() - '0/0'")
        found = {name: tuple(numbers) for name, *numbers in await db.fetch(TABLES)}
        return cls(int(wal), await db.fetchval(DATABASE), found)


class Statements:
    """The statements in the log of the server, beginning where it stood."""

    def __init__(self, database: Server) -> None:
        self._log = database.folder / "log"
        self._at = self._log.stat().st_size

    def read(self) -> Counter[str]:
        """How often each was executed since."""
        with self._log.open("rb") as log:
            log.seek(self._at)
            text = log.read().decode(errors="replace")
        # Of the statements of the meter itself none is prepared twice.
        return Counter(one for one in STATEMENT.findall(text) if "pg_stat" not in one and one != ENDED)


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    """A connection that does not count as one of a daemon."""
    db = await asyncpg.connect(url, server_settings={"application_name": "footprint"})
    try:
        yield db
    finally:
        await db.close()


def started(token: str, number: int) -> Shot:
    """The start of a run that parks, under a key."""
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"start-{token[-9:]}-{number}"}
    return Shot(None, wire("POST", "/process-runs/", b'{"vertical": "held"}', headers))


async def looped(ports: Sequence[int], first: int, count: int, token: str) -> Volley:
    """Start runs at each daemon and decide on them; all verdicts."""
    each, connections = count // len(ports), CONNECTIONS // len(ports)

    async def at(port: int, number: int) -> Volley:
        numbers = range(first + number * each, first + (number + 1) * each)
        starts = await fire(port, (started(token, one) for one in numbers), connections)
        run_ids = [str(json.loads(hit.body)["id"]) for hit in starts.hits]
        verdicts = (Shot(one, resume(one, "approved", token, f"verdict-{one}")) for one in run_ids)
        return await fire(port, verdicts, connections)

    volleys = await asyncio.gather(*(at(port, number) for number, port in enumerate(ports)))
    hits = [hit for volley in volleys for hit in volley.hits]
    assert len(hits) == each * len(ports)
    assert {hit.status for hit in hits} == {200}
    return Volley(hits)


async def until(db: asyncpg.Connection[Any], statement: str, number: int) -> None:
    """Wait until a count is reached."""
    async with asyncio.timeout(PATIENCE_S):
        while await db.fetchval(statement) < number:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(POLL_S)


def server_s(process: subprocess.Popen[bytes]) -> float:
    """The processor time of a server, and of all its processes, those that have ended, too."""
    ticks = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return cpu_s(below(process.pid)) + sum(map(int, ticks[11:15])) / 100


async def compare_loops(folder: Path, database: Server, arguments: argparse.Namespace) -> None:
    """Print what a loop costs with one daemon and with three, in turn, and how that compares."""
    ratios = []
    for number in range(arguments.rounds):
        detailed = arguments.detailed and number == 0
        one, three = [await measure_loops(folder, database, count, arguments.loops, detailed) for count in (1, 3)]
        ratios.append(three / one)
    listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"PostgreSQL's time for a loop of three daemons in that of one: {median(ratios):.2f} of {listed}; bar 1.3")


async def measure_loops(folder: Path, database: Server, count: int, loops: int, detailed: bool) -> float:
    """Print what a loop of so many daemons costs; returns PostgreSQL's processor time for it."""
    url = await database.made()
    assert database.process is not None
    async with connected(url) as db:
        async with serving(folder, count, url) as daemons:
            token = await registered(daemons[0][0], "ada@example.test")
            await looped([port for port, _ in daemons], 0, 600, token)
            await until(db, ENDED, 600)
        before, statements = await Counted.read(db), Statements(database)
        async with serving(folder, count, url) as daemons:
            ports, pids = [port for port, _ in daemons], [pid for _, pid in daemons]
            await looped(ports, 600, 300, token)
            own, theirs, began = cpu_s(pids), server_s(database.process), time.perf_counter()
            await looped(ports, 900, loops, token)
            took_s = time.perf_counter() - began
            await until(db, ENDED, 900 + loops // count * count)
            own, theirs = cpu_s(pids) - own, server_s(database.process) - theirs
        after, executed = await Counted.read(db), statements.read()
        names = {str(number): name for number, name in await db.fetch(FILES)}
    done = loops + 300
    updated, hot = (after.tables["runs"][at] - before.tables["runs"][at] for at in (1, 2))
    print(
        f"{count} daemons  {loops / took_s:6,.0f} loops/s   a loop: {(after.wal - before.wal) / done:8,.0f} B of WAL   "
        f"{(after.commits - before.commits) / done:5.2f} commits   {executed.total() / done:5.2f} statements   "
        f"{1_000 * theirs / loops:5.2f} ms of PostgreSQL, {1_000 * own / loops:5.2f} of the daemons   "
        f"{100 * hot / max(1, updated):3.0f} % of {updated / done:.1f} updates of runs HOT",
        flush=True,
    )
    if detailed:
        print_details(before, after, executed, done)
        print_wal(database, (before.wal, after.wal), names, done)
    return theirs / loops


def print_details(before: Counted, after: Counted, executed: Counter[str], done: int) -> None:
    """Print what was written by table, and the statements, for each loop."""
    for name, numbers in sorted(after.tables.items()):
        moved = [(new - old) / done for new, old in zip(numbers, before.tables.get(name, (0,) * 4), strict=True)]
        if sum(moved) > 0.05:
            print(
                f"    {name:<28} inserted {moved[0]:5.2f} updated {moved[1]:5.2f} HOT {moved[2]:5.2f} "
                f"deleted {moved[3]:5.2f}"
            )
    for statement, times in executed.most_common(40):
        print(f"    {times / done:7.3f}  {statement[:150]}")


def print_wal(database: Server, between: tuple[int, int], names: dict[str, str], done: int) -> None:
    """Print what was logged for each table and index, in all and for each loop.

    Images of whole pages, which the first change after a checkpoint logs, stand apart.
    """
    places = [f"{place >> 32:X}/{place & 0xFFFFFFFF:X}" for place in between]
    log = database.folder / "data" / "pg_wal"
    command = (database.binaries / "pg_waldump", "-p", log, "-s", places[0], "-e", places[1])
    sizes: Counter[str] = Counter()
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines():
        found = RECORD.match(line)
        if found is not None:
            record, whole, kind, number = found.groups()
            name = names.get(number or "", "of no table")
            sizes[name] += int(record)
            sizes["images of whole pages"] += int(whole) - int(record)
            kinds[name][kind] += 1
    for name, size in sizes.most_common(40):
        listed = ", ".join(f"{times / done:.2f} {kind}" for kind, times in kinds[name].most_common(4))
        print(f"    {size / done:8,.0f} B  {name:<40}{listed}")


async def measure_idle(folder: Path, database: Server, detailed: bool) -> None:
    """Print what a daemon asks when nobody asks it anything."""
    url = await database.made()
    async with connected(url) as db, serving(folder, 1, url) as daemons:
        await registered(daemons[0][0], "ada@example.test")
        await asyncio.sleep(STARTED_S)  # what a start does, and connections that go when idle
        statements, before = Statements(database), cpu_s([daemons[0][1]])
        await asyncio.sleep(IDLE_S)
        executed, spent = statements.read(), cpu_s([daemons[0][1]]) - before
        online = await db.fetchval(ONLINE)
    print(
        f"idle       {executed.total() / IDLE_S:5.1f} statements/s   {online} connections   {spent / IDLE_S:.3f} cores"
    )
    if detailed:
        for statement, times in executed.most_common(40):
            print(f"    {times / IDLE_S:6.2f}/s  {statement[:150]}")


class Follower:
    """The poller of a daemon that follows one company, and does nothing else."""

    def __init__(self, store: PostgresStore, look_at: Callable[[str], None] = lambda _: None) -> None:
        feed, none = Feed(), SimpleNamespace(companies=set(), runs=set(), committed=lambda _: None)
        deliverer = SimpleNamespace(companies=set(), committed=look_at)
        parts = {"dispatcher": none, "deliverer": deliverer, "notifier": none, "directory": None, "feed": feed}
        engine: Any = SimpleNamespace(journal=SharedJournal(store), **parts)
        rights: Any = SimpleNamespace(run_once=store.poll_changes)
        self.told = 0
        self.following = feed.listen(COMPANY)
        self.poller = ChangePoller(store, engine, rights)

    async def listen(self) -> None:
        """Count how often it is told of something."""
        with self.following as followed:
            while await followed.next():
                self.told += 1

    async def poll(self) -> None:
        """Poll on and on."""
        while True:
            await self.poller.run()


async def measure_followers(database: Server, count: int) -> None:
    """Print what so many idle daemons ask that follow a company which is busy elsewhere."""
    url = await database.made()
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(PostgresStore.open(url, KEYS)) for _ in range(count + 1)]
        followers = [Follower(store) for store in stores[1:]]
        tasks = [asyncio.create_task(work()) for one in followers for work in (one.poll, one.listen)]
        busy = asyncio.create_task(commit_on(stores[0]))
        await asyncio.sleep(2)
        statements, before = Statements(database), [one.told for one in followers]
        await asyncio.sleep(IDLE_S)
        executed, told = statements.read(), [one.told - was for one, was in zip(followers, before, strict=True)]
        for task in (busy, *tasks):
            task.cancel()
        await asyncio.gather(busy, *tasks, return_exceptions=True)
    asked = sum(times for statement, times in executed.items() if not statement.startswith(WRITER))
    each = sum(told) / count / IDLE_S
    print(f"followers  {asked / IDLE_S:7,.0f} statements/s of {count} daemons, each told {each:.1f} times/s")


async def commit_on(store: PostgresStore) -> None:
    """Change a company again and again."""
    while True:
        await store._write(COMPANY, lambda db: db.next_position(COMPANY))
        await asyncio.sleep(POLL_S)


class Receiver(asyncio.Protocol):
    """Answers 200 to each message, after `PAUSE_S`."""

    PAUSE_S = 0.003
    got: ClassVar[Counter[str]] = Counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A daemon has connected."""
        self._transport: Any = transport
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        """Note the id of each whole message."""
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            names = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            length = int(names[b"content-length"])
            if len(rest) < length:
                return
            self._buffer = rest[length:]
            Receiver.got[names[b"webhook-id"].decode()] += 1
            asyncio.get_running_loop().call_later(self.PAUSE_S, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


async def measure_webhook(folder: Path, database: Server | None, runs: int) -> None:
    """Print how many deliveries a second a fast receiver gets from one daemon."""
    url = None if database is None else await database.made()
    Receiver.got.clear()
    listening = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with serving(folder, 1, url) as [(daemon, pid)]:
        token = await registered(daemon, "ada@example.test")
        hook = json.dumps({"url": f"http://127.0.0.1:{port}/in"}).encode()
        headers = {"Authorization": f"Bearer {token}"}
        [made] = (await fire(daemon, [Shot(None, wire("POST", "/webhooks/", hook, headers))], 1)).hits
        assert made.status == 201, made.body
        spent, began = cpu_s([pid]), time.perf_counter()
        await looped([daemon], 0, runs, token)
        fired_s, there = time.perf_counter() - began, len(Receiver.got)
        before, seen, statements = cpu_s([pid]), -1, None if database is None else Statements(database)
        spent = before - spent
        async with asyncio.timeout(10 * PATIENCE_S):
            while seen != len(Receiver.got) or seen < 12 * runs:
                seen = len(Receiver.got)
                await asyncio.sleep(0.5)
        took_s = time.perf_counter() - began - 0.5
        alone, busy = took_s - fired_s, cpu_s([pid]) - before
        executed = 0 if statements is None else statements.read().total()
    listening.close()
    twice = Receiver.got.total() - len(Receiver.got)
    print(
        f"webhook on {'SQLite' if url is None else 'PostgreSQL':<10} {seen:,} deliveries, {twice} twice: "
        f"{there / fired_s:,.0f}/s beside {runs / fired_s:,.0f} loops/s, "
        f"then {(seen - there) / max(alone, 0.5):,.0f}/s alone; "
        f"{there / spent:,.0f} and {(seen - there) / busy:,.0f} in a second of the daemon's processor time, "
        f"{executed / max(1, seen - there):.2f} statements each"
    )


async def measured(folder: Path, database: Server, arguments: argparse.Namespace) -> None:
    """Print all that is asked for."""
    make_keys(folder)
    write_templates(folder / "templates")
    if "loops" in arguments.what:
        await compare_loops(folder, database, arguments)
    if "idle" in arguments.what:
        await measure_idle(folder, database, arguments.detailed)
    if "followers" in arguments.what:
        await measure_followers(database, 50)
    if "webhooks" in arguments.what:
        await measure_webhook(folder, database, arguments.runs)
        place = folder / "sqlite"
        place.mkdir()
        for name in ("keys", "templates"):
            (place / name).symlink_to(folder / name)
        await measure_webhook(place, None, arguments.runs)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.footprint", description=__doc__)
    parser.add_argument("what", nargs="*", default=["loops", "idle", "followers", "webhooks"])
    parser.add_argument("--loops", type=int, default=3_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--detailed", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-footprint-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with (
            server(*SETTINGS, parent=folder) as database,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            (folder / "play").mkdir()
            runner.run(measured(folder / "play", database, arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
