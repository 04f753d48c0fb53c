"""The outside of the swarm, in a process of its own: an HTTP API, and a server of tools by the
official SDK; each call that reaches it is a line of a file, before it is answered.

    python -m tests.swarm.outside FILE SEED
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import orjson
import uvloop
from aiohttp import web
from mcp.server.mcpserver import MCPServer

from tests.gateway.upstream import ToolSide, listening
from tests.listening import Listener
from tests.swarm.law import TOOLS

RUN, KEY = "X-Penstock-Run", "Idempotency-Key"
SLOW, CUT, REFUSES = 0.03, 0.01, 0.01
SLOW_S = 1.5


class Book:
    """Writes down what comes."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, way: str, tool: str, headers: Any, arguments: Any) -> None:
        said = {"at": time.time(), "way": way, "tool": tool, "arguments": arguments}
        line = {**said, "run": headers.get(RUN, ""), "key": headers.get(KEY, "")}
        os.write(self._file, orjson.dumps(line) + b"\n")


class Api(Listener):
    """What connectors call, and agents by themselves: it is slow at times, refuses or hangs up."""

    def __init__(self, book: Book, seed: str) -> None:
        super().__init__("/{way}/{tool}")
        self._book, self._random = book, random.Random(seed)

    async def handle(self, request: web.Request) -> web.Response:
        way, tool = request.match_info["way"], request.match_info["tool"]
        self._book.write(way, tool, request.headers, orjson.loads(await request.read()))
        dice = self._random.random() if way == "penstock" else 1.0
        if dice < SLOW:
            await asyncio.sleep(SLOW_S)
        elif dice < SLOW + CUT and request.transport is not None:
            request.transport.abort()
        elif dice < SLOW + CUT + REFUSES:
            return web.json_response({"why": "not today"}, status=422)
        return web.json_response({"did": tool})


class Messages:
    """Takes the messages that the server of tools notes, and writes the calls down."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def append(self, message: tuple[dict[str, str], Any]) -> None:
        headers, body = message
        if body.get("method") == "tools/call":
            given = {RUN: headers.get(RUN.lower(), ""), KEY: headers.get(KEY.lower(), "")}
            self._book.write("mcp", body["params"]["name"], given, body["params"].get("arguments"))


def tools(seed: str) -> MCPServer:
    """A server with all tools."""
    server, dice = MCPServer("tools", log_level="CRITICAL"), random.Random(seed)

    async def call(n: int, amount: int) -> str:
        if dice.random() < SLOW:
            await asyncio.sleep(SLOW_S)
        return f"did {n} for {amount}"

    for tool in TOOLS:
        server.add_tool(call, name=tool)
    return server


async def main(path: Path, seed: str) -> None:
    """Serve until told to end; the ports are said in one line."""
    book, side, over = Book(path), ToolSide(), asyncio.Event()
    side.messages = Messages(book)  # type: ignore[assignment]
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    async with Api(book, seed) as api, listening(side, tools(seed)):
        print(orjson.dumps([api.url, side.url]).decode(), flush=True)
        await over.wait()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), sys.argv[2]))
