"""What requests and responses have in common: their models, and the checks of their texts."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from yarl import URL


def example(members: dict[str, Any]) -> ConfigDict:
    """The example that OpenAPI has of a model, where `examples.json` has none."""
    return ConfigDict(json_schema_extra={"examples": [members]})


class Request(BaseModel):
    """A request body. An unknown field is refused: a typo must never be taken for consent."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @classmethod
    def is_optional(cls) -> bool:
        """Whether a missing body counts as an empty object."""
        return not any(field.is_required() for field in cls.model_fields.values())


class Empty(Request):
    """A request without fields."""

    model_config = example({})


class Terms(BaseModel):
    """What a request and a response have in common."""

    model_config = ConfigDict(defer_build=True)


class Response(BaseModel):
    """A part of a response. Members that a newer service adds are kept.

    Defaults are for a client that reads the response of an older service; this one sends all.
    """

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="allow", json_schema_serialization_defaults_required=True
    )

    @classmethod
    def view(cls, source: object, **computed: Any) -> dict[str, Any]:
        """The members of this response: attributes of `source`, but for the computed ones."""
        return {name: computed[name] if name in computed else getattr(source, name) for name in cls.model_fields}


def printable(value: str) -> str:
    if any(ord(character) < 32 for character in value):  # noqa: PLR2004 - the control characters
        raise ValueError("holds control characters")
    return value


Printable = Annotated[str, AfterValidator(printable), Field(json_schema_extra={"pattern": r"^[^\x00-\x1f]*$"})]
Glob = Annotated[Printable, Field(min_length=1, max_length=200)]


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


CHARS_MAX = 254
"""RFC 5321."""
EMAIL = re.compile(r"(?!-|.*=\?)[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f.]+(\.[^@\s\x00-\x1f\x7f.]+)*")
"""Without `=?`, with which an encoded word of a header begins (RFC 2047)."""
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")
_LOWER = str.maketrans({chr(code): chr(code).lower() for code in range(ord("A"), ord("Z") + 1)})


def address_fault(text: str) -> str | None:
    """Why a text may be no new address: its form, or letters that only look like others."""
    text = unicodedata.normalize("NFC", text)
    if len(text) > CHARS_MAX or not EMAIL.fullmatch(text) or not is_visible(text):
        return "is not of the form of an e-mail address"
    if unicodedata.normalize("NFKC", text) != text:
        return "is written with letters that only look like others"
    return None


def is_visible(text: str) -> bool:
    """Whether each character of a text is drawn: no space, no control, no format character."""
    return not any(unicodedata.category(one)[0] in "CZ" for one in text) and _UNSEEN.search(text) is None


def email_key(text: str) -> str:
    """Equal for spellings of one address: after NFC only the case of ASCII letters may differ."""
    return unicodedata.normalize("NFC", text).translate(_LOWER)


def _email(value: str) -> str:
    fault = address_fault(value)
    if fault is not None:
        raise ValueError(fault)
    return unicodedata.normalize("NFC", value)


# Regular expressions of JSON Schema have no \A and no \Z, so its patterns are written apart.
Email = Annotated[
    str, AfterValidator(_email), Field(json_schema_extra={"pattern": f"^{EMAIL.pattern}$", "maxLength": CHARS_MAX})
]
