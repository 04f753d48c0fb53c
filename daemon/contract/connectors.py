"""Connectors: the HTTP APIs behind a template's tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qsl, unquote

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from daemon.contract.base import Request, Response, Url, example, printable

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
        "x-penstock-callback",
        "x-penstock-run",
        "x-penstock-step",
    ]
)
DOTTED = re.compile(r"\A[^.\s]+(\.[^.\s]+)*\Z")
HeaderName = Annotated[str, Field(json_schema_extra={"pattern": f"^{HEADER_NAME.pattern}$"})]

CREDENTIAL = re.compile(
    r"(.*[-_.])?(api-?key|key|token|secret|password|passwd|pwd|auth|authorization|credentials?|jwt|sas|sig|signature)"
    r"|.*(apikey|accesskey|token|secret|password)",
    re.IGNORECASE,
)
"""The names of parameters that are credentials."""
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
NEVER_FIXED = frozenset({"authorization", "cookie", "proxy-authorization"})
JSON_TYPE = re.compile(r"application/([\w.+-]+\+)?json(; ?[\w-]+=[\w.-]+)?", re.ASCII)
HEADERS_MAX = 20
MAPPED_MAX = 200
KEY_CHARS_MAX = 256
CONSTANT = "value"
MASK = "***"
CONSTANT_BYTES_MAX = 4_096
NESTED_MAX = 10
QUOTES = "\"'`"


def _few(value: Any) -> Any:
    """Refuse a large map before each of its members is looked at."""
    if isinstance(value, dict) and len(value) > MAPPED_MAX:
        raise ValueError(f"has to have at most {MAPPED_MAX} members")
    return value


def _key_or_constant(value: Any) -> Any:
    """A key of the run, or a constant."""
    if isinstance(value, str):
        if len(value) > KEY_CHARS_MAX or not DOTTED.match(value):
            raise ValueError("has to be a key such as inputs.amount")
        return value
    if not isinstance(value, dict) or value.keys() != {CONSTANT}:
        raise ValueError('has to be a key such as inputs.amount, or {"value": …} for a constant')
    if len(json.dumps(value[CONSTANT], ensure_ascii=False).encode(errors="replace")) > CONSTANT_BYTES_MAX:
        raise ValueError(f"has a constant of more than {CONSTANT_BYTES_MAX:,} bytes")
    return value


def _unquoted(value: Any) -> Any:
    """Refuse a quoted text, which looks like a constant and would never be found."""
    if isinstance(value, str) and value[0] in QUOTES:
        raise ValueError(f'is a key that is never found; a constant is written as {{"value": {value[:50]}}}')
    return value


def _nests(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """Refuse names of which nobody can tell how they nest."""
    for name in value or {}:
        parts = name.split(".")
        if len(parts) > 1 and (not all(parts) or len(parts) > NESTED_MAX):
            raise ValueError(f"{name[:50]!r} nests by its dots: it has 2 to {NESTED_MAX} names between them")
        above = (".".join(parts[:depth]) for depth in range(1, len(parts)))
        if any(one in (value or {}) for one in above):
            raise ValueError(f"{name[:50]!r} stands within another name that has a value of its own")
    return value


Source = Annotated[
    Any,
    AfterValidator(_key_or_constant),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "maxLength": KEY_CHARS_MAX, "pattern": f"^{DOTTED.pattern[2:-2]}$"},
                {
                    "type": "object",
                    "properties": {CONSTANT: {"description": "Sent as it stands"}},
                    "required": [CONSTANT],
                    "additionalProperties": False,
                },
            ],
            "description": "A key into facts and inputs, or a constant",
        }
    ),
]
Mapped = Annotated[dict[str, Source], Field(max_length=MAPPED_MAX), BeforeValidator(_few)]
NewSource = Annotated[Source, AfterValidator(_unquoted)]
NewMapped = Annotated[dict[str, NewSource], Field(max_length=MAPPED_MAX), BeforeValidator(_few)]
NESTED = "What is sent under each name: a key of the run or a constant; dots in a name nest"
Expression = Annotated[str, Field(min_length=1, max_length=1_024)]
ResponseMap = Annotated[dict[str, Expression], Field(min_length=1, max_length=MAPPED_MAX), BeforeValidator(_few)]
HeaderValue = Annotated[str, Field(max_length=1_000, json_schema_extra={"pattern": r"^[\x20-\x7e]*$"})]
Headers = Annotated[dict[HeaderName, HeaderValue], Field(max_length=HEADERS_MAX), BeforeValidator(_few)]


def _check_open(names: Iterable[str]) -> None:
    """Refuse a credential where everybody of the company reads it, and the log and exports too."""
    for name in names:
        if CREDENTIAL.fullmatch(name):
            raise ValueError(f"has {name[:50]!r} in its query, which everybody sees: a credential is an auth_token")


def masked_query(url: str | None) -> str | None:
    """A URL in which credentials that were stored before are not shown."""
    before, mark, query = (url or "").partition("?")
    if not mark:
        return url
    pairs = [pair.partition("=") for pair in query.split("&")]
    shown = (
        f"{name}={MASK}" if value and CREDENTIAL.fullmatch(unquote(name)) else f"{name}{sign}{value}"
        for name, sign, value in pairs
    )
    return f"{before}?{'&'.join(shown)}"


class Target(Response):
    """What a connector calls, and how."""

    base_url: Url
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: str = Field(
        "",
        max_length=2_000,
        description="`{inputs.member_id}` stands for a key of the run, percent-encoded within its segment",
        json_schema_extra={"pattern": r"^[^#\x00-\x20]*$"},
    )
    auth_type: Literal["none", "bearer", "header", "basic", "oauth2", "mtls"] = "none"
    auth_header: HeaderName | None = Field(None, validate_default=True)
    query_map: Mapped | None = None
    body_map: Mapped | None = Field(None, description=NESTED)
    signal_rule: str | None = Field(None, min_length=1, max_length=4_096, description="CEL, an answer true or false")
    reversible: bool = False
    idempotent: bool = False
    timeout_s: float = Field(10.0, gt=0, le=300)
    retries: int = Field(3, ge=0, le=10)
    headers: Headers | None = Field(None, description="Sent as they stand, and shown to everybody: no secrets")
    response_map: ResponseMap | None = Field(
        None, description="What the step's output is made of: JMESPath over the response by the name of a member"
    )
    token_url: Url | None = Field(None, description="Where `oauth2` gets its tokens, by the grant client_credentials")
    client_id: str | None = Field(None, min_length=1, max_length=500, description="The client of `oauth2`")
    scope: str | None = Field(None, min_length=1, max_length=1_000, description="What tokens of `oauth2` are for")
    audience: str | None = Field(None, min_length=1, max_length=1_000, description="Whom tokens of `oauth2` are for")
    callback: bool = Field(
        default=False, description="It answers later, at the URL in `X-Penstock-Callback`; the step waits for that"
    )
    callback_timeout_s: float = Field(86_400.0, ge=1, le=31_536_000, description="How long the step waits, at most")

    @field_validator("path")
    @classmethod
    def _path(cls, value: str) -> str:
        if any(not DOTTED.match(key) for key in PLACEHOLDER.findall(value)):
            raise ValueError("has a placeholder that names no key, as {inputs.member_id} does")
        rest = PLACEHOLDER.sub("", value)
        if "{" in rest or "}" in rest:
            raise ValueError("has a bracket that belongs to no placeholder")
        if "{" in value.partition("?")[2]:
            raise ValueError("has a placeholder in its query, which is what query_map is for")
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

    @field_validator("headers")
    @classmethod
    def _headers(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        for name, text in (value or {}).items():
            if not HEADER_NAME.fullmatch(name):
                raise ValueError(f"{name[:50]!r} is no name of a header")
            if name.lower() in NEVER_FIXED:
                raise ValueError(f"{name} is no place for what everybody may see; a credential is an auth_token")
            own = name.lower() == "content-type" and JSON_TYPE.fullmatch(text) is not None
            if name.lower() in RESERVED_HEADERS and not own:
                raise ValueError(f"{name} is a header that the service sets itself")
            if not (text.isascii() and text.isprintable()) or text != text.strip():
                raise ValueError(f"{name} has a value that fits into no header")
        if value is not None and len({name.lower() for name in value}) < len(value):
            raise ValueError("names a header twice")
        return value

    @model_validator(mode="after")
    def _oauth2(self) -> Self:
        needed = {"token_url": self.token_url, "client_id": self.client_id}
        if self.auth_type == "oauth2" and (lacking := [name for name, value in needed.items() if value is None]):
            raise ValueError(f"auth_type oauth2 needs {' and '.join(lacking)}")
        if self.auth_type != "oauth2" and any((*needed.values(), self.scope, self.audience)):
            raise ValueError("token_url, client_id, scope and audience belong to auth_type oauth2")
        if self.auth_type == "mtls" and not self.base_url.startswith("https:"):
            raise ValueError("auth_type mtls needs an https URL")
        if self.auth_header is not None and self.auth_header.lower() in {name.lower() for name in self.headers or ()}:
            raise ValueError("auth_header is among the headers that are sent as they stand")
        return self


class ConnectorDefinition(Target, Request):
    """A connector to store or to test."""

    model_config = example(
        {"base_url": "https://api.example.com", "method": "POST", "path": "/payments", "reversible": False}
    )

    query_map: NewMapped | None = None
    body_map: Annotated[NewMapped | None, AfterValidator(_nests)] = Field(None, description=NESTED)
    auth_token: str | None = Field(
        None,
        min_length=1,
        max_length=32_000,
        description="The token, `user:password`, client secret, or PEM text of a certificate and its key",
    )

    @field_validator("query_map")
    @classmethod
    def _query_map(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        _check_open([name for name, source in (value or {}).items() if not isinstance(source, str)])
        return value

    @field_validator("base_url", "path", "token_url")
    @classmethod
    def _query(cls, value: str | None) -> str | None:
        query = (value or "").partition("?")[2].partition("#")[0]
        _check_open([name for name, text in parse_qsl(query) if text])
        return value

    @field_validator("auth_token")
    @classmethod
    def _auth_token(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("auth_type") == "basic" and ":" not in value:
            raise ValueError("is user:password for auth_type basic")
        pem = info.data.get("auth_type") == "mtls"
        return value if value is None or pem else printable(value)


class ConnectorTrial(ConnectorDefinition):
    """A connector to test, with samples of what a run would bring."""

    model_config = example(
        {
            "base_url": "https://api.example.com",
            "method": "POST",
            "path": "/members/{inputs.member_id}/refunds",
            "body_map": {"amount": "inputs.amount"},
            "inputs": {"member_id": "M-1", "amount": 12.5},
            "send": False,
        }
    )

    inputs: dict[str, Any] | None = Field(None, description="Sample inputs; without any, nothing is mapped")
    facts: dict[str, Any] | None = Field(None, description="Sample facts, by step")
    send: bool | None = Field(None, description="Send it; unless said, only a GET is sent")


class LaterAnswer(Request):
    """What a tool answers later: any object."""

    model_config = ConfigDict(extra="allow", **example({"status": "settled", "reference": "R-7"}))


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


class Finding(Response):
    """What does not fit the schemas that a template has for the tool."""

    pointer: str
    detail: str


class ConnectorTestResult(Response):
    """The result of a test call; `request` is what was sent, or would be."""

    ok: bool
    sent: bool
    request: dict[str, Any] | None = None
    missing: list[str] = Field(default=[], description="Keys that the samples lack")
    findings: list[Finding] = Field(default=[], description="Where it does not fit what templates say of the tool")
    output: Any = Field(None, description="What a run's facts would hold of the response")
    status_code: int | None = None
    latency_ms: float | None = None
    body: Any = None
    error: str | None = None
