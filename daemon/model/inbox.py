"""The inbox: the open gates of a company, the most urgent first, and who looks at them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, Protocol

from actors.core.messages import (
    CompensationBegan,
    Event,
    GateEscalated,
    GateExpired,
    GateOpened,
    GateRescheduled,
    RunEnded,
    VerdictGiven,
)
from actors.core.run import Run, Visit

WORDS_MAX = 200
WORD_CHARS_MAX = 40
TEXT_CHARS_MAX = 4_096
ASKED_WORDS_MAX = 20
NEVER = "9999"
_TIERS = {"critical": "0", "high": "1", "medium": "2", "low": "3"}
_WORD = re.compile(r"[^\W_]+")
_TOUCHING = frozenset(
    (GateOpened, VerdictGiven, GateExpired, GateEscalated, GateRescheduled, CompensationBegan, RunEnded)
)


class GateRow(NamedTuple):
    """An open gate as it is listed; rows sort by `place`."""

    step_id: str
    visit: int
    tier: str
    place: str
    words: str


class GateKey(NamedTuple):
    """Where an open gate is, and its place in the inbox."""

    run_id: str
    step_id: str
    visit: int
    place: str


class Claim(NamedTuple):
    """Who looks at a gate, and since when."""

    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class GateQuery:
    """Open gates to list behind a place, at most `limit`."""

    limit: int = 50
    after: str = ""
    vertical: str | None = None
    tier: str | None = None
    due_before: datetime | None = None
    words: tuple[str, ...] | None = None


class Inbox(Protocol):
    """The open gates of companies."""

    async def open_gates(self, company_id: str, query: GateQuery) -> Sequence[GateKey]: ...

    async def index_gates(self, limit: int) -> bool:
        """Let searches find gates that opened since; returns whether more than `limit` are left."""

    async def unindex_gates(self, limit: int) -> bool:
        """Forget the words of closed gates; returns whether more than `limit` are left."""

    async def claims(self, company_id: str, gates: Collection[tuple[str, str]]) -> dict[tuple[str, str, int], Claim]:
        """Who looks at gates of these runs and steps, by run, step and visit."""

    async def claim_gate(self, company_id: str, gate: tuple[str, str, int], claim: Claim) -> None: ...

    async def release_gate(self, company_id: str, gate: tuple[str, str, int]) -> None: ...

    async def reserve_business_key(
        self, company_id: str, name: tuple[str, str], run_id: str, at: datetime
    ) -> str | None:
        """Give a (vertical, key) to a run; returns the unfinished run that has it already."""

    async def unlisted_gates(self, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """Parked runs of earlier versions whose gates are in no inbox yet."""

    async def list_gates(self, company_id: str, run: Run) -> None:
        """Put the open gates of a run into the inbox, if it still stands like this."""


def touched(events: Sequence[Event]) -> bool:
    """Whether events change what the inbox lists of a run."""
    return not _TOUCHING.isdisjoint(map(type, events))


def gate_rows(run: Run) -> list[GateRow]:
    """The open gates of a run."""
    return [
        GateRow(visit.step_id, visit.visit, visit.tier, place_of(run, visit), _words(run, visit))
        for visit in run.parked
    ]


def place_of(run: Run, visit: Visit) -> str:
    """Where an open gate stands in the inbox: by deadline, risk and age."""
    gate = visit.gate
    assert gate is not None  # noqa: S101 - it is open
    due = NEVER if gate.due_at is None else stamp(gate.due_at)
    return "|".join((due, _TIERS[visit.tier], stamp(gate.opened_at), run.id, visit.step_id))


def stamp(at: datetime) -> str:
    """A time of UTC as text that sorts."""
    return at.isoformat(timespec="microseconds")


def asked_words(text: str) -> tuple[str, ...]:
    """What to look for; nothing but words, whatever signs stand between them."""
    return tuple(islice((word[:WORD_CHARS_MAX] for word in _WORD.findall(text.casefold())), ASKED_WORDS_MAX))


def _words(run: Run, visit: Visit) -> str:
    """The words of the label, the business key and the inputs; each once, the first few."""
    label = "" if visit.gate is None else visit.gate.label
    said: list[str] = []
    _collect([label, run.business_key, run.inputs], said)
    found = dict.fromkeys(word[:WORD_CHARS_MAX] for word in _WORD.findall(" ".join(said).casefold()))
    return " ".join(islice(found, WORDS_MAX))


def _collect(value: Any, said: list[str]) -> None:
    """The first texts and numbers of a JSON value, in the order of canonical JSON."""
    if len(said) == WORDS_MAX:
        return
    if isinstance(value, str):
        said.append(value[:TEXT_CHARS_MAX])
    elif isinstance(value, dict):
        for name in sorted(value):
            _collect(value[name], said)
    elif isinstance(value, list):
        for one in value:
            _collect(one, said)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        said.append(str(value))
