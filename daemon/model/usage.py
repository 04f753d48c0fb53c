"""What companies have stored."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol


class Usage(NamedTuple):
    """The runs of a company, and the bytes of their histories and of its own log."""

    runs: int = 0
    stored_bytes: int = 0


class UsageRepository(Protocol):
    """Counts what is stored from position to position, so that each commit is read once."""

    async def usage(self, companies: Collection[str]) -> dict[str, Usage]:
        """What was counted of each company."""

    async def count_usage(self, companies: Collection[str], commits_max: int) -> bool:
        """Count the next commits, of these companies at least; whether there may be more."""
