"""The shapes of the service itself, and refusals."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict


class LiveShape(TypedDict):
    """How many runs are in memory."""

    live: int


class HealthShape(TypedDict):
    """How the service is."""

    status: Literal["ok", "degraded", "draining", "full", "stalled", "failed"]
    version: str
    store: Literal["ok", "full", "stalled", "failed"]
    runs: LiveShape
    down: NotRequired[list[str]]


class ProblemShape(TypedDict):
    """A refusal (RFC 9457); some codes have further members."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    retryable: bool
