"""Raw sockets: whatever bytes, and what is answered to them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

ANSWERED_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.body)

    def mistake(self) -> str | None:
        """What is wrong with it as a refusal in the contract's form; None when nothing is, or it is
        none.
        """
        if self.status < 400:
            return None
        if self.status >= 500 and self.status not in {503, 505, 507}:
            return f"status {self.status}"
        if "x-request-id" not in self.headers:
            return "no X-Request-ID"
        if not self.body and self.headers.get("content-length", "0") != "0":
            return None  # the answer to a HEAD
        if self.headers.get("content-type") != "application/problem+json":
            return f"media type {self.headers.get('content-type')}"
        document = self.json
        if not {"type", "title", "status", "detail", "code", "request_id", "retryable"} <= set(document):
            return "members are missing"
        own = document["request_id"] == self.headers["x-request-id"] or "idempotency-replayed" in self.headers
        right = document["status"] == self.status and own
        sentence = document["detail"][:1].isupper() and document["detail"].endswith(".")
        if self.status in {429, 503} and "retry-after" not in self.headers:
            return "no Retry-After"
        return None if right and sentence else f"inconsistent: {document}"


async def read(reader: asyncio.StreamReader, *, head: bool = False) -> Answer | None:
    """The next answer; None when the connection ends first."""
    try:
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            status = int(lines[0].split(" ")[1])
            fields = (line.partition(":") for line in lines[1:] if line)
            headers = {name.strip().lower(): text.strip() for name, _, text in fields}
            if status >= 200:
                break
        bodiless = head or status in {204, 304} or "content-length" not in headers
        body = b"" if bodiless else await reader.readexactly(int(headers["content-length"]))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Answer(status, headers, body)


async def ask(port: int, request: bytes, *, within_s: float = ANSWERED_S, source: str | None = None) -> Answer | None:
    """Send bytes on a connection of their own, from an address of the loopback network; None when
    it ends, or nothing is answered within that time.
    """
    local = None if source is None else (source, 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4_194_304, local_addr=local)
    try:
        writer.write(request)
        async with asyncio.timeout(within_s):
            return await read(reader, head=request.startswith(b"HEAD "))
    except (TimeoutError, ConnectionError):
        return None
    finally:
        writer.transport.abort()
