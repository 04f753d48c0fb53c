"""Who may decide at an open gate, which verdicts count, and whether enough people are left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from actors.core.calls import Connectors, StoredBinding
from actors.core.gate_policy import EARLIER_GATE, GateFunction
from actors.core.people import ACTIONS, NOBODY, ByKind, Company, FunctionBinding, Person, address_key, rank, refusal
from actors.core.run import Gate, Run, Verdict, Visit
from actors.core.template import DENIED, Template

WhyNot = Literal["role", "group", "function", "four_eyes", "machine", "already_decided"]


NO_ONE: frozenset[str] = frozenset()


class Decider(Struct, frozen=True):
    """Who decides, and for whom; the rights are those of `giver` where there is one."""

    person: Person
    kind: ByKind = "person"
    giver: Person | None = None

    @property
    def rights(self) -> Person:
        """Whose role and groups count."""
        return self.giver or self.person

    @property
    def people(self) -> frozenset[str]:
        """The e-mail addresses of who counts as having decided."""
        return frozenset((self.person.email, self.rights.email))


class GateDemand(Struct, frozen=True, array_like=True):
    """What an open gate asks of whoever decides, the same at many gates; the rest is in the run.

    `authors` are the words of its four eyes that name authors of the template and of connectors.
    A bound `function` stands before role and groups.
    """

    step_id: str
    template_digest: str
    role: str | None
    groups: tuple[str, ...]
    escalated: str | None
    authors: tuple[str, ...]
    function: str | None = None

    def to_json(self) -> str:
        """As lists of gates keep it; without a function as they did before there were any."""
        members = astuple(self)
        return msgspec.json.encode(members if self.function is not None else members[:-1]).decode()


class Setting(Struct, frozen=True):
    """What surrounds a run: its template, and the company's connectors and people."""

    template: Template
    connectors: Connectors
    company: Company = NOBODY


def why_not(decider: Decider, visit: Visit, run: Run, setting: Setting) -> WhyNot | None:
    """Why somebody may not decide at an open gate; None who may."""
    why = _exclusion(decider, visit, run, setting)
    if why is None and any(decider.people & one.people for one in valid_verdicts(visit, run, setting)):
        return "already_decided"
    return why


def why_not_for_anybody(decider: Decider, visit: Visit, run: Run, setting: Setting, at: datetime) -> WhyNot | None:
    """As `why_not`; None, too, who may in the place of another by a delegation of that time."""
    why = why_not(decider, visit, run, setting)
    return None if why is not None and may_for_another(decider, visit, run, setting, at) else why


def may_for_another(decider: Decider, visit: Visit, run: Run, setting: Setting, at: datetime) -> bool:
    """Whether somebody may decide in the place of another by a delegation of that time."""
    if decider.kind != "person":
        return False
    givers = setting.company.givers(decider.person, at, run.vertical)
    return bool(givers) and _can_for_another(decider.person, givers, visit, run, setting)


def _can_for_another(person: Person, givers: Collection[Person], visit: Visit, run: Run, setting: Setting) -> bool:
    """Whether a person may decide in the place of one of these, whose rights count then."""
    closed = _closed(valid_verdicts(visit, run, setting), visit, run, setting)
    entitled = entitled_to(asked_at(visit, run), setting.company)
    return person.email not in closed and any(one.email in entitled and one.email not in closed for one in givers)


def subjects_of(run: Run, template: Template) -> frozenset[str]:
    """The keys of the addresses of those whom a run is about."""
    return subjects_at(run, template.subjects)


def subjects_at(run: Run, paths: Iterable[str]) -> frozenset[str]:
    """The keys of the addresses that stand at these paths."""
    found: set[str] = set()
    for path in paths:
        value: Any = run.inputs
        for name in path.removeprefix("inputs.").split("."):
            value = value.get(name) if isinstance(value, dict) else None
        given = value if isinstance(value, list) else [value]
        found.update(address_key(one.strip()) for one in given if isinstance(one, str))
    return frozenset(found)


def valid_verdicts(visit: Visit, run: Run, setting: Setting) -> tuple[Verdict, ...]:
    """The verdicts so far of those who may still decide."""
    return tuple(one for one in _gate(visit).verdicts if _counts(one, visit, run, setting))


