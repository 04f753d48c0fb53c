"""Many rows in one statement: each statement is a moment in which the event loop can take the interpreter away."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from actors.failpoints import reach

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

# Any number up to the first is made of at most three of them; they are few, so that every statement stays prepared.
SIZES = (64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)


@dataclass(frozen=True, slots=True)
class Rows:
    """A statement around a list of VALUES, each row with the same number of columns."""

    before: str
    columns: int
    after: str = ""

    def write(self, db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        """Run the statement over the rows, and return how many rows it changed."""
        written = 0
        for cursor in self._run(db, rows):
            written += cursor.rowcount
            reach("between-statements")
        return written

    def read(self, db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Run the statement over the rows, and return what it finds for all of them."""
        return [row for cursor in self._run(db, rows) for row in cursor.fetchall()]

    def _run(self, db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> Iterator[sqlite3.Cursor]:
        start = 0
        for size in SIZES:
            while len(rows) - start >= size:
                values = [value for row in rows[start : start + size] for value in row]
                yield db.execute(_statement(self, size), values)
                start += size


@lru_cache(maxsize=256)
def _statement(rows: Rows, size: int) -> str:
    row = f"({', '.join('?' * rows.columns)})"
    return f"{rows.before} VALUES {', '.join([row] * size)} {rows.after}"
