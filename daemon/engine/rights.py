"""Rights and connectors that other daemons have changed, known here before they are relied on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from actors.ports import StoreFailed
from daemon.connectors.service import ConnectorService
from daemon.identity.accounts import Identity
from daemon.identity.api_keys import ApiKeys
from daemon.templates.catalog import Catalog

if TYPE_CHECKING:
    from daemon.stores.postgres.store import PostgresStore

FRESH_S = 0.7
"""Shorter than a change waits for daemons that do not look: `ACKNOWLEDGED_MAX_S` of the store."""


class Rights:
    """Looks for such changes, and acknowledges those that it knows.

    A change is answered when all other daemons have acknowledged it, or after a time. A daemon that
    was too slow for that has looked last before the change, so it looks again before it relies on
    what it knows.
    """

    def __init__(
        self,
        store: PostgresStore,
        identity: Identity,
        connector_service: ConnectorService,
        *,
        catalog: Catalog,
        api_keys: ApiKeys,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._identity, self._connector_service = store, identity, connector_service
        self._catalog, self._api_keys, self._monotonic = catalog, api_keys, monotonic
        self._looking = asyncio.Lock()
        self._looked_at = float("-inf")

    async def ensure_fresh(self) -> None:
        """Know all that was answered before this call; StoreFailed where that cannot be."""
        now = self._monotonic()
        if now - self._looked_at < FRESH_S:
            return
        async with self._looking:
            if self._looked_at >= now:
                return  # a look that began after this call is over
            try:
                await self._look()
            except TimeoutError:
                raise StoreFailed("The database does not answer.", "not_applied") from None

    async def look(self) -> None:
        """Apply ended sessions and keys, changed roles and connectors, and acknowledge them."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        began, store = self._monotonic(), self._store
        since = await store.database_time()
        revoked, epochs = await store.recent_revocations(), await store.recent_epochs()
        deleted, connected = await store.recent_key_deletions(), await store.recent_connector_changes()
        standings = await store.recent_standings()
        self._identity.sessions.apply(revoked, epochs, standings)
        policies, enrolments = await store.recent_policies(), await store.recent_enrolments()
        self._identity.policies.apply(policies)
        self._identity.companies.apply_autonomies(await store.recent_autonomies())
        self._identity.second_factors.apply(enrolments)
        changed = await store.recent_company_changes()
        self._identity.companies.apply(changed)
        published = await store.recent_publications()
        self._catalog.forget(published)
        self._api_keys.forget(deleted)
        for company_id in connected:
            self._connector_service.forget(company_id)
        self._looked_at = began
        if any((revoked, epochs, deleted, standings, connected, policies, enrolments, changed, published)):
            await store.acknowledge(since)
