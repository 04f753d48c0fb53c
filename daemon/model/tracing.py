"""Spans, and who makes them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal, Protocol

Kind = Literal["server", "internal", "client"]
Value = str | int


class Span(Protocol):
    """A span that is open."""

    def set_attribute(self, name: str, value: Value) -> None:
        """Say something of it; ids, names and numbers only, never what somebody has sent."""

    def set_error(self, why: str) -> None:
        """Say in a word why it failed."""


class Tracer(Protocol):
    """Makes spans and sends them to a collector."""

    def span(self, name: str, kind: Kind, parent: str | None) -> AbstractContextManager[Span]:
        """A span for what is done within it: TRACE says so there, and the ids that it is about are noted at its end."""

    async def close(self) -> None:
        """Send what is left, if that can be done soon."""
