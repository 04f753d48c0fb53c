"""Drafts become versions: what is checked, numbered and stored when a company publishes."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from msgspec import UNSET

from actors.core.canonical import digest
from actors.core.messages import kept_kind
from actors.core.people.authority import ByKind
from actors.core.rules import Violation, guards, policy_warnings
from actors.core.rules.graph import STEPS_MAX
from actors.core.rules.loosening import published
from actors.core.template import Template
from actors.ports import INLINE, LIGHT_BYTES_MAX, Asker, Evaluations, Receipt
from daemon.model.audit_events import Logged
from daemon.model.events.templates import TemplatePublished, TemplateRetired
from daemon.model.own_templates import Draft, DraftChanged, OwnTemplateRepository, OwnVersion, VersionTaken
from daemon.runtime.json_codec import dumps
from daemon.templates.catalog import Catalog
from daemon.templates.cost.documents import EDGES_MAX, costly, too_many_edges
from daemon.templates.documents import Document, ordered
from daemon.templates.graphs import Graph, document_of
from daemon.templates.loading import CatalogEntry, check

ATTEMPTS = 20
WITHOUT: Mapping[str, Any] = {"inputs_schema": {"type": "object"}, "example": {}}
"""What a document has that does not say it."""


class Author(NamedTuple):
    """Who changes a template."""

    company_id: str
    by: str
    kind: ByKind
    via: str
    made_by: str | None = None
    """Who made the key, where it is one."""


class Refused(Exception):
    """The draft breaks rules and is not published."""

    def __init__(self, violations: tuple[Violation, ...], steps: tuple[str, ...]) -> None:
        """`steps` are those of the document, in its order."""
        super().__init__(f"{len(violations)} rules are broken")
        self.violations = violations
        self.steps = steps


class TooManyTemplates(Exception):
    """The company has as many drafts as it may have."""


class TooLarge(Exception):
    """The drafts and versions of the company take as much as they may."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a template or a graph is worth: its violations, steps breadth first, gates and guards.

    `guards` names the gates on every path to each irreversible step. The `template` is there for a
    graph that can be drawn; with violations it must not run. The `warnings` hinder nothing.
    """

    violations: tuple[Violation, ...]
    steps: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    guards: tuple[tuple[str, tuple[str, ...]], ...] = ()
    template: Template | None = None

    @property
    def warnings(self) -> tuple[Violation, ...]:
        return () if self.template is None else tuple(policy_warnings(self.template))


def read_document(value: Mapping[str, Any], version: int = 1) -> Document:
    """The document that a company sent; pydantic's ValidationError when it has another form."""
    given = {name: one for name, one in value.items() if one is not None}
    return Document.model_validate({**WITHOUT, "description": given.get("title") or "?", **given, "version": version})


def checked(value: Mapping[str, Any]) -> Checked:
    """Check a document, a canvas or a bare graph by all rules."""
    if wrong_size := _oversized(value):
        return Checked(wrong_size)
    if "steps" in value:
        document, wrong, implied = read_document(value), list[Violation](), frozenset[str]()
    else:
        document, wrong, implied = document_of(Graph.model_validate(value))
    if too_many := costly(document):
        return Checked(too_many)
    entry, found = check(document)
    template = entry.template
    steps = tuple(step for step in _in_order(template) if step not in implied)
    known = {node.id for node in template.nodes}
    drawn = len(known) == len(template.nodes) and {template.start, *(edge.target for edge in template.edges)} <= known
    seen = guards(template) if drawn else {}
    return Checked((*wrong, *found), steps, template.gates, tuple(seen.items()), template if drawn else None)


def _oversized(value: Mapping[str, Any]) -> tuple[Violation, ...]:
    """That there are too many steps or edges, found before anything is made of them."""
    steps = value.get("steps", value.get("nodes"))
    if isinstance(steps, list) and len(steps) > STEPS_MAX + 1:
        return (Violation("too_large", None, f"steps: there are {len(steps):,}, at most {STEPS_MAX:,} are allowed"),)
    edges = value.get("edges")
    if isinstance(edges, list) and len(edges) > EDGES_MAX:
        return (too_many_edges(len(edges)),)
    return ()


def _in_order(template: Template) -> tuple[str, ...]:
    """The steps from the start, breadth first; names that are no step are left out."""
    waiting = deque([template.start] if template.has(template.start) else [])
    seen = dict.fromkeys(waiting)
    while waiting:
        for edge in template.leaving(waiting.popleft()):
            if edge.target not in seen and template.has(edge.target):
                seen[edge.target] = None
                waiting.append(edge.target)
    return tuple(seen)


def _read(value: Mapping[str, Any]) -> tuple[Document, str]:
    """A document and the digest of it as it was sent."""
    return read_document(value), digest(value)


def _checked(draft: str, number: int) -> tuple[CatalogEntry, tuple[Violation, ...]]:
    """The version that a draft would become, and what is wrong with it; Refused if too large."""
    value = json.loads(draft)
    if wrong_size := _oversized(value):
        raise Refused(wrong_size, ())
    document = read_document(value, number)
    # What is published is canonical JSON, which sorts members by name, and has to keep their order.
    document = document.model_copy(update={"inputs_schema": ordered(document.inputs_schema)})
    if too_many := costly(document):
        raise Refused(too_many, ())
    return check(document)


