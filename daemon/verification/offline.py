"""Exports and checkpoints of any company or of the service, read from the store itself."""

from __future__ import annotations

from collections.abc import Iterator

from daemon.audit import export
from daemon.model.evidence import CHECKPOINT, Checkpoint
from daemon.stores.database import Reader
from daemon.stores.tables.audit_source import AuditSource


def checkpoints(reader: Reader, company_id: str) -> list[Checkpoint]:
    """All checkpoints, oldest first."""
    rows = AuditSource(reader).checkpoints(company_id)
    return [Checkpoint(**dict(zip(CHECKPOINT, row, strict=True))) for row in rows]


def exported(reader: Reader, company_id: str) -> Iterator[bytes]:
    """The lines of an export of all that the last checkpoint covers."""
    found = checkpoints(reader, company_id)
    size = found[-1].size if found else 0
    yield export.manifest(company_id, size)
    for entry in AuditSource(reader).entries(company_id, size):
        yield export.entry_line(entry)
    for one in reversed(found):
        yield export.checkpoint_line(one)
