"""How much of what is said to enforce a rule is missed by its rehearsals where it is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from actors.core.canonical import canonical, digest
from actors.core.template import Template
from daemon.templates.documents import RehearsalCase
from daemon.templates.loading import CatalogEntry, TemplateRefused, load_json
from daemon.templates.rehearsals import differences, perform
from tests.library.mutations import KINDS, Kind, Mutant, mutants

BAR = 0.95


class Shown(NamedTuple):
    """A step or a clock that is said to enforce a rule, and how many of its changes are noticed."""

    vertical: str
    rule: str
    name: str
    all: Counter[Kind]
    noticed: Counter[Kind]
    unnoticed: tuple[str, ...]
    elsewhere: int
    """So many of those that are not are noticed by rehearsals of other rules."""

    clock: bool

    @property
    def is_shown(self) -> bool:
        """Whether it is missed where it is left out, and of a clock whether its time is, too."""
        return bool(self.noticed["step"] and (self.noticed["number"] or not self.clock))

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {self.noticed[kind]}/{self.all[kind]}" for kind in KINDS if self.all[kind])
        said = "shown" if self.is_shown else "NOT SHOWN"
        return f"{self.vertical}: {self.rule}: {self.name}: {said}: {kinds or 'nothing to change'}"


def shown(entry: CatalogEntry, document: dict[str, Any]) -> Iterator[Shown]:
    """Of each rule all that is said to enforce it."""
    notices = Notices(entry)
    for nth, rule in enumerate(entry.rules):
        names = () if rule.shown_by is None else (rule.shown_by.passes, rule.shown_by.stops)
        for name in rule.enforced_by:
            every, noticed, unnoticed, elsewhere = Counter[Kind](), Counter[Kind](), list[str](), 0
            for mutant in mutants(document, name):
                every[mutant.kind] += 1
                if notices.by(mutant, names):
                    noticed[mutant.kind] += 1
                else:
                    unnoticed.append(f"{mutant.kind}: {mutant.what}")
                    elsewhere += notices.by(mutant, entry.rehearsals)
            at = (entry.template.vertical, rule.id or f"rules/{nth}", name)
            clock = any(name == one.id for one in entry.template.clocks)
            yield Shown(*at, every, noticed, tuple(unnoticed), elsewhere, clock)


class Notices:
    """Which rehearsals of a template notice a change of it; each is tried once."""

    def __init__(self, entry: CatalogEntry) -> None:
        self._cases = entry.rehearsals
        self._known: dict[tuple[str, str], bool] = {}
        self._template = cache(self._loaded)

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


def scored(found: list[Shown], *, unnoticed: bool = False) -> Iterator[str]:
    """A line for each, with the changes that are not noticed below it, and the score."""
    for one in found:
        yield str(one)
        yield from (f"    {what}" for what in one.unnoticed if unnoticed)
    every = sum((one.all for one in found), Counter[Kind]())
    noticed = sum((one.noticed for one in found), Counter[Kind]())
    kinds = ", ".join(f"{kind} {noticed[kind]}/{every[kind]}" for kind in KINDS)
    yield f"Of all changes the rehearsals of the rule notice {noticed.total()}/{every.total()} ({kinds}),"
    yield f"and those of other rules {sum(one.elsewhere for one in found)} of the rest."
    count = sum(one.is_shown for one in found)
    yield f"Shown: {count} of {len(found)}, {score(found):.1%}, at least {BAR:.0%} are due."
