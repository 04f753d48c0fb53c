"""Values as JSON lists of what their fields hold, in order, and back: shorter than with names, and sooner read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import pydantic_core

from actors.core.values import maker
from daemon.runtime.json_codec import dumps, spelled

T = TypeVar("T")
_items: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


def listed(value: Any) -> bytes:
    """A value of a class that has a `reader`, as JSON."""
    return dumps(value, _listed)


def reader(cls: type[T]) -> Callable[[bytes], T]:
    """What makes the value of what `listed` wrote of it; ValueError for what has another shape.

    What a field holds is not checked again, but for times and other values: who asks knows that nothing was changed.
    """
    make = _reader(cls)

    def read(data: bytes) -> T:
        try:
            value: T = make(_parsed(data))
        except TypeError as error:
            raise ValueError(f"no {cls.__name__}: {error}") from error
        return value

    return read


def _parsed(data: bytes) -> Any:
    try:
        return pydantic_core.from_json(data)
    except ValueError:
        # The fast parser gives up at a depth that the encoder still writes.
        return json.loads(data)


def _listed(value: Any) -> Any:
    try:
        return _items[type(value)](value)
    except KeyError:
        return spelled(value)


def _reader(cls: Any) -> Callable[[Any], Any]:
    """Write the functions that make a list of a value and a value of a list, as dataclasses write `__init__`."""
    known, hints = fields(cls), get_type_hints(cls)
    names = [field.name for field in known]
    scope: dict[str, Any] = {"_at": datetime.fromisoformat, "_make": maker(cls)}
    given = ", ".join(
        (f"{field.name}=" if field.kw_only else "") + _expression(hints[field.name], field.name, scope)
        for field in known
    )
    lines = [
        f"def items(value): return ({', '.join(f'value.{name}' for name in names)},)",
        "def read(items):",
        f" {', '.join(names)}, = items",
        f" return _make({given})",
    ]
    exec("\n".join(lines), scope)  # noqa: S102 - made of field names alone
    _items[cls] = scope["items"]
    read: Callable[[Any], Any] = scope["read"]
    return read


def _expression(hint: Any, name: str, scope: dict[str, Any]) -> str:
    """How what JSON has under a name becomes what a field of that type holds; JSON stays as it is."""
    inner = [one for one in get_args(hint) if one not in (type(None), Ellipsis)]
    if hint is datetime:
        return f"_at({name})"
    if is_dataclass(hint):
        scope[f"_read_{name}"] = _reader(hint)
        return f"_read_{name}({name})"
    if get_origin(hint) is tuple:
        made = _expression(inner[0], name, scope)
        return f"tuple({name})" if made == name else f"tuple([{made} for {name} in {name}])"
    if get_origin(hint) in (Union, UnionType) and len(inner) == 1:
        made = _expression(inner[0], name, scope)
        return name if made == name else f"None if {name} is None else {made}"
    return name
