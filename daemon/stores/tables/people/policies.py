"""The companies' policies."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from actors.core.canonical import canonical
from daemon.model.events.policies import Policy, StoredPolicy
from daemon.stores.rows import text
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.company_changes import note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

POLICY = "company_id, policy, number, updated_at, updated_by"
OF_POLICIES = f"SELECT {POLICY} FROM policies"
_AFTER = (
    "policy = excluded.policy, number = excluded.number, updated_at = excluded.updated_at, "
    "updated_by = excluded.updated_by"
)
_NEXT = "WHERE policies.number = excluded.number - 1"
_PUT = {
    "sqlite": f"INSERT INTO policies ({POLICY}) VALUES ($1, $2, $3, $4, $5) "
    f"ON CONFLICT (company_id) DO UPDATE SET {_AFTER} {_NEXT}",
    # Other daemons look for recent ones.
    "postgres": f"INSERT INTO policies ({POLICY}, noted_at) VALUES ($1, $2, $3, $4, $5, clock_timestamp()) "
    f"ON CONFLICT (company_id) DO UPDATE SET {_AFTER}, noted_at = excluded.noted_at {_NEXT}",
}
_DEMANDING = f"""{OF_POLICIES} WHERE policy LIKE '%"second_factor_from":"%'"""


async def policy(db: Database, company_id: str) -> StoredPolicy | None:
    return next(policies_of(await db.rows(f"{OF_POLICIES} WHERE company_id = $1", company_id)), None)


async def put_policy(db: Database, policy: StoredPolicy, logged: Logged) -> bool:
    await db.next_position(policy.company_id, 0)  # locks in the order of all that change rights
    row = (policy.company_id, written(policy.policy), policy.number, text(policy.updated_at), policy.updated_by)
    if await db.execute(_PUT[db.dialect], *row) != 1:
        return False
    await log(db, logged)
    await note(db, policy.company_id)
    return True


async def demanding_policies(db: Database) -> Sequence[StoredPolicy]:
    return list(policies_of(await db.rows(_DEMANDING)))


def policies_of(rows: Iterable[Row]) -> Iterator[StoredPolicy]:
    return (
        StoredPolicy(
            company_id, msgspec.json.decode(policy, type=Policy), number, datetime.fromisoformat(updated_at), updated_by
        )
        for company_id, policy, number, updated_at, updated_by in rows
    )


def written(policy: Policy) -> str:
    """A policy as it is stored; what came later is left out where it asks for nothing."""
    members = msgspec.to_builtins(policy)
    if policy.archive_after_days is None:
        del members["archive_after_days"]
    return canonical(members)
