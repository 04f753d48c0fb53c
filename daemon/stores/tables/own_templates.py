"""Templates of the companies' own: drafts and published versions."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from actors.core.gate_policy import Loosened
from daemon.model.own_templates import NO_DRAFT, Draft, DraftChanged, OwnDocument, OwnVersion, VersionTaken
from daemon.stores.rows import text, text_or_null, time_or_none
from daemon.stores.tables.company_log import log
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.ports import Receipt
    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

VERSION = (
    "company_id, vertical, version, digest, title, published_at, published_by, retired_at, retired_by, drafted_by, "
    "made_by, loosened"
)
OWN_TEMPLATE = f"{VERSION}, document"
DRAFT = "company_id, vertical, digest, title, document, saved_at, saved_by"
_VERSIONS = (
    f"SELECT {VERSION}, length(document) FROM own_templates WHERE company_id = $1 ORDER BY vertical, version DESC"
)
_DOCUMENT = (
    "SELECT document, published_by, drafted_by, loosened FROM own_templates WHERE company_id = $1 AND digest = $2"
)
_NEWEST = "SELECT max(version) FROM own_templates WHERE company_id = $1 AND vertical = $2"
_DRAFT = f"SELECT {DRAFT}, length(document) FROM template_drafts WHERE company_id = $1 AND vertical = $2"
_DRAFTS = (
    "SELECT company_id, vertical, digest, title, '', saved_at, saved_by, length(document) FROM template_drafts "
    "WHERE company_id = $1 ORDER BY vertical"
)
_PUT = (
    f"INSERT INTO template_drafts ({DRAFT}) VALUES ($1, $2, $3, $4, $5, $6, $7) "
    "ON CONFLICT (company_id, vertical) DO UPDATE SET digest = excluded.digest, title = excluded.title, "
    "document = excluded.document, saved_at = excluded.saved_at, saved_by = excluded.saved_by"
)
_DELETE = "DELETE FROM template_drafts WHERE company_id = $1 AND vertical = $2"
_OF_ONE = "WHERE company_id = $1 AND vertical = $2 AND version = $3 AND retired_at IS NULL"
_RETIRE = {
    "sqlite": f"UPDATE own_templates SET retired_at = $4, retired_by = $5 {_OF_ONE}",
    "postgres": "UPDATE own_templates SET retired_at = $4, retired_by = $5, noted_at = clock_timestamp() " + _OF_ONE,
}


async def own_versions(db: Database, company_id: str) -> Sequence[OwnVersion]:
    """All versions of a company, by vertical, the newest first."""
    return [_version(row) for row in await db.rows(_VERSIONS, company_id)]


async def own_document(db: Database, company_id: str, digest: str) -> OwnDocument | None:
    """A version by its digest."""
    row = await db.row(_DOCUMENT, company_id, digest)
    if row is None:
        return None
    document, published_by, drafted_by, loosened = row
    return OwnDocument(document, published_by, drafted_by, _loosened(loosened))


async def draft(db: Database, company_id: str, vertical: str) -> Draft | None:
    row = await db.row(_DRAFT, company_id, vertical)
    return None if row is None else _draft(row)


async def drafts(db: Database, company_id: str) -> Sequence[Draft]:
    """All drafts of a company, by vertical, each with an empty document."""
    return [_draft(row) for row in await db.rows(_DRAFTS, company_id)]


async def put_draft(db: Database, one: Draft, seen: frozenset[str] | None) -> None:
    """Keep a draft; with `seen` only in place of one of these digests, else DraftChanged.

    `NO_DRAFT` among them allows that there is none.
    """
    await _lock(db, one.company_id)
    await _check_seen(db, one.company_id, one.vertical, seen)
    row = (one.company_id, one.vertical, one.digest, one.title, one.document, text(one.saved_at), one.saved_by)
    await db.execute(_PUT, *row)


async def delete_draft(db: Database, company_id: str, vertical: str, seen: frozenset[str] | None) -> bool:
    """Delete a draft; False when there is none, DraftChanged when it was not seen."""
    await _lock(db, company_id)
    await _check_seen(db, company_id, vertical, seen)
    return await db.execute(_DELETE, company_id, vertical) == 1


async def publish(
    db: Database, one: OwnVersion, *, document: str, drafted: str, logged: Logged, receipt: Receipt | None, at: str
) -> None:
    if receipt is not None:
        await add_receipt(db, receipt, at)
    # The log locks the company's commit order: what is read after it is what all others have done.
    await log(db, logged)
    if (await db.value(_NEWEST, one.company_id, one.vertical) or 0) >= one.version:
        raise VersionTaken
    await _check_seen(db, one.company_id, one.vertical, frozenset({drafted}))
    times = (text(one.published_at), one.published_by, text_or_null(one.retired_at), one.retired_by)
    more = (one.drafted_by, one.made_by, loosened_json(one.loosened), document)
    row = (one.company_id, one.vertical, one.version, one.digest, one.title, *times, *more)
    await db.insert(f"own_templates ({OWN_TEMPLATE})", [row])
    await db.execute(_DELETE, one.company_id, one.vertical)


async def retire(db: Database, one: OwnVersion, *, logged: Logged, receipt: Receipt | None, at: str) -> bool:
    if receipt is not None:
        await add_receipt(db, receipt, at)
    await _lock(db, one.company_id)
    when = (text_or_null(one.retired_at), one.retired_by)
    if await db.execute(_RETIRE[db.dialect], one.company_id, one.vertical, one.version, *when) != 1:
        return False
    await log(db, logged)
    return True


async def _lock(db: Database, company_id: str) -> None:
    """Wait for what others do with the company's templates."""
    await db.next_position(company_id, 0)


async def _check_seen(db: Database, company_id: str, vertical: str, seen: frozenset[str] | None) -> None:
    """DraftChanged when the draft is none of those that were seen."""
    if seen is not None:
        found = await draft(db, company_id, vertical)
        if (NO_DRAFT if found is None else found.digest) not in seen:
            raise DraftChanged


def _version(row: Row) -> OwnVersion:
    company_id, vertical, version, digest, title, published_at, published_by, *rest = row
    retired_at, retired_by, drafted_by, made_by, loosened, size = rest
    return OwnVersion(
        *(company_id, vertical, version, digest, title, datetime.fromisoformat(published_at), published_by),
        *(time_or_none(retired_at), retired_by, size, drafted_by, made_by, _loosened(loosened)),
    )


def loosened_json(loosened: tuple[Loosened, ...]) -> str | None:
    """The gates that a version makes laxer, as they are stored."""
    return msgspec.json.encode(loosened).decode() if loosened else None


def _loosened(stored: str | None) -> tuple[Loosened, ...]:
    return () if stored is None else msgspec.json.decode(stored, type=tuple[Loosened, ...])


def _draft(row: Row) -> Draft:
    company_id, vertical, digest, title, document, saved_at, saved_by, size = row
    return Draft(company_id, vertical, document, digest, title, datetime.fromisoformat(saved_at), saved_by, size)
