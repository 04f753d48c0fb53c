"""Copies of frozen values with some fields changed: what `dataclasses.replace` does, at half its price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")
_Parts = tuple[Callable[[Any], tuple[Any, ...]], tuple[Callable[[Any, Any], None], ...], dict[str, int]]
_parts: dict[type, _Parts] = {}


def changed(value: T, **changes: Any) -> T:
    """A copy of a slotted dataclass with these fields changed; its `__init__` is not run again.

    Evolving a run copies it once for each event, and this is most of what a turn costs.
    """
    cls = type(value)
    read, writes, places = _parts.get(cls) or _learn(cls)
    copy = object.__new__(cls)
    for write, kept in zip(writes, read(value), strict=True):
        write(copy, kept)
    for name, new in changes.items():
        writes[places[name]](copy, new)
    return copy


def _learn(cls: type) -> _Parts:
    """How to read and write the fields of a class past its being frozen, worked out once."""
    names = [field.name for field in fields(cls)]
    writes = tuple(cls.__dict__[name].__set__ for name in names)
    _parts[cls] = (attrgetter(*names), writes, {name: place for place, name in enumerate(names)})
    return _parts[cls]
