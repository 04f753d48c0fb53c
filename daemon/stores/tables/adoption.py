"""Writes what stands into logs that earlier versions wrote without it, once.

When all companies are done the last event in a stream of the service says so, and from then on
nothing is adopted: a row that was changed later is not taken for what stood.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model.audit_events import (
    ADOPTION,
    SERVICE,
    Adopted,
    CompaniesAdopted,
    Logged,
    Registered,
    SecretForm,
    TemplateForm,
    UserForm,
    password_digest,
)
from daemon.model.chain import digest
from daemon.stores.tables.company_log import first_event, last_event, log
from daemon.stores.tables.connectors import company_key, log_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.stores.database import Database

ADOPTED_MAX = 64
_COMPANIES = "SELECT id, name, created_at FROM companies WHERE id > $1 ORDER BY id LIMIT $2"
_USERS = (
    "SELECT users.id, users.email, users.name, members.role, users.password_hash, users.created_at FROM users "
    "JOIN members ON members.company_id = users.company_id AND members.id = users.id "
    "WHERE users.company_id = $1 ORDER BY users.id"
)
_STANDING = "sealed_secret, created_at, updated_at, updated_by FROM"
_CONNECTORS = f"SELECT tool_id, {_STANDING} connectors WHERE company_id = $1 ORDER BY tool_id"
_WEBHOOKS = f"SELECT id, {_STANDING} webhooks WHERE company_id = $1 ORDER BY id"
_TEMPLATES = "SELECT digest, version, vertical FROM templates ORDER BY vertical, version"


async def adopt(db: Database, at: datetime) -> bool:
    """Adopt the next companies; whether there are more."""
    await db.next_position(SERVICE, 0)  # locks: no other daemon adopts the same
    last = await last_event(db, SERVICE, ADOPTION)
    done = last if isinstance(last, CompaniesAdopted) else None
    if done is not None and done.last is None:
        return False
    rows = await db.rows(_COMPANIES, done.last if done else "", ADOPTED_MAX)
    templates = [] if done else await db.rows(_TEMPLATES)
    event = CompaniesAdopted(
        at=at,
        companies=tuple([company_id for company_id, *about in rows if await _adopt(db, company_id, about, at)]),
        last=rows[-1][0] if len(rows) == ADOPTED_MAX else None,
        templates=tuple(TemplateForm(digest=row[0], template_version=row[1], vertical=row[2]) for row in templates),
    )
    await log(db, Logged(SERVICE, event, ADOPTION))
    return event.last is not None


async def _adopt(db: Database, company_id: str, about: Sequence[str], at: datetime) -> bool:
    """Log what stands for a company; False if its log has said so from the start."""
    name, created_at = about
    first = await first_event(db, company_id, company_id)
    if isinstance(first, Registered) and first.password_digest is not None:
        return False
    event = Adopted(
        at=at,
        company=name,
        connectors=await _standing(db, _CONNECTORS, company_id),
        created_at=datetime.fromisoformat(created_at),
        users=await _users(db, company_id),
        webhooks=await _standing(db, _WEBHOOKS, company_id),
    )
    await log(db, Logged(company_id, event))
    key = await company_key(db, company_id)
    if key is not None:
        await log_keys(db, [key], at)
    return True


async def _users(db: Database, company_id: str) -> tuple[UserForm, ...]:
    return tuple(
        UserForm(
            created_at=datetime.fromisoformat(created_at),
            email=email,
            id=user_id,
            name=name,
            password_digest=password_digest(password_hash),
            role=role,
        )
        for user_id, email, name, role, password_hash, created_at in await db.rows(_USERS, company_id)
    )


async def _standing(db: Database, statement: str, company_id: str) -> tuple[SecretForm, ...]:
    rows = await db.rows(statement, company_id)
    return tuple(
        SecretForm(
            created_at=datetime.fromisoformat(created_at),
            id=name,
            secret_digest=None if sealed is None else digest(sealed),
            updated_at=datetime.fromisoformat(updated_at),
            updated_by=by,
        )
        for name, sealed, created_at, updated_at, by in rows
    )
