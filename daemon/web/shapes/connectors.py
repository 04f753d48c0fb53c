"""The shapes of connectors."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from typing_extensions import TypedDict


class TargetShape(TypedDict):
    """What a connector calls, and how."""

    base_url: str
    method: str
    path: str
    auth_type: Literal["none", "bearer", "header", "basic"]
    auth_header: str | None
    query_map: dict[str, str] | None
    body_map: dict[str, str] | None
    signal_rule: str | None
    reversible: bool
    idempotent: bool
    timeout_s: float
    retries: int


class ConnectorShape(TargetShape):
    """A connector as stored; of its secret only whether there is one."""

    tool_id: str
    auth_token_set: bool
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str


class ConnectorChangeShape(TypedDict):
    """A change of a connector; of its secret only what became of it."""

    number: int
    tool_id: str
    version: int
    at: datetime
    by: str
    secret: str
    via: str
    before: TargetShape | None
    after: TargetShape | None


class TrialShape(TypedDict):
    """How a test of a connector went."""

    ok: bool
    status_code: int | None
    latency_ms: float | None
    body: Any
    error: str | None
