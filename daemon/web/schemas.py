"""The bodies that callers send; a field that is not here is refused, so that a typo is never taken for consent."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator
from yarl import URL

from actors.core.run import DONE
from daemon.model.event_log import EventType

EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f.]+(\.[^@\s\x00-\x1f\x7f.]+)*")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
DOTTED = re.compile(r"\A[^.\s]+(\.[^.\s]+)*\Z")
RESERVED_HEADERS = frozenset(
    {
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
    }
)


def _email(value: str) -> str:
    if len(value) > 254 or not EMAIL.fullmatch(value):  # noqa: PLR2004 - RFC 5321
        raise ValueError("is not of the form of an e-mail address")
    return value


def _on_the_wire(value: str) -> str:
    """A URL in ASCII, its host in Punycode: people are shown what is called, not what looks like it."""
    try:
        return str(URL(value))
    except ValueError:
        raise ValueError("is no URL") from None


def _printable(value: str) -> str:
    if any(ord(character) < 32 for character in value):  # noqa: PLR2004 - the control characters
        raise ValueError("holds control characters")
    return value


def _callable(value: str) -> str:
    """A URL that can be called, on the wire."""
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        raise ValueError("is no URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is no http or https URL with a host")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ValueError("names a user; credentials do not belong into a URL")
    if "#" in value:
        raise ValueError("has a fragment, which is never sent")
    if any(character.isspace() or ord(character) < 33 for character in value):  # noqa: PLR2004 - as above
        raise ValueError("holds white space")
    return value if value.isascii() else _on_the_wire(value)


Email = Annotated[
    str, AfterValidator(_email), Field(json_schema_extra={"pattern": f"^{EMAIL.pattern}$", "maxLength": 254})
]
Password = Annotated[str, Field(min_length=8, max_length=256)]
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_printable),
    Field(json_schema_extra={"pattern": r"^[^\x00-\x1f]*[^\s\x00-\x1f][^\x00-\x1f]*$"}),
]
HeaderName = Annotated[str, Field(json_schema_extra={"pattern": f"^{HEADER_NAME.pattern}$"})]
Remark = Annotated[str, Field(max_length=4_000)]
# The document speaks of it in the regular expressions of JSON Schema, which have no \A and no \Z.
DottedKey = Annotated[
    str, Field(max_length=256, pattern=DOTTED, json_schema_extra={"pattern": f"^{DOTTED.pattern[2:-2]}$"})
]


class Body(BaseModel):
    """A request body: an object with these fields and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _described(example: dict[str, Any], **more: Any) -> ConfigDict:
    """What the OpenAPI document says of a body beside its fields."""
    return ConfigDict(json_schema_extra={"examples": [example], **more})


class Registration(Body):
    """POST /auth/register."""

    model_config = _described(
        {"email": "ada@example.test", "password": "correct horse", "company_name": "Example Health"}
    )

    email: Email
    password: Password
    company_name: Name
    name: Name | None = None


class Login(Body):
    """POST /auth/login."""

    model_config = _described({"email": "ada@example.test", "password": "correct horse"})

    email: str = Field(max_length=1_000)
    password: str = Field(max_length=1_000)


class NewRun(Body):
    """POST /process-runs/."""

    model_config = _described(
        {
            "vertical": "prior-auth",
            "inputs": {"member_id": "M-1001", "procedure_code": "70551", "diagnosis": "G43.909"},
        }
    )

    vertical: str = Field(max_length=200)
    inputs: dict[str, Any] = Field(default_factory=dict)
    auto_resolve: bool = True


class Verdict(Body):
    """POST /process-runs/{id}/resume."""

    # An output goes with the decision `done` alone.
    model_config = _described(
        {"gate": "signoff", "decision": "approved", "comment": "as agreed"},
        anyOf=[{"properties": {"output": {"type": "null"}}}, {"properties": {"decision": {"const": DONE}}}],
    )

    # Without bounds of their own: any text that does not name the gate is a mismatch.
    gate: str
    decision: str
    comment: Remark | None = None
    digest: str | None = Field(None, max_length=200)
    output: Any = None
    inputs: dict[str, Any] | None = Field(None, description="Of what the gate names in `missing`.")

    @field_validator("output")
    @classmethod
    def _output(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and info.data.get("decision") != DONE:
            raise ValueError(f"is only taken with the decision {DONE}")
        return value


class Cancellation(Body):
    """POST /process-runs/{id}/cancel."""

    reason: Remark | None = None


class Nothing(Body):
    """A POST without fields."""


class ConnectorTarget(Body):
    """Where a connector calls, and how: what PUT and test have in common."""

    model_config = _described(
        {"base_url": "https://api.example.com", "method": "POST", "path": "/payments", "reversible": False}
    )

    base_url: str = Field(max_length=2_000, json_schema_extra={"pattern": r"^https?://[^\s#]+$"})
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: str = Field("", max_length=2_000, json_schema_extra={"pattern": r"^[^{}#\x00-\x20]*$"})
    auth_type: Literal["none", "bearer", "header", "basic"] = "none"
    auth_token: str | None = Field(None, min_length=1, max_length=8_000)
    auth_header: HeaderName | None = Field(None, validate_default=True)
    query_map: dict[str, DottedKey] | None = Field(None, max_length=200)
    body_map: dict[str, DottedKey] | None = Field(None, max_length=200)
    signal_rule: str | None = Field(None, min_length=1, max_length=4_096, description="CEL, an answer true or false")
    reversible: bool = False
    idempotent: bool = False
    timeout_s: float = Field(10.0, gt=0, le=300)
    retries: int = Field(3, ge=0, le=10)

    @field_validator("base_url")
    @classmethod
    def _base_url(cls, value: str) -> str:
        return _callable(value)

    @field_validator("path")
    @classmethod
    def _path(cls, value: str) -> str:
        if "{" in value or "}" in value:
            raise ValueError("has a placeholder; a path is sent as it stands")
        if "#" in value or any(ord(character) < 33 for character in value):  # noqa: PLR2004 - as above
            raise ValueError("holds a fragment or white space")
        return value

    @field_validator("auth_token")
    @classmethod
    def _auth_token(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("auth_type") == "basic" and ":" not in value:
            raise ValueError("is user:password for auth_type basic")
        return None if value is None else _printable(value)

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


class ConnectorDefinition(ConnectorTarget):
    """PUT /connectors/{tool_id}."""


class ConnectorTrial(ConnectorTarget):
    """POST /connectors/{tool_id}/test."""


class WebhookDefinition(Body):
    """POST /webhooks/ and PUT /webhooks/{id}."""

    url: Annotated[
        str, AfterValidator(_callable), Field(max_length=2_000, json_schema_extra={"pattern": r"^https?://[^\s#]+$"})
    ]
    events: list[EventType] | None = Field(None, min_length=1, max_length=20)
    description: Annotated[str, Field(max_length=500), AfterValidator(_printable)] | None = None
