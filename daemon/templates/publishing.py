"""Drafts become versions: what is checked, numbered and stored when a company publishes."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from msgspec import UNSET, Struct, convert
from pydantic import ValidationError

from actors.core.canonical import digest
from actors.core.gate_policy import Loosened
from actors.core.messages import kept_kind
from actors.core.people import ByKind
from actors.core.rules import Violation, guards, policy_warnings
from actors.core.rules.guards import published
from actors.core.rules.proof import slowest_paths
from actors.core.rules.violation import SlowestPath
from actors.core.template import ConditionFailed, Template
from actors.ports import INLINE, LIGHT_BYTES_MAX, Asker, Evaluations, Receipt
from daemon.model.audit_events import Caller, Logged
from daemon.model.events.company import TemplatePublished, TemplateRetired
from daemon.model.own_templates import Draft, DraftChanged, OwnVersion, VersionTaken
from daemon.model.people.changes import ChangeDecision, ChangeStale
from daemon.runtime.json_codec import dumps
from daemon.stores.store import Store
from daemon.templates.answers import NEVER, Kind, answered
from daemon.templates.catalog import Catalog
from daemon.templates.document_cost import costly, is_light, oversized, too_large
from daemon.templates.documents import Document, ordered
from daemon.templates.graphs import Graph, document_of
from daemon.templates.loading import CatalogEntry, check

ATTEMPTS = 20
NOBODY = ""
"""Whose versions follow on none of their own: each is compared with the one before it alone."""
WITHOUT: Mapping[str, Any] = {"inputs_schema": {"type": "object"}, "example": {}}
"""What a document has that does not say it."""
FAULTS_MAX = 50
DRAFT_WEIGHT_MAX = 128 * 1024
"""A draft of so much is read in some 10 ms."""
COSTLY = too_large("steps: the template takes too long, or too much memory, to check")


class Author(NamedTuple):
    """Who changes a template."""

    company_id: str
    by: str
    kind: ByKind
    via: str
    made_by: str | None = None
    """Who made the key, where it is one."""
    caller: Caller | None = None


class PublishGated(Exception):
    """The draft would make a gate laxer than the version before, which another person approves."""

    def __init__(self, drafted: str, number: int) -> None:
        super().__init__(f"version {number} waits for approval")
        self.drafted = drafted
        self.number = number


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


Fault = tuple[tuple[int | str, ...], str, str]
"""Where a value has not the form of a template, the kind of the error, and why."""


class NotATemplate(ValueError):
    """A value that has not the form of a template."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("it has not the form of a template")
        self.faults = faults


class Checked(Struct, frozen=True):
    """What a template or a graph is worth: its violations, steps breadth first, gates and guards.

    `guards` names the gates on every path to each irreversible step; `clocks` are there where all
    are kept. The `document` is there unless it costs too much to be looked at; with violations it
    must not run. The `warnings` hinder nothing.
    """

    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    steps: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    guards: tuple[tuple[str, tuple[str, ...]], ...] = ()
    clocks: tuple[SlowestPath, ...] = ()
    document: str | None = None
    inputs_schema: dict[str, Any] = {}
    drawn: bool = False
    """Whether it is a graph, so that it can be drawn."""
    faults: tuple[Fault, ...] = ()


class ReadDraft(Struct, frozen=True):
    """What is read of a draft, which may break rules."""

    vertical: str = ""
    title: str = ""
    digest: str = ""
    faults: tuple[Fault, ...] = ()


def read_document(value: Mapping[str, Any], version: int = 1) -> Document:
    """The document that a company sent; pydantic's ValidationError when it has another form."""
    given = {name: one for name, one in value.items() if one is not None}
    return Document.model_validate({**WITHOUT, "description": given.get("title") or "?", **given, "version": version})


def checked(value: Mapping[str, Any], version: int = 1, *, large: bool = False) -> Checked:
    """Check a document, a canvas or a bare graph by all rules; NotATemplate for another form.

    One that is large, or takes more than a little to compile, is read and checked by a process.
    """
    if wrong_size := oversized(value):
        return Checked(wrong_size)
    if not large:
        with well_formed():
            read = _read(value, version)
        if is_light(read[0]) or costly(read[0]):
            return examined(*read)
    return by_process("check", version, value, lambda: check_here(version, value))


def by_process(kind: Kind, said: Any, data: Any, here: Callable[[], Checked]) -> Checked:
    """What a process finds of a template, as it would be found here; NotATemplate if it is none."""
    try:
        found = convert(answered(kind, said, data, here, NEVER), Checked)
    except ConditionFailed:
        return Checked((COSTLY,))
    if found.faults:
        raise NotATemplate(found.faults)
    return found


