"""The inbox: the open gates of a company, the most urgent first, and who looks at them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from actors.core.eligibility import asked_at, excluded_by_run
from actors.core.messages import (
    ClockBreached,
    ClockExtended,
    ClockPaused,
    ClockRescheduled,
    ClockResumed,
    ClockStarted,
    ClockStopped,
    CompensationBegan,
    Event,
    GateEscalated,
    GateExpired,
    GateOpened,
    GateRescheduled,
    RunEnded,
    RunMigrated,
    VerdictGiven,
    VerdictWithdrawn,
)
from actors.core.run import Run, Verdict, Visit
from daemon.model.reading import Sight

WORDS_MAX = 200
WORD_CHARS_MAX = 40
TEXT_CHARS_MAX = 4_096
ASKED_WORDS_MAX = 20
NEVER = "9999"
FIRST = "!"
"""Sorts before every time and risk."""
GateOrder: TypeAlias = Literal["urgency", "risk", "oldest", "newest"]
GATE_ORDERS: tuple[GateOrder, ...] = get_args(GateOrder)
_TIERS = {"critical": "0", "high": "1", "medium": "2", "low": "3"}
_WORD = re.compile(r"[^\W_]+")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOUCHING = frozenset(
    (
        GateOpened,
        VerdictGiven,
        VerdictWithdrawn,
        GateExpired,
        GateEscalated,
        GateRescheduled,
        ClockStarted,
        ClockPaused,
        ClockResumed,
        ClockExtended,
        ClockRescheduled,
        ClockBreached,
        ClockStopped,
        CompensationBegan,
        RunMigrated,
        RunEnded,
    )
)


class InboxRow(NamedTuple):
    """An open gate as it is listed; rows sort by `place`.

    `asked` is what it asks of whoever decides (`Asked` as JSON), `barred` whom four eyes exclude by
    what happened in the run, and `decided` who gave a verdict already: `|a@example.test|…|`. Those
    of a verdict that somebody gave for another stand there behind a space: it may count no more.
    """

    step_id: str
    visit: int
    tier: str
    place: str
    words: str
    asked: str
    barred: str
    decided: str


class GateKey(NamedTuple):
    """Where an open gate is, and its place in the order that was asked for."""

    run_id: str
    step_id: str
    visit: int
    place: str


class Claim(NamedTuple):
    """Who looks at a gate, and since when."""

    by: str
    at: datetime


class GateGroup(NamedTuple):
    """How many open gates ask the same: all, those a person decided at, and those closed to them.

    What is closed to a person is what they decided at, or are barred from. At some of the others
    they decided `for_another`, or another for them.
    """

    asked: str
    gates: int
    decided: int
    closed: int
    for_another: int


@dataclass(frozen=True, slots=True)
class GateFilter:
    """Which open gates; all of them without a member. `asked` are values of that column."""

    vertical: str | None = None
    tier: str | None = None
    due_before: datetime | None = None
    opened_before: datetime | None = None
    run_id: str | None = None
    words: tuple[str, ...] | None = None
    asked: tuple[str, ...] | None = None
    delegated: str | None = None
    """Only where this person decided for another, or another for them."""
    not_barred: str | None = None
    not_decided: str | None = None
    sight: Sight | None = None
    """What of them may be listed; None for all."""


@dataclass(frozen=True, slots=True)
class GateQuery:
    """Open gates to list behind a place, at most `limit`."""

    limit: int = 50
    after: str | None = None
    order: GateOrder = "urgency"
    which: GateFilter = GateFilter()


def affects_inbox(events: Sequence[Event]) -> bool:
    """Whether events change what the inbox lists of a run."""
    return not _TOUCHING.isdisjoint(map(type, events))


def gate_rows(run: Run) -> list[InboxRow]:
    """The open gates of a run."""
    return [_row(run, visit) for visit in run.parked]


def _row(run: Run, visit: Visit) -> InboxRow:
    asked = asked_at(visit, run).to_json()
    verdicts = () if visit.gate is None else visit.gate.verdicts
    decided = [_decider(person, one) for one in verdicts for person in one.people]
    place, barred = place_of(run, visit), excluded_by_run(visit, run)
    people = (listed_people(barred), listed_people(decided))
    return InboxRow(visit.step_id, visit.visit, visit.tier, place, _words(run, visit), asked, *people)


def _decider(email: str, verdict: Verdict) -> str:
    return email if verdict.on_behalf_of is None else for_another(email)


def for_another(email: str) -> str:
    """Who gave a verdict for another, or had one given, as `decided` lists them."""
    return f" {email}"


def listed_people(emails: Collection[str]) -> str:
    """E-mail addresses as one text in which `|address|` is found; empty for none."""
    return "|".join(("", *sorted(set(emails)), "")) if emails else ""


def place_of(run: Run, visit: Visit) -> str:
    """Where an open gate stands in the inbox: by deadline or clock, risk and age.

    First of all stands a call that may have happened, in every order.
    """
    gate = visit.gate
    assert gate is not None  # noqa: S101 - it is open
    nearest = gate.due_at
    if (clock_due_at := run.clock_due_at) is not None:
        nearest = clock_due_at if nearest is None else min(nearest, clock_due_at)
    due = NEVER if nearest is None else stamp(nearest)
    where = (stamp(gate.opened_at), run.id, visit.step_id)
    if gate.in_doubt:
        return "|".join((f"{FIRST}{due}", FIRST, f"{FIRST}{where[0]}", *where[1:]))
    return "|".join((due, _TIERS[visit.tier], *where))


def stamp(at: datetime) -> str:
    """A time of UTC as text that sorts."""
    return at.isoformat(timespec="microseconds")


def asked_words(text: str) -> tuple[str, ...]:
    """What to look for: nothing but words; what signs join, as `PO-2026/17`, is one."""
    whole = ("".join(_WORD.findall(part)) for part in text.casefold().split())
    return tuple(islice((word[:WORD_CHARS_MAX] for word in whole if word), ASKED_WORDS_MAX))


def _words(run: Run, visit: Visit) -> str:
    """The words of the label, of what the run is known by, and of its inputs."""
    label = "" if visit.gate is None else visit.gate.label
    return words_of([label, run.business_key, run.vertical, run.id, run.created_by, run.inputs])


def words_of(value: list[Any]) -> str:
    """The words of the texts and numbers of a JSON value; each once, the first few."""
    said: list[str] = []
    _collect(value, said)
    found = dict.fromkeys(_each_word(" ".join(said).casefold()))
    return " ".join(islice(found, WORDS_MAX))


def _each_word(text: str) -> list[str]:
    """Each word, and as one what signs join; an id only so, since its parts are words by chance."""
    found: list[str] = []
    for part in _ID.sub(lambda found: found[0].replace("-", ""), text).split():
        if part.isalnum():
            found.append(part[:WORD_CHARS_MAX])
        else:
            words = _WORD.findall(part)
            joined = ["".join(words)] if len(words) > 1 else []
            found += [word[:WORD_CHARS_MAX] for word in joined + words]
    return found


def _collect(value: Any, said: list[str]) -> None:
    """The first texts and numbers in a list or an object, in the order of canonical JSON."""
    for one in [value[name] for name in sorted(value)] if type(value) is dict else value:
        if len(said) == WORDS_MAX:
            return
        kind = type(one)
        if kind is str:
            said.append(one[:TEXT_CHARS_MAX])
        elif kind is dict or kind is list:
            _collect(one, said)
        elif kind is int or kind is float:
            said.append(str(one))
