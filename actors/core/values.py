"""Frozen values that cost little: to make one takes a third, and to copy one a sixth, of what dataclasses ask.

The `__init__` of a frozen dataclass sets each field through `object.__setattr__`. A value fills in a mutable twin, a
class with the same slots, and then becomes what it is by a change of class. Where much is to be changed one after the
other, the twin can be had as a `draft`, until it is made `final`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, dataclass_transform, overload

T = TypeVar("T")
P = ParamSpec("P")
_makers: dict[Any, Callable[..., Any]] = {}
_drafters: dict[Any, Callable[..., Any]] = {}
_copies: dict[type, Callable[[Any, dict[str, Any]], Any]] = {}
_drafts: dict[type, Callable[[Any], Any]] = {}
_finals: dict[type, type] = {}
MEMBERS: dict[type, Callable[[Any], dict[str, Any]]] = {}
"""How the members of each class of values are read, in order; for whoever writes them down."""
_set_class = object.__dict__["__class__"].__set__


@overload
def value(cls: type[T], /) -> type[T]: ...
@overload
def value(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T] | None = None, /, *, kw_only: bool = False) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a class a `dataclass(frozen=True, slots=True)` that is cheap to make and to copy; it has no subclasses."""

    def made(cls: type[T]) -> type[T]:
        members = {name: one for name, one in vars(cls).items() if isinstance(one, property | FunctionType)}
        frozen = dataclass(frozen=True, slots=True, kw_only=kw_only)(cls)
        twin = type(cls.__name__, (), {"__slots__": frozen.__slots__, **members})  # type: ignore[attr-defined]
        _write(frozen, twin)
        return frozen

    return made if cls is None else made(cls)


def maker(cls: Callable[P, T]) -> Callable[P, T]:
    """What makes values of a class as a call of the class does, at a third of the price, since it is a plain function.

    It is for values that nearly every turn makes: the interpreter packs what a class is called with into a dictionary.
    """
    made: Callable[P, T] = _makers[cls]
    return made


def drafter(cls: Callable[P, T]) -> Callable[P, Any]:
    """What makes drafts of values of a class, as `maker` makes the values."""
    made: Callable[P, Any] = _drafters[cls]
    return made


def changed(value: T, **changes: Any) -> T:
    """A copy of a value with these fields changed; its `__init__` is not run again."""
    made: T = _copies[type(value)](value, changes)
    return made


def draft(value: T) -> T:
    """A copy of a value that has the same fields, properties and methods, and whose fields may be assigned to."""
    made: T = _drafts[type(value)](value)
    return made


def final(made: T) -> T:
    """Make a draft the value that it stands for; from here on it is frozen."""
    made.__class__ = _finals[type(made)]
    return made


def _write(cls: type, twin: type) -> None:
    """Write the functions that make, copy and read a value, as dataclasses write `__init__`, and keep them."""
    known = fields(cls)
    scope: dict[str, Any] = {"_cls": cls, "_twin": twin, "_set_class": _set_class}
    scope |= {"_MISSING": MISSING} | {f"_default_{one.name}": one.default for one in known}
    scope |= {f"_make_{one.name}": one.default_factory for one in known}
    exec(_source(known), scope)  # noqa: S102 - made of field names alone
    slow, made = cls.__dict__["__init__"], scope["__init__"]
    made.__annotations__, made.__qualname__ = slow.__annotations__, slow.__qualname__
    cls.__init__ = made  # type: ignore[misc]
    cls.__init_subclass__ = classmethod(scope["__init_subclass__"])  # type: ignore[assignment]
    _makers[cls], _drafters[cls] = scope["make"], scope["begin"]
    _copies[cls], _drafts[cls] = scope["copy"], scope["draft"]
    _finals[twin], MEMBERS[cls] = cls, scope["members"]


def _source(known: Sequence[Field[Any]]) -> str:
    star = ["*"] if any(one.kw_only for one in known) else []
    parameters = [*star, *map(_parameter, known)]
    lines = [
        f"def __init__({', '.join(['self', *parameters])}):",
        " _set_class(self, _twin)",
        *(f" self.{one.name} = {_given(one)}" for one in known),
        " self.__class__ = _cls",
        f"def make({', '.join(parameters)}):",
        " made = _twin()",
        *(f" made.{one.name} = {_given(one)}" for one in known),
        " made.__class__ = _cls",
        " return made",
        f"def begin({', '.join(parameters)}):",
        " made = _twin()",
        *(f" made.{one.name} = {_given(one)}" for one in known),
        " return made",
        "def copy(value, changes):",
        " made = _twin()",
        *(f" made.{one.name} = value.{one.name}" for one in known),
        " for name in changes:",
        "  setattr(made, name, changes[name])",
        " made.__class__ = _cls",
        " return made",
        "def draft(value):",
        " made = _twin()",
        *(f" made.{one.name} = value.{one.name}" for one in known),
        " return made",
        "def members(value):",
        f" return {{{', '.join(f'{one.name!r}: value.{one.name}' for one in known)}}}",
        "def __init_subclass__(cls):",
        " raise TypeError('a value has no subclasses')",
    ]
    return "\n".join(lines)


def _parameter(one: Field[Any]) -> str:
    if one.default is not MISSING:
        return f"{one.name}=_default_{one.name}"
    return one.name if one.default_factory is MISSING else f"{one.name}=_MISSING"


def _given(one: Field[Any]) -> str:
    return (
        one.name if one.default_factory is MISSING else f"_make_{one.name}() if {one.name} is _MISSING else {one.name}"
    )
