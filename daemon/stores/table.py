"""Tables as they are declared: rows as structs and back, and the statements that name columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property
from operator import attrgetter
from types import UnionType
from typing import Any, Generic, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from actors.core.canonical import canonical
from daemon.stores.database import Database, Row
from daemon.stores.rows import iso

T = TypeVar("T")


class Codec(NamedTuple):
    """How a value is stored, and read."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]

    @property
    def optional(self) -> Codec:
        """The same, with NULL for None."""
        return Codec(
            lambda value: None if value is None else self.encode(value),
            lambda stored: None if stored is None else self.decode(stored),
        )


PLAIN: Mapping[Any, Codec] = {
    datetime: Codec(iso, datetime.fromisoformat).optional,
    bool: Codec(bool, bool).optional,
    bytes: Codec(bytes, bytes).optional,
}
TEXTS = Codec(json.dumps, lambda stored: tuple(json.loads(stored)))
"""Texts in the form of JSON that the first versions wrote."""
FLAG = Codec(int, bool)
"""A truth value in a column of numbers, in PostgreSQL, too."""


class Part(NamedTuple):
    """A field of a struct with its columns, of which each has a codec."""

    columns: tuple[str, ...]
    codecs: tuple[Codec | None, ...]
    group: Callable[..., Any] | None = None

    def encode(self, value: Any) -> Row:
        if self.group is None:
            codec = self.codecs[0]
            return (value if codec is None else codec.encode(value),)
        values = (None,) * len(self.columns) if value is None else value
        return tuple(
            one if codec is None else codec.encode(one) for one, codec in zip(values, self.codecs, strict=True)
        )

    def decode(self, stored: Row) -> Any:
        values = [one if codec is None else codec.decode(one) for one, codec in zip(stored, self.codecs, strict=True)]
        if self.group is None:
            return values[0]
        return None if values[0] is None else self.group(*values)


@dataclass(frozen=True)
class Table(Generic[T]):
    """A table with a column for each field of a struct, in their order.

    A field in `stored_as` has columns of other names, of which a named tuple has several. One in
    `json` is stored as canonical JSON, one in `codecs` has a form of its own, and one in `absent`
    has no column. The columns
    `beside` belong to no field. PostgreSQL alone has those that are `shared`, and `noted`, by which
    other daemons find recent changes.
    """

    name: str
    struct: type[T]
    key: tuple[str, ...]
    json: tuple[str, ...] = ()
    stored_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    codecs: Mapping[str, Codec] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    noted: str = ""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for part in self._parts.values() for name in part.columns)

    @cached_property
    def names(self) -> str:
        return ", ".join(self.columns)

    @cached_property
    def select(self) -> str:
        return f"SELECT {self.names} FROM {self.name}"  # noqa: S608 - names of our own

    def to_row(self, one: T) -> Row:
        row = [*self._fields(one)]
        for at, part in self._encoded:
            row[at : at + 1] = part.encode(row[at])
        return tuple(row)

    def values(self, one: T) -> dict[str, Any]:
        """The stored values by column."""
        return dict(zip(self.columns, self.to_row(one), strict=True))

    def from_row(self, row: Sequence[Any]) -> T:
        values, at = {}, 0
        for name, part in self._parts.items():
            values[name] = part.decode(tuple(row[at : at + len(part.columns)]))
            at += len(part.columns)
        return self.struct(**values)

    async def insert(self, db: Database, one: T, **beside: Any) -> None:
        columns = ", ".join((*self.columns, *beside))
        await db.insert(f"{self.name} ({columns})", [(*self.to_row(one), *beside.values())])

    async def insert_new(self, db: Database, ones: Iterable[T]) -> None:
        """Insert rows, and leave those that are there as they are."""
        await db.insert(f"{self.name} ({self.names})", [self.to_row(one) for one in ones], skip_known=True)

    async def add(self, db: Database, one: T) -> bool:
        """Insert a row; False when there is one of its key or another that has to be unique."""
        values = ", ".join(f"${number}" for number, _ in enumerate(self.columns, 1))
        statement = f"INSERT INTO {self.name} ({self.names}) VALUES ({values}) ON CONFLICT DO NOTHING"  # noqa: S608
        return await db.execute(statement, *self.to_row(one)) == 1

    async def put(self, db: Database, one: T, where: str = "", **beside: Any) -> bool:
        """Insert a row or replace the one of its key; False where `where` is not so of that."""
        columns = (*self.columns, *beside)
        statement = upsert(self.name, columns, self.key, where, self.noted if db.dialect == "postgres" else "")
        return await db.execute(statement, *self.to_row(one), *beside.values()) == 1

    async def replace(self, db: Database, one: T, **before: Any) -> bool:
        """Replace the row of a key; False where it is not there with these values of before."""
        number = {name: f"${at}" for at, name in enumerate(self.columns, 1)}
        after = ", ".join(f"{name} = {number[name]}" for name in self.columns if name not in self.key)
        stood = [f"{name} = ${at}" for at, name in enumerate(before, len(self.columns) + 1)]
        where = " AND ".join((*(f"{name} = {number[name]}" for name in self.key), *stood))
        statement = f"UPDATE {self.name} SET {after}{self.note(db)} WHERE {where}"  # noqa: S608 - names of our own
        return await db.execute(statement, *self.to_row(one), *before.values()) == 1

    def note(self, db: Database) -> str:
        """What an UPDATE sets beside, so that other daemons find the row."""
        return f", {self.noted} = clock_timestamp()" if self.noted and db.dialect == "postgres" else ""

    @cached_property
    def _fields(self) -> Callable[[T], Row]:
        return attrgetter(*self._parts)

    @cached_property
    def _encoded(self) -> Sequence[tuple[int, Part]]:
        """The fields that are not stored as they are, the last first: some have several columns."""
        parts = [*enumerate(self._parts.values())]
        return [(at, part) for at, part in reversed(parts) if part.group is not None or any(part.codecs)]

    @cached_property
    def _parts(self) -> dict[str, Part]:
        hints = get_type_hints(self.struct)
        return {name: self._part(name, hint) for name, hint in hints.items() if name not in self.absent}

    def _part(self, name: str, hint: Any) -> Part:
        columns = self.stored_as.get(name, (name,))
        if len(columns) > 1:
            group = _required(hint)
            return Part(columns, tuple(PLAIN.get(_required(one)) for one in get_type_hints(group).values()), group)
        if name in self.json:
            return Part(columns, (json_codec(hint),))
        return Part(columns, (self.codecs.get(name) or PLAIN.get(_required(hint)),))


def json_codec(hint: Any) -> Codec:
    """Canonical JSON of values of a type."""
    decoder = msgspec.json.Decoder(hint)
    return Codec(lambda value: canonical(msgspec.to_builtins(value)), decoder.decode).optional


@cache
def upsert(table: str, columns: tuple[str, ...], key: tuple[str, ...], where: str = "", noted: str = "") -> str:
    """A statement that writes a row in the place of the one of its key, where `where` is so.

    The column `noted` then says when it was.
    """
    values = [f"${number}" for number, _ in enumerate(columns, 1)]
    if noted:
        columns, values = (*columns, noted), [*values, "clock_timestamp()"]
    after = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(values)}) "  # noqa: S608 - names of our own
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {after}{where and f' WHERE {where}'}"
    )


def _required(hint: Any) -> Any:
    """A type without None."""
    if get_origin(hint) in (Union, UnionType):
        kinds = [one for one in get_args(hint) if one is not type(None)]
        return kinds[0] if len(kinds) == 1 else hint
    return hint
