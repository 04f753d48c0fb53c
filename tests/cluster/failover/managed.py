"""The guide's example of high availability on loopback: three members of etcd, three PostgreSQL
under Patroni, HAProxy and three daemons, whose leader dies.

All configurations are those of docs/guides/scaling.md with 127.0.0 for 10.0.0, so that one such
example fits on a machine.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg

from tests.cluster.failover.load import loaded
from tests.cluster.failover.outcome import NotPlayed, Outcome
from tests.cluster.failover.stage import Direct, staged
from tests.postgres import Server, below, free_port, launched, unprivileged
from tests.proxies.behind import SEVERAL, changed, guided, program, with_daemons
from tests.replication import Pair

NAMES = ("one", "two", "three")
PROGRAMS = ("patroni", "etcd", "haproxy")
PACKAGES = "etcd-server patroni postgresql haproxy"
PASSWORD = "guided"
WORK_S = 5.0
STARTED_S = 90.0
PROMOTED_S = 60.0
"""The guide's `ttl` is 20 s."""
FIRST_MAX_S = 3.0
POLL_S = 0.1
NAMED = Path(re.findall(r"bin_dir: (\S+)", SEVERAL)[0])
BINARIES = NAMED if NAMED.exists() else next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"))), NAMED)
PORTS = (2379, 2380, 5432, 8008)


def why_not() -> str | None:
    """Why the example cannot be set up here."""
    missing = [name for name in PROGRAMS if program(name) is None]
    missing += [] if (BINARIES / "postgres").exists() else [str(BINARIES / "postgres")]
    if missing:
        return f"there is no {missing[0]} here: apt-get install {PACKAGES}"
    for member in range(len(NAMES)):
        for port in PORTS:
            with socket.socket() as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    one.bind((address(member), port))
                except OSError as taken:
                    return f"{address(member)}:{port}: {taken.strerror}"
    return None


def semaphores() -> Sequence[str]:
    """What gives a command a place for semaphores, where the machine's is closed to its user."""
    if Path("/dev/shm").stat().st_mode & 0o002:  # noqa: S108 - nothing is made there
        return ()
    mounted = 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", mounted, "sh")


def address(member: int) -> str:
    return f"127.0.0.{11 + member}"


def here(language: str, member: int = 0) -> str:
    """A configuration of the guide, as the machine of that member has it."""
    text = guided(language, SEVERAL).replace("10.0.0.", "127.0.0.").replace("…", PASSWORD)
    own = (line if "," in line else line.replace(address(0), address(member)) for line in text.splitlines())
    return re.sub(r"^((?:name: |ETCD_NAME=))one$", rf"\1{NAMES[member]}", "\n".join(own) + "\n", flags=re.MULTILINE)


@dataclass
class Member(Server):
    """A PostgreSQL under Patroni, and its Patroni."""

    number: int = 0
    patroni: asyncio.subprocess.Process | None = None
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres:{PASSWORD}@{address(self.number)}:{self.port}/{database}"

    async def made(self, template: str = "") -> str:
        for statement in re.findall(r"`(CREATE (?:ROLE|DATABASE)[^`]*)`", " ".join(SEVERAL.split())):
            await self.told(statement.replace("…", PASSWORD))
        return self.url("penstock")

    async def ask(self, path: str) -> tuple[int, Any]:
        """The status and body of an answer of its Patroni; 0 without one."""
        timeout = aiohttp.ClientTimeout(total=2.0)
        with suppress(aiohttp.ClientError, TimeoutError):
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(f"http://{address(self.number)}:8008{path}") as answer,
            ):
                return answer.status, await answer.json(content_type=None)
        return 0, None

    def kill(self) -> None:
        """End it and its Patroni, as a machine that loses its power does."""
        if self.patroni is not None and self.patroni.returncode is None:
            self.patroni.kill()
        with suppress(OSError, ValueError):
            pid = int((self.folder / "data" / "postmaster.pid").read_text(encoding="ascii").split()[0])
            os.kill(pid, signal.SIGSTOP)
            for one in (*below(pid), pid):
                os.kill(one, signal.SIGKILL)


@dataclass
class Guided(Pair):
    """The members, whose address is the guide's."""

    members: Sequence[Member] = ()

    def url(self, database: str, *, standby_first: bool = False) -> str:
        (found,) = re.findall(r"PENSTOCK_DATABASE_URL=(\S+,\S+)", SEVERAL)
        assert found.endswith(f"/{database}")
        return str(found).replace("10.0.0.", "127.0.0.").replace("…", PASSWORD)

    async def leader(self, within_s: float, *, synchronous: bool, but: Member | None = None) -> Member:
        """The member that Patroni has for the leader, once it takes writes, with a standby that is
        synchronous and another one.
        """
        async with asyncio.timeout(within_s):
            while True:
                for one in self.members:
                    if one is not but and (await one.ask("/primary"))[0] == 200:
                        roles = [each["role"] for each in (await one.ask("/cluster"))[1]["members"]]
                        if not synchronous or ("sync_standby" in roles and len(roles) == len(NAMES)):
                            return one
                await asyncio.sleep(POLL_S)


