"""A far side in a process of its own: it notes each call before it does anything, and fails in the
ways that hurt.

`python -m tests.effects.ledger PORT FILE` listens on the loopback address, at a free port where
PORT is 0, prints the port, and ends when its standard input does. The path of a call,
`/<first>/<later>/…`, says how the first call of a run's step goes, and how each later one; a `way`
in the query takes the place of `<first>`. Calls that do something do it once per Idempotency-Key.
It has many addresses, each an origin of its own, because a service that sees an origin fail again
and again leaves it alone for a while.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import struct
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

HOSTS = tuple(f"127.0.0.{number}" for number in range(1, 33))
HANG_S = 120.0
RESET, HANG = -1, -2
# What a call does, by the word in its path: whether it takes effect, and how it is answered.
WAYS = {
    "ok": (True, 200),
    "fail": (False, 500),
    "refuse": (False, 409),
    "429": (False, 429),
    "502": (True, 502),
    "hang": (True, HANG),
    "reset": (False, RESET),
    "effect-then-reset": (True, RESET),
}
EFFECT, REPLAYED, NOTHING = "effect", "replayed", "nothing"


@dataclass(frozen=True)
class Line:
    """One call as it came, and what it did; of the credentials only the scheme is kept."""

    at: float
    key: str
    method: str
    host: str
    path: str
    query: str
    headers: dict[str, str]
    authorization: str | None
    body: str
    sha256: str
    did: str
    answer: int

    @property
    def run_id(self) -> str:
        return self.key.split(":")[0]

    @property
    def url(self) -> str:
        """Where the call went, as it stood on the wire."""
        return f"http://{self.host}{self.path}{'?' if self.query else ''}{self.query}"


@dataclass
class Ledger:
    """The server: an append-only file, and what it remembers of it."""

    file: int
    steps: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)

    async def handle(self, request: web.Request) -> web.Response:
        key = request.headers.get("Idempotency-Key", "")
        first = request.query.get("way", request.match_info["first"])
        did, answer = self._does(key, first, request.match_info["later"])
        self._append(_line(request, await request.read(), did, answer))
        if answer == HANG:
            await asyncio.sleep(HANG_S)  # it is cancelled when the caller goes
        if answer == RESET:
            _reset(request)
        headers = {"Retry-After": "0"} if answer == 429 else {}
        return web.json_response({"receipt": key}, status=max(answer, 200), headers=headers)

    def _does(self, key: str, first: str, later: str) -> tuple[str, int]:
        if key in self.done:
            return REPLAYED, 200
        step = key.rpartition(":")[0]
        takes_effect, answer = WAYS[later if step in self.steps else first]
        self.steps.add(step)
        if takes_effect:
            self.done.add(key)
        return EFFECT if takes_effect else NOTHING, answer

    def _append(self, line: Line) -> None:
        os.write(self.file, json.dumps(asdict(line)).encode() + b"\n")
        os.fsync(self.file)


def _line(request: web.Request, raw: bytes, did: str, answer: int) -> Line:
    path, _, query = request.raw_path.partition("?")
    authorization = request.headers.get("Authorization")
    return Line(
        at=time.time(),
        key=request.headers.get("Idempotency-Key", ""),
        method=request.method,
        host=request.headers["Host"],
        path=path,
        query=query,
        headers={name: value for name, value in request.headers.items() if name != "Authorization"},
        authorization=None if authorization is None else authorization.split()[0],
        body=raw.decode(),
        sha256=hashlib.sha256(raw).hexdigest(),
        did=did,
        answer=answer,
    )


def _reset(request: web.Request) -> None:
    """Break the connection, with an RST rather than a FIN."""
    if request.transport is not None:
        sock = request.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()


async def _stdin_ends() -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def serve(port: int, file: Path) -> None:
    """Serve until standard input ends."""
    ledger = Ledger(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    app = web.Application()
    app.router.add_route("*", "/{first}/{later}{tail:.*}", ledger.handle)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        for host in HOSTS:
            await web.TCPSite(runner, host, port, backlog=1_024).start()
            port = int(runner.addresses[0][1])
        print(port, flush=True)
        await _stdin_ends()
    finally:
        await runner.cleanup()


def lines(file: Path) -> list[Line]:
    """What a ledger has noted so far."""
    if not file.exists():
        return []
    written, _, _ = file.read_bytes().rpartition(b"\n")  # the last one may not be there as a whole yet
    whole: list[Any] = [json.loads(line) for line in written.splitlines()]
    return [Line(**one) for one in whole]


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
