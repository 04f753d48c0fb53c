"""An open loop: requests leave at their time, whether or not earlier ones were answered."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

TICK_S = 0.002
LAST_ANSWERS_S = 15.0
CONNECTED_AT_ONCE = 64
REFUSALS = {429, 503}


@dataclass(slots=True)
class Flow:
    """So many of one request a second over a pool of connections, and how each was answered."""

    port: int
    request: bytes
    connections: int
    sent: int = 0
    unsent: int = 0
    good_ms: list[float] = field(default_factory=list)
    refused_ms: list[float] = field(default_factory=list)
    others: Counter[int] = field(default_factory=Counter)
    bare_refusals: int = 0
    in_time: int = 0
    until: float = 0.0
    free: list[_Line] = field(default_factory=list)
    lines: list[_Line] = field(default_factory=list)

    async def connect(self) -> None:
        """Open all connections, some at a time, so that the queue of the listening socket suffices."""
        loop = asyncio.get_running_loop()
        for first in range(0, self.connections, CONNECTED_AT_ONCE):
            some = range(first, min(first + CONNECTED_AT_ONCE, self.connections))
            made = await asyncio.gather(
                *(loop.create_connection(lambda: _Line(self), "127.0.0.1", self.port) for _ in some)
            )
            self.lines.extend(line for _, line in made)
        self.free.extend(self.lines)

    async def run(self, rate: float, seconds: float) -> None:
        """Send at that rate; returns when all are answered, or enough time is gone."""
        began = time.perf_counter()
        self.until = began + seconds
        while (now := time.perf_counter()) < self.until:
            due = int((now - began) * rate)
            while self.sent + self.unsent < due:
                if self.free:
                    self.free.pop().send()
                    self.sent += 1
                else:
                    self.unsent += 1
            await asyncio.sleep(TICK_S)
        waited_until = time.perf_counter() + LAST_ANSWERS_S
        while self.answered < self.sent and time.perf_counter() < waited_until:  # noqa: ASYNC110 - it costs no answer
            await asyncio.sleep(TICK_S)

    async def close(self) -> None:
        """End the connections."""
        for line in self.lines:
            line.end()
        await asyncio.sleep(0)

    @property
    def answered(self) -> int:
        """How many were answered at all."""
        return len(self.good_ms) + len(self.refused_ms) + sum(self.others.values())

    def record(self, status: int, head: bytes, took_ms: float) -> None:
        """Take an answer."""
        if 200 <= status < 300:
            self.good_ms.append(took_ms)
            self.in_time += time.perf_counter() <= self.until
        elif status in REFUSALS:
            self.refused_ms.append(took_ms)
            self.bare_refusals += b"\r\nretry-after: " not in head.lower()
        else:
            self.others[status] += 1


class _Line(asyncio.Protocol):
    """One connection of the pool; it has at most one request under way."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._sent_at = 0.0
        self._busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by name

    def send(self) -> None:
        assert self._transport is not None
        self._busy = True
        self._sent_at = time.perf_counter()
        self._transport.write(self._flow.request)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[: end + 2]
        at = head.lower().find(b"\r\ncontent-length:")
        length = int(head[at + 17 : head.index(b"\r\n", at + 2)]) if at >= 0 else 0
        if len(self._buffer) >= end + 4 + length:
            self._buffer = b""
            self._busy = False
            self._flow.record(int(head[9:12]), head, (time.perf_counter() - self._sent_at) * 1000)
            self._flow.free.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._busy:
            self._busy = False
            self._flow.record(0, b"", 0.0)
        elif self in self._flow.free and self._flow.lines:
            self._flow.free.remove(self)

    def end(self) -> None:
        if self._transport is not None:
            self._transport.abort()
