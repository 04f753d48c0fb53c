"""The operations that the tables use, so that each query is written once for both databases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

Dialect: TypeAlias = Literal["sqlite", "postgres"]
Row: TypeAlias = tuple[Any, ...]
Key: TypeAlias = tuple[str, str]
T = TypeVar("T")


class Database(Protocol):
    """A connection inside a transaction; statements number their parameters as $1, $2 and so on."""

    dialect: Dialect
    epoch: int
    """The lease of this daemon; 0 where no other daemon can share the database."""

    async def rows(self, statement: str, *values: Any) -> Sequence[Row]: ...

    async def row(self, statement: str, *values: Any) -> Row | None: ...

    async def value(self, statement: str, *values: Any) -> Any:
        """The first column of the first row; None without a row."""

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns the number of rows it changed."""

    async def insert(self, into: str, rows: Sequence[Row], *, skip_known: bool = False) -> None:
        """Insert rows into `table (column, …)`; `skip_known` leaves existing rows as they are."""

    async def next_position(self, company_id: str, commits: int = 1) -> int | None:
        """Lock and advance a company's commit order; None where the database numbers commits."""

    async def has_peers(self) -> bool:
        """Whether another daemon holds its lease at this moment."""


Work: TypeAlias = Callable[[Database], Awaitable[T]]
