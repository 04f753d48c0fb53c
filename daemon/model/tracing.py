"""Spans, and who makes them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal, Protocol

Kind = Literal["server", "internal", "client"]
Value = str | int


class Span(Protocol):
    def set_attribute(self, name: str, value: Value) -> None:
        """Set an attribute: ids, names and numbers only, never what a caller has sent."""

    def set_error(self, why: str) -> None: ...


class Tracer(Protocol):
    """Makes spans and sends them to a collector."""

    def span(self, name: str, kind: Kind, parent: str | None) -> AbstractContextManager[Span]:
        """A span around a block; TRACE names it there, and it takes the ids of the log context."""

    async def close(self) -> None:
        """Send what is left, if that can be done soon."""
