"""A TCP proxy: the balancer in front of the daemons, and the cable between a daemon and its
database.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

from tests.postgres import free_port

HOST = "127.0.0.1"
CHUNK = 65_536


class Proxy:
    """Hands each connection on to one of the places behind it; it can be cut, so that nothing comes
    through.
    """

    def __init__(self, *behind: tuple[str, int], seed: int = 0) -> None:
        self.port = free_port()
        self.behind = list(behind)
        self._random = random.Random(seed)
        self._server: asyncio.Server | None = None
        self._whole = asyncio.Event()
        self._whole.set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._connected, HOST, self.port)

    def cut(self) -> None:
        """Let nothing through, in silence: connections stay, and so does what is on its way."""
        self._whole.clear()

    def mend(self) -> None:
        """Let everything through again, what waited first."""
        self._whole.set()

    async def close(self) -> None:
        """End all connections."""
        assert self._server is not None
        self._server.close()
        while self._tasks:  # one may have begun just now
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._whole.wait()
            await self._joined(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            writer.transport.abort()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for place in self._random.sample(self.behind, len(self.behind)):
            with suppress(OSError):
                inner_reader, inner_writer = await asyncio.open_connection(*place)
                break
        else:
            return
        pumps = [
            asyncio.create_task(self._pump(reader, inner_writer)),
            asyncio.create_task(self._pump(inner_reader, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            inner_writer.close()
            inner_writer.transport.abort()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK):
            await self._whole.wait()
            writer.write(data)
            await writer.drain()
