"""The toolbox: each company's connectors, in memory as they are on disk, and the changes people make to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from actors.calls import Connector, Connectors
from daemon.connectors.origin import same_origin
from daemon.connectors.secrets import AUTH_TOKEN, Vault
from daemon.ports import ConnectorShelf, StoredConnector

COMPANIES_MAX = 10_000


class Toolbox:
    """Connectors by company and tool-id; one change at a time, durable before it is seen."""

    def __init__(self, shelf: ConnectorShelf, vault: Vault, now: Callable[[], datetime]) -> None:
        """Keep connectors on the shelf and their secrets sealed."""
        self._shelf = shelf
        self._vault = vault
        self._now = now
        self._held: dict[str, dict[str, StoredConnector]] = {}
        self._public: dict[str, Connectors] = {}
        self._change = asyncio.Lock()

    async def connectors(self, company_id: str) -> Connectors:
        """What is known of a company's connectors, without their secrets."""
        public = self._public.get(company_id)
        if public is None:
            await self.all(company_id)
            public = self._public[company_id]
        return public

    async def all(self, company_id: str) -> dict[str, StoredConnector]:
        """A company's connectors by tool-id, in order."""
        held = self._held.get(company_id)
        if held is None:
            found = await self._shelf.connectors_of(company_id)
            held = self._hold(company_id, {one.connector.tool_id: one for one in found})
        return held

    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        """The connector of a tool."""
        return (await self.all(company_id)).get(tool_id)

    async def put(
        self, company_id: str, connector: Connector, secret: str | None, by: str
    ) -> tuple[StoredConnector, bool]:
        """Keep a connector; returns it and whether it is new. A stored secret stays while the origin does."""
        async with self._change:
            earlier = await self.stored(company_id, connector.tool_id)
            version = 1 if earlier is None else earlier.connector.version + 1
            sealed = None
            if secret is not None:
                sealed = self._vault.seal(company_id, connector.tool_id, AUTH_TOKEN, secret)
            elif earlier is not None and same_origin(earlier.connector.base_url, connector.base_url):
                sealed = earlier.sealed_secret
            now = self._now()
            stored = StoredConnector(
                company_id=company_id,
                connector=replace(connector, version=version),
                sealed_secret=sealed,
                created_at=now if earlier is None else earlier.created_at,
                updated_at=now,
                updated_by=by,
            )
            await self._shelf.put_connector(stored)
            self._hold(company_id, {**await self.all(company_id), connector.tool_id: stored})
            return stored, earlier is None

    async def delete(self, company_id: str, tool_id: str) -> bool:
        """Forget a connector; False when there was none."""
        async with self._change:
            if not await self._shelf.delete_connector(company_id, tool_id):
                return False
            held = await self.all(company_id)
            self._hold(company_id, {name: one for name, one in held.items() if name != tool_id})
            return True

    def _hold(self, company_id: str, held: dict[str, StoredConnector]) -> dict[str, StoredConnector]:
        if company_id not in self._held and len(self._held) >= COMPANIES_MAX:
            oldest = next(iter(self._held))
            del self._held[oldest], self._public[oldest]
        self._held[company_id] = held
        self._public[company_id] = {name: one.connector for name, one in held.items()}
        return held
