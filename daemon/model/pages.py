"""Pages of what is stored: bounded in entries by the caller, and in bytes by the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
PAGE_BYTES_MAX = 4 * 1024 * 1024


class Page(list[T]):
    """Entries in order; `more` when the bytes ended it early, so that others may follow."""

    more: bool = False
    size: int = 0

    def add(self, entry: T, size: int, least: int = 1) -> bool:
        """Add an entry of that many bytes, unless the page has `least` and this is too much."""
        self.more = len(self) >= least and self.size + size > PAGE_BYTES_MAX
        if not self.more:
            self.append(entry)
            self.size += size
        return not self.more


def whole(rows: Iterable[tuple[Any, ...]]) -> Page[tuple[Any, ...]]:
    """All rows, whatever their bytes."""
    page = Page(rows)
    page.size = sum(map(_bytes_of, page))
    return page


Enough = Callable[[tuple[Any, ...]], bool]
"""Whether a page needs no row behind this one; called with each."""


def never(_: tuple[Any, ...]) -> bool:
    return False


def fill(page: Page[tuple[Any, ...]], rows: Iterable[tuple[Any, ...]], least: int = 1, enough: Enough = never) -> bool:
    """Add rows by the bytes of their values; whether there is room for others, and need of them."""
    return all(page.add(row, _bytes_of(row), least) and not enough(row) for row in rows)


def _bytes_of(row: tuple[Any, ...]) -> int:
    return sum(len(value) for value in row if isinstance(value, bytes))
