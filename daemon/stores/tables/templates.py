"""Every version of a template that runs may be pinned to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model import SchemaMismatch, TemplateDocument
from daemon.model.audit_events import SERVICE, Logged, TemplateKept
from daemon.stores.tables.company_log import log

if TYPE_CHECKING:
    from datetime import datetime

    from daemon.stores.database import Database

VIA = "service"
_ADD = "INSERT INTO templates (digest, vertical, version, document) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"


async def keep_template(db: Database, document: TemplateDocument, at: datetime) -> None:
    version = (document.vertical, document.version)
    if await db.execute(_ADD, document.digest, *version, document.document) == 1:
        kept = TemplateKept(
            at=at, digest=document.digest, template_version=document.version, vertical=document.vertical, via=VIA
        )
        await log(db, Logged(SERVICE, kept))
    known = await db.value("SELECT digest FROM templates WHERE vertical = $1 AND version = $2", *version)
    if known not in (None, document.digest):
        raise SchemaMismatch(
            f"Version {document.version} of {document.vertical} is known with the digest {known}, and now comes with "
            f"{document.digest}. Runs are pinned to what they began with: give the changed template a new version."
        )


async def template_document(db: Database, digest: str) -> TemplateDocument | None:
    row = await db.row("SELECT digest, vertical, version, document FROM templates WHERE digest = $1", digest)
    return None if row is None else TemplateDocument(*row)
