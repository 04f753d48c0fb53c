"""The events of a company in the order of their commits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from msgspec.structs import asdict

from actors.core.calls import shown, shown_plan
from actors.core.messages import Event

_PLACE = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")


class Position(NamedTuple):
    """A position in a company's log: behind the nth event, from 1, of a commit.

    Commits become visible in order: nothing ever appears before a position that was read.
    """

    commit: int
    nth: int

    @classmethod
    def parse(cls, text: str) -> Position | None:
        found = _PLACE.fullmatch(text) if text.isascii() else None
        return None if found is None else cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.commit}-{self.nth}"


BEGINNING = Position(0, 0)


@dataclass(frozen=True, slots=True)
class CompanyEvent:
    """An event with its position in the company's log, and its seq in the history of its run."""

    position: Position
    run_id: str
    seq: int
    event: Event


class EventLog(Protocol):
    """The committed events of all runs of a company."""

    async def log_end(self, company_id: str) -> Position:
        """The position behind everything that a company has committed."""

    async def read_after(self, company_id: str, after: Position, limit: int) -> Sequence[CompanyEvent]:
        """At most `limit` events of a company's runs behind a position, in order."""


def shown_event(seq: int, event: Event) -> dict[str, Any]:
    found = asdict(event)
    if "request" in found:
        found["request"] = shown(found["request"])
    if found.get("effects") is not None:
        found["effects"] = [shown_plan(one) for one in found["effects"]]
    return {"seq": seq, "type": event.type, **found}


def event_json(one: CompanyEvent) -> dict[str, Any]:
    event = shown_event(one.seq, one.event)
    return {"id": str(one.position), "run_id": one.run_id, "seq": one.seq, "event": event}
