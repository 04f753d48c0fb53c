"""A company's events in the order of their commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.chain import ChainWalk, HistoryBroken, genesis
from daemon.model.event_log import LoggedEvent, Position, mark_of
from daemon.model.pages import Page
from daemon.stores import codec
from daemon.stores.rows import INTEGER_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daemon.keys.commit_keys import CommitKeys
    from daemon.stores.database import Database, Dialect, Row

THERE = "length(commits.events) > 0"
"""Of commits whose events are in no archive."""
_COMMIT = (
    "SELECT commits.position, commits.run_id, commits.first_seq, commits.version, commits.head, commits.mac, "
    "commits.exact, commits.events, before.head FROM"
)
_BEFORE = (
    "LEFT JOIN commits AS before ON before.company_id = commits.company_id AND before.run_id = commits.run_id "
    "AND before.version = commits.first_seq - 1"
)
_IN_ORDER = (
    f"{_COMMIT} commits {_BEFORE} WHERE commits.company_id = $1 AND commits.position >= $2 "
    f"AND commits.run_id <> commits.company_id AND {THERE} ORDER BY commits.position LIMIT $3"
)
# SQLite has no index by company and position, since each commit would have to keep it. The leaves
# of the company's tree lead to the commits they cover; the few behind the last leaf are scanned.
_SEALED = (
    f"{_COMMIT} audit_leaves CROSS JOIN commits ON commits.position = audit_leaves.position {_BEFORE} "
    f"WHERE audit_leaves.company_id = $1 AND number >= $2 AND stream <> audit_leaves.company_id AND {THERE} "
    "ORDER BY number LIMIT $3"
)
_UNSEALED = _IN_ORDER.replace("FROM commits", "FROM commits NOT INDEXED")
_IN_REVERSE = (
    f"{_COMMIT} commits {_BEFORE} WHERE commits.company_id = $1 AND commits.position BETWEEN $2 AND $3 "
    f"AND commits.run_id <> commits.company_id AND {THERE}{{where}} ORDER BY commits.position DESC LIMIT $4"
)
UNSEALED: dict[Dialect, str] = {
    "sqlite": _IN_REVERSE.replace("FROM commits", "FROM commits NOT INDEXED"),
    "postgres": _IN_REVERSE,
}
"""A company's commits between two positions, the newest first, with room for a condition."""
SEALED = _SEALED.replace("number >= $2", "number >= $2 AND number < $3{where}").replace(
    "ORDER BY number LIMIT $3", "ORDER BY number DESC LIMIT $4"
)
"""The same between two leaves, in SQLite."""
_REVERSE = {dialect: statement.format(where="") for dialect, statement in UNSEALED.items()}
_SEALED_REVERSE = SEALED.format(where="")
_HEAD_AT: dict[Dialect, str] = {
    "sqlite": "SELECT head FROM commits WHERE $1 <> '' AND position <= $2 ORDER BY position DESC LIMIT 1",
    "postgres": "SELECT head FROM commits WHERE company_id = $1 AND position <= $2 ORDER BY position DESC LIMIT 1",
}
_LEAF = "SELECT position FROM audit_leaves WHERE company_id = $1 AND number = $2"


async def log_end(db: Database, company_id: str) -> Position:
    """The position behind everything that a company has committed."""
    if db.dialect == "postgres":
        last = await db.value("SELECT position FROM clocks WHERE company_id = $1", company_id)
    else:
        last = await db.value("SELECT max(position) FROM commits")
    return Position((last or 0) + 1, 0)


async def head_at(db: Database, company_id: str, place: Position) -> bytes | None:
    """The head of the last commit up to a place; in SQLite, which has one order, of any company."""
    head: bytes | None = await db.value(_HEAD_AT[db.dialect], company_id, place.commit - (place.nth == 0))
    return head


async def read_after(db: Database, company_id: str, after: Position, limit: int) -> Page[LoggedEvent]:
    """At most `limit` events of a company's runs behind a position, in order."""
    limit = max(0, min(limit, INTEGER_MAX - 1))
    page: Page[LoggedEvent] = Page()
    # The first commit may lie wholly before the position; each other one has an event behind it.
    wanted = _Wanted(limit + after.nth)
    rows = await _commits(db, company_id, min(after.commit, INTEGER_MAX), limit + 1, wanted)
    page += await db.run_by_size(company_id, rows.size, lambda: _behind(db.keys, company_id, rows, after, limit))
    page.more, page.size = rows.more, rows.size
    return page


