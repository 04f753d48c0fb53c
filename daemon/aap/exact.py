"""JSON whose numbers come back as they came, whatever a double can hold."""

from __future__ import annotations

import hashlib
import json
import math
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import Raw

from actors.core.canonical import canonical
from daemon.runtime.json_codec import DIGITS_MAX, INTEGER_MAX, NotJson, dumps, loads


def parsed(raw: bytes) -> Any:
    """The value of JSON bytes; a number that cannot be kept as one is its text, as `Raw`.

    NotJson for what is ambiguous: a member named twice, NaN, half a surrogate pair, nesting that is
    too deep.
    """
    try:
        value = json.loads(
            raw.decode(), object_pairs_hook=_members, parse_float=_float, parse_int=_int, parse_constant=_constant
        )
        loads(dumps(held(value)))
    except NotJson:
        raise
    except UnicodeDecodeError:
        raise NotJson("The body is not UTF-8.") from None
    except UnicodeEncodeError:
        raise NotJson("A string holds half a surrogate pair.") from None
    except RecursionError:
        raise NotJson("The body is nested too deep.") from None
    except ValueError as error:
        raise NotJson(f"The body is no JSON: {error}.") from None
    return value


def held(value: Any) -> Any:
    """The value as it is kept: what is no number here is the text of one."""
    match value:
        case Raw():
            return bytes(value).decode()
        case dict():
            return {name: held(one) for name, one in value.items()}
        case list():
            return [held(one) for one in value]
        case _:
            return value


def is_exact(value: Any) -> bool:
    """Whether what is kept of a value is that value."""
    match value:
        case Raw():
            return False
        case dict():
            return all(is_exact(one) for one in value.values())
        case list():
            return all(is_exact(one) for one in value)
        case _:
            return True


def fingerprint(value: Any) -> bytes:
    """Equal for values that are equal as exact decimals."""
    return hashlib.sha256(canonical(_marked(value)).encode()).digest()


def _marked(value: Any) -> Any:
    match value:
        case bool() | None:
            return value
        case str():
            return f"={value}"
        case int() | float():
            return _decimal(Decimal(repr(value)))
        case Raw():
            text = bytes(value).decode()
            try:
                return _decimal(Decimal(text))
            except InvalidOperation:  # its exponent is beyond all bounds
                return f"#{text}"
        case dict():
            return {name: _marked(one) for name, one in value.items()}
        case _:
            return [_marked(one) for one in value]


def _decimal(number: Decimal) -> str:
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    bare = text.rstrip("0")
    return f"#{'-' if sign and bare else ''}{bare}e{int(exponent) + len(text) - len(bare) if bare else 0}"


def _members(found: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(found)
    if len(value) < len(found):
        raise NotJson("A member is named twice.")
    return value


def _constant(text: str) -> Any:
    raise NotJson(f"JSON has no number {text}.")


def _int(text: str) -> int | Raw:
    if len(text) <= DIGITS_MAX and -INTEGER_MAX - 1 <= int(text) <= INTEGER_MAX:
        return int(text)
    return Raw(text.encode())


def _float(text: str) -> float | Raw:
    number = float(text)
    try:
        same = math.isfinite(number) and Decimal(repr(number)) == Decimal(text)
    except InvalidOperation:
        same = False
    return number if same else Raw(text.encode())
