"""How PostgreSQL finds things, whatever it knows of the tables: by key, since one plan is kept for
long.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import asyncpg
import pytest

from daemon.stores.migrations import POSTGRES
from daemon.stores.postgres import changes, journal
from daemon.stores.postgres.connection import PLANNER, SESSION
from daemon.stores.tables import audit, runs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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
READS_MORE = re.compile(r"runs_by_status|commits_in_order|Seq Scan on (?!company)|Hash Join|Merge Join|Bitmap")


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


def test_what_an_append_looks_up_is_among_these() -> None:
    function = (POSTGRES / "0008_commit_macs.sql").read_text(encoding="utf-8")
    selects = {" ".join(one.split()) for one in re.findall(r"SELECT[^;]+?FROM (?:runs|receipts)[^;)]+", function)}
    names = {"company": "$1", "one.id": "$2", "one.path": "$2", "one.key": "$3", " INTO found_version": ""}
    asked = {re.sub("|".join(map(re.escape, names)), lambda name: names[name[0]], one).strip() for one in selects}
    assert {one.replace("$1_id", "company_id") for one in asked} == {
        STATEMENTS["run in append"],
        STATEMENTS["receipt in append"],
    }
