"""The form of e-mail addresses, and when two of them are the same."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

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
