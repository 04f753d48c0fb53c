"""JSON in and out, strict in both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from actors.core.canonical import canonical

INTEGER_MAX = 2**63 - 1
DEPTH_MAX = 64
# Where a number may be written otherwise than RFC 8785 has it: as 1.0; with an exponent, where
# every digit is a 0, every end a comma, and what numbers are not made of is gone.
_WHOLE = re.compile(rb"\.0[,}\]]")
_POWER = re.compile(rb"0e[-+]?0+,")
_BLURRED = bytes.maketrans(b"0123456789}]", b"0" * 10 + b",,")
_BESIDE = bytes(set(range(256)) - set(b'0123456789e.+-,}]"'))
# The first bytes of characters beyond U+FFFF, which UTF-16 sorts otherwise than UTF-8.
_ASTRAL = re.compile(rb"[\xf0-\xf4]")
TOO_LARGE = "An integer is beyond 64 bits; send it as a string."
TOO_DEEP = f"The body is nested more than {DEPTH_MAX} deep."

dumps = msgspec.json.Encoder().encode
"""A value as JSON: values as objects, times as RFC 3339 in UTC. Numbers have to be finite."""

_sorted = msgspec.json.Encoder(order="sorted")
_parse = msgspec.json.Decoder().decode


class NotJson(ValueError):
    """The bytes are no JSON that this service takes; the text says why."""


def canonical_lines(values: Sequence[Any]) -> tuple[bytes, bytes | None]:
    """Objects as canonical JSON (RFC 8785), one in each line.

    Canonical JSON has one word for 1 and 1.0. Where that would lose what kind a number is, the
    second value has the same lines in other words, which keep it; else it is None.
    """
    written = _sorted.encode_lines(values)[:-1]
    if not _blurred(written) and (written.isascii() or _ASTRAL.search(written) is None):
        return written, None
    lines = b"\n".join([canonical(msgspec.to_builtins(value)).encode() for value in values])
    return lines, written if _blurred(written) else None


def _blurred(written: bytes) -> bool:
    """Whether a number may stand otherwise in canonical JSON; cheap to ask."""
    return _WHOLE.search(written) is not None or _POWER.search(written.translate(_BLURRED, _BESIDE)) is not None


def loads(raw: bytes) -> Any:
    """The value of JSON bytes; NotJson for what is ambiguous or cannot be kept exactly.

    That is: a member named twice, NaN and infinities, integers beyond 64 bits, half a surrogate
    pair, other than UTF-8, and nesting so deep that whoever works on the value by recursion later
    could not.
    """
    try:
        value = _parse(raw)
    except UnicodeDecodeError:
        raise NotJson("The body is not UTF-8.") from None
    except RecursionError:
        raise NotJson(TOO_DEEP) from None
    except msgspec.DecodeError as error:
        raise NotJson(_refusal(str(error))) from None
    members = _members(value)
    # A colon may stand in a string as well: only then it is worth the time to look closer.
    if raw.count(b":") > members and _separators(raw) > members:
        raise NotJson("A member is named twice.")
    return value


def _refusal(found: str) -> str:
    if "surrogate" in found:
        return "A string holds half a surrogate pair."
    if "Integer value out of range" in found:
        return TOO_LARGE
    if "Number out of range" in found:
        return "A number is beyond what JSON can carry."
    return f"The body is no JSON: {found.removeprefix('JSON is malformed: ')}."


def _members(value: Any) -> int:
    """How many members all objects have together; NotJson for too deep or too large a value.

    Level by level and not by recursion, so that the depth of a value cannot end it.
    """
    members, level, depth = 0, [value], 0
    while level:
        inner: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is int and not -INTEGER_MAX - 1 <= item <= INTEGER_MAX:
                raise NotJson(TOO_LARGE)
            if kind is dict:
                members += len(item)
                inner.extend(item.values())
            elif kind is list:
                inner.extend(item)
            else:
                continue
            if depth == DEPTH_MAX:
                raise NotJson(TOO_DEEP)
        level, depth = inner, depth + 1
    return members


def _separators(raw: bytes) -> int:
    """How many members are written in valid JSON: the colons outside of its strings."""
    unescaped = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(unescaped.split(b'"')[::2]).count(b":")
