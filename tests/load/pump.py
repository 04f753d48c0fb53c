"""A lean HTTP/1.1 client for loopback: so many connections, each sending its next request when the
last is answered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Shot:
    """One request, ready for the wire, under a tag that its result carries."""

    tag: Any
    wire: bytes


@dataclass(frozen=True, slots=True)
class Hit:
    """What came of a shot; the status is 0 when the connection broke."""

    tag: Any
    status: int
    latency_s: float
    body: bytes


@dataclass(slots=True)
class Volley:
    """All the hits of a run of shots, and how long the whole took."""

    hits: list[Hit] = field(default_factory=list)
    took_s: float = 0.0

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.hits) / self.took_s

    def latency_ms(self, share: float) -> float:
        """The latency that this share of the hits stays within."""
        ordered = sorted(hit.latency_s for hit in self.hits)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


def wire(method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
    """A request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    if body:
        lines.append("Content-Type: application/json")
    lines.extend(f"{name}: {value}" for name, value in (headers or {}).items())
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


Follow = Callable[[Hit], Shot | None]


class _Connection(asyncio.Protocol):
    def __init__(
        self, shots: Iterator[Shot], volley: Volley, done: asyncio.Future[None], follow: Follow | None
    ) -> None:
        self._shots, self._volley, self._done, self._follow = shots, volley, done, follow
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._shot: Shot | None = None
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by name
        self._next()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, mark, rest = self._buffer.partition(b"\r\n\r\n")
        if not mark:
            return
        lower = head.lower()
        at = lower.find(b"content-length:")
        length = int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(rest) >= length:
            self._buffer = rest[length:]
            self._next(self._record(int(head[9:12]), rest[:length]))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._shot is not None:
            self._record(0, str(exc).encode())
        if not self._done.done():
            self._done.set_result(None)

    def _record(self, status: int, body: bytes) -> Hit:
        assert self._shot is not None
        hit = Hit(self._shot.tag, status, time.perf_counter() - self._sent_at, body)
        self._volley.hits.append(hit)
        self._shot = None
        return hit

    def _next(self, hit: Hit | None = None) -> None:
        assert self._transport is not None
        after = None if hit is None or self._follow is None else self._follow(hit)
        self._shot = after or next(self._shots, None)
        if self._shot is None:
            self._transport.close()
            return
        self._sent_at = time.perf_counter()
        self._transport.write(self._shot.wire)


async def fire(port: int, shots: Iterable[Shot], connections: int, follow: Follow | None = None) -> Volley:
    """Send all shots to a port of this machine over so many connections at once, and wait for the
    answers.

    `follow` may have the connection that got an answer send something else before it takes the next
    shot.
    """
    loop, volley, waiting = asyncio.get_running_loop(), Volley(), iter(shots)
    began = time.perf_counter()
    done: list[asyncio.Future[None]] = []
    for _ in range(connections):
        done.append(loop.create_future())
        future = done[-1]
        await loop.create_connection(partial(_Connection, waiting, volley, future, follow), "127.0.0.1", port)
    await asyncio.gather(*done)
    volley.took_s = time.perf_counter() - began
    return volley
