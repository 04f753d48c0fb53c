"""Who may read a run: those who need to know, and never those whom it is about.

A template or a policy names readers; who may decide at one of its gates reads, too. `scope_of`
says once what that means for somebody, `may_read` asks it about a run, and the store asks it in
lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from msgspec import Struct

from actors.core.actions.deciding import matches
from actors.core.canonical import digest
from actors.core.eligibility import Decider, GateDemand, missing_right, subjects_at, subjects_of
from actors.core.gate_policy import Escalation
from actors.core.people import Company, Person, PrincipalKind, ReaderRule, address_key, rank
from actors.core.run import Run
from actors.core.template import Node, Template

GLASS_ROLE = "admin"
"""The least role of who may break glass, and read by that."""
RULE, STARTER, SUBJECT, GLASS = "rule", "starter", "subject", "glass"


Reads = Literal["own"] | tuple[str, ...]
"""What a key reads at most: the runs that it started, or those of verticals by globs."""
OWN: Reads = "own"


class Reader(Struct, frozen=True):
    """Who reads: an active member, or a key that somebody made, which may read so much at most.

    A key may be `made_by` another key; `makers` are all who made either.
    """

    person: Person
    kind: PrincipalKind = "person"
    made_by: str | None = None
    reads: Reads | None = None
    makers: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """As who it may have started a run."""
        email = self.person.email
        return _person(email) if self.kind == "person" else _key(email, self.made_by)

    @property
    def addresses(self) -> frozenset[str]:
        """Whose runs are closed to it where they are about them: a key counts as its makers."""
        names = [self.person.email] if self.kind == "person" else [self.made_by, *self.makers]
        return frozenset([address_key(one) for one in names if one is not None])


class ReadScope(Struct, frozen=True):
    """Which runs of a company somebody may read.

    Of templates that name readers those `open` are read, and those `started` where the run was
    started as `me`; no other is. Those `shut` are all that are known and not `open`. Of the
    verticals that the company has narrowed those `closed` are not read, and those
    `closed_unless_started` only then. Runs about `addresses` never are, nor those of a template, or
    a narrowed vertical, about who has `lent` it. A glass that was broken as `glass` counts. A key
    reads nothing beyond `reads`.
    """

    me: str
    addresses: frozenset[str] = frozenset()
    lent: frozenset[tuple[str, str]] = frozenset()
    open: frozenset[str] = frozenset()
    started: frozenset[str] = frozenset()
    shut: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    closed_unless_started: frozenset[str] = frozenset()
    glass: str | None = None
    reads: Reads | None = None

    def closed_about(self, template: Template) -> frozenset[str]:
        """The addresses about which no run of a template is read."""
        named = (template.digest, template.vertical)
        return self.addresses.union([who for what, who in self.lent if what in named])

    def lets_read_all(self, vertical: str) -> bool:
        """Whether neither the policy of the company nor the key closes a run of a vertical."""
        closed = vertical in self.closed or vertical in self.closed_unless_started
        return not closed and self.covers(vertical, started=False)

    def covers(self, vertical: str, *, started: bool) -> bool:
        """Whether a key reads so much: a run of a vertical that it started, or did not."""
        if self.reads is None:
            return True
        return started if self.reads == OWN else any(matches(one, vertical) for one in self.reads)


class Narrowing(NamedTuple):
    """The readers that a company leaves of a vertical, and the versions that it has of it."""

    rule: ReaderRule
    versions: Sequence[Template]


class ReadingRow(NamedTuple):
    """What lists have to know of a run: `until` is when a broken glass is mended."""

    kind: str
    name: str
    until: datetime | None = None


class Reading(NamedTuple):
    """What lists have to know of a run from now on, in place of their rows of these kinds.

    Those who started it stay so. Whom it is about stays, too, once it has ended: their addresses
    may be redacted then.
    """

    rows: tuple[ReadingRow, ...]
    kinds: tuple[str, ...] = (RULE, SUBJECT, GLASS)


def scope_of(
    reader: Reader,
    guarded: Iterable[Template],
    narrowed: Mapping[str, Narrowing],
    company: Company,
    at: datetime,
) -> ReadScope:
    """What somebody may read of the templates that name readers or subjects."""
    opened, started, shut, lent = set[str](), set[str](), set[str](), set[tuple[str, str]]()
    for template in guarded:
        rule = template.readers
        if rule is None or reads(reader, rule, (template,), company):
            opened.add(template.digest)
        elif givers := _lending(reader, (template,), company, at):
            opened.add(template.digest)
            lent.update((template.digest, address_key(one)) for one in givers)
        else:
            shut.add(template.digest)
            if rule.starter:
                started.add(template.digest)
    closed, unless_started = set[str](), set[str]()
    for vertical, (rule, versions) in narrowed.items():
        if reads(reader, rule, versions, company):
            continue
        if givers := _lending(reader, versions, company, at):
            lent.update((vertical, address_key(one)) for one in givers)
        else:
            (unless_started if rule.starter else closed).add(vertical)
    breaks = reader.kind == "person" and rank(reader.person.role) >= rank(GLASS_ROLE)
    return ReadScope(
        me=reader.name,
        addresses=reader.addresses,
        lent=frozenset(lent),
        open=frozenset(opened),
        started=frozenset(started),
        shut=frozenset(shut),
        closed=frozenset(closed),
        closed_unless_started=frozenset(unless_started),
        glass=address_key(reader.person.email) if breaks else None,
        reads=reader.reads,
    )


def may_read(scope: ReadScope, run: Run, template: Template, at: datetime) -> bool:
    """Whether somebody may read a run that follows this template."""
    started = scope.me in starters_of(run)
    if not scope.covers(run.vertical, started=started):
        return False
    if template.subjects and not scope.closed_about(template).isdisjoint(subjects_of(run, template)):
        return False
    if scope.glass is not None and any(address_key(one.by) == scope.glass and one.until > at for one in run.glass):
        return True
    if run.vertical in scope.closed or (run.vertical in scope.closed_unless_started and not started):
        return False
    if template.readers is None or template.digest in scope.open:
        return True
    return started and template.digest in scope.started


def may_break(scope: ReadScope, run: Run, template: Template) -> bool:
    """Whether somebody may break the glass of a run: never who it is about."""
    return scope.glass is not None and scope.closed_about(template).isdisjoint(subjects_of(run, template))


def reads(reader: Reader, rule: ReaderRule, versions: Sequence[Template], company: Company) -> bool:
    """Whether a rule names somebody, or a gate of these versions is theirs to decide at."""
    person = reader.person
    if rule.role is not None and 0 <= rank(rule.role) <= rank(person.role):
        return True
    if reader.kind != "person":
        return False
    if company.solo or not person.groups.isdisjoint(rule.groups):
        return True
    named = any(_fills(person, name, one, company) for name in rule.functions for one in versions)
    return named or any(decides(person, one, company) for one in versions)


def decides(person: Person, template: Template, company: Company) -> bool:
    """Whether a person may decide at a gate of the template, by its escalation too."""
    return any(_decides_at(person, node, template, company) for node in template.nodes if node.gate) or any(
        clock.escalate is not None and 0 <= rank(clock.escalate) <= rank(person.role) for clock in template.clocks
    )


def starters_of(run: Run) -> frozenset[str]:
    """As who a run was started: a person, a key, its maker, and for whom it acts."""
    by, maker = run.created_by, run.made_by
    first = _person(by) if run.created_by_kind == "person" else _key(by, maker)
    return frozenset([first, *(_person(one) for one in (maker, run.on_behalf_of) if one is not None)])


class ClosedBy(NamedTuple):
    """Whether a template names readers, and the inputs whose subjects do not read its runs."""

    digest: str
    names_readers: bool
    subjects: tuple[str, ...]


def reading_rows(run: Run, template: Template, *, narrowed: bool = False) -> tuple[ReadingRow, ...]:
    """What lists have to know of a run; nothing of one that everybody reads."""
    return guarded_rows(
        run, ClosedBy(template.digest, template.readers is not None, template.subjects), narrowed=narrowed
    )


def guarded_rows(run: Run, guard: ClosedBy, *, narrowed: bool = False) -> tuple[ReadingRow, ...]:
    """What lists have to know of a run whose template says so much."""
    rows = [ReadingRow(GLASS, address_key(one.by), one.until) for one in run.glass]
    if guard.names_readers:
        rows.append(ReadingRow(RULE, guard.digest))
    if guard.names_readers or narrowed:
        rows += [ReadingRow(STARTER, one) for one in sorted(starters_of(run))]
    about = sorted(subjects_at(run, guard.subjects))
    rows += [ReadingRow(SUBJECT, subject_name(run.company_id, one)) for one in about]
    return tuple(rows)


def reading_since(before: Run | None, rows: tuple[ReadingRow, ...]) -> Reading:
    """What changes by these rows for lists that knew a run as it was before."""
    if before is None or before.ended is None:
        return Reading(rows)
    return Reading(tuple([one for one in rows if one.kind == GLASS]), (GLASS,))


def subject_name(company_id: str, address: str) -> str:
    """What stands for an address in rows: those stay where it is redacted, and do not tell it."""
    return digest([company_id, address])


def _lending(reader: Reader, versions: Sequence[Template], company: Company, at: datetime) -> frozenset[str]:
    """Those in whose place somebody may decide at a gate of these versions at that time."""
    if reader.kind != "person" or not versions:
        return frozenset()
    givers = company.givers(reader.person, at, versions[0].vertical)
    return frozenset([one.email for one in givers if any(decides(one, each, company) for each in versions)])


def _fills(person: Person, function: str, template: Template, company: Company) -> bool:
    """Whether a person fills a function; of one that nobody fills the role stands in."""
    binding, known = company.binding(function), template.functions.get(function)
    if binding.bound:
        return binding.filled_by(person)
    return known is not None and 0 <= rank(known.role) <= rank(person.role)


def _decides_at(person: Person, node: Node, template: Template, company: Company) -> bool:
    policy = node.policy
    escalated = policy.on_deadline.escalate if isinstance(policy.on_deadline, Escalation) else None
    role = node.role or policy.role
    asked = GateDemand(node.id, template.digest, role, policy.groups, escalated, (), policy.function)
    return missing_right(Decider(person), asked, company) is None


def _person(address: str) -> str:
    return f"person:{address_key(address)}"


def _key(name: str, maker: str | None) -> str:
    """A key by name and maker, since others may use the name again; no name has an at sign."""
    return f"key:{name}" if maker is None else f"key:{name}@{address_key(maker)}"