def check_here(version: int, value: Mapping[str, Any]) -> Checked:
    """Check a template here, whatever it costs; another form has faults."""
    try:
        with well_formed():
            return examined(*_read(value, version))
    except NotATemplate as other:
        return Checked(faults=other.faults)


@contextmanager
def well_formed() -> Iterator[None]:
    """NotATemplate with its first faults for what pydantic refuses."""
    try:
        yield
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)[:FAULTS_MAX]
        raise NotATemplate(tuple((one["loc"], one["type"], one["msg"]) for one in found)) from None


def read_draft(value: Mapping[str, Any]) -> ReadDraft:
    """What is read of a draft, here; another form has faults."""
    try:
        with well_formed():
            document = read_document(value)
    except NotATemplate as other:
        return ReadDraft(faults=other.faults)
    return ReadDraft(document.vertical, document.title, digest(value))


def examined(document: Document, astray: Sequence[Violation] = (), implied: frozenset[str] = frozenset()) -> Checked:
    """Check a document by all rules; what was found before, and steps that it is not to show."""
    # What is published is canonical JSON, which sorts members by name, and has to keep their order.
    document = document.model_copy(update={"inputs_schema": ordered(document.inputs_schema)})
    if too_many := costly(document):
        return Checked(too_many)
    entry, wrong = check(document)
    template = entry.template
    known = {node.id for node in template.nodes}
    drawn = len(known) == len(template.nodes) and {template.start, *(edge.target for edge in template.edges)} <= known
    return Checked(
        violations=(*astray, *wrong),
        warnings=tuple(policy_warnings(template)) if drawn else (),
        steps=tuple(step for step in _in_order(template) if step not in implied),
        gates=template.gates,
        guards=tuple(guards(template).items()) if drawn else (),
        clocks=() if wrong or astray or not template.clocks else tuple(slowest_paths(template)),
        document=entry.document,
        inputs_schema=entry.inputs_schema,
        drawn=drawn,
    )


def _read(value: Mapping[str, Any], version: int) -> tuple[Document, Sequence[Violation], frozenset[str]]:
    """The document of a template or a graph, what is wrong beside it, and its implied ends."""
    if "steps" in value:
        return read_document(value, version), (), frozenset()
    return document_of(Graph.model_validate(value))


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


def draft_of(value: Mapping[str, Any]) -> ReadDraft:
    """What is read of a draft; of a large one by a process."""
    try:
        found = convert(answered("draft", None, value, partial(read_draft, value), DRAFT_WEIGHT_MAX), ReadDraft)
    except ConditionFailed as failed:
        raise NotATemplate((((), "costly", str(failed)),)) from None
    if found.faults:
        raise NotATemplate(found.faults)
    return found


def _version_of(draft: str, number: int) -> Checked:
    """The version that a draft would become."""
    return checked(json.loads(draft), number, large=len(draft) > LIGHT_BYTES_MAX)


