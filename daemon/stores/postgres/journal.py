"""Reads runs from PostgreSQL; histories only grow, so no transaction is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from actors.core.run import Run
from daemon.model import Ownership
from daemon.model.chain import HistoryBroken
from daemon.model.pages import Page
from daemon.stores import codec
from daemon.stores.tables.runs import chosen, listing, replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.model import RunQuery
    from daemon.stores.database import Key, Row
    from daemon.stores.postgres.database import PostgresDatabase

_RUN = (
    "SELECT runs.company_id, runs.id, runs.version, runs.epoch, runs.claimed, head, "
    "snapshots.version, snapshots.schema, snapshots.mac, snapshots.body FROM"
)
_BESIDE = (
    "LEFT JOIN snapshots ON snapshots.company_id = runs.company_id AND snapshots.run_id = runs.id "
    "LEFT JOIN commits ON commits.company_id = runs.company_id AND commits.run_id = runs.id "
    "AND commits.version = runs.version"
)
# By LATERAL each row is found by its key, whatever the planner knows of the tables.
_EACH = "SELECT one.* FROM"
LOAD = (
    f"{_EACH} unnest($1::text[], $2::text[]) AS asked(company_id, id) CROSS JOIN LATERAL ("
    f"{_RUN} runs {_BESIDE} WHERE runs.company_id = asked.company_id AND runs.id = asked.id LIMIT 1) AS one"
)
_SIZES = (
    "SELECT asked.company_id, asked.id, asked.place, coalesce(one.size, 0) + coalesce(("
    "SELECT sum(length(events)) FROM commits WHERE commits.company_id = asked.company_id "
    "AND run_id = asked.id AND commits.version > coalesce(one.version, 0)), 0)::bigint FROM ({}) AS asked "
    "LEFT JOIN LATERAL (SELECT length(body) AS size, version FROM snapshots "
    "WHERE snapshots.company_id = asked.company_id AND snapshots.run_id = asked.id LIMIT 1) AS one ON true"
)


class OwnedRun(NamedTuple):
    """A run as committed, its owner, and the head of its history."""

    run: Run
    performs: Ownership
    head: bytes


async def load_all(db: PostgresDatabase, keys: Sequence[Key]) -> dict[Key, OwnedRun]:
    rows = await db.rows(LOAD, [key[0] for key in keys], [key[1] for key in keys])
    return {row[:2]: await _restored(db, row) for row in rows}


async def find(db: PostgresDatabase, company_id: str, query: RunQuery) -> Page[Run]:
    asked = listing(db.dialect, company_id, query)
    if asked is None:
        return Page()
    keys, values = asked
    wanted = chosen(await db.rows(_SIZES.format(keys), *values))
    runs = await load_all(db, wanted)
    page = Page(runs[key].run for key in wanted)
    page.more, page.size = wanted.more, wanted.size
    return page


async def _restored(db: PostgresDatabase, row: Row) -> OwnedRun:
    """The run from its snapshot and later commits, or from all without a usable snapshot."""
    company_id, run_id, version, epoch, claimed, head, *snapshot = row
    key = (company_id, run_id)
    if head is None:
        raise HistoryBroken(run_id, version, "the commit that the run stands at is missing")
    size = 0 if snapshot[-1] is None else len(snapshot[-1])
    run = await db.run_by_size(company_id, size, lambda: codec.decode_snapshot_if_current(db.keys, key, snapshot))
    if run is None or run.version != version:
        run = await replay(db, key, version, run)
    return OwnedRun(run, Ownership(epoch, claimed), head)
