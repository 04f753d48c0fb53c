"""The seats of a panel: the judges of a step, and how many of them have to clear it."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct


class CallCondition(Protocol):
    """A yes-or-no question about a run's inputs and facts, and the call that a step would make."""

    @property
    def text(self) -> str:
        """The expression as its author wrote it."""

    def holds(self, inputs: dict[str, Any], facts: dict[str, Any], call: dict[str, Any]) -> bool:
        """Answer the question; raise ConditionFailed when there is no clear yes or no."""


class Judge(Struct, frozen=True):
    """A rule, or a tool that is asked; `confidence` is how sure a rule is where it clears."""

    id: str
    label: str
    rule: CallCondition | None = None
    tool: str | None = None
    confidence: float = 1.0


class Panel(Struct, frozen=True):
    """The judges of a step; `quorum` of them have to clear it."""

    judges: tuple[Judge, ...]
    quorum: int
