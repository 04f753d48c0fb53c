"""API keys of services and agents."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StringConstraints

from daemon.contract.base import Request, Response, example

KeyKind = Literal["service", "agent"]
KeyRole = Literal["viewer", "member", "manager", "admin"]
RESERVED = frozenset({"autopilot", "deadline", "operator", "service"})
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d")
NEVER = r"@\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
"""What a name never holds: an at sign, controls, and characters that cannot be seen."""
KEY_NAME = re.compile(rf"[^{NEVER}]*[^\s{NEVER}][^{NEVER}]*")


def _name(value: str) -> str:
    """Records name a key as they name people and the service."""
    if not KEY_NAME.fullmatch(value):
        raise ValueError("holds an @, which is for people, or characters that cannot be seen")
    if value.casefold() in RESERVED:
        raise ValueError("is what records call the service itself")
    return value


def _written(value: Any) -> Any:
    """Only text of RFC 3339: pydantic takes numbers for times, too."""
    if not isinstance(value, str) or not MOMENT.match(value):
        raise ValueError("is no RFC 3339 time with its offset")
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("is beyond all times") from None


Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written), AfterValidator(_in_utc)]


class ApiKeyDefinition(Request):
    """A name, and what the key may do: an agent at most what a member may, a service an admin."""

    model_config = example({"name": "triage agent", "role": "member", "kind": "agent"})

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
        AfterValidator(_name),
        Field(json_schema_extra={"pattern": f"^{KEY_NAME.pattern}$"}),
    ]
    role: KeyRole
    kind: KeyKind
    expires_at: Moment | None = None
    acts_for: bool = Field(default=False, description="Whether it may start runs on behalf of members.")


class ApiKey(Response):
    """A key, without its secret; use is recorded once a minute."""

    id: str
    name: str
    kind: KeyKind
    role: str
    prefix: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    made_by: str = Field(description="Who counts, for four eyes, as doing what the key does.")
    acts_for: bool = False


class NewApiKey(ApiKey):
    """A new key, with its secret; it is not shown again."""

    key: str = Field(repr=False)
