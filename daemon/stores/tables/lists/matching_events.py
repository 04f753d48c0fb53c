"""Events of a company's log and of its runs by type, person, time and text, the newest first.

A page looks at a bounded number of commits, and says where the next begins.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from daemon.model.commitments.salted import plain
from daemon.model.event_log import LoggedEvent, Position
from daemon.model.evidence import SealedCommit
from daemon.model.pages import Page
from daemon.stores.rows import INTEGER_MAX, below, bounded
from daemon.stores.tables.event_log import SEALED, THERE, UNSEALED, events_of, leaf_at
from daemon.stores.tables.reading import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.keys.commit_keys import CommitKeys
    from daemon.model.event_log import HistoryFilter
    from daemon.model.reading import Sight
    from daemon.stores.database import Database, Dialect, Row

SCANNED_MAX = 5_000
ABOUT_RUNS = tuple(b'"type":"%s"' % one for one in (b"hold_changed", b"run_archived", b"run_redacted"))
"""Of the entries of a company's log that are about a run."""
_HOLDS: dict[Dialect, str] = {
    "sqlite": "instr(commits.events, ${}) > 0",
    "postgres": "position(${} in commits.events) > 0",
}
_SAYS: dict[Dialect, str] = {
    "sqlite": "instr(lower(CAST(commits.events AS TEXT)), ${}) > 0",
    "postgres": "strpos(lower(convert_from(commits.events, 'UTF8') COLLATE \"C\"), ${}) > 0",
}
_LOGGED = (
    "SELECT commits.version, first_seq, commits.head, mac, events, (SELECT before.head FROM commits AS before WHERE "
    "before.company_id = $1 AND before.run_id = $1 AND before.version = commits.version - 1) FROM commits "
    "WHERE company_id = $1 AND run_id = $1 AND version >= $2 AND version < $3{where} ORDER BY version DESC LIMIT $4"
)
_LOG_END = "SELECT coalesce(max(version), 0) FROM commits WHERE company_id = $1 AND run_id = $1"
_LOG_EVENT = (
    "SELECT version, events FROM commits WHERE company_id = $1 AND run_id = $1 AND version >= $2 AND version < $3 "
    "ORDER BY version LIMIT 1"
)
_LEAF = (
    "SELECT number, events FROM audit_leaves JOIN commits ON commits.position = audit_leaves.position "
    f"WHERE audit_leaves.company_id = $1 AND number >= $2 AND number < $3 AND {THERE} ORDER BY number LIMIT 1"
)
_LEAF_POSITION = "SELECT position FROM audit_leaves WHERE company_id = $1 AND number = $2"
_LAST_LEAF = "SELECT coalesce(max(number), -1) FROM audit_leaves WHERE company_id = $1"
_COMMIT = (
    "SELECT position, events FROM commits WHERE company_id = $1 AND position >= $2 AND position < $3 "
    f"AND {THERE} ORDER BY position LIMIT 1"
)
_CLOCK = "SELECT coalesce(max(position), 0) FROM clocks WHERE company_id = $1"


async def logged_matching(
    db: Database, company_id: str, before: int | None, which: HistoryFilter, limit: int, *, runs_too: bool = True
) -> Sequence[tuple[SealedCommit, bytes | None]]:
    """The newest commits of the log that may match, each with the head before it.

    Without `runs_too` no text or name is looked for in entries about runs.
    """
    end = min(below(before), (await db.value(_LOG_END, company_id)) + 1)
    first, last = await _between(db, (_LOG_EVENT, company_id), (1, end), which)
    where, values = _where(db.dialect, which, 5)
    if not runs_too and (which.text is not None or which.by is not None):
        where += "".join(
            f" AND NOT {_HOLDS[db.dialect].format(5 + len(values) + nth)}" for nth in range(len(ABOUT_RUNS))
        )
        values += ABOUT_RUNS
    statement = _LOGGED.format(where=where)
    rows = await db.page(statement, company_id, first, last, bounded(limit), *values)
    found = []
    for version, first_seq, head, mac, events, previous in rows:
        db.keys.check((company_id, company_id), version, first_seq, head, mac)
        found.append((SealedCommit(-1, company_id, version, first_seq, head, events), previous))
    return found


class _Asked(NamedTuple):
    """Which events of runs are asked for, and by whom."""

    which: HistoryFilter
    sight: Sight | None

    def where(self, dialect: Dialect) -> tuple[str, list[Any]]:
        """The conditions on commits behind the first four values, and their values."""
        where, values = _where(dialect, self.which, 5)
        seen, more = visible(dialect, self.sight, 5 + len(values), "commits.run_id")
        return where + seen, [*values, *more]