class Publishing:
    """Drafts and versions of companies' own templates; a change counts when it returns."""

    def __init__(
        self,
        repository: Store,
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
        work = partial(draft_of, value)
        read = await self._evaluations.evaluated(Asker(author.company_id), LIGHT_BYTES_MAX + 1, work)
        draft = Draft(author.company_id, read.vertical, text, read.digest, read.title, self._now(), author.by)
        before = await self._repository.draft(author.company_id, read.vertical)
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
        *,
        gated: bool = False,
        approved: ChangeDecision | None = None,
    ) -> tuple[OwnVersion, CatalogEntry] | None:
        """Make the draft the next version; None without a draft, Refused when it breaks rules.

        Where the company has `gated` laxer versions PublishGated is raised for one. One that was
        `approved` is kept with its approval, or ChangeStale is raised where it has another number.
        """
        lock = self._locks.setdefault(author.company_id, asyncio.Lock())
        async with lock:
            for _ in range(ATTEMPTS):
                draft = await self._repository.draft(author.company_id, vertical)
                if draft is None:
                    return None
                if seen is not None and draft.digest not in seen:
                    raise DraftChanged
                version, entry = await self._next(author, draft)
                if approved is not None and version.version != approved.change.stands_on:
                    raise ChangeStale
                if gated and version.loosened and await self._laxer(version, entry):
                    raise PublishGated(draft.digest, version.version)
                if len(entry.document) + await self._catalog.own_size(author.company_id) > self._size_max:
                    raise TooLarge(f"All templates of a company have at most {self._size_max} characters.")
                try:
                    kept = await receipt(version, entry)
                    await self._keep(author, version, entry, draft.digest, kept, approved=approved)
                except (VersionTaken, DraftChanged):
                    self._catalog.forget([author.company_id])
                    continue
                self._catalog.note(version)
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
        logged = Logged(author.company_id, event, caller=author.caller)
        if await self._repository.retire(retired, logged, receipt(retired)):
            self._catalog.note(retired)
        else:  # somebody else has
            self._catalog.forget([author.company_id])
        return retired

    async def _next(self, author: Author, draft: Draft) -> tuple[OwnVersion, CatalogEntry]:
        """The version that a draft would become."""
        number = await self._next_number(author.company_id, draft.vertical)
        work = partial(_version_of, draft.document, number)
        found = await self._evaluations.evaluated(Asker(author.company_id), LIGHT_BYTES_MAX + 1, work)
        if found.document is None:
            raise Refused(found.violations, ())
        entry = await self._catalog.load_document(author.company_id, found.document)
        template = entry.template
        if found.violations:
            raise Refused(found.violations, tuple(node.id for node in template.nodes))
        before = await self._catalog.version(author.company_id, draft.vertical, number - 1)
        version = OwnVersion(
            *(author.company_id, draft.vertical, number, template.digest, template.title, self._now(), author.by),
            size=len(entry.document),
            drafted_by=draft.saved_by,
            made_by=author.made_by,
            loosened=await self._loosened(author.company_id, before, template, author.made_by or author.by),
            guards=template.guarded,
        )
        return version, entry

    async def _next_number(self, company_id: str, vertical: str) -> int:
        common, own = self._catalog.common(vertical), await self._catalog.own_versions(company_id, vertical)
        return max((1 if common is None else common.version + 1, *(one.version + 1 for one in own)))

    async def loosened(self, author: Author, template: Template) -> tuple[tuple[Loosened, ...], bool]:
        """The gates that a template would make laxer as somebody's next version.

        The second member says whether it is laxer than the very version before it.
        """
        number = await self._next_number(author.company_id, template.vertical)
        before = await self._catalog.version(author.company_id, template.vertical, number - 1)
        found = await self._loosened(author.company_id, before, template, author.made_by or author.by)
        laxer = bool(found) and bool(await self._loosened(author.company_id, before, template, NOBODY))
        return found, laxer

    async def _laxer(self, version: OwnVersion, entry: CatalogEntry) -> bool:
        """Whether a version is laxer than the very one before it, whoever made that."""
        before = await self._catalog.version(version.company_id, version.vertical, version.version - 1)
        return bool(await self._loosened(version.company_id, before, entry.template, NOBODY))

    async def _loosened(
        self, company_id: str, before: CatalogEntry | None, template: Template, by: str
    ) -> tuple[Loosened, ...]:
        """The gates that a version is laxer at than one before it, as a version of somebody."""
        if before is None:
            return ()
        origin = await self._origin(company_id, template.vertical, by)
        compare = partial(published, before.template, template, by, origin)
        return await self._evaluations.evaluated(Asker(company_id), LIGHT_BYTES_MAX + 1, compare)

    async def _origin(self, company_id: str, vertical: str, by: str) -> Template | None:
        """The version before the newest ones that somebody has published, where those are any."""
        own = await self._catalog.own_versions(company_id, vertical)
        newest = [*takewhile(lambda one: by == (one.made_by or one.published_by), own)]
        found = None if not newest else await self._catalog.version(company_id, vertical, newest[-1].version - 1)
        return None if found is None else found.template

    async def _keep(
        self,
        author: Author,
        version: OwnVersion,
        entry: CatalogEntry,
        drafted: str,
        receipt: Receipt | None,
        *,
        approved: ChangeDecision | None,
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
        logged = Logged(author.company_id, event, caller=author.caller)
        await self._repository.publish(version, entry.document, drafted, logged, receipt, decision=approved)

    async def _check_room(self, draft: Draft) -> None:
        drafts = await self._repository.drafts(draft.company_id)
        others = [one for one in drafts if one.vertical != draft.vertical]
        if len(others) == len(drafts) >= self._most:
            raise TooManyTemplates(f"A company has at most {self._most} drafts.")
        size = len(draft.document) + sum(one.size for one in others)
        if size + await self._catalog.own_size(draft.company_id) > self._size_max:
            raise TooLarge(f"All templates of a company have at most {self._size_max} characters.")
