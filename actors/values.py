"""Copies of frozen values with some fields changed: what `dataclasses.replace` does, at a sixth of its price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")
_Writers = dict[str, Callable[[Any, Any], None]]
_known: dict[type, tuple[Callable[[Any], Any], _Writers]] = {}


def changed(value: T, **changes: Any) -> T:
    """A copy of a slotted dataclass with these fields changed; its `__init__` is not run again.

    Evolving a run copies it once for each event, and this is most of what a turn costs.
    """
    cls = type(value)
    copy, writers = _known.get(cls) or _learn(cls)
    made: T = copy(value)
    for name, new in changes.items():
        writers[name](made, new)
    return made


def _learn(cls: type) -> tuple[Callable[[Any], Any], _Writers]:
    """Write the function that copies a class, as dataclasses write `__init__`, and keep it."""
    names = [field.name for field in fields(cls)]
    writers: _Writers = {name: cls.__dict__[name].__set__ for name in names}
    lines = ["def copy(value):", " made = new(cls)", *(f" set_{name}(made, value.{name})" for name in names)]
    scope: dict[str, Any] = {"new": object.__new__, "cls": cls, **{f"set_{n}": writers[n] for n in names}}
    exec("\n".join([*lines, " return made"]), scope)  # noqa: S102 - made of field names alone
    _known[cls] = (scope["copy"], writers)
    return _known[cls]
