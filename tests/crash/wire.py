"""A lean HTTP client for loopback that asks and waits, and says whether what it asked may have
arrived.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson

from tests.load.pump import wire

HOST = "127.0.0.1"


class Lost(Exception):
    """No answer came: the request may have been executed, or may be later."""


class Unsent(Exception):
    """There was no connection, so nothing was sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered."""

    status: int
    head: bytes
    body: bytes

    @property
    def json(self) -> Any:
        """The body's value."""
        return orjson.loads(self.body)

    @property
    def replayed(self) -> bool:
        """Whether it says that it was given before."""
        return b"\r\nidempotency-replayed:" in self.head.lower()

    @property
    def next_path(self) -> str | None:
        """Where the next page is, if there is one."""
        at = self.head.lower().find(b"\r\nlink: <")
        return None if at < 0 else self.head[at + 9 :].split(b">", 1)[0].decode()


class _Channel(asyncio.Protocol):
    """One connection with at most one request under way."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[Answer] | None = None
        self.closed = False
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, mark, rest = self._buffer.partition(b"\r\n\r\n")
        if not mark or self.answer is None:
            return
        lower = head.lower()
        at = lower.find(b"content-length:")
        length = int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(rest) >= length:
            self._buffer = rest[length:]
            if not self.answer.done():
                self.answer.set_result(Answer(int(head[9:12]), head, rest[:length]))

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(Lost(str(exc)))


class Wire:
    """Asks one thing at a time, over a connection that it makes anew when the last one broke."""

    def __init__(self, port: int, token: str = "", host: str = HOST) -> None:
        self._host = host
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._channel: _Channel | None = None
        self._transport: asyncio.Transport | None = None

    async def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, timeout_s: float = 60.0
    ) -> Answer:
        """The answer; Unsent when there is nobody to ask, Lost when no answer came in time."""
        raw = b"" if body is None else orjson.dumps(body)
        return await self.send(wire(method, path, raw, {**self._headers, **(headers or {})}), timeout_s)

    async def send(self, request: bytes, timeout_s: float = 60.0) -> Answer:
        """The answer to a request that is ready for the wire."""
        loop = asyncio.get_running_loop()
        channel, transport = await self._connected()
        answer: asyncio.Future[Answer] = loop.create_future()
        channel.answer = answer
        transport.write(request)
        timer = loop.call_later(timeout_s, _late, answer)
        try:
            return await answer
        except Lost:
            self.close()
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        """Break the connection, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()
        self._channel = self._transport = None

    async def _connected(self) -> tuple[_Channel, asyncio.Transport]:
        if self._channel is not None and self._transport is not None and not self._channel.closed:
            return self._channel, self._transport
        try:
            made = await asyncio.get_running_loop().create_connection(_Channel, self._host, self._port)
        except OSError as none:
            raise Unsent(str(none)) from none
        self._transport, self._channel = made
        return self._channel, self._transport


def _late(answer: asyncio.Future[Answer]) -> None:
    if not answer.done():
        answer.set_exception(Lost("no answer in time"))
