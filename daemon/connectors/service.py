"""The connectors of each company, cached, and their changes."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import UNSET
from msgspec.structs import asdict, replace

from actors.core.calls import Connector, Connectors, StoredBinding
from actors.core.messages import kept_kind
from actors.core.people import ByKind
from actors.failpoints import reach
from actors.ports import StoreFailed
from daemon.connectors.egress import same_recipient
from daemon.keys.vault import AUTH_TOKEN, SealBroken, Vault
from daemon.model import SESSION, StoredConnector, StoredConnectorChange
from daemon.model.audit_events import Caller, SecretChange
from daemon.stores.store import Store

COMPANIES_MAX = 10_000


class ConnectorService:
    """Connectors by company and tool-id; changes are serialized, and durable before visible."""

    def __init__(self, repository: Store, vault: Vault, now: Callable[[], datetime], *, shared: bool = False) -> None:
        """With `shared`, other daemons change the same connectors."""
        self._repository = repository
        self._vault = vault
        self._now = now
        self._shared = shared
        self._held: dict[str, dict[str, StoredConnector]] = {}
        self._public: dict[str, Connectors] = {}
        self._forgotten = 0
        self._listeners: list[Callable[[str], None]] = []
        self._change = asyncio.Lock()

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call the listener with the company whenever its connectors change, here or elsewhere."""
        self._listeners.append(listener)

    def forget(self, company_id: str) -> None:
        """Drop a company's connectors from the cache: another daemon changed them."""
        self._drop(company_id)
        self._notify(company_id)

    async def connectors(self, company_id: str) -> Connectors:
        """A company's connectors by tool-id, without secrets."""
        await self.all(company_id)
        return self._public[company_id]

    async def all(self, company_id: str) -> dict[str, StoredConnector]:
        """A company's connectors by tool-id, in order."""
        held = self._held.get(company_id)
        while held is None:
            forgotten = self._forgotten
            found = await self._repository.connectors_of(company_id)
            # The result is stale if a connector was changed meanwhile, here or elsewhere.
            held = self._held.get(company_id)
            if held is None and forgotten == self._forgotten:
                held = self._hold(company_id, {one.connector.tool_id: one for one in found})
        return held

    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        return (await self.all(company_id)).get(tool_id)

    async def put(
        self,
        company_id: str,
        connector: Connector,
        secret: str | None,
        by: str,
        *,
        via: str = SESSION,
        kind: ByKind = "person",
        check_live: Callable[[], None] = lambda: None,
        caller: Caller | None = None,
    ) -> tuple[StoredConnector, StoredConnector | None]:
        """Store a connector; returns it and the one before.

        The secret stays while the origin does. An unchanged connector keeps its version, so that
        gates stay valid, and its author. `check_live` refuses who may not let a connector go live,
        nor change one that is.
        """
        async with self._change:
            self._fresh(company_id)
            earlier = await self.stored(company_id, connector.tool_id)
            sealed = await self._sealed(company_id, connector, secret, earlier)
            same = earlier is not None and sealed == earlier.sealed_secret and _alike(connector, earlier.connector)
            if not same and (connector.reversible or (earlier is not None and earlier.connector.reversible)):
                check_live()
            number, version = await self._next(company_id, connector.tool_id)
            now = self._now()
            stored = StoredConnector(
                company_id=company_id,
                connector=replace(connector, version=version),
                sealed_secret=sealed,
                created_at=now if earlier is None else earlier.created_at,
                updated_at=now,
                updated_by=by,
            )
            if same and earlier is not None:
                stored = earlier
            change = _change(number, earlier, stored, at=now, by=by, via=via)
            change = dataclasses.replace(
                change, by_kind=kept_kind(kind), unchanged=True if same else UNSET, caller=caller
            )
            await self._repository.put_connector(stored, change)
            reach("connector-kept")
            self._hold(company_id, {**await self.all(company_id), connector.tool_id: stored})
            self._notify(company_id)
            return stored, earlier

    async def delete(
        self,
        company_id: str,
        tool_id: str,
        by: str,
        *,
        via: str = SESSION,
        kind: ByKind = "person",
        caller: Caller | None = None,
    ) -> bool:
        """Delete a connector; False when there was none."""
        async with self._change:
            self._fresh(company_id)
            held = await self.all(company_id)
            if tool_id not in held:
                return False
            number, _ = await self._next(company_id, tool_id)
            deletion = _change(number, held[tool_id], None, at=self._now(), by=by, via=via)
            deletion = dataclasses.replace(deletion, by_kind=kept_kind(kind), caller=caller)
            await self._repository.delete_connector(deletion)
            self._hold(company_id, {name: one for name, one in held.items() if name != tool_id})
            self._notify(company_id)
            return True

    async def changes(
        self, company_id: str, tool_id: str, before: int | None, limit: int
    ) -> Sequence[StoredConnectorChange] | None:
        """The changes of a connector, newest first; None for an unknown tool-id."""
        found = await self._repository.connector_changes(company_id, tool_id, before, limit)
        if not found and not await self._repository.connector_changes(company_id, tool_id, None, 1):
            return None
        return found

    async def _next(self, company_id: str, tool_id: str) -> tuple[int, int]:
        """The number of the next change, and the version of the connector after it."""
        last = await self._repository.connector_changes(company_id, tool_id, None, 1)
        return (last[0].number + 1, last[0].version + 1) if last else (1, 1)

    async def _sealed(
        self, company_id: str, connector: Connector, secret: str | None, earlier: StoredConnector | None
    ) -> bytes | None:
        """The given secret, sealed; the stored one if unchanged, or sent to the same place."""
        held = None if earlier is None else earlier.sealed_secret
        if secret is None:
            stays = earlier is not None and same_recipient(earlier.connector, connector)
            return held if stays else None
        place = (company_id, connector.tool_id, AUTH_TOKEN)
        try:
            if held is not None and await self._vault.holds(*place, held, secret):
                return held
            return await self._vault.seal(*place, secret)
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be sealed: {broken}", "not_applied") from None

    def _fresh(self, company_id: str) -> None:
        """Drop the cache before a change when other daemons may have changed connectors."""
        if self._shared:
            self._drop(company_id)

    def _drop(self, company_id: str) -> None:
        self._forgotten += 1
        self._held.pop(company_id, None)
        self._public.pop(company_id, None)

    def _notify(self, company_id: str) -> None:
        for listener in self._listeners:
            listener(company_id)

    def _hold(self, company_id: str, held: dict[str, StoredConnector]) -> dict[str, StoredConnector]:
        if company_id not in self._held and len(self._held) >= COMPANIES_MAX:
            oldest = next(iter(self._held))
            del self._held[oldest], self._public[oldest]
        self._held[company_id] = held
        self._public[company_id] = {name: _public(one) for name, one in held.items()}
        return held


def _alike(one: Connector, other: Connector) -> bool:
    """Whether connectors are the same but for their version."""
    return replace(one, version=other.version) == other


def _public(stored: StoredConnector) -> StoredBinding:
    return StoredBinding(**asdict(stored.connector), changed_by=stored.updated_by)


def _change(
    number: int, before: StoredConnector | None, after: StoredConnector | None, *, at: datetime, by: str, via: str
) -> StoredConnectorChange:
    one = after or before
    assert one is not None  # noqa: S101 - one of them is there
    return StoredConnectorChange(
        company_id=one.company_id,
        tool_id=one.connector.tool_id,
        number=number,
        version=one.connector.version,
        at=at,
        by=by,
        secret=_secret_change(before, after),
        before=None if before is None else before.connector,
        after=None if after is None else after.connector,
        via=via,
    )


def _secret_change(before: StoredConnector | None, after: StoredConnector | None) -> SecretChange:
    earlier, later = (None if one is None else one.sealed_secret for one in (before, after))
    if later is None:
        return "none" if earlier is None else "removed"
    if earlier is None:
        return "set"
    return "kept" if later == earlier else "changed"
