"""What the witness knows of a run, and what a person says to have seen of it."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from actors.core.messages import CallEffect, Event, GateOpened, VerdictGiven
from actors.core.run import Run
from actors.core.template import Template
from tests.conversations import Conversation

Key = tuple[str, str]
Visited = tuple[str, int]


@dataclass
class Shadow:
    """What is known of a run by its history alone."""

    template: Template
    talk: Conversation
    standing: set[str] = field(default_factory=set)
    states: dict[int, Run] = field(default_factory=dict)
    calls: dict[str, CallEffect] = field(default_factory=dict)
    wakes: set[str] = field(default_factory=set)
    verdicts: dict[Visited, VerdictGiven] = field(default_factory=dict)
    counting: dict[Visited, dict[str, str]] = field(default_factory=dict)
    expired: set[Visited] = field(default_factory=set)
    waited: set[Visited] = field(default_factory=set)
    settled: set[Visited] = field(default_factory=set)
    gates: dict[Visited, GateOpened] = field(default_factory=dict)
    human: set[Visited] = field(default_factory=set)
    spoke: set[str] = field(default_factory=set)
    wire: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[Visited, str] = field(default_factory=dict)
    lost: list[Run] = field(default_factory=list)
    """States that the database had before it failed over."""
    before: Shadow | None = None
    """What was known before the last commit."""

    def copy(self) -> Shadow:
        """The same, which goes on by itself."""
        own: dict[str, Any] = {
            name: copy(one) for name, one in vars(self).items() if isinstance(one, dict | set | list)
        }
        own["counting"] = {visit: dict(by) for visit, by in self.counting.items()}
        return replace(self, **own, talk=replace(self.talk, history=list(self.talk.history)), before=None)

    @property
    def history(self) -> list[Event]:
        return self.talk.history

    @property
    def run(self) -> Run:
        return self.talk.run


@dataclass(frozen=True)
class Sight:
    """What a person says to have seen of a gate."""

    digest: str | None = None
    versions: frozenset[str] | None = None
