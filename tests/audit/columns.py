"""Changes of single columns and rows of any table, in either database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

ALIKE = {
    "digest",
    "email_key",
    "id",
    "key_hash",
    "name",
    "number",
    "position",
    "run",
    "run_id",
    "size",
    "tool_id",
    "vertical",
}
"""Columns that some index holds unique."""

FAR = 10_000


@dataclass(frozen=True)
class Column:
    name: str
    kind: str
    key: bool


class Tampered(Protocol):
    """A copy of a database to tamper with."""

    def about(self, table: str) -> list[Column]: ...

    def rows(self, statement: str, *values: Any) -> list[Sequence[Any]]: ...

    def run(self, statement: str, *values: Any) -> None: ...


class TamperedSqlite:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def about(self, table: str) -> list[Column]:
        return [Column(row[1], row[2].lower(), bool(row[5])) for row in self._db.execute(f"PRAGMA table_info({table})")]

    def rows(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        return self._db.execute(statement, values).fetchall()

    def run(self, statement: str, *values: Any) -> None:
        self._db.execute(statement.replace("$", "?"), values)


def other(column: Column, value: Any) -> Any:
    """Another value of the same type; numbers are far from all that are there."""
    kind = column.kind
    if isinstance(value, bool) or column.name in ("resting", "enabled"):
        return type(value)(1 - value)
    if isinstance(value, int) or (value is None and "int" in kind):
        return FAR + (value or 0)
    if isinstance(value, float):
        return FAR + value
    if isinstance(value, bytes) or (value is None and kind in ("blob", "bytea")):
        return value[:-1] + bytes([value[-1] ^ 1]) if value else b"x"
    return f"{value or ''}x"


def change(db: Tampered, table: str, column: str, last: bool = False) -> None:
    """Change a column of the first row, or of the last."""
    about = db.about(table)
    keys = [one.name for one in about if one.key]
    row = _row(db, table, [*keys, column], keys, last=last)
    value = other(next(one for one in about if one.name == column), row[-1])
    db.run(f"UPDATE {table} SET {column} = $1 WHERE {_where(keys, 2)}", value, *row[:-1])


def delete(db: Tampered, table: str) -> None:
    """Delete the last row."""
    keys = [one.name for one in db.about(table) if one.key]
    row = _row(db, table, keys, keys, last=True)
    db.run(f"DELETE FROM {table} WHERE {_where(keys, 1)}", *row)


def insert(db: Tampered, table: str) -> None:
    """Insert a row like the first, with another key."""
    about = db.about(table)
    names = [one.name for one in about]
    row = _row(db, table, names, [one.name for one in about if one.key])
    values = [
        other(one, value) if one.key or one.name in ALIKE else value for one, value in zip(about, row, strict=True)
    ]
    places = ", ".join(f"${number}" for number in range(1, len(names) + 1))
    db.run(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})", *values)


def swap(db: Tampered, table: str, apart: Iterable[str]) -> bool:
    """Swap what two rows hold beside their keys, apart from some columns; False without two."""
    about = db.about(table)
    keys = [one.name for one in about if one.key]
    left = {*apart, *ALIKE, "version", "company_id"}
    names = [one.name for one in about if not one.key and one.name not in left]
    if not names:
        return False
    pair = next(_pairs(db, table, keys, names), None)
    if pair is None:
        return False
    sets = ", ".join(f"{name} = ${number}" for number, name in enumerate(names, 1))
    for source, target in (pair, pair[::-1]):
        where = _where(keys, len(names) + 1)
        db.run(f"UPDATE {table} SET {sets} WHERE {where}", *source[len(keys) :], *target[: len(keys)])
    return True


def _pairs(
    db: Tampered, table: str, keys: list[str], names: list[str]
) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    rows = db.rows(f"SELECT {', '.join((*keys, *names))} FROM {table} ORDER BY {', '.join(keys)}")
    for one in rows:
        for two in rows:
            if tuple(one[len(keys) :]) != tuple(two[len(keys) :]):
                yield one, two


def _row(db: Tampered, table: str, names: list[str], keys: list[str], *, last: bool = False) -> Sequence[Any]:
    order = ", ".join(f"{key} {'DESC' if last else 'ASC'}" for key in keys)
    return db.rows(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order} LIMIT 1")[0]


def _where(keys: list[str], first: int) -> str:
    return " AND ".join(f"{key} = ${number}" for number, key in enumerate(keys, first))
