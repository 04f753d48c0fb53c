"""The context of the work at hand: the ids that log lines and spans carry."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType

LOG_CONTEXT: ContextVar[Mapping[str, object]] = ContextVar("log_context", default=MappingProxyType({}))
TRACE: ContextVar[str | None] = ContextVar("trace", default=None)
"""The W3C `traceparent` of the work at hand; None when tracing is off."""


def set_log_context(**ids: object) -> None:
    """Replace the ids of this task, and of each task that it starts from now on."""
    LOG_CONTEXT.set(ids)
