"""How much of what is said to enforce a rule is missed by its rehearsals where it is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from actors.core.canonical import canonical, digest
from actors.core.run import Run
from actors.core.template import Template
from daemon.templates.documents import RehearsalCase
from daemon.templates.loading import CatalogEntry, TemplateRefused, load_json
from daemon.templates.rehearsals import differences, perform
from tests.library.mutations import KINDS, Kind, Mutant, mutants

BAR = 0.95
BARRED: tuple[Kind, ...] = ("step", "branch", "number")
"""The kinds of which so many changes that a rule names have to be noticed."""


class Noticed(NamedTuple):
    """A change of a step or a clock, and whether a rehearsal of the rule notices it."""

    kind: Kind
    what: str
    named: bool
    by_rule: bool
    by_any: bool
    """Or another rehearsal of the process."""


class Shown(NamedTuple):
    """A step or a clock that is said to enforce a rule, and which of its changes are noticed."""

    vertical: str
    rule: str
    name: str
    changes: tuple[Noticed, ...]
    clock: bool

    @property
    def all(self) -> Counter[Kind]:
        return Counter(one.kind for one in self.changes)

    @property
    def noticed(self) -> Counter[Kind]:
        return Counter(one.kind for one in self.changes if one.by_rule)

    @property
    def is_shown(self) -> bool:
        """Whether it is missed where it is left out, and of a clock whether its time is, too."""
        return bool(self.noticed["step"] and (self.noticed["number"] or not self.clock))

    def __str__(self) -> str:
        kinds = _by_kind(self.noticed, self.all)
        said = "shown" if self.is_shown else "NOT SHOWN"
        return f"{self.vertical}: {self.rule}: {self.name}: {said}: {kinds or 'nothing to change'}"


def shown(entry: CatalogEntry, document: dict[str, Any]) -> Iterator[Shown]:
    """Of each rule all that is said to enforce it."""
    notices = Notices(entry)
    clocks = {one.id for one in entry.template.clocks}
    for nth, rule in enumerate(entry.rules):
        names = () if rule.shown_by is None else (rule.shown_by.passes, rule.shown_by.stops)
        for name in rule.enforced_by:
            changes = list[Noticed]()
            for mutant in mutants(document, name):
                by_rule = notices.by(mutant, names)
                by_any = by_rule or notices.by(mutant, entry.rehearsals)
                named = mutant.way is None or notices.names((name, mutant.way), names)
                changes.append(Noticed(mutant.kind, mutant.what, named, by_rule, by_any))
            yield Shown(entry.template.vertical, rule.id or f"rules/{nth}", name, tuple(changes), name in clocks)


class Notices:
    """Which rehearsals of a template notice a change of it; each is tried once."""

    def __init__(self, entry: CatalogEntry) -> None:
        self._cases = entry.rehearsals
        self._known: dict[tuple[str, str], bool] = {}
        self._template = cache(self._loaded)
        self._taken = {name: _taken(perform(case, entry.template).run) for name, case in self._cases.items()}

    def names(self, way: tuple[str, str], names: Iterable[str]) -> bool:
        """Whether one of these rehearsals takes a way from a step to another, or none does."""
        return any(way in self._taken[name] for name in names) or not any(way in one for one in self._taken.values())

    def by(self, mutant: Mutant, names: Iterable[str]) -> bool:
        text = canonical(mutant.document)
        return any(self._notices(text, name) for name in names)

    def _notices(self, text: str, name: str) -> bool:
        key = (digest(text), name)
        if key not in self._known:
            template = self._template(text)
            self._known[key] = template is None or is_noticed(self._cases[name], template)
        return self._known[key]

    @staticmethod
    def _loaded(text: str) -> Template | None:
        try:
            return load_json(text).template
        except (TemplateRefused, ValueError):
            return None


def is_noticed(case: RehearsalCase, template: Template) -> bool:
    """Whether a rehearsal ends otherwise than it says, or not at all."""
    try:
        return any(differences(case, perform(case, template)))
    except (AssertionError, KeyError):  # the template breaks rules that the core relies on
        return True


def score(found: Iterable[Shown]) -> float:
    """How much of what is said to enforce rules is shown to."""
    every = [one.is_shown for one in found]
    return sum(every) / len(every) if every else 0.0


def score_of(kind: Kind, found: Iterable[Shown]) -> float:
    """How many of the changes of a kind that rules name their rehearsals notice."""
    every = [it.by_rule for one in found for it in one.changes if it.kind == kind and it.named]
    return sum(every) / len(every) if every else 1.0


def _taken(run: Run) -> frozenset[tuple[str, str]]:
    """The ways that a run has taken: to where, by which decision and by which end of a wait."""
    to = {(source, visit.step_id) for visit in (*run.trace, *run.open) for source in visit.arrived}
    decided = {(visit.step_id, visit.verdict.decision) for visit in run.trace if visit.verdict is not None}
    ended = {
        (visit.step_id, run.facts[visit.step_id]["ended_by"])
        for visit in run.trace
        if visit.wait and visit.wait.message
    }
    return frozenset(to | decided | ended)


def _counted(every: list[tuple[Kind, bool]]) -> str:
    noticed, of = Counter(kind for kind, seen in every if seen), Counter(kind for kind, _ in every)
    return f"{noticed.total()}/{of.total()} ({_by_kind(noticed, of)})"


def _by_kind(noticed: Counter[Kind], every: Counter[Kind]) -> str:
    return ", ".join(f"{kind} {noticed[kind]}/{every[kind]}" for kind in KINDS if every[kind])


def scored(found: list[Shown], *, unnoticed: bool = False) -> Iterator[str]:
    """A line for each, with the changes that are not noticed below it, and the score."""
    for one in found:
        yield str(one)
        yield from (f"    {it.kind}: {it.what}" for it in one.changes if unnoticed and not it.by_rule)
    every = [it for one in found for it in one.changes]
    others = sum(it.by_any and not it.by_rule for it in every)
    once = {(one.vertical, one.name, nth): it for one in found for nth, it in enumerate(one.changes)}
    yield f"Of all changes the rehearsals of the rule notice {_counted([(it.kind, it.by_rule) for it in every])},"
    yield f"and other rehearsals of the process {others} of the rest."
    yield f"Of those that the rule names: {_counted([(it.kind, it.by_rule) for it in every if it.named])};"
    yield ", ".join(f"{kind} {score_of(kind, found):.1%}" for kind in BARRED) + f", at least {BAR:.0%} are due."
    yield f"Each change once, by any rehearsal: {_counted([(it.kind, it.by_any) for it in once.values()])}."
    count = sum(one.is_shown for one in found)
    yield f"Shown: {count} of {len(found)}, {score(found):.1%}, at least {BAR:.0%} are due."
