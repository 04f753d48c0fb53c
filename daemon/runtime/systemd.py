"""State notifications to systemd by the sd_notify protocol; none without a socket."""

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
PAUSE_S, PAUSE_MAX_S = 0.25, 10.0
EXTEND_USEC = 60_000_000
"""Longer than a pause and a try to connect take."""
_log = structlog.get_logger("penstock")


class SystemdEnvironment(BaseSettings):
    """The variables by which systemd tells a process of its sockets, watchdog and credentials."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_ignore_empty=True)

    notify_socket: str = ""
    watchdog_usec: int = 0
    watchdog_pid: int = 0
    listen_fds: int = 0
    listen_pid: int = 0
    credentials_directory: Path | None = None

    @property
    def watchdog_s(self) -> float | None:
        """The watchdog timeout of this process; None without a watchdog."""
        meant = self.watchdog_pid in {0, os.getpid()}
        return self.watchdog_usec / 1_000_000 if meant and self.watchdog_usec > 0 else None

    @property
    def sockets(self) -> range:
        return range(FIRST_SOCKET, FIRST_SOCKET + (self.listen_fds if self.listen_pid == os.getpid() else 0))


class SystemdNotifier:
    def __init__(self, environment: SystemdEnvironment) -> None:
        """A leading @ in the socket's address stands for the abstract namespace."""
        address = environment.notify_socket
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_s = environment.watchdog_s
        self._pending: tuple[str, ...] = ()
        self._pause_s = PAUSE_S
        self._status = "STATUS=Ready"

    @property
    def listens(self) -> bool:
        """Whether systemd supervises this process."""
        return bool(self._address)

    def ready(self, address: str) -> None:
        self._status = f"STATUS=Serving on {address}"
        self.notify("READY=1", self._status)

    def notify(self, *lines: str) -> None:
        """Send lines; a failure is logged and ignored."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(SAY_S)
                sender.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            _log.warning("systemd_notify_failed", said=lines, error=str(error))

    async def await_database(self, stopping: asyncio.Event, reason: str) -> None:
        """Wait before the next try to reach the database, and have systemd wait, too.

        StoreFailed when the service is to stop.
        """
        _log.warning("database_awaited", reason=reason, again_s=self._pause_s)
        self.notify(f"EXTEND_TIMEOUT_USEC={EXTEND_USEC}", f"STATUS=Waiting for the database: {reason}")
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause_s):
                await stopping.wait()
            raise StoreFailed(f"The service was stopped while it waited for the database: {reason}", "not_applied")
        self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)

    async def ping_watchdog(self, ping: Callable[[], Awaitable[None]], within_s: float) -> None:
        """Ping the watchdog if the store answers in time."""
        try:
            async with asyncio.timeout(within_s):
                with suppress(DiskFull):  # that is waited out: reads go on, and a restart would make no room
                    await ping()
        except (StoreFailed, TimeoutError) as error:
            _log.error("watchdog_ping_skipped", reason=str(error) or "the store did not answer in time")
            self.notify("STATUS=The store does not answer")
            self._pending = (self._status,)
        else:
            self.notify("WATCHDOG=1", *self._pending)
            self._pending = ()
