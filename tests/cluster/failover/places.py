"""Where the daemons of a case live: with a cable to each server, a clock of their own, or a pooler
before the database.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.failover.stage import Direct
from tests.cluster.proxy import Proxy
from tests.postgres import USER, Server, free_port, launched, unprivileged
from tests.postgresql.test_poolers import CONFIGURATION, POOLER
from tests.replication import Pair

POLL_S = 0.02
PATIENCE_S = 20.0
POOL_MAX = 60
"""Three daemons have up to ten sessions each, and in session mode each has a server connection."""


class Cabled(Direct):
    """A place with a cable to each server of a pair."""

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self.primary, self.standby = (Proxy((self.host, one.port)) for one in (pair.primary, pair.standby))
        self._ports = {str(pair.primary.port): self.primary.port, str(pair.standby.port): self.standby.port}

    def url(self, url: str) -> str:
        return re.sub(r"(?<=:)[0-9]+", lambda found: str(self._ports.get(found[0], found[0])), url)

    async def open(self) -> None:
        await self.primary.open()
        await self.standby.open()

    async def close(self) -> None:
        await self.primary.close()
        await self.standby.close()

    def cut(self) -> None:
        """Let nothing through, in silence."""
        self.primary.cut()
        self.standby.cut()

    def mend(self) -> None:
        self.primary.mend()
        self.standby.mend()


class Skewed(Direct):
    """A place whose clock is ahead of the machine's, or behind it."""

    def __init__(self, ahead_s: float) -> None:
        super().__init__()
        self._ahead_s = ahead_s

    def command(self, *words: str) -> Sequence[str]:
        return ("faketime", "-m", "--exclude-monotonic", "-f", f"{self._ahead_s:+}s", *words)


class Pooler:
    """A PgBouncer before one server at a time."""

    def __init__(self, folder: Path, mode: str = "session") -> None:
        self.port, self._mode, self._file = free_port(), mode, folder / f"pgbouncer-{mode}.ini"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, server: Server) -> float:
        """Start it before this server; returns when it listened."""
        text = CONFIGURATION.format(server=server.port, port=self.port, mode=self._mode)
        text = text.replace("* = host", f"* = user={USER} host").replace("_size = 20", f"_size = {POOL_MAX}")
        self._file.write_text(text, encoding="utf-8")
        if not os.getuid():
            os.chown(self._file, *unprivileged())
        command, quiet = launched(str(POOLER), self._file), subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(*command, stdout=quiet, stderr=quiet, cwd="/")
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    (await asyncio.open_connection("127.0.0.1", self.port))[1].close()
                except OSError:
                    await asyncio.sleep(POLL_S)
                else:
                    return time.time()

    async def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            await self._process.wait()
            self._process = None


class Pooled(Direct):
    """A place whose daemon knows the pooler alone."""

    def __init__(self, pooler: Pooler) -> None:
        super().__init__()
        self._pooler = pooler

    def url(self, url: str) -> str:
        user, _, rest = url.partition("@")
        return f"{user}@127.0.0.1:{self._pooler.port}/{rest.partition('/')[2].partition('?')[0]}"
