"""Canonical JSON (RFC 8785), and digests of it."""

from __future__ import annotations

import hashlib
import json
import math
from functools import lru_cache
from typing import Any

import msgspec

_POWER_FROM, _POWER_TO = 21, -7
PIECES_BYTES, PIECES_DEPTH = 1024 * 1024, 5
REMEMBERED_FROM, REMEMBERED_MAX = 32 * 1024, 4
_LEAVES = frozenset({str, int, bool, type(None)})
_encode = msgspec.json.Encoder(order="sorted").encode
_written = msgspec.json.Encoder().encode
_encode_string = json.JSONEncoder(ensure_ascii=False).encode


def digest(value: Any, size: int = 0) -> str:
    """The SHA-256 of the canonical JSON of a value of about that size, as `sha256:<hex>`.

    Of a large object each member that is an object itself is remembered by its identity, and is not
    written again for the next one: the gates of a fork show the same inputs and facts.
    """
    depth = PIECES_DEPTH if size > PIECES_BYTES else 0
    if size <= REMEMBERED_FROM or type(value) is not dict:
        return "sha256:" + hashlib.sha256(canonical(value, depth).encode()).hexdigest()
    hashed, within = hashlib.sha256(), max(0, depth - 1)
    for number, (name, one) in enumerate(_sorted(value)):
        hashed.update(f"{',' if number else '{'}{_encode_string(name)}:".encode())
        hashed.update(_remembered(_Same(one), within) if type(one) is dict else canonical(one, within).encode())
    hashed.update(b"}" if value else b"{}")
    return "sha256:" + hashed.hexdigest()


class _Same:
    """An object that equals itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


@lru_cache(REMEMBERED_MAX)
def _remembered(one: _Same, depth: int) -> bytes:
    return canonical(one.value, depth).encode()


def canonical(value: Any, depth: int = 0) -> str:
    """The canonical JSON of a value; integers beyond 2**53 are written exactly rather than rounded.

    Down to `depth` the members of objects are written one by one, so that no call takes long.
    Raises ValueError for what JSON cannot say (NaN, infinities), TypeError for what is no JSON
    value.
    """
    if depth and type(value) is dict:
        return (
            "{"
            + ",".join([f"{_encode_string(name)}:{canonical(one, depth - 1)}" for name, one in _sorted(value)])
            + "}"
        )
    if _simple(value):
        written = _encode(value)
        if written.isascii():  # else names may have another order
            return written.decode()
    return _exact(value)


def json_size(value: Any) -> int:
    """How many bytes a value takes as JSON."""
    return len(_written(value))


def _simple(value: Any) -> bool:
    """Whether a value is JSON, and has no number that encoders write in different ways."""
    kind = type(value)
    if kind is float:
        text = repr(value)
        return not (text.endswith(".0") or "e" in text or "n" in text)  # 1.0, 1e+16, nan, inf
    if kind is dict:
        value = value.values()
    elif kind is not list and kind is not tuple:
        return kind in _LEAVES
    for one in value:  # noqa: SIM110 - a generator takes twice as long
        if type(one) not in _LEAVES and not _simple(one):
            return False
    return True


def _exact(value: Any) -> str:
    match value:
        case None | bool():
            return json.dumps(value)
        case str():
            return _encode_string(value)
        case int():
            return int.__repr__(value)
        case float():
            return _number(value)
        case list() | tuple():
            return "[" + ",".join(_exact(item) for item in value) + "]"
        case dict():
            return "{" + ",".join(f"{_encode_string(key)}:{_exact(item)}" for key, item in _sorted(value)) + "}"
        case _:
            message = f"{type(value).__name__} is no JSON value"
            raise TypeError(message)


def _sorted(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """The members in the order of RFC 8785."""
    return sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))


def _number(value: float) -> str:
    """A float as ECMAScript writes it, with an exponent from 1e21 up and 1e-7 down."""
    if not math.isfinite(value):
        message = "JSON has no such number"
        raise ValueError(message)
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.removesuffix(".0").partition(".")
    sign, power = "-" if value < 0 else "", int(exponent or "0")
    if 0 <= power < _POWER_FROM:
        whole, fraction = whole + fraction[:power].ljust(power, "0"), fraction[power:]
    elif _POWER_TO < power < 0:
        whole, fraction = "0", "0" * (-power - 1) + whole + fraction
    point = "." if fraction else ""
    written = f"e{power:+}" if power >= _POWER_FROM or power <= _POWER_TO else ""
    return f"{sign}{whole}{point}{fraction}{written}"
