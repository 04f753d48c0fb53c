"""The repository of legal holds and archives over a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.ports import StoreFailed
from daemon.stores.access import Access, read, write
from daemon.stores.tables.retention import archiving, holds, redactions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from actors.ports import Receipt
    from daemon.model.events.retention import RunArchived
    from daemon.model.evidence import Sign
    from daemon.model.retention.records import RedactionMade, StoredRedaction


class RetentionRepositories(Access):
    """How runs of companies are kept."""

    retained = read(holds.retained)
    put_hold = write(holds.put_hold)
    drop_hold = write(holds.drop_hold)
    archiving_policies = read(archiving.archiving_policies)
    claim_archiving = write(archiving.claim_archiving)
    archivable = read(archiving.archivable)

    async def redact(
        self,
        asked: StoredRedaction,
        via: str,
        sign: Sign | None,
        receipt: Callable[[RedactionMade], Receipt | None] = lambda _: None,
    ) -> RedactionMade:
        try:
            return await self._write(asked.company_id, lambda db: redactions.redact(db, asked, via, sign, receipt))
        except archiving.NotSealed:
            raise StoreFailed("No checkpoint could cover the redaction now.", "not_applied") from None

    async def keep_archives(self, company_id: str, events: Sequence[RunArchived], sign: Sign) -> frozenset[str]:
        """Record archives under a checkpoint, and drop the events in them: all of it or nothing.

        Returns the runs that it was done for: not those that are held, archived or at another
        version by now, and none when no checkpoint could be made.
        """
        try:
            return await self._write(company_id, lambda db: archiving.keep_archives(db, company_id, events, sign))
        except archiving.NotSealed:
            return frozenset()
