"""The connectors, as methods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic import TypeAdapter

from daemon.client.base import BaseClient
from daemon.client.transport import path
from daemon.contract.connectors import Connector, ConnectorChange, ConnectorTestResult, Target

CONNECTORS = TypeAdapter(list[Connector])
CHANGES = TypeAdapter(list[ConnectorChange])


class ConnectorsClient(BaseClient):
    """Bind tools to external HTTP APIs."""

    def connectors(self) -> AsyncIterator[Connector]:
        return self._all("/connectors/", CONNECTORS)

    async def connector(self, tool_id: str) -> Connector:
        return await self._get(Connector, "connectors", tool_id)

    async def put_connector(self, tool_id: str, target: Target, auth_token: str | None = None) -> Connector:
        """Bind a tool. Without a secret the stored one stays while scheme, host and port do."""
        return await self._put(Connector, "connectors", tool_id, body=_body(target, auth_token))

    async def delete_connector(self, tool_id: str) -> None:
        """Unbind a tool; no error when it is not bound."""
        await self._delete("connectors", tool_id)

    async def test_connector(self, tool_id: str, target: Target, auth_token: str | None = None) -> ConnectorTestResult:
        """Make one call that touches no run; it is never repeated."""
        body = _body(target, auth_token)
        return await self._post_once(ConnectorTestResult, "connectors", tool_id, "test", body=body)

    def connector_changes(self, tool_id: str) -> AsyncIterator[ConnectorChange]:
        """The changes of a connector, newest first."""
        return self._all(path("connectors", tool_id, "changes"), CHANGES)


def _body(target: Target, auth_token: str | None) -> dict[str, Any]:
    """The members of a target; of a connector that was read only those that can be written."""
    fields = {name: getattr(target, name) for name in Target.model_fields}
    return fields if auth_token is None else {**fields, "auth_token": auth_token}
