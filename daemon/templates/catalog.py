"""The catalog: templates that are shipped or of a folder, and those of companies' own."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.resources.abc import Traversable

from actors.core.template import Template
from actors.failpoints import reach
from actors.ports import INLINE, LIGHT_BYTES_MAX, Compute
from daemon.model import DiskFull, StoredTemplate, check_same
from daemon.model.actions import ActionDocument
from daemon.model.own_templates import OwnVersion
from daemon.stores.store import Store
from daemon.templates.loading import CatalogEntry, Header, LazyTemplate, load, load_folder
from daemon.templates.shipped import library

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
        self._guarding: OrderedDict[str, tuple[Versions, tuple[str, ...]]] = OrderedDict()
        self._forgotten = 0

    def forget(self, companies: Iterable[str]) -> None:
        """Read the versions of these companies anew when they are asked for."""
        for company_id in companies:
            self._forgotten += 1
            self._versions.pop(company_id, None)

    def note(self, one: OwnVersion) -> None:
        """A version was published or retired here; all others stand as they were read."""
        self._forgotten += 1
        if (known := self._versions.get(one.company_id)) is not None:
            others = [other for other in known.get(one.vertical, ()) if other.version != one.version]
            versions = sorted((one, *others), key=lambda other: other.version, reverse=True)
            self._versions[one.company_id] = {**known, one.vertical: versions}

    async def versions_of(self, company_id: str) -> Versions:
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

    async def guarding(self, company_id: str) -> Sequence[str]:
        """The digests of a company's versions that may say who reads their runs."""
        versions = await self.versions_of(company_id)
        found = self._guarding.get(company_id)
        if found is None or found[0] is not versions:
            digests = [one.digest for each in versions.values() for one in each if one.guards]
            found = self._guarding[company_id] = (versions, tuple(dict.fromkeys(digests)))
            while len(self._guarding) > COMPANIES_MAX:
                self._guarding.popitem(last=False)
        return found[1]

    def is_unguarded(self, company_id: str, digest: str) -> bool:
        """Whether a version of a company is known to say nothing of who reads its runs."""
        known = self._versions.get(company_id, {})
        return any(one.digest == digest and not one.guards for each in known.values() for one in each)

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


PINNED_MAX = 64
ACTIONS_MAX = 1_024


class Retired(Exception):
    """No version of the template that was asked for is started any more."""


