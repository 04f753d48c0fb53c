"""How PostgreSQL finds things, whatever it knows of the tables: by key, since one plan is kept for
long.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import asyncpg
import pytest

from actors.core.reading.scope import ReadScope
from daemon.model import RunQuery
from daemon.model.reading import Sight
from daemon.stores.migrations import POSTGRES
from daemon.stores.postgres import changes, journal
from daemon.stores.postgres.connection import PLANNER, SESSION
from daemon.stores.tables import audit, runs
from daemon.stores.tables.lists.search import company_token
from daemon.stores.tables.open_gates import UNLISTED
from daemon.stores.tables.runs import NEWEST_MAX, listing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tests.postgres import Server

STATEMENTS = {
    "load": journal.LOAD,
    "versions": changes.VERSIONS,
    "nodes": audit.NODES["postgres"],
    "last leaf": audit.LAST_LEAF,
    "head": runs.HEAD,
    "run in append": "SELECT version FROM runs WHERE company_id = $1 AND id = $2 FOR UPDATE",
    "receipt in append": "SELECT FROM receipts WHERE company_id = $1 AND path = $2 AND key = $3",
}
FILLED = """
INSERT INTO runs SELECT 'c', 'run-' || n, 1, true, 'parked', 'line', '|gate|', '', '', 1, 1, 0
FROM generate_series(1, 2000) AS n;
INSERT INTO commits SELECT 'c', 'run-' || n, 1, 1, n, '', NULL, '' FROM generate_series(1, 2000) AS n;
INSERT INTO audit_leaves SELECT 'c', n - 1, 'run-' || n, 1, n FROM generate_series(1, 2000) AS n;
INSERT INTO audit_nodes SELECT 'c', 0, n, '' FROM generate_series(1, 2000) AS n;
"""
READS_MORE = re.compile(
    r"runs_by_status|runs_by_vertical|commits_in_order|Seq Scan on (?!company)|Hash Join|Merge Join|Bitmap"
)


@pytest.fixture
async def db(postgres: Server, template: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    url = await postgres.made(template)
    one = await asyncpg.connect(url, server_settings={**SESSION, **PLANNER, "plan_cache_mode": "force_generic_plan"})
    yield one
    await one.close()
    await postgres.dropped(url)


@pytest.mark.parametrize("known", ["empty", "filled since", "analyzed"])
@pytest.mark.parametrize("name", STATEMENTS)
async def test_it_is_found_by_its_key(db: asyncpg.Connection[asyncpg.Record], name: str, known: str) -> None:
    if known != "empty":
        await db.execute(FILLED)
    if known == "analyzed":
        await db.execute("ANALYZE")
    await db.execute(f"PREPARE one AS {STATEMENTS[name]}")
    count = len(set(re.findall(r"\$(\d+)", STATEMENTS[name])))
    nulls = ", ".join(["NULL"] * count)
    plan = "\n".join(row[0] for row in await db.fetch(f"EXPLAIN EXECUTE one({nulls})"))
    assert READS_MORE.search(plan) is None, plan


LISTED_ALL = """
INSERT INTO open_gates (company_id, run_id, step_id, visit, vertical, tier, place, words)
SELECT company_id, id, 'gate', 1, vertical, '', '', '' FROM runs
"""
LISTED = {
    "runs_by_vertical": listing("postgres", "c", RunQuery(vertical="none")),
    "runs_by_clock": listing("postgres", "c", RunQuery(clock_due_before=datetime(2026, 1, 1, tzinfo=UTC))),
    "runs_by_status": (UNLISTED, ["c", "", 100]),
}


@pytest.mark.parametrize("index", LISTED)
async def test_a_list_reads_what_it_shows_alone(db: asyncpg.Connection[asyncpg.Record], index: str) -> None:
    await db.execute("SET plan_cache_mode = auto")
    await db.execute(FILLED)
    await db.execute("UPDATE runs SET status = 'completed', parked = '' WHERE id <> 'run-7'")
    await db.execute("INSERT INTO companies SELECT 'c' || n, '', '' FROM generate_series(1, 5) AS n")
    await db.execute("VACUUM ANALYZE")
    listed = LISTED[index]
    assert listed is not None
    statement, values = listed
    rows = await db.fetch(f"EXPLAIN (ANALYZE, TIMING OFF) {filled(statement, values)}")
    plan = "\n".join(row[0] for row in rows)
    assert index in plan, plan
    assert max(map(int, re.findall(r"rows=(\d+) loops", plan))) <= 12, plan
    assert "Rows Removed" not in plan, plan


CLOSED = """
INSERT INTO run_readers (company_id, run_id, kind, name)
SELECT company_id, id, kind, 'digest' FROM runs, (VALUES ('rule'), ('starter')) AS of(kind) WHERE id LIKE '%5'
"""
SCOPES = {
    "that closes a template": ReadScope("ann", shut=frozenset({"digest"})),
    "that breaks a glass": ReadScope("ann", shut=frozenset({"digest"}), glass="ann"),
    "of a policy": ReadScope("ann", closed=frozenset({"other"}), closed_unless_started=frozenset({"third"})),
}


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_page_of_open_runs_looks_at_the_readers_of_no_others(
    db: asyncpg.Connection[asyncpg.Record], scope: str
) -> None:
    await db.execute("SET plan_cache_mode = auto")
    await db.execute(FILLED)
    await db.execute(CLOSED)
    await db.execute("VACUUM ANALYZE")
    asked = listing("postgres", "c", RunQuery(limit=20, sight=Sight("c", SCOPES[scope], datetime.now(UTC))))
    assert asked is not None
    plan = "\n".join(row[0] for row in await db.fetch(f"EXPLAIN (ANALYZE, TIMING OFF) {filled(*asked)}"))
    assert max(map(int, re.findall(r"actual rows=(\d+)", plan))) <= 25, plan


async def test_a_look_for_unlisted_gates_is_as_short_where_all_are_listed(
    db: asyncpg.Connection[asyncpg.Record],
) -> None:
    await db.execute("SET plan_cache_mode = auto")
    await db.execute(FILLED)
    await db.execute(LISTED_ALL)
    await db.execute("VACUUM ANALYZE")
    rows = await db.fetch(f"EXPLAIN (ANALYZE, TIMING OFF) {filled(UNLISTED, ['c', '', 10])}")
    plan = "\n".join(row[0] for row in rows)
    assert max(map(int, re.findall(r"rows=(\d+) loops", plan))) <= 12, plan
    assert max(map(int, re.findall(r"loops=(\d+)", plan))) <= 12, plan


WORDS = """
INSERT INTO runs SELECT 'c', 'run-' || n, 1, true, 'parked', 'line', '|gate|', '', '', 1, 1, 0
FROM generate_series(10001, 25000) AS n;
INSERT INTO run_words (company_id, run_id, words) SELECT 'c', id, concat_ws(' ', '{}', 'common', md5(id)) FROM runs;
UPDATE run_words SET words = words || ' single' WHERE run_id = 'run-10007';
"""


@pytest.mark.parametrize(("word", "newest", "found"), [("single", True, 0), ("single", False, 1), ("common", True, 20)])
async def test_a_search_reads_no_more_of_many_runs(
    db: asyncpg.Connection[asyncpg.Record], word: str, found: int, *, newest: bool
) -> None:
    await db.execute("SET plan_cache_mode = auto")
    await db.execute(WORDS.format(company_token("c")))
    await db.execute("VACUUM ANALYZE")
    asked = listing("postgres", "c", RunQuery(limit=20, words=(word,)), newest=newest)
    assert asked is not None
    plan = "\n".join(row[0] for row in await db.fetch(f"EXPLAIN (ANALYZE, TIMING OFF) {filled(*asked)}"))
    read = [int(number) for number in re.findall(r"(?:actual rows=|Rows Removed by Filter: )(\d+)", plan)]
    assert read[0] == found, plan
    assert max(read) <= NEWEST_MAX, plan


def filled(statement: str, values: Sequence[object]) -> str:
    """The statement with its values in it: EXPLAIN ANALYZE takes no parameters."""
    return re.sub(r"\$(\d+)", lambda number: repr(values[int(number[1]) - 1]), statement)


def test_what_an_append_looks_up_is_among_these() -> None:
    function = (POSTGRES / "0021_version_0_2.sql").read_text(encoding="utf-8")
    selects = {" ".join(one.split()) for one in re.findall(r"SELECT[^;]+?FROM (?:runs|receipts)[^;)]+", function)}
    names = {"company": "$1", "one.id": "$2", "one.path": "$2", "one.key": "$3", " INTO found_version": ""}
    asked = {re.sub("|".join(map(re.escape, names)), lambda name: names[name[0]], one).strip() for one in selects}
    assert {one.replace("$1_id", "company_id") for one in asked} == {
        STATEMENTS["run in append"],
        STATEMENTS["receipt in append"],
    }
