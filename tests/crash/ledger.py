"""Every external API in a process of its own: it logs each call durably before it answers, and
misbehaves by its seed.

`python -m tests.crash.ledger FILE SEED` listens on a free port of the loopback address, prints the
port, and ends when its standard input does. Tools that honour keys take effect once per key, the
others each time that they say so.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import socket
import struct
import sys
import time
from pathlib import Path

from aiohttp import web

from tests.crash.notes import Notes
from tests.crash.world import KEYED

# How a call goes: whether it takes effect, how it is answered (0: the connection breaks), and how
# often that is so.
WAYS = {
    "ok": (True, 200, 86),
    "slow": (True, 200, 4),
    "refuse": (False, 500, 2),
    "reset": (False, 0, 2),
    "502": (True, 502, 3),
    "effect-then-reset": (True, 0, 3),
}
SLOW_S = 0.8


class Ledger:
    """The server: a durable log, and what it remembers of it."""

    def __init__(self, notes: Notes, seed: str) -> None:
        self._notes, self._seed = notes, seed
        self._calls = 0
        self._done: set[str] = set()

    async def handle(self, request: web.Request) -> web.Response:
        """Note a call, then answer it in the way that the seed says."""
        body, key, tool = await request.read(), request.headers.get("Idempotency-Key", ""), request.match_info["tool"]
        self._calls += 1
        way = self._way(f"{self._seed}:{self._calls}")
        takes_effect, status, _ = WAYS[way]
        if tool in KEYED and takes_effect:
            takes_effect = key not in self._done
            self._done.add(key)
        digest = hashlib.sha256(body).hexdigest()
        line = {"at": time.time(), "key": key, "tool": tool, "sha256": digest, "way": way, "effect": takes_effect}
        await self._notes.write(line)
        if way == "slow":
            await asyncio.sleep(SLOW_S)
        if status == 0:
            _reset(request)
        return web.json_response({"receipt": key}, status=status or 200)

    @staticmethod
    def _way(seed: str) -> str:
        return random.Random(seed).choices(list(WAYS), [share for _, _, share in WAYS.values()])[0]


def _reset(request: web.Request) -> None:
    """Break the connection, with an RST rather than a FIN."""
    if request.transport is not None:
        sock = request.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()


async def stdin_ends() -> None:
    """Wait until nobody holds the other end of standard input any more."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def _serve(file: Path, seed: str) -> None:
    ledger = Ledger(Notes(file), seed)
    app = web.Application()
    app.router.add_post("/{tool}", ledger.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1_024).start()
    print(runner.addresses[0][1], flush=True)
    await stdin_ends()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), sys.argv[2]))
