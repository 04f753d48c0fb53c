"""The service as systemd starts it: with a socket that listens already, and somebody who hears how
it is.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.crash.service import PATIENCE_S, environment

# What systemd does between fork and exec: the socket becomes descriptor 3, and the variables name
# this very process.
LAUNCHER = """
import os, sys
handed, *command = sys.argv[1:]
if handed:
    os.dup2(int(handed), 3)
    os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
os.environ["WATCHDOG_PID"] = str(os.getpid())
os.execv(command[0], command)
"""
SERVE = (sys.executable, "-m", "daemon", "serve", "--port", "0")


class Manager:
    """The far end of NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.lines: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self._socket.setblocking(False)

    async def hear(self) -> list[str]:
        """The lines of the next message."""
        async with asyncio.timeout(PATIENCE_S):
            message = await asyncio.get_running_loop().sock_recv(self._socket, 65_536)
        lines = message.decode().split("\n")
        self.lines += lines
        return lines

    async def until(self, line: str) -> None:
        """Listen until that line comes."""
        while line not in await self.hear():
            pass

    def close(self) -> None:
        self._socket.close()


def listener() -> socket.socket:
    """A socket that listens on a free port of the loopback address."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.bind(("127.0.0.1", 0))
    opened.listen(4_096)
    return opened


@asynccontextmanager
async def supervised(
    folder: Path,
    manager: Manager,
    handed: socket.socket | None = None,
    command: Sequence[str] = SERVE,
    **variables: str,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A service that is started as systemd would do it, killed on the way out unless it has ended
    by itself.
    """
    number = "" if handed is None else str(handed.fileno())
    with (folder / "service.log").open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", LAUNCHER, number, *command),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=errors,
            env={**environment(folder), "NOTIFY_SOCKET": manager.address, **variables},
            pass_fds=() if handed is None else (handed.fileno(),),
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
