"""The companies' policies."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from actors.core.canonical import canonical
from daemon.model.events.company import Policy, StoredPolicy
from daemon.stores.rows import text
from daemon.stores.tables.people.settings import columns_of, replace_settings, replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

POLICY = columns_of("policy")
OF_POLICIES = f"SELECT {POLICY} FROM policies"
_PUT = replacing("policies", "policy")
_DEMANDING = f"""{OF_POLICIES} WHERE policy LIKE '%"second_factor_from":"%' OR policy LIKE '%"passwords":false%'"""


async def policy(db: Database, company_id: str) -> StoredPolicy | None:
    return next(policies_of(await db.rows(f"{OF_POLICIES} WHERE company_id = $1", company_id)), None)


async def put_policy(db: Database, policy: StoredPolicy, logged: Logged) -> bool:
    row = (policy.company_id, written(policy.policy), policy.number, text(policy.updated_at), policy.updated_by)
    return await replace_settings(db, _PUT[db.dialect], row, logged)


async def demanding_policies(db: Database) -> Sequence[StoredPolicy]:
    """The policies that ask for second factors."""
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
