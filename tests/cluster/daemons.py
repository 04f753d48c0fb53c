"""Daemons on one database, each a process of its own behind a cable of its own, and started again when it ends."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

from daemon.keyring import open_ring
from tests.cluster.proxy import Proxy
from tests.crash.service import READY, environment
from tests.postgres import free_port

READY_S = 180.0
PAUSE_S = 0.3


class Daemon:
    """One daemon, whatever its life."""

    def __init__(self, folder: Path, number: int, url: str, lease_s: float) -> None:
        self.folder = folder
        self.number = number
        self.port = free_port()
        self.ends: Counter[int] = Counter()
        place, name = url.rsplit("/", 1)
        self.cable = Proxy(int(place.rsplit(":", 1)[1]))
        self._url = f"{place.rsplit(':', 1)[0]}:{self.cable.port}/{name}"
        self._lease_s = lease_s
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._up = asyncio.Event()

    @property
    def pid(self) -> int:
        """The process of this life."""
        assert self._process is not None
        return self._process.pid

    async def open(self) -> None:
        """Start it, and again whenever it ends."""
        await self.cable.open()
        self._keeper = asyncio.create_task(self._keep())
        await self.ready()

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
        await self.cable.close()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _keep(self) -> None:
        while True:
            with (self.folder / f"daemon-{self.number}.log").open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "daemon", "serve", "--port", str(self.port)),
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
        data = self.folder / f"data-{self.number}"
        settings = {"data_dir": str(data), "database_url": self._url, "lease_s": str(self._lease_s), "idle_s": "1"}
        keys = {f"{name}_file": str(self.folder / "keys" / file) for name, file in KEYS.items()}
        return environment(self.folder, log_level="warning", **settings, **keys)


KEYS = {"jwt_keys": "jwt.keys", "vault_key": "vault.key", "audit_keys": "audit.keys"}


def make_keys(folder: Path) -> None:
    """The key files that all daemons share."""
    (folder / "keys").mkdir()
    for file in KEYS.values():
        open_ring(folder / "keys" / file, create=True)
