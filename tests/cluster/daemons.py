"""Daemons on one database, each a process of its own with its own way to it, and started again when
it ends.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from daemon.keys.keyring import open_ring
from tests.cluster.proxy import Proxy
from tests.crash.service import READY, environment
from tests.postgres import free_port

READY_S = 180.0
PAUSE_S = 0.3


class Place(Protocol):
    """Where a daemon lives, and its way to the database."""

    @property
    def host(self) -> str:
        """Where it listens."""

    @property
    def port(self) -> int:
        """The port there."""

    def command(self, *words: str) -> Sequence[str]:
        """What runs a command there, as the process that is started."""

    def url(self, url: str) -> str:
        """The address of a database as it is from there."""

    async def open(self) -> None:
        """Make the way to the database."""

    async def close(self) -> None:
        """Unmake it."""

    def cut(self) -> None:
        """Let nothing through between it and the database, in silence."""

    def mend(self) -> None:
        """Let everything through again."""


class Corded:
    """A place beside all others, which has a proxy for a cable to the database."""

    host = "127.0.0.1"

    def __init__(self, database_port: int) -> None:
        self.port = free_port()
        self._cable = Proxy((self.host, database_port))
        self.open, self.close = self._cable.open, self._cable.close
        self.cut, self.mend = self._cable.cut, self._cable.mend

    def command(self, *words: str) -> Sequence[str]:
        """What runs a command."""
        return words

    def url(self, url: str) -> str:
        """The address of a database through the cable."""
        place, name = url.rsplit("/", 1)
        return f"{place.rsplit(':', 1)[0]}:{self._cable.port}/{name}"


class Daemon:
    """One daemon, whatever its life."""

    def __init__(self, folder: Path, number: int, place: Place, settings: Mapping[str, str]) -> None:
        self.folder = folder
        self.number = number
        self.place = place
        self.ends: Counter[int] = Counter()
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._up = asyncio.Event()

    @property
    def pid(self) -> int:
        """The process of this life."""
        assert self._process is not None
        return self._process.pid

    async def open(self) -> None:
        """Start it, and again whenever it ends; returns once it serves."""
        await self.begin()
        await self.ready()

    async def begin(self) -> None:
        """Start it, and again whenever it ends."""
        await self.place.open()
        self._keeper = asyncio.create_task(self._keep())

    async def ready(self) -> None:
        """Wait until it serves."""
        async with asyncio.timeout(READY_S):
            await self._up.wait()

    async def close(self) -> None:
        """Kill it and keep it dead."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGCONT)
                self._process.kill()
            await self._process.wait()
        await self.place.close()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def killed(self) -> None:
        """Kill this life of it, and wait for its end."""
        assert self._process is not None
        self._up.clear()
        self.send(signal.SIGKILL)
        await self._process.wait()

    async def _keep(self) -> None:
        while True:
            with (self.folder / f"daemon-{self.number}.log").open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *self.place.command(sys.executable, "-m", "daemon", "serve"),
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                    env=self._environment(),
                )
            assert self._process.stdout is not None
            line = await self._process.stdout.readline()
            if line.decode().startswith(READY):
                self._up.set()
            self.ends[await self._process.wait()] += 1
            self._up.clear()
            await asyncio.sleep(PAUSE_S)

    def _environment(self) -> dict[str, str]:
        own = {"data_dir": str(self.folder / f"data-{self.number}"), "run_idle_s": "1", "log_level": "warning"}
        own |= {"host": self.place.host, "port": str(self.place.port)}
        keys = {f"{name}_file": str(self.folder / "keys" / file) for name, file in KEYS.items()}
        return environment(self.folder, **{**own, **keys, **self._settings})


KEYS = {"jwt_keys": "jwt.keys", "vault_key": "vault.key", "audit_keys": "audit.keys", "commit_keys": "commit.keys"}


def make_keys(folder: Path) -> None:
    """The key files that all daemons share."""
    (folder / "keys").mkdir()
    for file in KEYS.values():
        open_ring(folder / "keys" / file, create=True)
