"""A live stream as it comes over the wire."""

from __future__ import annotations

import asyncio


class Stream(asyncio.Protocol):
    """A live stream, and all that it was told."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.told = bytearray()
        self.grew = asyncio.Event()
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.told += data
        self.grew.set()
        if not self.begun.done() and b"\r\n\r\n" in self.told:
            assert self.told.startswith(b"HTTP/1.1 200"), bytes(self.told)
            self.begun.set_result(None)
        if data.endswith(b"0\r\n\r\n") and not self.ended.done():
            self.ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.grew.set()
        if not self.ended.done():
            self.ended.set_result(None)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