@asynccontextmanager
async def set_up(folder: Path) -> AsyncIterator[Guided]:
    """Etcd, and PostgreSQL under Patroni, as the guide has them."""
    async with AsyncExitStack() as stack:
        members = [await stack.enter_async_context(_member(folder / NAMES[number], number)) for number in range(3)]
        found = Guided(members[0], members[1], members)
        found.primary = await found.leader(STARTED_S, synchronous=True)
        yield found


@asynccontextmanager
async def _member(folder: Path, number: int) -> AsyncIterator[Member]:
    folder.mkdir()  # noqa: ASYNC240 - once
    os.chown(folder, *unprivileged())
    one = Member(folder, 5432, BINARIES, (), number=number)
    keeper = changed(here("etcd", number), data=("/var/lib/etcd/penstock", str(folder / "etcd")))
    config = changed(
        here("patroni", number),
        data=("/var/lib/postgresql/15/penstock", str(folder / "data")),
        binaries=(str(NAMED), str(BINARIES)),
        # Three servers on one machine cannot have their sockets in one folder.
        sockets=("  pg_hba:\n", f"  parameters: {{unix_socket_directories: {folder}}}\n  pg_hba:\n"),
    )
    (folder / "config.yml").write_text(config, encoding="utf-8")
    os.chown(folder / "config.yml", *unprivileged())
    variables = dict(line.split("=", 1) for line in keeper.splitlines() if line)
    try:
        with (folder / "log").open("ab") as log:
            started = partial(asyncio.create_subprocess_exec, stdout=log, stderr=log, cwd="/")
            environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
            etcd = launched(str(program("etcd")))
            one.processes.append(await started(*etcd, env={**environment, **variables}))
            patroni = [*semaphores(), *launched(str(program("patroni")), folder / "config.yml")]
            one.patroni = await started(*patroni, env=environment)
        yield one
    finally:
        one.kill()
        for process in (*one.processes, *([] if one.patroni is None else [one.patroni])):
            if process.returncode is None:
                process.kill()
            await process.wait()


@asynccontextmanager
async def haproxy(folder: Path, places: Sequence[Direct]) -> AsyncIterator[int]:
    """The guide's HAProxy before the daemons, without TLS and its limit for one address."""
    port = free_port()
    text = changed(
        with_daemons(guided("haproxy"), [place.port for place in places]),
        bind=("bind :443 ssl crt /etc/ssl/private/penstock.pem", f"bind 127.0.0.1:{port}"),
        limit=("sc_http_req_rate(0) gt 500", "sc_http_req_rate(0) gt 500000"),
    )
    (folder / "haproxy.cfg").write_text(text, encoding="utf-8")
    quiet = subprocess.DEVNULL
    command = (str(program("haproxy")), "-db", "-f", str(folder / "haproxy.cfg"))
    process = await asyncio.create_subprocess_exec(*command, stdout=quiet, stderr=quiet)
    try:
        async with asyncio.timeout(STARTED_S):
            while True:
                with suppress(OSError):
                    (await asyncio.open_connection("127.0.0.1", port))[1].close()
                    break
                await asyncio.sleep(POLL_S)
        yield port
    finally:
        process.kill()
        await process.wait()


async def _confirms(leader: Server) -> None:
    """Wait until a change is confirmed, for which it is promoted and a standby follows it."""
    async with asyncio.timeout(PROMOTED_S):
        while True:
            with suppress(asyncpg.PostgresError, OSError):
                return await leader.told("CREATE TABLE confirmed ()")
            await asyncio.sleep(POLL_S)


async def patroni(folder: Path, outcome: Outcome, daemons: int, parent: Path | None) -> None:
    """The leader dies with its Patroni, and another member is promoted."""
    where = parent or folder.parent
    async with AsyncExitStack() as stack:
        began = time.monotonic()
        try:
            guide = await stack.enter_async_context(set_up(where))
        except TimeoutError:
            raise NotPlayed("Patroni has made no leader with a synchronous standby") from None
        outcome.note("until there is a leader and its standby", time.monotonic() - began)
        balanced = partial(haproxy, where)
        stage = await stack.enter_async_context(staged(folder, guide, daemons=daemons, balanced=balanced))
        load = await stack.enter_async_context(loaded(stage))
        await load.work(WORK_S)
        dead = guide.primary
        assert isinstance(dead, Member)
        killed = time.time()
        await asyncio.to_thread(dead.kill)
        stage.survivor = await guide.leader(PROMOTED_S, synchronous=False, but=dead)
        promoted = time.time()
        outcome.note("the death of the leader until the next", promoted - killed)
        await _confirms(stage.survivor)
        writable = time.time()
        outcome.note("then until it confirms a change", writable - promoted)
        took_s = await load.acknowledged_since(writable)
        outcome.note("then until the first 2xx", took_s or "never", held=took_s is not None and took_s <= FIRST_MAX_S)
        await load.work(WORK_S)
        await load.compare(outcome)