def reached_decision(verdicts: tuple[Verdict, ...], gate: Gate, company: Company) -> str | None:
    """The decision that enough verdicts name, denials first; None while the quorum is open."""
    order = sorted(gate.decisions, key=lambda decision: decision != DENIED)
    for decision in order:
        if sum(one.decision == decision for one in verdicts) >= needed(gate, decision, company):
            return decision
    return None


def needed(gate: Gate, decision: str, company: Company) -> int:
    """How many verdicts make a decision."""
    if company.solo:
        return 1
    return gate.policy.denials if decision == DENIED else gate.policy.quorum


def blocked(visit: Visit, run: Run, setting: Setting) -> tuple[int, int] | None:
    """How many approvals a gate needs and how many it can get, where those are too few.

    So it is when too few people can decide, and when verdicts are split so that those who have
    given none can reach no decision.
    """
    gate, company = _gate(visit), setting.company
    verdicts = valid_verdicts(visit, run, setting)
    free = _free(verdicts, visit, run, setting)
    enough = 1 if company.solo else gate.policy.quorum
    if free + len(verdicts) < enough:
        return enough, free + len(verdicts)
    reach = {decision: free + sum(one.decision == decision for one in verdicts) for decision in gate.decisions}
    if any(count >= needed(gate, decision, company) for decision, count in reach.items()):
        return None
    return enough, max(count for decision, count in reach.items() if decision != DENIED)


def _free(verdicts: tuple[Verdict, ...], visit: Visit, run: Run, setting: Setting) -> int:
    """How many can decide and have not."""
    closed, entitled = _closed(verdicts, visit, run, setting), entitled_to(asked_at(visit, run), setting.company)
    return len(entitled) - len(closed & entitled)


def free_deciders(visit: Visit, run: Run, setting: Setting) -> frozenset[str]:
    """The addresses of those who can decide in their own right and have not."""
    closed = _closed(valid_verdicts(visit, run, setting), visit, run, setting)
    return entitled_to(asked_at(visit, run), setting.company) - closed


def _closed(verdicts: Iterable[Verdict], visit: Visit, run: Run, setting: Setting) -> frozenset[str]:
    """The addresses of those who are kept from deciding, and of those who have."""
    return excluded(visit, run, setting).union(*(one.people for one in verdicts))


def excluded(visit: Visit, run: Run, setting: Setting) -> frozenset[str]:
    """The addresses of those whom four eyes keep from deciding, and whom the run is about."""
    gate, company = _gate(visit), setting.company
    about = _subjects(run, setting) if setting.template.subjects else NO_ONE
    if company.solo or not (gate.policy.four_eyes or gate.barred):
        return about
    return about | company.made(excluded_by_run(visit, run)) | excluded_by_setting(asked_at(visit, run), setting)


def _subjects(run: Run, setting: Setting) -> frozenset[str]:
    """The members whom a run is about."""
    about = subjects_of(run, setting.template)
    return setting.company.entitled(("about", about), lambda one: address_key(one.email) in about)


def excluded_by_run(visit: Visit, run: Run) -> frozenset[str]:
    """Those of them whom what has happened in the run, or to its gate, excludes."""
    found: set[str] = {*_gate(visit).barred}
    for word in _gate(visit).policy.four_eyes:
        if word == "starter":
            found.update(run.starters)
        elif word.startswith(EARLIER_GATE):
            found.update(_deciders(run, word.removeprefix(EARLIER_GATE)))
    return frozenset(found)


def excluded_by_setting(asked: GateDemand, setting: Setting) -> frozenset[str]:
    """Those of them who are authors of the template or of a connector ahead."""
    found: set[str] = set()
    if "template-author" in asked.authors:
        found.update(one for one in (setting.template.author, setting.template.drafted_by) if one is not None)
    if "connector-author" in asked.authors:
        found.update(_connector_authors(asked.step_id, setting))
    return setting.company.made(found)


def four_eyes_open(visit: Visit, run: Run, company: Company) -> bool:
    """Whether a gate bars who started the run, and a key did that nobody is known to have made."""
    if "starter" not in _gate(visit).policy.four_eyes or run.created_by_kind == "person":
        return False
    return company.made(run.starters) == {run.created_by}


def as_bound(run: Run, company: Company) -> Run:
    """The run with the functions of its open gates as the company binds them now, for readers."""
    if not named_functions(run):
        return run
    shown = tuple([_bound(visit, company) for visit in run.open])
    is_same = all(now is before for now, before in zip(shown, run.open, strict=True))
    return run if is_same else replace(run, open=shown)


