"""Listings of runs, and their histories."""

from __future__ import annotations

from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from daemon.model import DueRun, ParkedRun, RecordedEvent
from daemon.model.chain import ChainWalk, HistoryBroken, genesis
from daemon.model.pages import Page, whole
from daemon.model.retention.records import HistoryArchived
from daemon.stores import codec
from daemon.stores.rows import INTEGER_MAX, bounded, iso
from daemon.stores.tables.archives import refuse_archived
from daemon.stores.tables.lists.search import matching
from daemon.stores.tables.reading import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from actors.core.messages import Event
    from actors.core.run import Run
    from daemon.keys.commit_keys import CommitKeys
    from daemon.model import RunQuery
    from daemon.stores.database import Database, Dialect, Key, Row

GATED = ("parked", "failed")
"""The statuses of runs that may have an open gate."""

_EVENTS = (
    "SELECT first_seq, version, head, mac, exact, events FROM commits "
    "WHERE company_id = $1 AND run_id = $2 AND version > $3 AND version <= $4 ORDER BY version LIMIT $5"
)
HEAD = "SELECT head FROM commits WHERE company_id = $1 AND run_id = $2 AND version = $3"
_VERSION = "SELECT version FROM runs WHERE company_id = $1 AND id = $2"
_UNFINISHED = {"sqlite": "resting = 0", "postgres": "NOT resting"}
_CONTRADICTORY = {
    dialect: f"{resting} AND (status = 'executing' OR (status = 'parked' AND parked = ''))"
    for dialect, resting in (("sqlite", "resting = 1"), ("postgres", "resting"))
}
_MINE = {"sqlite": "AND $4 = 0", "postgres": "AND epoch = $4"}
# One half for each of two partial indexes, runs_unfinished and runs_forgotten; both are short.
_NEEDS_RECOVERY = """
SELECT company_id, id FROM (
    SELECT * FROM (
        SELECT company_id, id FROM runs
        WHERE {unfinished} {mine} AND (company_id, id) > ($1, $2) ORDER BY company_id, id LIMIT $3
    ) AS unfinished UNION SELECT * FROM (
        SELECT company_id, id FROM runs
        WHERE {contradictory} AND (company_id, id) > ($1, $2) ORDER BY company_id, id LIMIT $3
    ) AS contradictory
) AS both_kinds ORDER BY company_id, id LIMIT $3
"""
# The rest of the company, then the companies behind it; neither reads runs of another status.
_AT_GATES = """
SELECT * FROM (
    SELECT company_id, id, vertical, parked, updated_at, created_at FROM runs
    WHERE company_id = $1 AND status = '{0}' AND parked <> '' AND id > $2 ORDER BY id LIMIT $3
) AS mine_{0} UNION ALL SELECT * FROM (
    SELECT runs.company_id, runs.id, vertical, parked, updated_at, runs.created_at FROM companies CROSS JOIN runs
    WHERE runs.company_id = companies.id AND status = '{0}' AND parked <> '' AND companies.id > $1
    ORDER BY companies.id, runs.id LIMIT $3
) AS others_{0}"""
PARKED = f"{' UNION ALL '.join(map(_AT_GATES.format, GATED))} ORDER BY company_id, id LIMIT $3"
"""The statement for a page of runs behind a key that wait at gates."""
_DUE_RUNS = "SELECT company_id, id, wake_at FROM runs WHERE wake_at IS NOT NULL AND wake_at <= $1"
_DUE = {
    "sqlite": f"{_DUE_RUNS} ORDER BY wake_at LIMIT $2",
    "postgres": f"{_DUE_RUNS} AND epoch = $3 ORDER BY wake_at LIMIT $2",
}
_MY_EPOCH: dict[Dialect, Callable[[Database], tuple[int, ...]]] = {
    "sqlite": lambda _: (),
    "postgres": lambda db: (db.epoch,),
}
_REVIEWED = {"sqlite": "reviewed = 1", "postgres": "reviewed"}
_FIND_TEXT = {"sqlite": "instr", "postgres": "strpos"}


NO_TERMS: Mapping[str, Sequence[str]] = {}


class _Order(NamedTuple):
    """How runs are listed: where they are, what they sort by, and what stands behind a run."""

    source: str
    place: str
    behind: str


