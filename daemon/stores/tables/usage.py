"""What companies have stored, counted from commit to commit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from daemon.model.budgets import Usage

if TYPE_CHECKING:
    from collections.abc import Collection

    from daemon.stores.database import Database

_COUNTED = "SELECT position FROM company_usage WHERE company_id = $1"
_COUNTED_ALONE = {"sqlite": _COUNTED, "postgres": f"{_COUNTED} FOR UPDATE"}
# Each database has its own order of commits: SQLite one of all companies, PostgreSQL one of each.
_OF_WHOM = {"sqlite": "$3 = $3", "postgres": "company_id = $3"}
_LATER = (
    "SELECT company_id, CAST(sum(begun) AS bigint), CAST(sum(size) AS bigint), count(*), max(position) FROM ("
    "SELECT company_id, position, CASE WHEN first_seq = 1 AND run_id <> company_id THEN 1 ELSE 0 END AS begun, "
    "length(events) + coalesce(length(exact), 0) AS size FROM commits WHERE position > $1 AND {} "
    "ORDER BY position LIMIT $2) AS later GROUP BY company_id"
)
_BEGIN = "INSERT INTO company_usage (company_id, runs, bytes, position) VALUES ($1, 0, 0, 0) ON CONFLICT DO NOTHING"
_ADD = (
    "INSERT INTO company_usage (company_id, runs, bytes, position) VALUES ($1, $2, $3, 0) ON CONFLICT (company_id) "
    "DO UPDATE SET runs = company_usage.runs + excluded.runs, bytes = company_usage.bytes + excluded.bytes"
)
_IDS = {
    "sqlite": "(SELECT value FROM json_each($1))",
    "postgres": "(SELECT jsonb_array_elements_text($1::jsonb))",
}
_USAGE = "SELECT company_id, runs, bytes FROM company_usage WHERE company_id IN {}"


async def usage(db: Database, companies: Collection[str]) -> dict[str, Usage]:
    """What was counted of each company."""
    rows = await db.rows(_USAGE.format(_IDS[db.dialect]), json.dumps(sorted(companies)))
    return {company_id: Usage(runs, stored) for company_id, runs, stored in rows}


async def count_usage(db: Database, company_id: str, commits_max: int) -> bool:
    """Count the next commits in one transaction with the position counted up to."""
    holder = "" if db.dialect == "sqlite" else company_id
    await db.execute(_BEGIN, holder)
    counted = await db.value(_COUNTED_ALONE[db.dialect], holder)
    rows = await db.rows(_LATER.format(_OF_WHOM[db.dialect]), counted, commits_max, company_id)
    for found, runs, size, _, _ in rows:
        await db.execute(_ADD, found, runs, size)
    if rows:
        last = max(row[4] for row in rows)
        await db.execute("UPDATE company_usage SET position = $2 WHERE company_id = $1", holder, last)
    commits: int = sum(row[3] for row in rows)
    return commits >= commits_max
