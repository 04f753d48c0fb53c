"""What the actors need of the outside, as protocols, and what is handed through them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from actors.core.autonomy import UNRECORDED, Record
from actors.core.calls import Connectors
from actors.core.messages import Effect, Event
from actors.core.people import NOBODY, Company
from actors.core.reading.scope import Reading
from actors.core.run import Run
from actors.core.template import Condition, Template

__all__ = [
    "Asker",
    "Commit",
    "CommitFeed",
    "CommittedRun",
    "CompanySource",
    "Compute",
    "Condition",
    "Effects",
    "Evaluations",
    "FindTemplate",
    "Journal",
    "Receipt",
    "ReceiptTaken",
    "StoreFailed",
    "Tools",
    "VersionConflict",
]

T = TypeVar("T")


class VersionConflict(Exception):
    """The stored history of the run is not the one that the commit goes on from."""


class ReceiptTaken(Exception):
    """The idempotency key of the commit's receipt is already used."""


class StoreFailed(Exception):
    """The store could not do it; `outcome` says whether it can have happened all the same."""

    def __init__(self, detail: str, outcome: Literal["not_applied", "unknown"]) -> None:
        """Keep what the caller has to be told."""
        super().__init__(detail)
        self.outcome = outcome


class Receipt(Struct, frozen=True):
    """The response to a request with an Idempotency-Key; None as status: not answered yet."""

    company_id: str
    path: str
    key: str
    fingerprint: bytes
    run_id: str | None = None
    status: int | None = None
    headers: str = "{}"
    body: bytes = b""


class Commit(Struct, frozen=True):
    """What one turn makes durable: events, the run after them, and the request's receipt.

    `follows` is the head of the history that it goes on from, empty for a new run. `reading` is
    what lists have to know of who may read the run, where that has changed.
    """

    run: Run
    events: tuple[Event, ...]
    resting: bool
    receipt: Receipt | None = None
    follows: bytes = b""
    reading: Reading | None = None

    @property
    def expected_version(self) -> int:
        """The version that the journal must have for this commit to count; 0 for a new run."""
        return self.run.version - len(self.events)


class CommittedRun(NamedTuple):
    """A run as committed, and the head of its history: the hash of its last event."""

    run: Run
    head: bytes


class Journal(Protocol):
    """The durable history of runs."""

    @property
    def shared(self) -> bool:
        """Whether other processes append to it, too."""

    async def append(self, commit: Commit) -> bytes:
        """Make a commit durable; returns the head after it.

        Raises VersionConflict, ReceiptTaken or StoreFailed.
        """

    async def load_committed(self, company_id: str, run_id: str) -> CommittedRun | None:
        """The run with the head of its history; None when the company has no such run."""

    async def claim(self) -> Sequence[tuple[str, str]]:
        """Claim the runs that need recovery; returns the (company_id, run_id) of each."""


LIGHT_BYTES_MAX = 32 * 1024
"""Work on so many bytes of input may stay on the event loop, if it is linear in them."""


class Compute(Protocol):
    """Where long work of the processor is done beside the event loop."""

    async def run_by_size(self, company_id: str, size: int, work: Callable[[], T]) -> T:
        """The value of `work()`: done at once where its input has few bytes."""


class Asker(NamedTuple):
    """For whom something is evaluated: a company, and perhaps a run of it as it stands."""

    company_id: str
    run_id: str | None = None
    version: int = 0


class Evaluations(Protocol):
    """Where work is done that evaluates what a company's templates say."""

    async def evaluated(self, asker: Asker, size: int, work: Callable[[], T]) -> T:
        """The value of pure `work()`, which is done again where an answer is found beside it."""


class Inline:
    """Does all work on the event loop."""

    async def run_by_size(self, _company_id: str, _size: int, work: Callable[[], T]) -> T:
        return work()

    async def evaluated(self, _asker: Asker, _size: int, work: Callable[[], T]) -> T:
        return work()


INLINE = Inline()


FindTemplate: TypeAlias = Callable[[str, str], Awaitable[Template]]
"""A company's template by its digest, old versions included; KeyError when it never had it."""


class Tools(Protocol):
    """What is known of a company's connectors, without their secrets."""

    async def connectors(self, company_id: str) -> Connectors:
        """The company's connectors by tool-id."""


class CompanySource(Protocol):
    """What is known of a company's people, calendar and autonomy."""

    def clears_nothing(self, company_id: str) -> bool:
        """Whether the company lets nothing be cleared without a human."""

    def narrows(self, company_id: str, vertical: str) -> bool:
        """Whether the company itself says who reads the runs of a vertical."""

    async def load(self, company_id: str) -> Company:
        """The company as it is now."""


class Strangers:
    """Companies of which nothing is known."""

    def clears_nothing(self, _company_id: str) -> bool:
        return False

    def narrows(self, _company_id: str, _vertical: str) -> bool:
        return False

    async def load(self, _company_id: str) -> Company:
        return NOBODY


STRANGERS = Strangers()


class Records(Protocol):
    """What people's decisions tell of the steps that panels hear."""

    async def for_template(
        self, company_id: str, template: Template, weighed: frozenset[tuple[str, str]] = frozenset()
    ) -> Mapping[str, Record]:
        """The records of a template's judged steps, with every decision that was committed.

        Those of `weighed` steps are about something, as a tool and a model: `record_key` has both.
        """


class NoRecords:
    """Steps of which nothing is known."""

    async def for_template(
        self, _company_id: str, _template: Template, _weighed: frozenset[tuple[str, str]] = frozenset()
    ) -> Mapping[str, Record]:
        return UNRECORDED


NO_RECORDS = NoRecords()


class Effects(Protocol):
    """Whoever performs what runs ask of the outside, beside the actors."""

    def perform(self, effects: Sequence[Effect], *, recovered: bool) -> None:
        """Start each effect once per key; `recovered` when a restart may lie between."""

    def forget(self, company_id: str, run_id: str) -> None:
        """Begin nothing more for a run that has ended."""


class CommitFeed(Protocol):
    """Whoever is told of what was committed."""

    def publish(self, run: Run, events: Sequence[Event]) -> None:
        """Hand committed events, and the run after them, to all who listen."""