async def read_before(db: Database, company_id: str, before: Position, limit: int) -> Page[LoggedEvent]:
    """At most `limit` events of a company's runs before a position, the newest first."""
    limit = max(0, min(limit, INTEGER_MAX - 1))
    page: Page[LoggedEvent] = Page()
    rows = await _commits_before(db, company_id, min(before.commit, INTEGER_MAX - 1), limit + 1)
    page += await db.run_by_size(company_id, rows.size, lambda: _ahead(db.keys, company_id, rows, before, limit))
    page.more, page.size = rows.more, rows.size
    return page


def _ahead(keys: CommitKeys, company_id: str, rows: Sequence[Row], before: Position, limit: int) -> list[LoggedEvent]:
    """The events of commits before a position, the newest first, up to a limit."""
    found: list[LoggedEvent] = []
    for row in rows:
        if len(found) >= limit:
            break
        found += reversed([one for one in events_of(keys, company_id, row) if one.position < before])
    return found[:limit]


def _behind(keys: CommitKeys, company_id: str, rows: Sequence[Row], after: Position, limit: int) -> list[LoggedEvent]:
    """The events of commits behind a position, up to a limit."""
    found: list[LoggedEvent] = []
    for row in rows:
        if len(found) >= limit:
            break
        found += [one for one in events_of(keys, company_id, row) if one.position > after]
    return found[:limit]


class _Wanted:
    """Counts the events of the commits that are read, until there are enough."""

    def __init__(self, events: int) -> None:
        self.events = events

    def __call__(self, row: Row) -> bool:
        _, _, first, version, *_ = row
        self.events -= version - first + 1
        return self.events <= 0


async def _commits(db: Database, company_id: str, position: int, limit: int, wanted: _Wanted) -> Page[Row]:
    """The commits of a company's runs from a position on, as many as are wanted, or `limit`."""
    if db.dialect == "postgres":
        return await db.page(_IN_ORDER, company_id, position, limit, least=2, enough=wanted)
    sealed = await db.value("SELECT coalesce(max(position), 0) FROM audit_leaves")
    found: Page[Row] = Page()
    if position <= sealed:
        leaf = await leaf_at(db, company_id, position)
        found = await db.page(_SEALED, company_id, leaf, limit, least=2, enough=wanted)
    if len(found) < limit and not found.more and wanted.events > 0:
        behind_sealed = (company_id, max(position, sealed + 1), limit - len(found))
        behind = await db.page(_UNSEALED, *behind_sealed, least=2, enough=wanted)
        found += behind
        found.more, found.size = behind.more, found.size + behind.size
    return found


async def _commits_before(db: Database, company_id: str, position: int, limit: int) -> Page[Row]:
    """The commits of a company's runs up to a position, the newest first: two at least."""
    if db.dialect == "postgres":
        return await db.page(_REVERSE["postgres"], company_id, 0, position, limit, least=2)
    sealed = await db.value("SELECT coalesce(max(position), 0) FROM audit_leaves")
    found: Page[Row] = await db.page(_REVERSE["sqlite"], company_id, sealed + 1, position, limit, least=2)
    if len(found) < limit and not found.more:
        first = await leaf_at(db, company_id, min(position, sealed) + 1)
        earlier = await db.page(_SEALED_REVERSE, company_id, 0, first, limit - len(found), least=2)
        found += earlier
        found.more, found.size = earlier.more, found.size + earlier.size
    return found


async def leaf_at(db: Database, company_id: str, position: int) -> int:
    """The number of a company's first leaf from a position on; leaves are in position order."""
    last = await db.value("SELECT max(number) FROM audit_leaves WHERE company_id = $1", company_id)
    low, high = 0, 0 if last is None else last + 1
    while low < high:
        middle = (low + high) // 2
        found = await db.value(_LEAF, company_id, middle)
        if found is None:
            raise HistoryBroken(company_id, middle, "a leaf of the company's tree is missing")
        low, high = (middle + 1, high) if found < position else (low, middle)
    return low


def events_of(keys: CommitKeys, company_id: str, row: Row) -> Iterator[LoggedEvent]:
    """The events of a commit, its MAC and its place in the chain checked."""
    position, run_id, first, version, head, mac, exact, events, before = row
    if first == 1:
        before = genesis(company_id, run_id)
    if before is None:
        raise HistoryBroken(run_id, first - 1, "the commit before is missing or has no head")
    ChainWalk(run_id, before, first - 1).read_commit(first, version, head, events)
    keys.check((company_id, run_id), version, first, head, mac, events=events)
    for nth, event in enumerate(codec.decode_events(events, exact), 1):
        yield LoggedEvent(Position(position, nth), run_id, first + nth - 1, event, mark_of(head))