async def read_matching(
    db: Database,
    company_id: str,
    before: Position,
    which: HistoryFilter,
    limit: int,
    *,
    sight: Sight | None = None,
) -> tuple[Page[LoggedEvent], Position | None]:
    """The newest events of runs before a position that match, and where to go on, if anywhere.

    Those of runs that `sight` leaves out are looked at by no condition.
    """
    look, limit = _in_postgres if db.dialect == "postgres" else _in_sqlite, bounded(limit)
    # The first commit may lie at the position itself, so that nothing of it is shown any more.
    asked = _Asked(which, sight)
    rows, further = await look(db, company_id, min(before.commit, INTEGER_MAX - 1), asked, limit + 1)
    page: Page[LoggedEvent] = Page()
    events = await db.run_by_size(company_id, rows.size, lambda: _matching(db.keys, company_id, rows, which))
    page += [one for one in events if one.position < before]
    page.size = rows.size
    if len(page) > limit:
        del page[limit:]
        further = page[-1].position
    elif rows.more or len(rows) > limit:
        further = Position(rows[-1][0], 0)
    return page, further


async def _in_postgres(
    db: Database, company_id: str, position: int, asked: _Asked, limit: int
) -> tuple[Page[Row], Position | None]:
    end = min(position, await db.value(_CLOCK, company_id)) + 1
    first, last = await _between(db, (_COMMIT, company_id), (1, end), asked.which)
    low = max(first, last - SCANNED_MAX)
    where, values = asked.where(db.dialect)
    statement = UNSEALED["postgres"].format(where=where)
    rows = await db.page(statement, company_id, low, last - 1, limit, *values, least=2)
    return rows, Position(low, 0) if low > first else None


async def _in_sqlite(
    db: Database, company_id: str, position: int, asked: _Asked, limit: int
) -> tuple[Page[Row], Position | None]:
    """The commits that no leaf covers yet, then a window of those that leaves lead to."""
    where, values = asked.where(db.dialect)
    sealed = await db.value("SELECT coalesce(max(position), 0) FROM audit_leaves")
    statement = UNSEALED["sqlite"].format(where=where)
    rows: Page[Row] = await db.page(statement, company_id, sealed + 1, position, limit, *values, least=2)
    if rows.more or len(rows) >= limit:
        return rows, None
    end = min(await leaf_at(db, company_id, min(position, sealed) + 1), await db.value(_LAST_LEAF, company_id) + 1)
    first, last = await _between(db, (_LEAF, company_id), (0, end), asked.which)
    low = max(first, last - SCANNED_MAX)
    sealed_rows = await db.page(SEALED.format(where=where), company_id, low, last, limit - len(rows), *values, least=2)
    sealed_rows[:0] = rows
    sealed_rows.size += rows.size
    further = Position(await db.value(_LEAF_POSITION, company_id, low), 0) if low > first else None
    return sealed_rows, further


async def _between(
    db: Database, places: tuple[str, str], bounds: tuple[int, int], which: HistoryFilter
) -> tuple[int, int]:
    """The places from one to another, narrowed down to the times that are asked for."""
    first, end = bounds
    if which.until is not None:
        end = await _at(db, places, (first, end), which.until)
    if which.since is not None:
        first = await _at(db, places, (first, end), which.since)
    return first, end


async def _at(db: Database, places: tuple[str, str], bounds: tuple[int, int], at: datetime) -> int:
    """The first place whose events are not earlier than a time; places are in the order of time.

    Where events are in an archive the next ones tell.
    """
    low, high = bounds
    while low < high:
        middle = (low + high) // 2
        found = await db.row(places[0], places[1], middle, high)
        earlier = found is not None and _time_of(found[1]) < at
        low, high = (found[0] + 1, high) if found is not None and earlier else (low, middle)
    return low


def _time_of(events: bytes) -> datetime:
    return datetime.fromisoformat(json.loads(events.split(b"\n", 1)[0])["at"])


def _matching(keys: CommitKeys, company_id: str, rows: Sequence[Row], which: HistoryFilter) -> list[LoggedEvent]:
    found: list[LoggedEvent] = []
    for row in rows:
        lines = row[7].split(b"\n")
        each = list(zip(events_of(keys, company_id, row), lines, strict=True))
        found += [
            one
            for one, line in reversed(each)
            if which.takes(one.event.type, getattr(one.event, "by", None), one.event.at, plain(line))
        ]
    return found


def _where(dialect: Dialect, which: HistoryFilter, first: int) -> tuple[str, list[Any]]:
    """The conditions of a filter, and their values, whose numbers begin with `first`."""
    values: list[Any] = []
    where = ""
    for marks in which.marks:
        numbers = range(first + len(values), first + len(values) + len(marks))
        where += f" AND ({' OR '.join(_HOLDS[dialect].format(number) for number in numbers) or 'false'})"
        values += marks
    if which.part is not None:
        where += f" AND {_SAYS[dialect].format(first + len(values))}"
        values.append(which.part)
    return where, values
