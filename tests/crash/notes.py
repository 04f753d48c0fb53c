"""A log that is on disk before anybody goes on: one JSON object a line, many writers to one fsync."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson


class Notes:
    """Appends lines to a file; `write` returns when its line is durable."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._waiting: list[bytes] = []
        self._durable: asyncio.Future[None] | None = None
        self._flushing: asyncio.Task[None] | None = None

    async def write(self, line: dict[str, Any]) -> None:
        """Append a line; it is on disk when this returns."""
        self._waiting.append(orjson.dumps(line))
        if self._durable is None:
            self._durable = asyncio.get_running_loop().create_future()
        durable = self._durable
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())
        await asyncio.shield(durable)

    async def _flush(self) -> None:
        """Write what waits, as long as there is something: what comes during one fsync shares the next."""
        while self._durable is not None:
            lines, durable = self._waiting, self._durable
            self._waiting, self._durable = [], None
            await asyncio.to_thread(self._append, b"\n".join(lines) + b"\n")
            durable.set_result(None)
        self._flushing = None

    def _append(self, text: bytes) -> None:
        os.write(self._file, text)
        os.fsync(self._file)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log; a last one that was cut off does not count."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield orjson.loads(line)
