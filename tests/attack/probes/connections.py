"""Connections that are held: streams of one company, half heads, half bodies."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import ClassVar

from tests.attack.probes.world import Probe, World, bearer
from tests.attack.report import Report
from tests.load.pump import wire

EACH = 250
ROUND = 25
AGAIN_S = 3.0
ROUND_S = 0.1
HALF_HEAD = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Half: "
HALF_BODY = b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"
HALF_BLOCK = b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"


class Connections(Probe):
    """Three times as many connections as the service takes, by one company and two addresses."""

    name = "connections"
    settings: ClassVar = {"connections_max": "500"}

    def __init__(self, each: int = EACH) -> None:
        super().__init__()
        self._each = each
        self.opened = 0

    async def prepare(self, world: World) -> None:
        self._token = await world.company("streams")

    async def attack(self, world: World) -> None:
        kinds = {
            "127.0.4.1": wire("GET", "/events", headers={"Accept": "text/event-stream", **bearer(self._token)}),
            "127.0.4.2": HALF_BODY,
            "127.0.4.3": HALF_HEAD,
            "127.0.4.4": HALF_BLOCK,
            "127.0.4.5": b"",
        }
        async with asyncio.TaskGroup() as group:
            for begun in range(0, self._each, ROUND):
                for source, said in kinds.items():
                    for _ in range(min(ROUND, self._each - begun)):
                        group.create_task(self._hold(world.target.port, source, said))
                await asyncio.sleep(ROUND_S)

    async def _hold(self, port: int, source: str, said: bytes) -> None:
        """Hold a connection, and take another when it is ended."""
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
                self.opened += 1
                try:
                    writer.write(said)
                    while await reader.read(65_536):
                        pass
                finally:
                    writer.transport.abort()
            await asyncio.sleep(random.uniform(0.5, 1.5) * AGAIN_S)

    async def check(self, world: World, report: Report) -> None:
        report.least("connections: opened", self.opened, self._each)
