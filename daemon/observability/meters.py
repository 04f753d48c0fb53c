"""The places where the service is measured; where no port is set for its figures, nobody listens at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from actors.core.messages import Event
from actors.core.run import Run
from daemon.observability.open_gates import OpenGates


class Mailboxes(Sized, Protocol):
    """The live actors."""

    def waiting(self) -> tuple[int, int]:
        """How many messages wait in all mailboxes, and in the fullest."""


class Ledger(Protocol):
    """The evidence, as far as it is behind."""

    async def unsealed(self) -> int:
        """How many commits no checkpoint covers yet, or a few more."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What is looked at when somebody asks, and not before."""

    actors: Mailboxes
    calls: Sized
    gates: OpenGates
    ledger: Ledger
    now: Callable[[], datetime]


class Gauge(Protocol):
    """Whoever wants to know how the store does."""

    def batch(self, works: int, seconds: float) -> None:
        """A batch of so many works has become durable in that time."""

    def store_failure(self, kind: str) -> None:
        """The store could not do something: `full`, `not_applied`, `unknown`, `broken`, `read` or `damaged`."""


class Page(Protocol):
    """The figures, as somebody reads them."""

    @property
    def content_type(self) -> str:
        """The form of the page."""

    async def page(self, sources: Sources) -> bytes:
        """All figures."""

    async def beat(self) -> None:
        """Measure once how late the event loop gets to what is due."""


@dataclass(frozen=True, slots=True)
class Meters:
    """Who hears of batches, of commits, of seals, of requests and of background loops that fail."""

    store: Gauge | None = None
    told: Callable[[Run, Sequence[Event]], None] | None = None
    sealed: Callable[[int, int], None] | None = None
    requested: Callable[[str, str, int], Callable[[float], None]] | None = None
    page: Page | None = None
    loop_failed: Callable[[str], None] | None = None


def meters(*, on: bool, version: str) -> Meters:
    """The meters: real ones where somebody wants to read them."""
    if not on:
        return Meters()
    from daemon.observability.metrics import Metrics  # noqa: PLC0415 - to import the library takes 30 ms, and most do without

    metrics = Metrics(version)
    return Meters(metrics, metrics.told, metrics.sealed, metrics.requested, metrics, metrics.loop_failed)
