"""What the swarm has said and was told, as the checker reads it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from tests.crash.export import pages
from tests.crash.wire import Wire

Json = dict[str, Any]
PAGE = 200


@dataclass
class Intent:
    """One call that an agent wants to make; `told` are the answers: when, status, run."""

    n: int
    agent: str
    way: str
    tool: str
    amount: int
    key: str
    sent: float = 0.0
    told: list[tuple[float, int, str]] = field(default_factory=list)

    @property
    def arguments(self) -> dict[str, int]:
        return {"n": self.n, "amount": self.amount}


class Verdict(NamedTuple):
    """What a person was answered who has decided."""

    run: str
    decision: str
    arguments: Json | None
    sent: float
    status: int


class Use(NamedTuple):
    """What an agent was answered who has used an approval up."""

    run: str
    key: str
    sent: float
    at: float
    status: int


class Span(NamedTuple):
    """Something that stands for sure from when it was answered until the next was asked for.

    It is a pause of an agent, or of all without a name; or the turn of the rules, with their
    versions.
    """

    agent: str | None
    turn: int
    versions: dict[str, int]
    sent: float
    answered: float
    over: float = float("inf")
    """When its end was asked for."""
    ended: float = float("inf")
    """When that was answered."""


@dataclass
class Notes:
    """Everything, from outside and from the service's own record."""

    intents: dict[int, Intent] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    pauses: list[Span] = field(default_factory=list)
    turns: list[Span] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    arrivals: list[Json] = field(default_factory=list)
    actions: dict[str, Json] = field(default_factory=dict)
    events: dict[str, list[Json]] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)


async def read_record(wires: list[Wire], notes: Notes) -> None:
    """Fetch each action as the service shows it, with its events, and what it lists as in doubt."""
    async for page in pages(wires[0], f"/actions/?limit={PAGE}"):
        notes.actions |= {one["id"]: one for one in page}
    notes.doubtful = {
        one["id"] async for page in pages(wires[0], f"/actions/?outcome=unknown&limit={PAGE}") for one in page
    }
    left = list(notes.actions)

    async def fetch(wire: Wire) -> None:
        while left:
            run_id = left.pop()
            path = f"/process-runs/{run_id}/events?limit={PAGE}"
            notes.events[run_id] = [event async for page in pages(wire, path) for event in page]

    await asyncio.gather(*map(fetch, wires))


def read_arrivals(text: bytes) -> list[Json]:
    """The calls that have reached the outside."""
    return [orjson.loads(line) for line in text.splitlines()]