class Publishing:
    """Drafts and versions of companies' own templates; a change counts when it returns."""

    def __init__(
        self,
        repository: OwnTemplateRepository,
        catalog: Catalog,
        now: Callable[[], datetime],
        *,
        most: int,
        size_max: int,
        evaluations: Evaluations = INLINE,
    ) -> None:
        """A company has at most so many drafts, and its templates so many characters."""
        self._repository = repository
        self._catalog = catalog
        self._now = now
        self._most = most
        self._size_max = size_max
        self._evaluations = evaluations
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def put_draft(self, author: Author, value: dict[str, Any], seen: frozenset[str] | None) -> Draft:
        """Keep a draft; DraftChanged when it is not one that was seen.

        One that is saved as it stands keeps its author.
        """
        text = dumps(value).decode()
        read = partial(_read, value)
        document, seen_as = await self._evaluations.evaluated(Asker(author.company_id), len(text), read)
        at = self._now()
        draft = Draft(author.company_id, document.vertical, text, seen_as, document.title, at, author.by)
        before = await self._repository.draft(author.company_id, document.vertical)
        if before is not None and before.digest == draft.digest:
            draft = replace(draft, saved_at=before.saved_at, saved_by=before.saved_by)
        await self._check_room(draft)
        await self._repository.put_draft(draft, seen)
        return draft

    async def publish(
        self,
        author: Author,
        vertical: str,
        seen: frozenset[str] | None,
        receipt: Callable[[OwnVersion, CatalogEntry], Awaitable[Receipt | None]],
    ) -> tuple[OwnVersion, CatalogEntry] | None:
        """Make the draft the next version; None without a draft, Refused when it breaks rules."""
        lock = self._locks.setdefault(author.company_id, asyncio.Lock())
        async with lock:
            for _ in range(ATTEMPTS):
                draft = await self._repository.draft(author.company_id, vertical)
                if draft is None:
                    return None
                if seen is not None and draft.digest not in seen:
                    raise DraftChanged
                version, entry = await self._next(author, draft)
                if len(entry.document) + await self._catalog.own_size(author.company_id) > self._size_max:
                    raise TooLarge(f"All templates of a company have at most {self._size_max} characters.")
                try:
                    await self._keep(author, version, entry, draft.digest, await receipt(version, entry))
                except (VersionTaken, DraftChanged):
                    self._catalog.forget([author.company_id])
                    continue
                self._catalog.forget([author.company_id])
                return version, entry
            raise DraftChanged

    async def retire(
        self, author: Author, one: OwnVersion, receipt: Callable[[OwnVersion], Receipt | None]
    ) -> OwnVersion:
        """Let a version be started no more; runs of it go on."""
        if one.retired_at is not None:
            return one
        retired = replace(one, retired_at=self._now(), retired_by=author.by)
        event = TemplateRetired(
            at=retired.retired_at or self._now(),
            by=author.by,
            by_kind=kept_kind(author.kind),
            digest=one.digest,
            template_version=one.version,
            vertical=one.vertical,
            via=author.via,
        )
        await self._repository.retire(retired, Logged(author.company_id, event), receipt(retired))
        self._catalog.forget([author.company_id])
        return retired

    async def _next(self, author: Author, draft: Draft) -> tuple[OwnVersion, CatalogEntry]:
        """The version that a draft would become."""
        number, common = 1, self._catalog.common(draft.vertical)
        if common is not None:
            number = common.version + 1
        own = await self._catalog.own_versions(author.company_id, draft.vertical)
        number = max((number, *(one.version + 1 for one in own)))
        work = partial(_checked, draft.document, number)
        entry, wrong = await self._evaluations.evaluated(Asker(author.company_id), LIGHT_BYTES_MAX + 1, work)
        if wrong:
            raise Refused(wrong, tuple(node.id for node in entry.template.nodes))
        template = entry.template
        at = self._now()
        before = await self._catalog.version(author.company_id, draft.vertical, number - 1)
        version = OwnVersion(
            *(author.company_id, draft.vertical, number, template.digest, template.title, at, author.by),
            drafted_by=draft.saved_by,
            made_by=author.made_by,
            loosened=() if before is None else published(before.template, template, author.made_by or author.by),
        )
        return version, entry

    async def _keep(
        self, author: Author, version: OwnVersion, entry: CatalogEntry, drafted: str, receipt: Receipt | None
    ) -> None:
        event = TemplatePublished(
            at=version.published_at,
            by=author.by,
            by_kind=kept_kind(author.kind),
            digest=version.digest,
            drafted_by=version.drafted_by or UNSET,
            loosened=version.loosened or UNSET,
            made_by=version.made_by or UNSET,
            template_version=version.version,
            title=version.title,
            vertical=version.vertical,
            via=author.via,
        )
        await self._repository.publish(version, entry.document, drafted, Logged(author.company_id, event), receipt)

    async def _check_room(self, draft: Draft) -> None:
        drafts = await self._repository.drafts(draft.company_id)
        others = [one for one in drafts if one.vertical != draft.vertical]
        if len(others) == len(drafts) >= self._most:
            raise TooManyTemplates(f"A company has at most {self._most} drafts.")
        size = len(draft.document) + sum(one.size for one in others)
        if size + await self._catalog.own_size(draft.company_id) > self._size_max:
            raise TooLarge(f"All templates of a company have at most {self._size_max} characters.")
