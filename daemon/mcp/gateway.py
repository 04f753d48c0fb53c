"""An MCP server of the company over stdio: each message goes to the service and back."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared.inbound import encode_header_value
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

TIMEOUT = httpx2.Timeout(30.0, read=None)
META = "io.modelcontextprotocol/protocolVersion"
VERSION = "MCP-Protocol-Version"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def relay(address: str, key: str) -> None:
    """Pass messages on until the agent closes its side."""
    anyio.run(_relay, address, key)


async def _relay(address: str, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TIMEOUT) as http,
        streamable_http_client(address, http_client=http, max_sse_event_size=None) as (heard, say),
        stdio_server() as (asked, answer),
        anyio.create_task_group() as group,
    ):
        group.start_soon(_down, heard, answer, stamp := Stamp())
        async for message in asked:
            if isinstance(message, SessionMessage):
                await say.send(stamp.stamped(message))
        group.cancel_scope.cancel()


async def _down(heard: Any, answer: Any, stamp: Stamp) -> None:
    async for message in heard:
        if isinstance(message, SessionMessage):
            stamp.learn(message)
            await answer.send(message)


class Stamp:
    """The headers that mirror a message, and the revision that both sides agreed upon."""

    def __init__(self) -> None:
        self._begun: set[Any] = set()
        self._version: str | None = None

    def learn(self, message: SessionMessage) -> None:
        """Take the revision out of the answer to `initialize`."""
        one = message.message
        if isinstance(one, JSONRPCResponse | JSONRPCError) and one.id in self._begun:
            self._begun.discard(one.id)
            if isinstance(one, JSONRPCResponse):
                self._version = str(one.result.get("protocolVersion"))

    def stamped(self, message: SessionMessage) -> SessionMessage:
        """The message with its headers."""
        one = message.message
        headers: dict[str, str] = {}
        params = getattr(one, "params", None) or {}
        if isinstance(one, JSONRPCRequest) and one.method == "initialize":
            self._begun.add(one.id)
            return message
        version = (params.get("_meta") or {}).get(META, self._version)
        if version is not None:
            headers[VERSION] = version
        if version in MODERN_PROTOCOL_VERSIONS and isinstance(one, JSONRPCRequest):
            headers["Mcp-Method"] = one.method
            if (name := params.get(NAMED.get(one.method, ""))) is not None:
                headers["Mcp-Name"] = encode_header_value(str(name))
        return SessionMessage(one, metadata=ClientMessageMetadata(headers=headers))
