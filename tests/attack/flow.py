"""An open loop: requests leave at their time, whether or not earlier ones were answered.

It is lean, or it would be the client that is measured: plain sockets, one thread, and that on a
processor of its own where there is more than one.
"""

from __future__ import annotations

import os
import select
import socket
import time
from array import array
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LAST_ANSWERS_S = 15.0
CONNECTED_AT_ONCE = 64
SENT_AT_ONCE = 64
IDLE_S = 0.001
REFUSALS = frozenset({429, 503})
_READ_BYTES = 65_536


@dataclass(slots=True)
class Flow:
    """So many of one request a second over a pool of connections, and how each was answered."""

    port: int
    request: bytes
    rate: float
    connections: int
    sent: int = 0
    unsent: int = 0
    good_ms: array[float] = field(default_factory=lambda: array("d"))
    refused_ms: array[float] = field(default_factory=lambda: array("d"))
    others: Counter[int] = field(default_factory=Counter)
    bare_refusals: int = 0
    in_time: int = 0
    until: float = 0.0
    free: deque[_Line] = field(default_factory=deque)
    lines: list[_Line] = field(default_factory=list)

    def connect(self) -> None:
        """Open all connections, some at a time, so that the queue of the listening socket
        suffices.
        """
        for number in range(self.connections):
            if number % CONNECTED_AT_ONCE == CONNECTED_AT_ONCE - 1:
                time.sleep(0.01)
            self.lines.append(_Line(self))
        self.free.extend(self.lines)

    def send_due(self, gone_s: float) -> bool:
        """Send what is due by now, a little at a time; whether more is due."""
        due = int(gone_s * self.rate) - self.sent - self.unsent
        for _ in range(min(due, SENT_AT_ONCE)):
            if not self.free:
                self.unsent += 1
            elif self.free.popleft().send():
                self.sent += 1
        return due > SENT_AT_ONCE

    @property
    def answered(self) -> int:
        """How many were answered at all."""
        return len(self.good_ms) + len(self.refused_ms) + sum(self.others.values())

    def record(self, answer: bytes, sent_at: float) -> None:
        """Take an answer; an empty one means that the connection has ended."""
        now, status = time.perf_counter(), int(answer[9:12] or 0)
        if 200 <= status < 300:
            self.good_ms.append((now - sent_at) * 1000)
            self.in_time += now <= self.until
        elif status in REFUSALS:
            self.refused_ms.append((now - sent_at) * 1000)
            self.bare_refusals += b"\r\nRetry-After: " not in answer
        else:
            self.others[status] += 1

    def close(self) -> None:
        """End the connections."""
        for line in self.lines:
            line.wire.close()


class _Line:
    """One connection of the pool; it has at most one request under way."""

    __slots__ = ("_buffer", "_busy", "_flow", "_sent_at", "wire")

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._buffer = b""
        self._busy = False
        self._sent_at = 0.0
        self.wire = socket.create_connection(("127.0.0.1", flow.port))
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.wire.setblocking(False)

    def send(self) -> bool:
        """Send the request; False when the connection has ended, which is a reason to use
        another.
        """
        self._sent_at = time.perf_counter()
        try:
            self.wire.send(self._flow.request)
        except ConnectionError:
            return False
        self._busy = True
        return True

    def receive(self) -> bool:
        """Take what has arrived; False when the connection has ended."""
        try:
            data = self.wire.recv(_READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if data:
            self._buffer = self._buffer + data if self._buffer else data
            if not _whole(self._buffer):
                return True
        if self._busy:
            self._busy = False
            self._flow.record(self._buffer if data else b"", self._sent_at)
            if data:
                self._flow.free.append(self)
        self._buffer = b""
        return bool(data)


def _whole(answer: bytes) -> bool:
    """Whether all of an answer is there."""
    end = answer.find(b"\r\n\r\n")
    at = answer.find(b"Content-Length: ", 0, end)
    return end > 0 and len(answer) >= end + 4 + (int(answer[at + 16 : answer.index(b"\r", at)]) if at > 0 else 0)


def drive(seconds: float, *flows: Flow) -> None:
    """Let them flow; returns when all are answered, or enough time is gone."""
    poll, lines = select.epoll(), {line.wire.fileno(): line for flow in flows for line in flow.lines}
    for descriptor in lines:
        poll.register(descriptor, select.EPOLLIN)
    began = time.perf_counter()
    for flow in flows:
        flow.until = began + seconds
    while (now := time.perf_counter()) < began + seconds + LAST_ANSWERS_S:
        if now >= began + seconds and all(flow.answered >= flow.sent for flow in flows):
            break
        due = [now < began + seconds and flow.send_due(now - began) for flow in flows]
        for descriptor, _ in poll.poll(0 if any(due) else IDLE_S, SENT_AT_ONCE):
            if not lines[descriptor].receive():
                poll.unregister(descriptor)
    poll.close()


@contextmanager
def apart() -> Iterator[None]:
    """Keep this thread, and those that it makes, to the last processor, where there is another for
    the service.
    """
    processors = os.sched_getaffinity(0)
    if len(processors) > 1:
        os.sched_setaffinity(0, {max(processors)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)
