"""Checks of text that several requests share."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints
from yarl import URL


def printable(value: str) -> str:
    if any(ord(character) < 32 for character in value):  # noqa: PLR2004 - the control characters
        raise ValueError("holds control characters")
    return value


def _url(value: str) -> str:
    """Check an http(s) URL; its host becomes Punycode, so that people see what is called."""
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
    if value.isascii():
        return value
    try:
        return str(URL(value))
    except ValueError:
        raise ValueError("is no URL") from None


# Regular expressions of JSON Schema have no \A and no \Z, so its patterns are written apart.
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(printable),
    Field(json_schema_extra={"pattern": r"^[^\x00-\x1f]*[^\s\x00-\x1f][^\x00-\x1f]*$"}),
]
Remark = Annotated[str, Field(max_length=4_000)]
Url = Annotated[
    str,
    Field(max_length=2_000, json_schema_extra={"pattern": r"^[hH][tT][tT][pP][sS]?://[^\s#]+$"}),
    AfterValidator(_url),
]
