"""The server of tools that `make gateway` measures: the SDK's own, in a process of its own."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

PLANTED_S = 0.05
LATE = b"late"
"""A charge for which the server waits so long where the call comes of an action."""


class Late:
    """Answers calls of actions late where they name a charge that is."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def heard() -> Any:
            message = await receive()
            if LATE in message.get("body", b"") and any(name == b"x-penstock-run" for name, _ in scope["headers"]):
                await asyncio.sleep(PLANTED_S)
            return message

        await self._inner(scope, heard, send)


def main() -> None:
    """Serve until the end, and say where."""
    server = MCPServer("tools", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def look(charge: str) -> str:
        return f"looked at {charge}"

    bound = socket.create_server(("127.0.0.1", 0), backlog=1_024)
    print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
    config = uvicorn.Config(Late(server.streamable_http_app()), log_level="critical", lifespan="on")
    uvicorn.Server(config).run([bound])


if __name__ == "__main__":
    main()
