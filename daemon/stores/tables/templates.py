"""Templates that runs are pinned to, and those of companies: drafts and published versions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from actors.core.gate_policy import Loosened
from daemon.model import StoredTemplate, check_same
from daemon.model.audit_events import SERVICE, Logged, TemplateKept
from daemon.model.own_templates import NO_DRAFT, Draft, DraftChanged, OwnDocument, OwnVersion, VersionTaken
from daemon.stores.rows import iso_or_null
from daemon.stores.table import Codec, Table
from daemon.stores.tables.company_log import log
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from actors.ports import Receipt
    from daemon.stores.database import Database, Row


def loosened_json(loosened: tuple[Loosened, ...]) -> str | None:
    """The gates that a version makes laxer, as they are stored."""
    return msgspec.json.encode(loosened).decode() if loosened else None


def loosened_of(stored: str | None) -> tuple[Loosened, ...]:
    return () if stored is None else msgspec.json.decode(stored, type=tuple[Loosened, ...])


VIA = "service"
NOTHING = "''"
TEMPLATES = Table("templates", StoredTemplate, ("digest",))
OWN_TEMPLATES = Table(
    *("own_templates", OwnVersion, ("company_id", "vertical", "version")),
    codecs={"loosened": Codec(loosened_json, loosened_of)},
    absent=("size", "guards"),
    beside=("document",),
    noted="noted_at",
)
DRAFTS = Table("template_drafts", Draft, ("company_id", "vertical"), absent=("size",))
# A text of the document may say the same, so that who finds a version looks whether it guards.
_GUARDS = "document LIKE '%\"readers\":{%' OR document LIKE '%\"subjects\":[%'"
_VERSIONS = (
    f"SELECT {OWN_TEMPLATES.names}, length(document), {_GUARDS} FROM own_templates "
    "WHERE company_id = $1 ORDER BY vertical, version DESC"
)
_GUARDING = f"SELECT digest FROM templates WHERE {_GUARDS} ORDER BY digest"
_DOCUMENT = (
    "SELECT document, published_by, drafted_by, loosened FROM own_templates WHERE company_id = $1 AND digest = $2"
)
_NEWEST = "SELECT max(version) FROM own_templates WHERE company_id = $1 AND vertical = $2"
_DRAFT = f"SELECT {DRAFTS.names}, length(document) FROM template_drafts WHERE company_id = $1 AND vertical = $2"
_DRAFTS = (
    f"SELECT {DRAFTS.names.replace('document', NOTHING)}, length(document) FROM template_drafts "
    "WHERE company_id = $1 ORDER BY vertical"
)
_DELETE = "DELETE FROM template_drafts WHERE company_id = $1 AND vertical = $2"
_RETIRE = (
    "UPDATE own_templates SET retired_at = $4, retired_by = $5{} "
    "WHERE company_id = $1 AND vertical = $2 AND version = $3 AND retired_at IS NULL"
)


async def keep_template(db: Database, document: StoredTemplate, at: datetime) -> None:
    version = (document.vertical, document.version)
    if await TEMPLATES.add(db, document):
        kept = TemplateKept(
            at=at, digest=document.digest, template_version=document.version, vertical=document.vertical, via=VIA
        )
        await log(db, Logged(SERVICE, kept))
    known = await db.value("SELECT digest FROM templates WHERE vertical = $1 AND version = $2", *version)
    check_same(*version, document.digest, known)


async def template_digests(db: Database) -> dict[tuple[str, int], str]:
    """The digests of all that are stored, by vertical and version."""
    rows = await db.rows("SELECT vertical, version, digest FROM templates")
    return {(vertical, version): digest for vertical, version, digest in rows}


async def guarding_templates(db: Database) -> Sequence[str]:
    """The digests of those that may say who reads their runs, or whom they are about."""
    return [row[0] for row in await db.rows(_GUARDING)]


async def template_document(db: Database, digest: str) -> StoredTemplate | None:
    row = await db.row(f"{TEMPLATES.select} WHERE digest = $1", digest)
    return None if row is None else TEMPLATES.from_row(row)


async def own_versions(db: Database, company_id: str) -> Sequence[OwnVersion]:
    """All versions of a company, by vertical, the newest first."""
    return [_version(row) for row in await db.rows(_VERSIONS, company_id)]


async def own_document(db: Database, company_id: str, digest: str) -> OwnDocument | None:
    """A version by its digest."""
    row = await db.row(_DOCUMENT, company_id, digest)
    if row is None:
        return None
    document, published_by, drafted_by, loosened = row
    return OwnDocument(document, published_by, drafted_by, loosened_of(loosened))


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
    await DRAFTS.put(db, one)


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
    await OWN_TEMPLATES.insert(db, one, document=document)
    await db.execute(_DELETE, one.company_id, one.vertical)


async def retire(db: Database, one: OwnVersion, *, logged: Logged, receipt: Receipt | None, at: str) -> bool:
    if receipt is not None:
        await add_receipt(db, receipt, at)
    await _lock(db, one.company_id)
    when = (iso_or_null(one.retired_at), one.retired_by)
    if await db.execute(_RETIRE.format(OWN_TEMPLATES.note(db)), one.company_id, one.vertical, one.version, *when) != 1:
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
    return replace(OWN_TEMPLATES.from_row(row), size=row[-2], guards=bool(row[-1]))


def _draft(row: Row) -> Draft:
    return replace(DRAFTS.from_row(row), size=row[-1])
