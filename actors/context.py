"""What the work at hand concerns: ids that whoever tells of it, as the log does, need not be handed."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType

ABOUT: ContextVar[Mapping[str, object]] = ContextVar("about", default=MappingProxyType({}))
TRACE: ContextVar[str | None] = ContextVar("trace", default=None)
"""Where the work at hand stands in a trace, as a W3C `traceparent`; None where no traces are made."""


def concern(**ids: object) -> None:
    """From here on this task is about these, and nothing else; so is each task that it starts, until that says more."""
    ABOUT.set(ids)
