"""Who may read the runs of a company: what its templates and its policy say of somebody."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from actors.core.people import Company, Person, PrincipalKind, ReaderRule
from actors.core.reading.scope import Narrowing, Reader, Reads, ReadScope, may_break, may_read, scope_of
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import CompanySource
from daemon.model.reading import Sight
from daemon.stores.store import Store
from daemon.templates.catalog import Catalog


class Caller(Protocol):
    """Who asks, as a token or a key says it."""

    @property
    def company_id(self) -> str: ...

    @property
    def email(self) -> str: ...

    @property
    def role(self) -> str: ...

    @property
    def kind(self) -> PrincipalKind: ...

    @property
    def made_by(self) -> str | None: ...

    @property
    def reads(self) -> Reads | None: ...


class Narrowings(CompanySource, Protocol):
    """Companies, and what each itself says of who reads."""

    def narrowed(self, company_id: str) -> Mapping[str, ReaderRule]:
        """Who reads beside those who decide, by the verticals of which the company says it."""


KEPT_MAX = 10_000
Closures = tuple[Sequence[Template], Mapping[str, Narrowing]]
NOTHING_CLOSED: Closures = ((), {})


class KeptScope(NamedTuple):
    """What somebody may read while the company and its templates stand as they do."""

    company: Company
    guarding: Sequence[str]
    scope: ReadScope


class NeedToKnow:
    """Says what somebody may read; it costs nothing where nothing closes anything.

    What was found is kept for each who asks, until people or templates of the company change. It is
    found anew each time where delegations or the policy of the company have a say.
    """

    def __init__(self, runs: Store, catalog: Catalog, companies: Narrowings, now: Callable[[], datetime]) -> None:
        self._runs = runs
        self._catalog = catalog
        self._companies = companies
        self._now = now
        self._kept: OrderedDict[tuple[str, Reader], KeptScope] = OrderedDict()

    def is_surely_open(self, run: Run, caller: Caller) -> bool:
        """Whether it is known, without a wait, that a caller of its company reads a run."""
        if caller.reads is not None:
            return False
        unguarded = self._catalog.is_unguarded(run.company_id, run.template_digest)
        return unguarded and not self._companies.narrows(run.company_id, run.vertical)

    def may_close(self, company_id: str, template: Template) -> bool:
        """Whether runs of a template may be closed to somebody, whatever a key reads."""
        return template.guarded or self._companies.narrows(company_id, template.vertical)

    async def sight(self, caller: Caller) -> Sight | None:
        """What a caller may read now; None where everybody of the company reads everything."""
        company_id = caller.company_id
        guarding, narrowed = await self._catalog.guarding(company_id), self._companies.narrowed(company_id)
        unfollowed = self._catalog.unfollowed
        if not guarding and not unfollowed and not narrowed and caller.reads is None:
            return None
        company = await self._companies.load(company_id)
        reader = _reader(caller, company)
        kept = self._kept.get((company_id, reader))
        if kept is not None and kept.company is company and kept.guarding == guarding and not narrowed:
            return Sight(company_id, kept.scope, self._now())
        closures = await self._closures(company_id)
        if closures is None and not unfollowed and caller.reads is None:
            return None
        found = self._sight(company_id, reader, closures or NOTHING_CLOSED, company)
        if not narrowed and not company.delegations:
            self._kept[company_id, reader] = KeptScope(company, guarding, found.scope)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return found

    async def readers_of(self, run: Run, template: Template, company: Company) -> Callable[[Person], bool]:
        """Tells of members whether they may read a run."""
        closures, about = await self._closures(run.company_id), await self._was_about(run, template)
        if closures is None:
            return _everybody

        def reads_run(person: Person) -> bool:
            sight = self._sight(run.company_id, Reader(person), closures, company)
            return may_read(sight.scope, run, template, sight.at) and about.isdisjoint(sight.subjects(template))

        return reads_run

    async def is_closed(self, company_id: str, run_id: str) -> bool:
        """Whether not everybody of a company may read a run of it."""
        if await self._closures(company_id) is None:
            return False
        if await self._runs.is_guarded(company_id, run_id):
            return True
        run = await self._runs.load(company_id, run_id) if self._companies.narrowed(company_id) else None
        return run is not None and self._companies.narrows(company_id, run.vertical)

    async def may_read(self, sight: Sight | None, run: Run) -> bool:
        """Whether somebody may read a run."""
        if sight is None:
            return True
        template = await self._catalog.pinned(run.company_id, run.template_digest)
        if not may_read(sight.scope, run, template, sight.at):
            return False
        return (await self._was_about(run, template)).isdisjoint(sight.subjects(template))

    async def may_break(self, sight: Sight | None, run: Run) -> bool:
        """Whether an admin may break the glass of a run, or need not."""
        if sight is None:
            return True
        template = await self._catalog.pinned(run.company_id, run.template_digest)
        if not may_break(sight.scope, run, template):
            return False
        return (await self._was_about(run, template)).isdisjoint(sight.subjects(template))

    async def _was_about(self, run: Run, template: Template) -> frozenset[str]:
        """The subjects of a run that has ended, whose inputs may be redacted or archived by now."""
        known = run.ended is not None and bool(template.subjects)
        return await self._runs.whom_it_is_about(run.company_id, run.id) if known else frozenset()

    async def _closures(self, company_id: str) -> Closures | None:
        """The templates that name readers or subjects, and what the company narrows."""
        guarded, rules = await self._catalog.guarded(company_id), self._companies.narrowed(company_id)
        if not guarded and not rules:
            return None
        narrowed = {
            vertical: Narrowing(rule, await self._catalog.every_version(company_id, vertical))
            for vertical, rule in rules.items()
        }
        return guarded, narrowed

    def _sight(
        self,
        company_id: str,
        reader: Reader,
        closures: Closures,
        company: Company,
    ) -> Sight:
        at = self._now()
        scope = scope_of(reader, *closures, company, at)
        unfollowed = self._catalog.unfollowed  # shut, since a run may begin before the store is asked
        return Sight(company_id, replace(scope, shut=scope.shut | unfollowed) if unfollowed else scope, at)


def _everybody(_: Person) -> bool:
    return True


def _reader(caller: Caller, company: Company) -> Reader:
    """The caller with the role and the groups that count now."""
    if caller.kind != "person":
        makers = company.made([] if caller.made_by is None else [caller.made_by])
        return Reader(Person("", caller.email, caller.role), caller.kind, caller.made_by, caller.reads, makers)
    return Reader(company.person(caller.email), caller.kind)
