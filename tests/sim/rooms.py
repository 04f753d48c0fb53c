"""Closed rooms of the simulation: who may read a run by what the contract says, beside what the
service says of lists and of single runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

from actors.core.gate_policy import Escalation
from actors.core.people import Company, FunctionBinding, Person, ReaderRule
from actors.core.reading.scope import SUBJECT, Reading
from actors.core.run import Run
from actors.core.template import FunctionRule, Template
from daemon.model.reading import Sight
from daemon.stores.tables.reading import reader_row, visible
from daemon.templates.reading import NeedToKnow

if TYPE_CHECKING:
    from tests.sim.disk import Disk, Key
    from tests.sim.process import Process
    from tests.sim.world import World

Row = tuple[Any, ...]
GROUPS = ("finance", "auditors", "clerks")
ORDER = ("viewer", "member", "manager", "admin", "owner")
CHIEF = "chief"
RULES = (
    None,
    ReaderRule(groups=("auditors",)),
    ReaderRule(functions=(CHIEF,)),
    ReaderRule(role="admin"),
    ReaderRule(role="owner", starter=True),
    ReaderRule(starter=True),
    ReaderRule(),
)
_LIST = "SELECT id FROM runs WHERE company_id = ?1{}"
_TABLES = (
    "CREATE TABLE runs (company_id, id, vertical); CREATE TABLE run_readers (company_id, run_id, kind, name, ends_at)"
)


def furnished(template: Template, rng: Random) -> Template:
    """The template, as it is or with readers and subjects."""
    chief = {CHIEF: FunctionRule("Chief", rng.choice(("manager", "admin")))}
    subjects = rng.choice(((), ("inputs.who",)))
    return replace(template, functions=chief, readers=rng.choice(RULES), subjects=subjects)


def rows_after(rows: Collection[Row], reading: Reading | None) -> frozenset[Row]:
    """The rows of a run that the store has after a commit."""
    if reading is None:
        return frozenset(rows)
    return frozenset([one for one in rows if one[0] not in reading.kinds]) | {reader_row(one) for one in reading.rows}


@dataclass(frozen=True)
class Rules:
    """Who is in a company, and whom it lets read: what changes while somebody looks."""

    company: Company
    narrowed: Mapping[str, ReaderRule]


def may_read(person: Person, run: Run, template: Template, rules: Rules, at: datetime) -> bool:
    """What the contract says, with nothing of the service's own code for it."""
    company = rules.company
    if template.subjects and run.inputs.get("who", "") == person.email:
        return False
    admin = _rank(person.role) >= _rank("admin")
    if admin and any(one.by == person.email and one.until > at for one in run.glass):
        return True
    every = (template.readers, rules.narrowed.get(run.vertical))
    return all(_named(person, run, template, company, one) for one in every if one is not None)


def _named(person: Person, run: Run, template: Template, company: Company, rule: ReaderRule) -> bool:
    """Whether a rule lets somebody read, or they may decide at a gate."""
    if rule.role is not None and _rank(person.role) >= _rank(rule.role):
        return True
    if (rule.starter and run.created_by == person.email) or set(rule.groups) & person.groups:
        return True
    bound = company.functions.get(CHIEF, FunctionBinding())
    least = template.functions[CHIEF].role
    fills = bool(bound.groups & person.groups) if bound.groups else _rank(person.role) >= _rank(least)
    return (CHIEF in rule.functions and fills) or _decides(person, template)


def _decides(person: Person, template: Template) -> bool:
    late = [one.escalate for one in template.clocks if one.escalate is not None]
    for node in template.nodes:
        policy = node.policy
        asked = not policy.groups or set(policy.groups) & person.groups
        if node.gate and asked and _rank(person.role) >= _rank(policy.role):
            return True
        if node.gate and isinstance(policy.on_deadline, Escalation):
            late.append(policy.on_deadline.escalate)
    return any(_rank(person.role) >= _rank(one) for one in late)


def _rank(role: str) -> int:
    return ORDER.index(role)


@dataclass(frozen=True)
class Asker:
    """A member who asks a process."""

    company_id: str
    email: str
    role: str
    kind: Any = "person"
    made_by: str | None = None
    reads: Any = None


class Library:
    """The templates of all companies, as a process finds them; each vertical has one version."""

    unfollowed = frozenset[str]()

    def __init__(self, world: World) -> None:
        self._templates = world.templates
        self._digests = tuple(one.digest for one in world.templates if one.guarded)

    def guards_nothing(self, _company_id: str) -> bool:
        return not self._digests

    async def guarding(self, _company_id: str) -> Sequence[str]:
        return self._digests

    async def guarded(self, _company_id: str) -> Sequence[Template]:
        return [one for one in self._templates if one.guarded]

    async def every_version(self, _company_id: str, vertical: str) -> Sequence[Template]:
        return [one for one in self._templates if one.vertical == vertical]

    async def pinned(self, _company_id: str, digest: str) -> Template:
        return next(one for one in self._templates if one.digest == digest)


class Readings:
    """What a process asks the store about who reads."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    async def whom_it_is_about(self, company_id: str, run_id: str) -> frozenset[str]:
        rows = self._disk.runs[company_id, run_id].readers
        return frozenset([name for kind, name, _ in rows if kind == SUBJECT])


def desk(world: World, companies: Any) -> NeedToKnow:
    """What a process says of who may read."""
    return NeedToKnow(Readings(world.disk), Library(world), companies, world.now)  # type: ignore[arg-type]


async def look(world: World, process: Process, key: Key, email: str) -> None:
    """A member asks a process for a run and for the list of all: both have it where the rules say
    so, unless those have changed meanwhile.
    """
    rules, changed, run = world.rules(key[0]), world.rules_changed, world.disk.run(key)
    person = rules.company.people.get(email)
    if run is None or person is None:
        return
    template, began = world.witness.templates[run.template_digest], world.now()
    sight = await process.desk.sight(Asker(key[0], email, person.role))
    shown, listed = await process.desk.may_read(sight, run), run.id in _listed(world, key[0], sight)
    if world.rules_changed != changed or world.disk.run(key) != run:
        return
    may = {may_read(person, run, template, rules, at) for at in (began, world.now())}
    world.witness.looks += 1
    world.witness.shown += shown
    world.witness.must(shown in may, f"{process.name} shows {run.id} to {email}, or does not, against the rules")
    late = template.readers is None and shown  # who started it before the company narrowed it
    world.witness.must(listed in may or late, f"{process.name} lists {run.id} for {email}, or does not")


def _listed(world: World, company_id: str, sight: Sight | None) -> set[str]:
    """What a list has, by the statement of the store."""
    where, values = visible("sqlite", sight, 2, "runs.id", "runs.vertical")
    with sqlite3.connect(":memory:") as db:
        db.executescript(_TABLES)
        for key, kept in world.disk.runs.items():
            run = world.disk.run(key)
            assert run is not None
            db.execute("INSERT INTO runs VALUES (?, ?, ?)", (*key, run.vertical))
            db.executemany("INSERT INTO run_readers VALUES (?, ?, ?, ?, ?)", [(*key, *one) for one in kept.readers])
        statement = _LIST.format(where.replace("$1", "?1").replace("$", "?"))
        return {row[0] for row in db.execute(statement, (company_id, *values))}
