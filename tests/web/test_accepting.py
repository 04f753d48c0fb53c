"""New connections beside a busy loop: a turn of the loop accepts many of them."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from daemon.app import serve
from daemon.settings import Settings
from tests.load.pump import wire

uvloop = pytest.importorskip("uvloop")
CONNECTIONS = 200
TURNS_MAX = 100


async def _turns_until_answered(port: int) -> int:
    """How many turns of the loop it takes to answer a request on each of so many connections."""
    lines = []
    for _ in range(CONNECTIONS):
        line = socket.create_connection(("127.0.0.1", port))
        line.sendall(wire("GET", "/health"))
        line.setblocking(False)
        lines.append(line)
    turns, waiting = 0, list(lines)
    while waiting:
        await asyncio.sleep(0)
        turns += 1
        waiting = [line for line in waiting if not _answered(line)]
    for line in lines:
        line.close()
    return turns


def _answered(line: socket.socket) -> bool:
    try:
        return line.recv(16).startswith(b"HTTP/1.1 200")
    except BlockingIOError:
        return False


async def _served(folder: Path) -> int:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    serving = loop.create_task(serve(Settings(data_dir=folder, port=0), ready.set_result))
    port = int((await ready).rsplit(":", 1)[1])
    try:
        return await _turns_until_answered(port)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def test_a_turn_of_the_loop_accepts_many_connections(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(_served(tmp_path)) <= TURNS_MAX