def named_functions(run: Run) -> list[GateFunction]:
    """The functions that open gates of a run name, which are shown as the company stands."""
    if not run.open:
        return []
    return [gate.function for one in run.open if (gate := one.gate) is not None and gate.function is not None]


def _bound(visit: Visit, company: Company) -> Visit:
    function = None if visit.gate is None else visit.gate.function
    if visit.gate is None or function is None or company.binding(function.id).bound == function.bound:
        return visit
    return replace(visit, gate=replace(visit.gate, function=replace(function, bound=not function.bound)))


def asked_at(visit: Visit, run: Run) -> GateDemand:
    gate = _gate(visit)
    words = gate.policy.four_eyes
    authors = tuple([word for word in words if word in ("template-author", "connector-author")]) if words else ()
    policy = gate.policy
    return GateDemand(
        visit.step_id, run.template_digest, gate.role, policy.groups, gate.open_to, authors, policy.function
    )


def missing_right(decider: Decider, asked: GateDemand, company: Company) -> WhyNot | None:
    """Why somebody has not the rights that a gate asks for, whatever happened in its run."""
    who = decider.rights
    if asked.function is not None and (binding := company.binding(asked.function)).bound:
        return _unfilled(decider, asked, company, binding)
    if (refused := refusal(who.role, decider.kind, ACTIONS["decide"], asked.role)) is not None:
        if refused.reason == "machine" or not _escalated(asked, who):
            return refused.reason
    elif not (company.solo or _in_group(asked, who) or _escalated(asked, who)):
        return "group"
    return None


def entitled_to(asked: GateDemand, company: Company) -> frozenset[str]:
    """The e-mail addresses of the people who have the rights that a gate asks for."""
    rights = (asked.role, asked.groups, asked.escalated, asked.function)
    return company.entitled(rights, lambda one: missing_right(Decider(one), asked, company) is None)


def _exclusion(decider: Decider, visit: Visit, run: Run, setting: Setting) -> WhyNot | None:
    why = missing_right(decider, asked_at(visit, run), setting.company)
    if why is not None:
        return why
    return "four_eyes" if decider.people & excluded(visit, run, setting) else None


def _unfilled(decider: Decider, asked: GateDemand, company: Company, binding: FunctionBinding) -> WhyNot | None:
    """Why somebody has not the rights that a bound function gives, whatever the role."""
    if decider.kind not in ACTIONS["decide"].kinds:
        return "machine"
    who = decider.rights
    return None if company.solo or binding.filled_by(who) or _escalated(asked, who) else "function"


def _in_group(asked: GateDemand, person: Person) -> bool:
    return not asked.groups or not person.groups.isdisjoint(asked.groups)


def _escalated(asked: GateDemand, person: Person) -> bool:
    """Whether an escalation or a breach lets somebody decide."""
    return asked.escalated is not None and rank(person.role) >= rank(asked.escalated)


def _counts(verdict: Verdict, visit: Visit, run: Run, setting: Setting) -> bool:
    """Whether who gave a verdict has the right to it still; of a delegate, whether it is one."""
    company = setting.company
    person, giver = company.person(verdict.by), None
    if verdict.on_behalf_of is not None:
        giver = company.person(verdict.on_behalf_of)
        who = (giver.member_id, person.member_id, run.vertical, verdict.at)
        if not any(one.covers(*who) for one in company.delegations):
            return False
    return _exclusion(Decider(person, giver=giver), visit, run, setting) is None


def _connector_authors(step_id: str, setting: Setting) -> Iterator[str]:
    """Who last changed a connector of a tool that an approval can lead to."""
    for tool in setting.template.tools_ahead(step_id):
        connector = setting.connectors.get(tool)
        if isinstance(connector, StoredBinding) and connector.changed_by is not None:
            yield connector.changed_by


def _deciders(run: Run, step_id: str) -> Iterator[str]:
    for visit in (*run.trace, *run.open):
        if visit.step_id == step_id:
            for verdict in () if visit.gate is None else visit.gate.verdicts:
                yield from verdict.people
            if visit.verdict is not None:
                yield from visit.verdict.people


def _gate(visit: Visit) -> Gate:
    assert visit.gate is not None  # noqa: S101 - an open gate is asked about
    return visit.gate
