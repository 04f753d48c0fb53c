"""Checks right before each call that it may be sent as it was shown, and opens its secret."""

from __future__ import annotations

from typing import Protocol

from actors.core.calls import Connector, Request
from actors.core.messages import CONNECTOR_CHANGED_CODE
from daemon.connectors.http import SendFailed
from daemon.connectors.origin import same_origin, same_recipient
from daemon.keys.vault import AUTH_TOKEN, SealBroken, Vault
from daemon.model import StoredConnector


class ConnectorLookup(Protocol):
    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        """The company's connector of that tool-id."""


class SendCheck:
    def __init__(self, vault: Vault, lookup: ConnectorLookup) -> None:
        self._vault = vault
        self._lookup = lookup

    async def of(self, company_id: str, request: Request) -> tuple[Connector, str | None]:
        """The connector and its secret; SendFailed if the call must not be sent as it was shown."""
        stored = await self._lookup.stored(company_id, request.tool)
        if stored is None or not stored.connector.reversible:
            raise SendFailed(CONNECTOR_CHANGED_CODE, f"{request.tool} has no live connector any more.")
        connector = stored.connector
        fits = connector.version == request.connector_version and connector.method == request.method
        if not fits or not same_origin(connector.base_url, request.url or ""):
            raise SendFailed(CONNECTOR_CHANGED_CODE, f"The connector of {request.tool} has changed since.")
        secret = await self._opened(stored)
        if secret is None and connector.auth_type != "none":
            raise SendFailed("secret_missing", f"The connector of {request.tool} has no secret any more.")
        return connector, secret

    async def known(self, company_id: str, tool: str) -> tuple[Connector | None, str | None]:
        """The tool's connector as it is now, if there is one, and its secret."""
        stored = await self._lookup.stored(company_id, tool)
        return (None, None) if stored is None else (stored.connector, await self._opened(stored))

    async def secret_for(self, company_id: str, connector: Connector) -> str | None:
        """The stored secret, if the tested connector has the same origin and sends it alike."""
        if connector.auth_type == "none":
            return None
        stored = await self._lookup.stored(company_id, connector.tool_id)
        if stored is None or not same_recipient(stored.connector, connector):
            return None
        return await self._opened(stored) if _header(stored.connector) == _header(connector) else None

    async def _opened(self, stored: StoredConnector) -> str | None:
        if stored.sealed_secret is None or stored.connector.auth_type == "none":
            return None
        try:
            return await self._vault.open(stored.company_id, stored.connector.tool_id, AUTH_TOKEN, stored.sealed_secret)
        except SealBroken as broken:
            raise SendFailed("secret_unreadable", str(broken)) from None


def _header(connector: Connector) -> tuple[str, str]:
    """The header that carries the secret, and how."""
    name = connector.auth_header if connector.auth_type == "header" else None
    return connector.auth_type, (name or "Authorization").lower()