_BY_ID = _Order("runs", "id", "id < ${}")
_BY_TIME = _Order(
    "runs",
    "created_at || id",
    "(created_at, id) < (SELECT created_at, id FROM runs WHERE company_id = $1 AND id = ${})",
)
NEWEST_MAX = 500
"""Runs that a search in PostgreSQL looks at before it asks the index, which sorts all it finds."""
# LATERAL finds each run by its key; otherwise the planner, to which most words look frequent, reads
# all runs of the company.
_AMONG = (
    "(SELECT company_id, run_id, found_by FROM run_words WHERE {}) AS found CROSS JOIN LATERAL ("
    "SELECT * FROM runs AS one WHERE one.company_id = found.company_id AND one.id = found.run_id LIMIT 1) AS runs"
)
# The index gives what it finds in the order of its numbers, so that a page costs what it shows.
_FOUND: dict[Dialect, _Order] = {
    "sqlite": _Order(
        "run_words CROSS JOIN runs ON number = run_words.rowid",
        "run_words.rowid",
        "run_words.rowid < (SELECT number FROM runs WHERE company_id = $1 AND id = ${})",
    ),
    "postgres": _Order(
        _AMONG.format("found_by @@ to_tsquery('simple', ${words}) OFFSET 0"), "found.run_id", "id < ${}"
    ),
}
_FOUND_FIRST = _Order(
    _AMONG.format(f"company_id = $1{{behind}} ORDER BY run_id DESC LIMIT {NEWEST_MAX}"), "found.run_id", "id < ${}"
)
_MATCH = {"sqlite": "run_words MATCH ${}", "postgres": "found_by @@ to_tsquery('simple', ${})"}


def listing(
    dialect: Dialect,
    company_id: str,
    query: RunQuery,
    terms: Mapping[str, Sequence[str]] = NO_TERMS,
    *,
    newest: bool = False,
) -> tuple[str, list[Any]] | None:
    """The statement and values for the keys and places of a query's runs; None for no runs.

    `newest` searches among the newest runs alone, in PostgreSQL.
    """
    if "|" in (query.parked_at or "") or query.words == ():
        return None
    words = matching(dialect, company_id, query, terms)
    found = _FOUND_FIRST if newest else _FOUND[dialect]
    order = found if words is not None else _BY_TIME if query.by_time else _BY_ID
    asked = [(name, value) for name, value in _conditions(dialect, query, order, words) if value is not None]
    values: list[Any] = [company_id, bounded(query.limit), *(value for _, value in asked)]
    where = "".join(f" AND {condition.format(number)}" for number, (condition, _) in enumerate(asked, 3))
    behind = "" if query.before is None else " AND run_id < $3"
    source = order.source.format(words=2 + len(asked), behind=behind)  # the words come last
    wanted = GATED if query.status is None and query.parked_at is not None else (query.status,)
    seen, more = visible(dialect, query.sight, 1 + len(values), "runs.id", "runs.vertical")
    values += more
    parts: list[str] = []
    for status in wanted:  # one part for each, since the index has the runs in order by status
        named = ""
        if status is not None:
            values.append(status)
            named = f" AND status <> '' AND status = ${len(values)}"
        named += seen
        columns = f"SELECT runs.company_id, runs.id, {order.place} AS place FROM {source}"
        part = f"{columns} WHERE runs.company_id = $1{where}{named} ORDER BY {_descending(order)} LIMIT $2"
        parts.append(f"SELECT * FROM ({part}) AS part_{len(parts)}")
    return f"{' UNION ALL '.join(parts)} ORDER BY place DESC LIMIT $2", values


def _conditions(dialect: Dialect, query: RunQuery, order: _Order, words: str | None) -> Sequence[tuple[str, Any]]:
    return (
        (order.behind, query.before),
        ("vertical <> '' AND vertical = ${}", query.vertical),
        ("business_key = ${}", query.business_key),
        (f"{_FIND_TEXT[dialect]}(parked, '|' || ${{}} || '|') > 0", query.parked_at),
        ("id >= ${}", query.begins),
        ("id < ${}", None if query.begins is None else f"{query.begins}g"),
        ("created_at <> '' AND created_at >= ${}", _time(query.created_after)),
        ("created_at <> '' AND created_at < ${}", _time(query.created_before)),
        ("clock_due_at IS NOT NULL AND clock_due_at < ${}", _time(query.clock_due_before)),
        (_MATCH[dialect], words),
    )


def _descending(order: _Order) -> str:
    return "created_at DESC, id DESC" if order is _BY_TIME else f"{order.place} DESC"


