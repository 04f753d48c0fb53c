"""JSON in and out, strict in both; of large values in pieces."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import NODEFAULT, UNSET, Struct
from msgspec.structs import fields

from actors.core.canonical import canonical

INTEGER_MAX = 2**63 - 1
DEPTH_MAX = 64
CONTAINERS_MAX = 131_072
PIECE = 16_384
PIECES_DEPTH = 7
PIECES_MAX = 10_000
# Where a number may be written otherwise than RFC 8785 has it: as 1.0; with an exponent, where
# every digit is a 0, every end a comma, and what numbers are not made of is gone.
_WHOLE = re.compile(rb"\.0[,}\]]")
_POWER = re.compile(rb"0e[-+]?0+,")
_BLURRED = bytes.maketrans(b"0123456789}]", b"0" * 10 + b",,")
_BESIDE = bytes(set(range(256)) - set(b'0123456789e.+-,}]"'))
# The first bytes of characters beyond U+FFFF, which UTF-16 sorts otherwise than UTF-8.
_ASTRAL = re.compile(rb"[\xf0-\xf4]")
# An integer that may be beyond 64 bits, where no strings stand.
_LONG = re.compile(rb"(?<![0-9.eE+-])-?[0-9]{19,}(?![0-9.eE])")
# An amount whose end may not fit into a double; what has more decimals is no amount.
_LONG_FRACTION = re.compile(rb"(?<![0-9.eE+-])-?[0-9]{13,}\.[0-9]{1,4}(?![0-9eE])")
_LARGE = b"0" * 13 + b"."
DIGITS_MAX = len(str(-INTEGER_MAX))
_MANY_DIGITS = b"0" * (DIGITS_MAX - 1)
_STEPS = bytes.maketrans(b"[{]}", b"\1\1\xff\xff")  # one deeper, or one less as a signed byte
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
TOO_LARGE = "An integer is beyond 64 bits; send it as a string."
TOO_EXACT = "A number has more digits than can be kept; send it as a string."
TOO_DEEP = f"The body is nested more than {DEPTH_MAX} deep."
TOO_MANY = f"The body holds more than {CONTAINERS_MAX:,} lists and objects."

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

    That is: a member named twice, NaN and infinities, integers beyond 64 bits, amounts whose last
    digits a double loses, half a surrogate pair, other than UTF-8, and nesting so deep that whoever
    works on the value by recursion later could not. Lists and objects are bounded too, since each
    costs the threads beside as much as a hundred bytes of text, at every reading.
    """
    openings = raw.count(b"[") + raw.count(b"{")
    if openings > CONTAINERS_MAX:
        _check_openings(_without_strings(raw))
    try:
        value = _parse(raw)
    except UnicodeDecodeError:
        raise NotJson("The body is not UTF-8.") from None
    except RecursionError:
        raise NotJson(TOO_DEEP) from None
    except msgspec.DecodeError as error:
        raise NotJson(_refusal(str(error))) from None
    _check_written(raw, value, openings)
    return value


def _refusal(found: str) -> str:
    if "surrogate" in found:
        return "A string holds half a surrogate pair."
    if "Integer value out of range" in found:
        return TOO_LARGE
    if "Number out of range" in found:
        return "A number is beyond what JSON can carry."
    return f"The body is no JSON: {found.removeprefix('JSON is malformed: ')}."


def _check_openings(bare: bytes) -> None:
    if bare.count(b"[") + bare.count(b"{") > CONTAINERS_MAX:
        raise NotJson(TOO_DEEP if _is_deep(bare) else TOO_MANY)


def _check_written(raw: bytes, value: Any, openings: int) -> None:
    """NotJson for what the parser takes and others would not; read off the bytes.

    A walk over a million values would hold up all other threads far longer than a few searches do.
    """
    blurred = raw.translate(_BLURRED)
    long, large = _MANY_DIGITS in blurred, _LARGE in blurred
    if long or large or openings > DEPTH_MAX:
        bare = _without_strings(raw)
        if large and any(_is_rounded(one[0].decode()) for one in _LONG_FRACTION.finditer(bare)):
            raise NotJson(TOO_EXACT)
        if long and any(not _fits(one[0]) for one in _LONG.finditer(bare)):
            raise NotJson(TOO_LARGE)
        if openings > DEPTH_MAX and _is_deep(bare):
            raise NotJson(TOO_DEEP)
    if b":" not in raw:
        return
    written = dumps(value)  # has each member once
    # A colon may stand in a string as well, and there be written in two ways.
    if b"\\u" in raw:
        raw, written = _without_strings(raw), _without_strings(written)
    if raw.count(b":") > written.count(b":"):
        raise NotJson("A member is named twice.")


def _fits(digits: bytes) -> bool:
    """Whether 64 bits hold an integer; by its length first, since its digits may be thousands."""
    return len(digits) <= DIGITS_MAX and -INTEGER_MAX - 1 <= int(digits) <= INTEGER_MAX


def _is_rounded(written: str) -> bool:
    """Whether a double is not the number that is written."""
    return Decimal(written) != Decimal(repr(float(written)))


def _is_deep(bare: bytes) -> bool:
    """Whether lists and objects nest beyond the bound; piece by piece, so that others may run."""
    steps, depth = array("b", bare.translate(_STEPS, _NOT_BRACKETS)), 0
    for begin in range(0, len(steps), PIECE):
        depths = [*accumulate(steps[begin : begin + PIECE], initial=depth)]
        if max(depths) > DEPTH_MAX:
            return True
        depth = depths[-1]
    return False


def _without_strings(raw: bytes) -> bytes:
    """Valid JSON without its strings."""
    unescaped = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(unescaped.split(b'"')[::2])


def dumps_in_pieces(value: Any, depth: int = PIECES_DEPTH) -> bytes:
    """The same bytes as `dumps`, made in one call for each of the members down to a depth."""
    if depth == 0:
        return dumps(value)
    if isinstance(value, Struct) and not value.__struct_config__.tag:
        value = dict(_members(value))
    elif not isinstance(value, dict | list | tuple) or len(value) > PIECES_MAX:
        return dumps(value)
    if isinstance(value, dict):
        members = [b"%s:%s" % (dumps(name), dumps_in_pieces(one, depth - 1)) for name, one in value.items()]
        return b"{%s}" % b",".join(members)
    return b"[%s]" % b",".join([dumps_in_pieces(one, depth - 1) for one in value])


def _members(value: Struct) -> Iterator[tuple[str, Any]]:
    leaves_out = value.__struct_config__.omit_defaults
    for field in fields(value):
        found = getattr(value, field.name)
        if found is UNSET:
            continue
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        if not leaves_out or type(found) is not type(default) or found != default:
            yield field.encode_name, found