class Catalog:
    """The templates that each company can start, and every version that a run may be pinned to."""

    def __init__(
        self,
        entries: Iterable[CatalogEntry | LazyTemplate],
        repository: Store,
        pinned_max: int = PINNED_MAX,
        compute: Compute = INLINE,
    ) -> None:
        every = [LazyTemplate.from_entry(one) if isinstance(one, CatalogEntry) else one for one in entries]
        every.sort(key=lambda one: (one.header.vertical, one.header.version))
        self._current = {one.header.vertical: one for one in every}
        self._templates = {one.header.digest: one for one in every}
        self._unguarded = frozenset([one.header.digest for one in every if one.header.guarded is not True])
        self._repository = repository
        self._unkept = dict(self._templates)
        self._pinned: OrderedDict[str, Template] = OrderedDict()
        self._pinned_max = pinned_max
        self._compute = compute
        self._own = OwnTemplates(repository, compute)
        self._actions: OrderedDict[tuple[str, str], Template] = OrderedDict()
        self._guarding: tuple[str, ...] = ()
        self.unfollowed = frozenset[str]()
        """Those that say who reads their runs, and need not be loaded: no run follows them yet."""

    async def open(self) -> None:
        """Find what is stored, and store what is loaded; SchemaMismatch for a changed version."""
        known = await self._repository.template_digests()
        for one in self._templates.values():
            version = (one.header.vertical, one.header.version)
            check_same(*version, one.header.digest, known.get(version))
            if version in known:
                del self._unkept[one.header.digest]
        stored = await self._repository.guarding_templates()
        loaded = [one.header.digest for one in self._templates.values() if one.header.guarded is True]
        if not self._repository.shared:  # else another daemon may have begun to
            self.unfollowed = frozenset(loaded).intersection(self._unkept)
        self._guarding = tuple(dict.fromkeys((*(one for one in loaded if one not in self.unfollowed), *stored)))
        with suppress(DiskFull):  # then they are stored before a run of them starts
            # At once, so that the store can make them one commit.
            await asyncio.gather(*(self.keep(one.header.digest) for one in [*self._unkept.values()] if one.is_loaded))
        reach("templates-kept")

    async def keep(self, digest: str) -> None:
        """Store a template that every company has; no run may be pinned to it before."""
        one = self._unkept.get(digest)
        if one is not None:
            header = one.header
            await self._repository.keep_template(
                StoredTemplate(digest, header.vertical, header.version, one.entry.document)
            )
            self._unkept.pop(digest, None)
            if digest in self.unfollowed:
                self.unfollowed, self._guarding = self.unfollowed - {digest}, (*self._guarding, digest)

    def forget(self, companies: Iterable[str]) -> None:
        """Own templates of these companies were published or retired."""
        self._own.forget(companies)

    def note(self, one: OwnVersion) -> None:
        """A version was published or retired here."""
        self._own.note(one)

    def common(self, vertical: str) -> Header | None:
        """The template that every company has, if there is one."""
        found = self._current.get(vertical)
        return None if found is None else found.header

    async def entries(self, company_id: str) -> Sequence[LazyTemplate]:
        """The current version of each template of a company, by vertical."""
        found = dict(self._current)
        for vertical in await self._own.versions_of(company_id):
            own = await self._own_current(company_id, vertical)
            if own is not None:
                found[vertical] = LazyTemplate.from_entry(own)
        return [found[vertical] for vertical in sorted(found)]

    async def describing(self, company_id: str, tool: str, used: Collection[str]) -> Sequence[CatalogEntry]:
        """The templates that describe a tool; of the library those in use alone."""
        found = [one for one in await self.entries(company_id) if tool in one.header.tools]
        return await self._read(company_id, found, used)

    async def calling(self, company_id: str, tool: str, used: Collection[str]) -> Sequence[CatalogEntry]:
        """The templates that call a tool; of the library those in use alone."""
        found = [one for one in await self.entries(company_id) if tool in one.header.calls]
        return await self._read(company_id, found, used)

    async def _read(
        self, company_id: str, found: Iterable[LazyTemplate], used: Collection[str]
    ) -> Sequence[CatalogEntry]:
        some = [one for one in found if one.header.pack is None or one.header.vertical in used]
        return [await self._entry(company_id, one) for one in some]

    async def _entry(self, company_id: str, one: LazyTemplate) -> CatalogEntry:
        """A template that every company has; it is read beside the loop, which takes a while."""
        if not one.is_loaded:
            await self._compute.run_by_size(company_id, LIGHT_BYTES_MAX + 1, partial(getattr, one, "entry"))
        return one.entry

    async def current(self, company_id: str, vertical: str) -> CatalogEntry | None:
        """The template that a start runs; Retired when all versions are."""
        own = await self._own_current(company_id, vertical)
        if own is not None:
            return own
        found = self._current.get(vertical)
        if found is None and vertical in await self._own.versions_of(company_id):
            raise Retired
        return None if found is None else await self._entry(company_id, found)

    async def startable(self, company_id: str, vertical: str, number: int | None) -> CatalogEntry | None:
        """The template of a start, which may ask for a version; Retired when it is."""
        if number is None:
            return await self.current(company_id, vertical)
        versions = await self.own_versions(company_id, vertical)
        if any(one.version == number and one.retired_at is not None for one in versions):
            raise Retired
        return await self.version(company_id, vertical, number)

    async def has(self, company_id: str, vertical: str) -> bool:
        """Whether there is such a template, retired or not."""
        return vertical in self._current or vertical in await self._own.versions_of(company_id)

    async def own_versions(self, company_id: str, vertical: str) -> Sequence[OwnVersion]:
        """The company's own versions of a template, the newest first."""
        return (await self._own.versions_of(company_id)).get(vertical, ())

    async def own_size(self, company_id: str) -> int:
        """How many characters all of the company's own versions have."""
        return sum(one.size for versions in (await self._own.versions_of(company_id)).values() for one in versions)

    async def version(self, company_id: str, vertical: str, number: int) -> CatalogEntry | None:
        """One version, retired or not: the company's own, or the one that every company has."""
        for one in await self.own_versions(company_id, vertical):
            if one.version == number:
                return await self._own.entry(company_id, one.digest)
        found = self._current.get(vertical)
        if found is None or found.header.version != number:
            return None
        return await self._entry(company_id, found)

    async def pinned(self, company_id: str, digest: str) -> Template:
        """The template of that digest, old versions included; KeyError when there was none."""
        if (common := self._templates.get(digest)) is not None:
            return (await self._entry(company_id, common)).template
        if digest in self._pinned:
            self._pinned.move_to_end(digest)
            return self._pinned[digest]
        if (action := self._actions.get((company_id, digest))) is not None:
            self._actions.move_to_end((company_id, digest))
            return action
        own = await self._own.entry(company_id, digest)
        return own.template if own is not None else await self._earlier(company_id, digest)

    def is_unguarded(self, company_id: str, digest: str) -> bool:
        """Whether a version is known to say nothing of who reads its runs."""
        return digest in self._unguarded or (
            digest not in self._templates and self._own.is_unguarded(company_id, digest)
        )

    async def guarding(self, company_id: str) -> Sequence[str]:
        """The digests of the versions that may say so, and that a run may follow by now."""
        own = await self._own.guarding(company_id)
        return (*self._guarding, *own) if own else self._guarding

    async def guarded(self, company_id: str) -> Sequence[Template]:
        """The versions that say who may read their runs, or whom they are about."""
        digests = await self.guarding(company_id)
        found = [await self.pinned(company_id, digest) for digest in digests]
        return [one for one in found if one.guarded]

    async def every_version(self, company_id: str, vertical: str) -> Sequence[Template]:
        """All versions that a run of a vertical may follow, as far as they are known."""
        own = [await self.pinned(company_id, one.digest) for one in await self.own_versions(company_id, vertical)]
        common = self._current.get(vertical)
        return own if common is None else [*own, (await self._entry(company_id, common)).template]

    async def load_document(self, company_id: str, document: str) -> CatalogEntry:
        """The template of a checked document, which is stored nowhere and may break rules."""
        return await load(self._compute, company_id, document, broken=True)

    async def _own_current(self, company_id: str, vertical: str) -> CatalogEntry | None:
        """The newest own version that is not retired."""
        for one in await self.own_versions(company_id, vertical):
            if one.retired_at is None:
                return await self._own.entry(company_id, one.digest)
        return None

    async def keep_action(self, company_id: str, document: str) -> Template:
        """The template of an action of the company, by a document that one of its rules made."""
        template = (await load(self._compute, company_id, document, consents=True)).template
        await self._repository.keep_action_template(ActionDocument(company_id, template.digest, document))
        return self._keeping(company_id, template)

    async def _of_action(self, company_id: str, digest: str) -> Template:
        document = await self._repository.action_template(company_id, digest)
        if document is None:
            raise KeyError(digest)
        template = (await load(self._compute, company_id, document, consents=True)).template
        if template.digest != digest:
            raise ValueError(f"the stored template {digest} has the content of {template.digest}")
        return self._keeping(company_id, template)

    def _keeping(self, company_id: str, template: Template) -> Template:
        self._actions[company_id, template.digest] = template
        while len(self._actions) > ACTIONS_MAX:
            self._actions.popitem(last=False)
        return template

    async def _earlier(self, company_id: str, digest: str) -> Template:
        """A template that every company had before."""
        kept = await self._repository.template_document(digest)
        if kept is None:
            return await self._of_action(company_id, digest)
        template = (await load(self._compute, company_id, kept.document)).template
        if template.digest != digest:
            raise ValueError(f"the stored template {digest} has the content of {template.digest}")
        self._pinned[digest] = template
        while len(self._pinned) > self._pinned_max:
            self._pinned.popitem(last=False)
        return template


async def open_catalog(folder: Traversable | None, repository: Store, compute: Compute = INLINE) -> Catalog:
    """The shipped templates and those of a folder, which replace shipped ones."""
    own = [] if folder is None else load_folder(folder)
    replaced = {entry.template.vertical for entry in own}
    shelved = (one for one in library() if one.header.vertical not in replaced)
    catalog = Catalog([*shelved, *own], repository, compute=compute)
    await catalog.open()
    return catalog
