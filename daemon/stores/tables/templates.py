"""Every version of a template that runs may be pinned to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model import StoredTemplate, check_same
from daemon.model.audit_events import SERVICE, Logged, TemplateKept
from daemon.stores.tables.company_log import log

if TYPE_CHECKING:
    from datetime import datetime

    from daemon.stores.database import Database

VIA = "service"
_ADD = "INSERT INTO templates (digest, vertical, version, document) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"


async def keep_template(db: Database, document: StoredTemplate, at: datetime) -> None:
    version = (document.vertical, document.version)
    if await db.execute(_ADD, document.digest, *version, document.document) == 1:
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


async def template_document(db: Database, digest: str) -> StoredTemplate | None:
    row = await db.row("SELECT digest, vertical, version, document FROM templates WHERE digest = $1", digest)
    return None if row is None else StoredTemplate(*row)
