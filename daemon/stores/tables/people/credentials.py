"""What people and programs prove who they are with, beside passwords."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from daemon.contract.base import email_key
from daemon.model import MembershipConflict, PeopleChange
from daemon.model.people.credentials import (
    Enrolment,
    KeyNameTaken,
    StoredApiKey,
    StoredSecondFactor,
    Subject,
    TooManyApiKeys,
)
from daemon.stores.rows import iso
from daemon.stores.table import Table
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.accounts import add_user
from daemon.stores.tables.people.members import change_people
from daemon.stores.tables.people.settings import note
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from actors.ports import Receipt
    from daemon.model.audit_events import Logged
    from daemon.model.key_terms import KeyTerms
    from daemon.model.people.credentials import Arrival
    from daemon.stores.database import Database, Row


API_KEYS = Table("api_keys", StoredApiKey, ("company_id", "id"), json=("models", "scopes"), noted="noted_at")
_OF_COMPANY = f"{API_KEYS.select} WHERE company_id = $1 AND deleted_at IS NULL ORDER BY id"
_IDS = {
    "sqlite": "(SELECT value FROM json_each($2))",
    "postgres": "(SELECT jsonb_array_elements_text($2::jsonb))",
}


async def add_api_key(
    db: Database, key: StoredApiKey, logged: Logged, receipt: Receipt | None, *, at: str, most: int
) -> None:
    """Add a key, unless the company has so many or one of this name."""
    if receipt is not None:
        await add_receipt(db, receipt, at)
    # The log locks the company's commit order: what is read after it is what all others have added.
    await log(db, logged)
    live = await api_keys_of(db, key.company_id)
    if any(one.name.casefold() == key.name.casefold() for one in live):
        raise KeyNameTaken
    if len(live) >= most:
        raise TooManyApiKeys
    await API_KEYS.insert(db, key)
    await note(db, key.company_id)


async def api_key(db: Database, key_hash: bytes) -> StoredApiKey | None:
    """The key of a hash, unless it was deleted."""
    row = await db.row(f"{API_KEYS.select} WHERE key_hash = $1 AND deleted_at IS NULL", key_hash)
    return None if row is None else API_KEYS.from_row(row)


async def api_keys_of(db: Database, company_id: str) -> Sequence[StoredApiKey]:
    """The keys of a company that were not deleted, oldest first."""
    return [API_KEYS.from_row(row) for row in await db.rows(_OF_COMPANY, company_id)]


async def change_api_key(
    db: Database, company_id: str, key_id: str, terms: KeyTerms, logged: Callable[[StoredApiKey], Logged]
) -> StoredApiKey | None:
    """Put a key under other terms; None where there is none, and nothing where they stand."""
    await db.next_position(company_id, 0)  # locks in the order of all that end rights
    found = next((one for one in await api_keys_of(db, company_id) if one.id == key_id), None)
    if found is None or found.terms == terms:
        return found
    changed = found.under(terms)
    await API_KEYS.replace(db, changed)
    await log(db, logged(found))
    await note(db, company_id)
    return changed


async def delete_api_key(db: Database, company_id: str, key_id: str, at: datetime, logged: Logged) -> bool:
    await db.next_position(company_id, 0)  # locks in the order of all that end rights
    deleted = await db.execute(
        f"UPDATE api_keys SET deleted_at = $3{API_KEYS.note(db)} "
        "WHERE company_id = $1 AND id = $2 AND deleted_at IS NULL",
        *(company_id, key_id, iso(at)),
    )
    if deleted != 1:
        return False
    await log(db, logged)
    await note(db, company_id)
    return True


async def touch_api_keys(db: Database, key_ids: Collection[str], at: datetime) -> None:
    statement = (
        f"UPDATE api_keys SET last_used_at = $1 WHERE id IN {_IDS[db.dialect]} "
        "AND (last_used_at IS NULL OR last_used_at < $1)"
    )
    await db.execute(statement, iso(at), json.dumps(sorted(key_ids)))


SECOND_FACTORS = Table("second_factors", StoredSecondFactor, ("company_id", "user_id"), noted="noted_at")
ENROLMENT = "user_id, number, sealed_secret IS NOT NULL AND confirmed_at IS NOT NULL, session_id"
_USE = (
    "UPDATE second_factors SET last_step = $4 WHERE company_id = $1 AND user_id = $2 AND number = $3 AND last_step < $4"
)


async def second_factor(db: Database, user_id: str) -> StoredSecondFactor | None:
    row = await db.row(f"{SECOND_FACTORS.select} WHERE user_id = $1", user_id)
    return None if row is None else SECOND_FACTORS.from_row(row)


async def put_second_factor(db: Database, factor: StoredSecondFactor, logged: Logged) -> bool:
    await db.next_position(factor.company_id, 0)  # locks in the order of all that change rights
    if not await SECOND_FACTORS.put(db, factor, "second_factors.number = excluded.number - 1"):
        return False
    await log(db, logged)
    return True


async def use_step(db: Database, factor: StoredSecondFactor, step: int) -> bool:
    """Record the time step of a used code; False when one as late was used, or on a change."""
    return await db.execute(_USE, factor.company_id, factor.user_id, factor.number, step) == 1


async def enrolments(db: Database) -> dict[str, Enrolment]:
    """The users whose second factor counts."""
    where = "sealed_secret IS NOT NULL AND confirmed_at IS NOT NULL"
    return enrolments_of(await db.rows(f"SELECT {ENROLMENT} FROM second_factors WHERE {where}"))


def enrolments_of(rows: Iterable[Row]) -> dict[str, Enrolment]:
    return {user_id: Enrolment(number, bool(counts), session) for user_id, number, counts, session in rows}


SUBJECTS = Table("sso_subjects", Subject, ("issuer", "subject"))
_REMOVED = "SELECT count(*) FROM members WHERE company_id = $1 AND email_key = $2 AND status = 'removed'"


async def subject(db: Database, issuer: str, subject: str) -> Subject | None:
    row = await db.row(f"{SUBJECTS.select} WHERE issuer = $1 AND subject = $2", issuer, subject)
    return None if row is None else SUBJECTS.from_row(row)


async def link_subject(db: Database, subject: Subject, logged: Logged) -> bool:
    await db.next_position(subject.company_id, 0)  # locks in the order of all that change rights
    if not await SUBJECTS.add(db, subject):
        return False
    await log(db, logged)
    return True


async def arrive(db: Database, arrival: Arrival, logged: tuple[Logged, ...]) -> None:
    account, edit, subject = arrival
    await db.next_position(subject.company_id, 0)
    await add_user(db, account.user)
    if not await SUBJECTS.add(db, subject):
        raise MembershipConflict
    await change_people(db, PeopleChange(account.company.id, (edit,), logged))


async def is_linked(db: Database, user_id: str, issuer: str) -> bool:
    """Whether the issuer names the user under some subject already."""
    statement = "SELECT count(*) FROM sso_subjects WHERE issuer = $1 AND user_id = $2"
    return bool(await db.value(statement, issuer, user_id))


async def was_removed(db: Database, company_id: str, email: str) -> bool:
    """Whether a member with this address was removed from the company."""
    return bool(await db.value(_REMOVED, company_id, email_key(email)))
