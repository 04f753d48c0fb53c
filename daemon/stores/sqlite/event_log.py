"""A company's events in the order of their commits, as rows; all of it runs in a connection's thread.

No index of its own leads there, since every commit would have to keep it: the leaves of the company's tree do, which
are made in the background, and behind the last of them the commits themselves are few.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from daemon.model.chain import HistoryBroken
from daemon.model.event_log import CompanyEvent, Position
from daemon.stores.rows import INTEGER_MAX, events_of_row

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

_COMMIT = (
    "SELECT commits.position, commits.run_id, commits.first_seq, commits.version, commits.head, commits.exact, "
    "commits.events, before.head FROM"
)
_BEFORE = (
    "LEFT JOIN commits AS before ON before.company_id = commits.company_id AND before.run_id = commits.run_id "
    "AND before.version = commits.first_seq - 1"
)
_SEALED = (
    f"{_COMMIT} audit_leaves CROSS JOIN commits ON commits.position = audit_leaves.position {_BEFORE} "
    "WHERE audit_leaves.company_id = ? AND number >= ? AND stream != audit_leaves.company_id ORDER BY number LIMIT ?"
)
_UNSEALED = (
    f"{_COMMIT} commits NOT INDEXED {_BEFORE} WHERE commits.position >= ? AND commits.company_id = ? "
    "AND commits.run_id != commits.company_id ORDER BY commits.position LIMIT ?"
)
_POSITION = "SELECT position FROM audit_leaves WHERE company_id = ? AND number = ?"


def present(db: sqlite3.Connection) -> Position:
    """The place behind everything that is committed."""
    (last,) = db.execute("SELECT coalesce(max(position), 0) FROM commits").fetchone()
    return Position(last + 1, 0)


def happened(db: sqlite3.Connection, company_id: str, after: Position, limit: int) -> Sequence[CompanyEvent]:
    """The events behind a place; each commit holds at least one, so that one more commit than events is enough."""
    found: list[CompanyEvent] = []
    limit = max(0, min(limit, INTEGER_MAX - 1))
    for row in _commits(db, company_id, min(after.position, INTEGER_MAX), limit + 1):
        if len(found) >= limit:
            break
        found += [placed for placed in events_of_row(company_id, row) if placed.place > after]
    return found[:limit]


def _commits(db: sqlite3.Connection, company_id: str, position: int, limit: int) -> Iterator[tuple[Any, ...]]:
    """The commits of a company's runs from a position on."""
    (sealed,) = db.execute("SELECT coalesce(max(position), 0) FROM audit_leaves").fetchone()
    if position <= sealed:
        yield from db.execute(_SEALED, (company_id, _leaf(db, company_id, position), limit))
    yield from db.execute(_UNSEALED, (max(position, sealed + 1), company_id, limit))


def _leaf(db: sqlite3.Connection, company_id: str, position: int) -> int:
    """The number of a company's first leaf from a position on; leaves are numbered in the order of their positions."""
    (last,) = db.execute("SELECT max(number) FROM audit_leaves WHERE company_id = ?", (company_id,)).fetchone()

    def at(number: int) -> int:
        row = db.execute(_POSITION, (company_id, number)).fetchone()
        if row is None:
            raise HistoryBroken(company_id, number, "a leaf of the company's tree is missing")
        return int(row[0])

    return bisect_left(range(0 if last is None else last + 1), position, key=at)
