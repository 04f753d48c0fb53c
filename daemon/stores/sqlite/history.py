"""Commits read back with their place in the chain checked, and the runs that they lead to from a snapshot on."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from actors.core.messages import Event
from daemon.model.chain import HistoryBroken, Walk, genesis
from daemon.stores import codec
from daemon.stores.rows import INTEGER_MAX
from daemon.stores.sqlite.rows import Rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from actors.core.run import Run

Key: TypeAlias = tuple[str, str]
Place: TypeAlias = tuple[str, str, int]
Events: TypeAlias = tuple[Event, ...]

_EVENTS = (
    "SELECT first_seq, version, head, exact, events FROM commits "
    "WHERE company_id = ? AND run_id = ? AND version > ? ORDER BY version LIMIT ?"
)
_HEAD = "SELECT head FROM commits WHERE company_id = ? AND run_id = ? AND version = ?"
# One row for all that were asked for, since the interpreter changes hands at every row: number:head, …
_HEADS = Rows(
    "SELECT group_concat(asked.column4 || ':' || hex(commits.head)) FROM (",
    columns=4,
    after=") AS asked CROSS JOIN commits ON company_id = asked.column1 AND run_id = asked.column2 "
    "AND version = asked.column3",
)


def heads(db: sqlite3.Connection, places: Sequence[Place]) -> dict[Key, bytes]:
    """The head of each (company_id, run_id, version), by run; nothing, or an empty one, where there is none."""
    asked = [(*place, number) for number, place in enumerate(places)]
    pairs = (pair.split(":") for (found,) in _HEADS.read(db, asked) for pair in (found or "").split(",") if pair)
    return {places[int(number)][:2]: bytes.fromhex(head) for number, head in pairs}


def commits(db: sqlite3.Connection, key: Key, after: int, limit: int) -> Iterator[tuple[int, int, Events]]:
    """The commits with what came after a place, as first and last seq and events, their chain checked."""
    walk: Walk | None = None
    for first, version, head, exact, events in db.execute(_EVENTS, (*key, after, limit)):
        if walk is None:
            walk = _walk(db, key, min(first, after + 1))
        walk.take(first, version, head, events)
        yield first, version, codec.decode_events(events, exact)


def _walk(db: sqlite3.Connection, key: Key, first: int) -> Walk:
    """A walk along a stream that goes on with that event."""
    if first == 1:
        return Walk(key[1], genesis(*key))
    row = db.execute(_HEAD, (*key, first - 1)).fetchone()
    return _behind((*key, first - 1), row[0] if row else None)


def _behind(place: Place, head: bytes | None) -> Walk:
    """A walk along a stream that goes on behind a place."""
    if not head:
        raise HistoryBroken(place[1], place[2], "the commit before is missing or has no head")
    return Walk(place[1], head, place[2])


def restored(db: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> list[Run]:
    """The runs of these rows of company_id, id, version, snapshot and commit.

    Where commits came after the snapshot there is a row for its own and for each of them, the first with its body.
    """
    return [_restored(db, place, list(found)) for place, found in groupby(rows, itemgetter(0, 1, 2))]


def _restored(db: sqlite3.Connection, place: Place, rows: Sequence[tuple[Any, ...]]) -> Run:
    """The run from its snapshot and what came after; from its whole history when the snapshot is not of our kind."""
    key, version = place[:2], place[2]
    run = codec.usable(key, *rows[0][3:7])
    if run is None:
        return _led(place, None, (events for _, _, events in commits(db, key, 0, INTEGER_MAX)))
    if run.version == version:
        return run
    base, *later = sorted((row[7:] for row in rows), key=itemgetter(1))
    return _led(place, run, _taken(_behind((*key, run.version), base[2]), later))


def _taken(walk: Walk, rows: Iterable[tuple[Any, ...]]) -> Iterator[Events]:
    for first, version, head, exact, events in rows:
        walk.take(first, version, head, events)
        yield codec.decode_events(events, exact)


def _led(place: Place, run: Run | None, parts: Iterable[Events]) -> Run:
    """The run that these events lead to; HistoryBroken when that is not the one at that place."""
    _, run_id, version = place
    after = 0 if run is None else run.version
    try:
        led = codec.fold((event for events in parts for event in events), run)
    except ValueError as error:
        raise HistoryBroken(run_id, after + 1, f"no run can have gone on like this: {error}") from error
    if (led.company_id, led.id, led.version) != place:
        what = f"the history leads to {led.id} at version {led.version}, and the run is at {version}"
        raise HistoryBroken(run_id, led.version, what)
    return led
