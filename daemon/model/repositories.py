"""What a store offers: that of one daemon, and that which several daemons share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

StoreState: TypeAlias = Literal["ok", "full", "stalled", "failed"]
"""Whether the store can write, as far as known; a `stalled` one does not answer."""


@dataclass(frozen=True, slots=True)
class TemplateDocument:
    """The canonical JSON of a template under its digest."""

    digest: str
    vertical: str
    version: int
    document: str


class Ownership(NamedTuple):
    """Which daemon performs the outstanding work of a run.

    A daemon that is gone may have begun what was outstanding at the version `claimed`; 0 for none.
    """

    epoch: int
    claimed: int


class Rates(Protocol):
    """Request counts shared by all daemons."""

    async def hit(self, who: str, amount: int, window_s: float) -> float | None:
        """Count one of at most `amount` requests in the window; returns the seconds to wait."""

    async def hits(self, who: str, amount: int, window_s: float) -> tuple[int, float]:
        """How many up to `amount` the window has, and the seconds until the first leaves it."""
