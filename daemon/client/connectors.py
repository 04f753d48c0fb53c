"""The connectors, as methods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic import TypeAdapter

from daemon.client.http import Ask, path
from daemon.client.paging import Paging
from daemon.contract.connectors import Connector, ConnectorChange, ConnectorTestResult, Target

CONNECTORS = TypeAdapter(list[Connector])
CHANGES = TypeAdapter(list[ConnectorChange])


class Connecting(Paging):
    """Bind tools to external HTTP APIs."""

    def connectors(self) -> AsyncIterator[Connector]:
        """The connectors."""
        return self._all("/connectors/", CONNECTORS)

    async def connector(self, tool_id: str) -> Connector:
        """A connector."""
        return await self._read(Connector, "connectors", tool_id)

    async def put_connector(self, tool_id: str, target: Target, auth_token: str | None = None) -> Connector:
        """Bind a tool. Without a secret the stored one stays, as long as scheme, host and port do."""
        ask = Ask("PUT", path("connectors", tool_id), body=_body(target, auth_token))
        return (await self._exchange.send(ask)).read(Connector)

    async def delete_connector(self, tool_id: str) -> None:
        """See to it that a tool is not bound, which it may not have been before."""
        await self._delete("connectors", tool_id)

    async def test_connector(self, tool_id: str, target: Target, auth_token: str | None = None) -> ConnectorTestResult:
        """Make one call that touches no run; never made twice, for who knows what it does out there."""
        ask = Ask("POST", path("connectors", tool_id, "test"), body=_body(target, auth_token), again=False)
        return (await self._exchange.send(ask)).read(ConnectorTestResult)

    def connector_changes(self, tool_id: str) -> AsyncIterator[ConnectorChange]:
        """Who changed a connector, newest first."""
        return self._all(path("connectors", tool_id, "changes"), CHANGES)


def _body(target: Target, auth_token: str | None) -> dict[str, Any]:
    """What a target asks for; of a connector that was read only what can be written."""
    fields = {name: getattr(target, name) for name in Target.model_fields}
    return fields if auth_token is None else {**fields, "auth_token": auth_token}
