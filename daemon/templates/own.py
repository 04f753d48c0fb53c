"""The companies' own templates, kept in memory until one is published or retired."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from actors.ports import INLINE, Compute
from daemon.model.own_templates import OwnVersion
from daemon.stores.store import Store
from daemon.templates.loading import CatalogEntry, load

COMPANIES_MAX = 10_000
ENTRIES_MAX = 256
Versions = Mapping[str, Sequence[OwnVersion]]
"""The versions by vertical, the newest first."""


class OwnTemplates:
    """Reads what companies have published, and keeps it until one of them changes it.

    Whoever asks after a change was answered, here or on another daemon, gets what stands since.
    """

    def __init__(self, repository: Store, compute: Compute = INLINE) -> None:
        self._repository = repository
        self._compute = compute
        self._versions: OrderedDict[str, Versions] = OrderedDict()
        self._entries: OrderedDict[tuple[str, str], CatalogEntry] = OrderedDict()
        self._forgotten = 0

    def forget(self, companies: Iterable[str]) -> None:
        """Read the versions of these companies anew when they are asked for."""
        for company_id in companies:
            self._forgotten += 1
            self._versions.pop(company_id, None)

    async def of(self, company_id: str) -> Versions:
        """All versions of a company."""
        known = self._versions.get(company_id)
        while known is None:
            forgotten = self._forgotten
            found = await self._repository.own_versions(company_id)
            if forgotten == self._forgotten:  # else it may have been read before a change
                known = _by_vertical(found)
                self._versions[company_id] = known
                while len(self._versions) > COMPANIES_MAX:
                    self._versions.popitem(last=False)
        return known

    async def entry(self, company_id: str, digest: str) -> CatalogEntry | None:
        """The template of a digest; None when the company has none of it."""
        key = (company_id, digest)
        if (known := self._entries.get(key)) is not None:
            self._entries.move_to_end(key)
            return known
        found = await self._repository.own_document(company_id, digest)
        if found is None:
            return None
        entry = await load(self._compute, company_id, found.document)
        if entry.template.digest != digest:
            raise ValueError(f"the stored template {digest} has the content of {entry.template.digest}")
        author, drafted_by = found.published_by, found.drafted_by
        template = replace(entry.template, author=author, drafted_by=drafted_by, loosened=found.loosened)
        entry = replace(entry, template=template)
        self._entries[key] = entry
        while len(self._entries) > ENTRIES_MAX:
            self._entries.popitem(last=False)
        return entry


def _by_vertical(versions: Iterable[OwnVersion]) -> Versions:
    found: dict[str, list[OwnVersion]] = {}
    for one in versions:
        found.setdefault(one.vertical, []).append(one)
    return found
