"""A log that is on disk before anybody goes on: one JSON object a line, many writers to one
fsync.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

TOGETHER_S = 0.002  # lines within this time share an fsync


class Notes:
    """Appends lines to a file; `write` returns when its line is durable."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._waiting: list[bytes] = []
        self._durable: asyncio.Future[None] | None = None

    async def write(self, line: dict[str, Any]) -> None:
        """Append a line; it is on disk when this returns."""
        self._waiting.append(orjson.dumps(line))
        if self._durable is None:
            loop = asyncio.get_running_loop()
            self._durable = loop.create_future()
            loop.call_later(TOGETHER_S, self._flush)
        await asyncio.shield(self._durable)

    def _flush(self) -> None:
        """Make durable what waits; a log has nothing better to do meanwhile."""
        text, durable = b"\n".join(self._waiting) + b"\n", self._durable
        self._waiting, self._durable = [], None
        os.write(self._file, text)
        os.fsync(self._file)
        if durable is not None:
            durable.set_result(None)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log; a last one that was cut off does not count."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield orjson.loads(line)
