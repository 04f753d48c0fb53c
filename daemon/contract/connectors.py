"""Connectors: the HTTP APIs behind a template's tools."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from daemon.contract.base import Request, Response, example
from daemon.contract.text import Url, printable

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
RESERVED_HEADERS = frozenset(
    [
        "connection",
        "content-length",
        "content-type",
        "host",
        "idempotency-key",
        "te",
        "traceparent",
        "transfer-encoding",
        "x-penstock-run",
        "x-penstock-step",
    ]
)
DOTTED = re.compile(r"\A[^.\s]+(\.[^.\s]+)*\Z")
HeaderName = Annotated[str, Field(json_schema_extra={"pattern": f"^{HEADER_NAME.pattern}$"})]
DottedKey = Annotated[
    str, Field(max_length=256, pattern=DOTTED, json_schema_extra={"pattern": f"^{DOTTED.pattern[2:-2]}$"})
]
MAPPED_MAX = 200


def _few(value: Any) -> Any:
    """Refuse a large map before each of its members is looked at."""
    if isinstance(value, dict) and len(value) > MAPPED_MAX:
        raise ValueError(f"has to have at most {MAPPED_MAX} members")
    return value


Mapped = Annotated[dict[str, DottedKey], Field(max_length=MAPPED_MAX), BeforeValidator(_few)]


class Target(Response):
    """What a connector calls, and how."""

    base_url: Url
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: str = Field("", max_length=2_000, json_schema_extra={"pattern": r"^[^{}#\x00-\x20]*$"})
    auth_type: Literal["none", "bearer", "header", "basic"] = "none"
    auth_header: HeaderName | None = Field(None, validate_default=True)
    query_map: Mapped | None = None
    body_map: Mapped | None = None
    signal_rule: str | None = Field(None, min_length=1, max_length=4_096, description="CEL, an answer true or false")
    reversible: bool = False
    idempotent: bool = False
    timeout_s: float = Field(10.0, gt=0, le=300)
    retries: int = Field(3, ge=0, le=10)

    @field_validator("path")
    @classmethod
    def _path(cls, value: str) -> str:
        if "{" in value or "}" in value:
            raise ValueError("has a placeholder; a path is sent as it stands")
        if "#" in value or any(ord(character) < 33 for character in value):  # noqa: PLR2004 - up to the space
            raise ValueError("holds a fragment or white space")
        return value

    @field_validator("auth_header")
    @classmethod
    def _auth_header(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            if info.data.get("auth_type") == "header":
                raise ValueError("names the header for auth_type header")
            return None
        if not HEADER_NAME.fullmatch(value):
            raise ValueError("is no name of a header")
        if value.lower() in RESERVED_HEADERS:
            raise ValueError("names a header that the service sets itself")
        return value


class ConnectorDefinition(Target, Request):
    """A connector to store or to test."""

    model_config = example(
        {"base_url": "https://api.example.com", "method": "POST", "path": "/payments", "reversible": False}
    )

    auth_token: str | None = Field(None, min_length=1, max_length=8_000)

    @field_validator("auth_token")
    @classmethod
    def _auth_token(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("auth_type") == "basic" and ":" not in value:
            raise ValueError("is user:password for auth_type basic")
        return None if value is None else printable(value)


class Connector(Target):
    """A connector as stored, without its secret."""

    tool_id: str
    auth_token_set: bool
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str


class ConnectorChange(Response):
    """A change of a connector; `secret` says what became of its secret."""

    number: int
    tool_id: str
    version: int
    at: datetime
    by: str
    secret: str
    via: str
    before: Target | None = None
    after: Target | None = None


class ConnectorTestResult(Response):
    """The result of a test call."""

    ok: bool
    status_code: int | None = None
    latency_ms: float | None = None
    body: Any = None
    error: str | None = None
