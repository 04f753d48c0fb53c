"""The service itself: its health, and problems."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from daemon.contract.base import Response

HealthStatus = Annotated[
    str, Field(json_schema_extra={"enum": ["ok", "degraded", "draining", "full", "stalled", "failed"]})
]
StoreStatus = Annotated[str, Field(json_schema_extra={"enum": ["ok", "full", "stalled", "failed"]})]
Outcome = Annotated[str, Field(json_schema_extra={"enum": ["not_applied", "unknown"]})]


class LiveRuns(Response):
    """How many runs are in memory."""

    live: int


class RewoundHistory(Response):
    """What the database lost in a failover, of what this daemon had acknowledged."""

    at: datetime
    commits: int
    companies: int


class Health(Response):
    """The health of the service; `down` names background tasks that have stopped."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    status: HealthStatus
    version: str
    store: StoreStatus
    runs: LiveRuns
    down: tuple[str, ...] = ()
    history_rewound: RewoundHistory | None = None


class FieldError(Response):
    """A field that is not valid."""

    pointer: str
    detail: str


class Decided(Response):
    """The verdict that closed the gate that a request named."""

    gate: str
    visit: int
    decision: str
    by: str
    at: datetime


class ProblemDetails(Response):
    """A refusal (RFC 9457). The members after `retryable` come with the codes that have them."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    retryable: bool
    errors: tuple[FieldError, ...] = ()
    limit: int | None = None
    budget: str | None = None
    required: str | None = None
    reason: str | None = None
    run_status: str | None = None
    parked_at: str | None = None
    decided: Decided | None = None
    decisions: tuple[str, ...] = ()
    etag: str | None = None
    outcome: Outcome | None = None
    first: str | None = None
