"""The catalog of templates, with every version that a run may be pinned to."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.resources.abc import Traversable

from actors.core.template import Template
from actors.failpoints import reach
from daemon.model import DiskFull, TemplateDocument, TemplateRepository
from daemon.templates.loading import CatalogEntry, load_folder, load_json, shipped

PINNED_MAX = 64


class Catalog:
    """The current templates, and every earlier version that a run may be pinned to."""

    def __init__(
        self, entries: Iterable[CatalogEntry], repository: TemplateRepository, pinned_max: int = PINNED_MAX
    ) -> None:
        self._all = tuple(entries)
        self._current: dict[str, CatalogEntry] = {}
        for entry in sorted(self._all, key=lambda e: (e.template.vertical, e.template.version)):
            self._current[entry.template.vertical] = entry
        self._templates = {entry.template.digest: entry.template for entry in self._all}
        self._repository = repository
        self._unkept = [
            TemplateDocument(one.template.digest, one.template.vertical, one.template.version, one.document)
            for one in self._all
        ]
        self._pinned: OrderedDict[str, Template] = OrderedDict()
        self._pinned_max = pinned_max

    async def open(self) -> None:
        """Store every document; SchemaMismatch when a stored version has changed."""
        kept = await asyncio.gather(*(self._repository.template_document(one.digest) for one in self._unkept))
        self._unkept = [one for one, found in zip(self._unkept, kept, strict=True) if found is None]
        with suppress(DiskFull):  # then they are stored before the next run starts
            await self.keep()
        reach("templates-kept")

    async def keep(self) -> None:
        """Store new documents; no run may be pinned to one before."""
        if self._unkept:
            # At once, so that the store can make them one commit.
            await asyncio.gather(*map(self._repository.keep_template, self._unkept))
            self._unkept = []

    @property
    def entries(self) -> Sequence[CatalogEntry]:
        """The current version of each template, by vertical."""
        return tuple(self._current.values())

    def current(self, vertical: str) -> CatalogEntry | None:
        return self._current.get(vertical)

    async def pinned(self, digest: str) -> Template:
        """The template of that digest, old versions included; KeyError when it was never loaded."""
        if (template := self._templates.get(digest)) is not None:
            return template
        if digest in self._pinned:
            self._pinned.move_to_end(digest)
            return self._pinned[digest]
        kept = await self._repository.template_document(digest)
        if kept is None:
            raise KeyError(digest)
        template = load_json(kept.document).template
        if template.digest != digest:
            raise ValueError(f"the stored template {digest} has the content of {template.digest}")
        self._pinned[digest] = template
        while len(self._pinned) > self._pinned_max:
            self._pinned.popitem(last=False)
        return template


async def open_catalog(folder: Traversable | None, repository: TemplateRepository) -> Catalog:
    """The shipped templates and those of a folder, which replace shipped ones."""
    entries = shipped()
    if folder is not None:
        own = load_folder(folder)
        replaced = {entry.template.vertical for entry in own}
        entries = [entry for entry in entries if entry.template.vertical not in replaced] + own
    catalog = Catalog(entries, repository)
    await catalog.open()
    return catalog
