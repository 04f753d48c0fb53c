"""The toolbox: what is in memory is what is on disk, however reads and changes overtake each
other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import asdict

from daemon.connectors.service import ConnectorService
from daemon.keys.keyring import KeyRing
from daemon.keys.vault import Vault
from daemon.model import StoredConnector
from daemon.runtime.clock import utc_now
from tests.memory_database import MemoryRepositories
from tests.processes import connector


class SlowOnce(MemoryRepositories):
    """A shelf whose first answer is on its way for as long as the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.arrives = asyncio.Event(), asyncio.Event()

    async def connectors_of(self, company_id: str) -> Sequence[StoredConnector]:
        first = not self.asked.is_set()
        self.asked.set()
        found: Sequence[StoredConnector] = await super().connectors_of(company_id)
        if first:
            await self.arrives.wait()
        return found


async def test_a_read_that_a_change_has_overtaken_does_not_bring_the_earlier_connectors_back() -> None:
    shelf = SlowOnce()
    connector_service = ConnectorService(shelf, Vault(KeyRing("", {}).rotated(), shelf, utc_now), utc_now)
    reading = asyncio.create_task(connector_service.connectors("acme"))
    await shelf.asked.wait()
    put, _ = await connector_service.put("acme", connector("pay"), None, "ann")
    shelf.arrives.set()
    assert asdict((await reading)["pay"]) == asdict(put.connector) | {"changed_by": "ann"}
    assert await connector_service.stored("acme", "pay") == put
