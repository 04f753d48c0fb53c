"""What the service tells systemd: that it is ready, that it is stopping, how it is, and that it is alive.

The protocol is sd_notify's: datagrams of `NAME=value` lines to the socket that systemd names. Without one, as in a
terminal, nothing is said.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import structlog
from pydantic_settings import BaseSettings, SettingsConfigDict

from actors.ports import StoreFailed
from daemon.model import DiskFull

FIRST_SOCKET = 3
SAY_S = 1.0
_log = structlog.get_logger("penstock")


class SystemdEnvironment(BaseSettings):
    """What systemd tells a process that it starts, in variables of its own names; empty for any other process."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_ignore_empty=True)

    notify_socket: str = ""
    watchdog_usec: int = 0
    watchdog_pid: int = 0
    listen_fds: int = 0
    listen_pid: int = 0
    credentials_directory: Path | None = None

    @property
    def watchdog_s(self) -> float | None:
        """How long this process may be silent; None when nobody watches it."""
        meant = self.watchdog_pid in {0, os.getpid()}
        return self.watchdog_usec / 1_000_000 if meant and self.watchdog_usec > 0 else None

    @property
    def sockets(self) -> range:
        """The descriptors of the listening sockets that were handed to this process."""
        return range(FIRST_SOCKET, FIRST_SOCKET + (self.listen_fds if self.listen_pid == os.getpid() else 0))


class SystemdNotifier:
    """Whoever started the process and wants to hear how it is."""

    def __init__(self, told: SystemdEnvironment) -> None:
        """Speak to the socket that was named, if one was; a leading @ stands for the abstract namespace."""
        address = told.notify_socket
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.alive_s = told.watchdog_s
        self._news: tuple[str, ...] = ()
        self._well = "STATUS=Ready"

    def ready(self, address: str) -> None:
        """Say that the service is there, and where."""
        self._well = f"STATUS=Serving on {address}"
        self.say("READY=1", self._well)

    def say(self, *lines: str) -> None:
        """Send these lines; that nobody hears them is logged, and hurts nothing else."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaking:
                speaking.settimeout(SAY_S)
                speaking.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            _log.warning("systemd_notify_failed", said=lines, error=str(error))

    async def feed(self, ping: Callable[[], Awaitable[None]], within_s: float) -> None:
        """Tell the watchdog that the process is alive, if the store answers within that time."""
        try:
            async with asyncio.timeout(within_s):
                with suppress(DiskFull):  # that is waited out: reads go on, and a restart would make no room
                    await ping()
        except (StoreFailed, TimeoutError) as error:
            _log.error("watchdog_ping_skipped", reason=str(error) or "the store did not answer in time")
            self.say("STATUS=The store does not answer")
            self._news = (self._well,)
        else:
            self.say("WATCHDOG=1", *self._news)
            self._news = ()