def _time(at: datetime | None) -> str | None:
    return None if at is None else iso(at)


def chosen(rows: Iterable[tuple[str, str, Any, int]]) -> Page[Key]:
    """The keys of the first runs that fit into a page, of rows of key, place and size."""
    page: Page[Key] = Page()
    for company_id, run_id, _, size in sorted(rows, key=itemgetter(2), reverse=True):
        if not page.add((company_id, run_id), int(size)):
            break
    return page


async def history(db: Database, company_id: str, run_id: str, after: int, limit: int) -> Page[RecordedEvent]:
    """The events behind a seq; each commit holds at least one, so `limit` commits are enough."""
    limit, after = bounded(limit), min(after, INTEGER_MAX)
    version = await db.value(_VERSION, company_id, run_id)
    page, reached = Page[RecordedEvent](), after
    if version is None or not limit:
        return page
    found = await commits(db, (company_id, run_id), after, version, limit)
    for first, last, events in found:
        reached = last
        page += [RecordedEvent(seq, event) for seq, event in enumerate(events, first) if seq > after]
        if len(page) >= limit:
            del page[limit:]
            page.size = found.size
            return page
    page.more, page.size = found.more, found.size
    if version > reached and not page.more:
        raise HistoryBroken(run_id, reached + 1, f"the history ends, and the run is at version {version}")
    return page


async def commits(
    db: Database, key: Key, after: int, until: int, limit: int | None = None
) -> Page[tuple[int, int, tuple[Event, ...]]]:
    """The commits after one version up to another: first and last seq, events; all is checked.

    Without a limit they are all of them, else at most a page. HistoryArchived where they are in an
    archive.
    """
    if limit is None:
        rows = whole(await db.rows(_EVENTS, *key, after, until, INTEGER_MAX))
    else:
        rows = await db.page(_EVENTS, *key, after, until, limit)
    found: Page[tuple[int, int, tuple[Event, ...]]] = Page()
    found.more, found.size = rows.more, rows.size
    if not rows:
        return found
    await refuse_archived(db, key, rows[0][-1])
    before = min(rows[0][0], after + 1) - 1
    walk = ChainWalk(key[1], genesis(*key))
    if before:
        walk = walk_behind(key, before, await db.value(HEAD, *key, before))
    found += await db.run_by_size(key[0], rows.size, lambda: list(_decoded(db.keys, key, walk, rows)))
    return found


def _decoded(
    keys: CommitKeys, key: Key, walk: ChainWalk, rows: Sequence[Row]
) -> Iterator[tuple[int, int, tuple[Event, ...]]]:
    for first, version, head, mac, exact, events in rows:
        walk.read_commit(first, version, head, events)
        keys.check(key, version, first, head, mac, events=events)
        yield first, version, codec.decode_events(events, exact)


def walk_behind(key: Key, version: int, head: bytes | None) -> ChainWalk:
    if not head:
        raise HistoryBroken(key[1], version, "the commit before is missing or has no head")
    return ChainWalk(key[1], head, version)


async def fold_commits(db: Database, key: Key, version: int, run: Run | None, rows: Sequence[Row]) -> Run | None:
    """The run at a version, of all its commits, or of an earlier state and those from it on.

    The rows are as `_EVENTS` has them; where they do not begin there, or are archived, it is the
    earlier state.
    """
    first, behind, head, *_ = rows[0]
    if not all(row[-1] for row in rows) or (first != 1 and (run is None or run.version != behind)):
        return run
    walk = ChainWalk(key[1], genesis(*key))
    if run is not None:
        walk, rows = walk_behind(key, behind, head), rows[1:]

    def work() -> Run:
        return fold(key, version, run, (events for _, _, events in _decoded(db.keys, key, walk, rows)))

    return await db.run_by_size(key[0], sum(len(row[-1]) for row in rows), work)


async def replay(db: Database, key: Key, version: int, run: Run | None) -> Run:
    """The run at a version, from its whole history or from an earlier state.

    Of an archived run it is what stays of it.
    """
    after = 0 if run is None else run.version
    try:
        found = await commits(db, key, after, version)
    except HistoryArchived as gone:
        return gone.archived.run
    return await db.run_by_size(key[0], found.size, lambda: fold(key, version, run, (events for _, _, events in found)))


