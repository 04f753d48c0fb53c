"""Two real PostgreSQL servers, the second of which streams from the first: it can be parted from
it, promoted, and the first can die, stand still and come back.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.postgres import PATIENCE_S, USER, Server, free_port, launched, server

NAME = "standby"
POLL_S = 0.02
UNFENCED = ("synchronous_standby_names=",)
"""With what a primary comes back that nobody has told of its successor."""
_REPLICAS = "SELECT count(*) FROM pg_stat_replication"
_SYNCHRONOUS = f"{_REPLICAS} WHERE sync_state = 'sync'"
_BEHIND = f"{_REPLICAS} WHERE replay_lsn >= pg_current_wal_lsn()"
CANCELLED = "synchronous replication"
"""What PostgreSQL logs when a commit no longer waits for its standby."""


@dataclass
class Pair:
    """A primary and its standby; the names stay, whichever of them writes."""

    primary: Server
    standby: Server

    def url(self, database: str, *, standby_first: bool = False) -> str:
        """The address of a database on whichever of them can be written to."""
        servers = (self.standby, self.primary) if standby_first else (self.primary, self.standby)
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in servers)
        return f"postgresql://{USER}@{hosts}/{database}?target_session_attrs=read-write"

    async def caught_up(self) -> None:
        """Wait until the standby has all that the primary has at this moment."""
        await _reached(self.primary, _BEHIND, 1)

    async def part(self) -> None:
        """Take the standby away: from now on it receives nothing."""
        await _changed(self.standby, "primary_conninfo", "")
        await _reached(self.primary, _REPLICAS, 0)

    async def promote(self) -> float:
        """Let the standby take over; returns when that was ordered."""
        ordered = time.time()
        await self.standby.told("SELECT pg_promote()")
        return ordered

    async def revive(self) -> None:
        """Start the old primary, which takes itself for one still."""
        self.primary.settings += UNFENCED
        await asyncio.to_thread(self.primary.start)

    @property
    def cancelled(self) -> list[str]:
        """The lines of the primary's log that say that a commit did not wait for the standby."""
        log = (self.primary.folder / "log").read_text(encoding="utf-8", errors="replace")
        return [line for line in log.splitlines() if CANCELLED in line and "cancel" in line]


@asynccontextmanager
async def replicated(*settings: str, synchronous: bool, parent: Path | None = None) -> AsyncIterator[Pair]:
    """A pair of our own; a synchronous standby holds up each commit until it has it, too."""
    # Shared memory that is a file in its folder goes with a server that is killed.
    with server("dynamic_shared_memory_type=mmap", *settings, parent=parent) as primary:
        folder = primary.folder / NAME
        folder.mkdir()
        os.chown(folder, *_owner(primary.folder))
        place = f"host=127.0.0.1 port={primary.port} user={USER} application_name={NAME}"
        copying = launched(
            *(primary.binaries / "pg_basebackup", "-d", place, "-D", folder / "data", "-R"),
            *("-X", "stream", "-c", "fast", "--no-sync"),
        )
        await asyncio.to_thread(subprocess.run, copying, check=True, capture_output=True, cwd="/")
        own = (*primary.settings, f"unix_socket_directories={folder}")
        standby = replace(primary, folder=folder, port=free_port(), settings=own, process=None)
        standby.start()
        pair = Pair(primary, standby)
        try:
            if synchronous:
                await _changed(primary, "synchronous_standby_names", NAME)
                await _reached(primary, _SYNCHRONOUS, 1)
            yield pair
        finally:
            for one in (primary, standby):
                one.thaw()
                one.stop(signal.SIGQUIT)


def _owner(folder: Path) -> tuple[int, int]:
    found = folder.stat()
    return found.st_uid, found.st_gid


async def _changed(one: Server, name: str, value: str) -> None:
    """Change a setting of a running server."""
    await one.told(f"ALTER SYSTEM SET {name} = '{value}'")
    await one.told("SELECT pg_reload_conf()")


async def _reached(one: Server, statement: str, value: Any) -> None:
    """Wait until a statement gives that value."""
    async with asyncio.timeout(PATIENCE_S):
        while await one.value(statement) != value:  # noqa: ASYNC110 - the database has no event for it
            await asyncio.sleep(POLL_S)
