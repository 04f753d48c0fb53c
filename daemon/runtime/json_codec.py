"""JSON in and out, strict in both."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
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
TOO_DEEP = f"The body is nested more than {DEPTH_MAX} deep."

dumps = msgspec.json.Encoder().encode
"""A value as JSON: values as objects, times as RFC 3339 in UTC. Numbers have to be finite."""

_sorted = msgspec.json.Encoder(order="sorted")


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
        value = _decoder.decode(raw.decode())
        if b"\\u" in raw:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise NotJson("A string holds half a surrogate pair.") from None
    except UnicodeDecodeError:
        raise NotJson("The body is not UTF-8.") from None
    except RecursionError:
        raise NotJson(TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise NotJson(f"The body is no JSON: {error.msg} at character {error.pos}.") from None
    if raw.count(b"[") + raw.count(b"{") > DEPTH_MAX and not _shallow(value, DEPTH_MAX):
        raise NotJson(TOO_DEEP)
    return value


def _shallow(value: Any, depth: int) -> bool:
    """Whether objects and lists are nested at most `depth` deep."""
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(_shallow(item, depth - 1) for item in inner)


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        raise NotJson("A member is named twice.")
    return value


def _integer(digits: str) -> int:
    if len(digits) > len(str(INTEGER_MAX)) + 1 or not -INTEGER_MAX - 1 <= int(digits) <= INTEGER_MAX:
        raise NotJson("An integer is beyond 64 bits; send it as a string.")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise NotJson("A number is beyond what JSON can carry.")
    return value


def _constant(name: str) -> Callable[[], None]:
    raise NotJson(f"The body holds {name}, which is no JSON.")


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