def fold(key: Key, version: int, run: Run | None, parts: Iterable[tuple[Event, ...]]) -> Run:
    """The run that these events lead to; HistoryBroken when it is not the one at that version."""
    after = 0 if run is None else run.version
    try:
        run = codec.fold((event for events in parts for event in events), run)
    except ValueError as error:
        raise HistoryBroken(key[1], after + 1, f"no run can have gone on like this: {error}") from error
    if (run.company_id, run.id, run.version) != (*key, version):
        what = f"the history leads to {run.id} at version {run.version}, and the run is at {version}"
        raise HistoryBroken(key[1], run.version, what)
    return run


async def unfinished(db: Database) -> Sequence[Key]:
    """The (company_id, run_id) of every run that is not at rest."""
    where = _UNFINISHED[db.dialect]
    return [(row[0], row[1]) for row in await db.rows(f"SELECT company_id, id FROM runs WHERE {where} ORDER BY 1, 2")]


async def needs_recovery(db: Database, after: Key, limit: int) -> Sequence[Key]:
    """Up to `limit` runs behind `after` that are unfinished and this daemon's, or inconsistent."""
    kind = db.dialect
    parts = {"unfinished": _UNFINISHED[kind], "mine": _MINE[kind], "contradictory": _CONTRADICTORY[kind]}
    rows = await db.rows(_NEEDS_RECOVERY.format(**parts), *after, limit, db.epoch)
    return [(row[0], row[1]) for row in rows]


async def due_runs(db: Database, by: datetime, limit: int) -> Sequence[DueRun]:
    """Up to `limit` runs of this daemon of which something is due by then, the earliest first."""
    rows = await db.rows(_DUE[db.dialect], iso(by), limit, *_MY_EPOCH[db.dialect](db))
    return [DueRun(company_id, run_id, datetime.fromisoformat(wake_at)) for company_id, run_id, wake_at in rows]


async def reviewed(db: Database, company_id: str | None, after: Key, limit: int) -> Sequence[Key]:
    """Up to `limit` runs behind `after` for which people or the calendar of a company matter."""
    where = _REVIEWED[db.dialect] + ("" if company_id is None else " AND company_id = $4")
    values = (*after, limit) if company_id is None else (*after, limit, company_id)
    statement = f"SELECT company_id, id FROM runs WHERE {where} AND (company_id, id) > ($1, $2)"
    return [(row[0], row[1]) for row in await db.rows(f"{statement} ORDER BY company_id, id LIMIT $3", *values)]


async def parked(db: Database, after: Key, limit: int) -> Sequence[ParkedRun]:
    """At most `limit` runs behind a (company_id, run_id), in order, that wait for a human."""
    return [
        ParkedRun(company_id, run_id, vertical, steps.count("|") - 1, *map(datetime.fromisoformat, times))
        for company_id, run_id, vertical, steps, *times in await db.rows(PARKED, *after, limit)
    ]


EVALUATION = "company_id, run_id, version, begun_by"
_EVALUATION_BEGUN = "SELECT version, begun_by FROM evaluations_begun WHERE company_id = $1 AND run_id = $2"
_BEGIN_EVALUATION = (
    f"INSERT INTO evaluations_begun ({EVALUATION}) VALUES ($1, $2, $3, $4) ON CONFLICT (company_id, run_id) "
    "DO UPDATE SET version = excluded.version, begun_by = excluded.begun_by"
)
_END_EVALUATION = "DELETE FROM evaluations_begun WHERE company_id = $1 AND run_id = $2 AND begun_by = $3"
_DAEMON_ALIVE = "SELECT 1 FROM daemons WHERE epoch = $1"


async def begin_evaluation(db: Database, company_id: str, run_id: str, version: int, by: int) -> bool:
    """Note that one begins; False where a daemon has ended within one of the run as it stands."""
    found = await db.row(_EVALUATION_BEGUN, company_id, run_id)
    if found is not None and found[0] == version and found[1] != by and not await _is_alive(db, found[1]):
        return False
    await db.execute(_BEGIN_EVALUATION, company_id, run_id, version, by)
    return True


async def _is_alive(db: Database, begun_by: int) -> bool:
    """Whether another daemon is at it; a SQLite file has one at a time."""
    return db.dialect != "sqlite" and await db.row(_DAEMON_ALIVE, begun_by) is not None


async def end_evaluation(db: Database, company_id: str, run_id: str, by: int) -> None:
    """What was begun by this daemon has ended."""
    await db.execute(_END_EVALUATION, company_id, run_id, by)
