"""The places where traces are made; where no collector is named for them, nobody makes any."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from actors.context import TRACE
from actors.ports import Commit, Journal

if TYPE_CHECKING:
    from actors.actor import Envelope, TakeTurn
    from actors.core.run import Run

Kind = Literal["server", "internal", "client"]
Value = str | int
NOT_INSTALLED = "PENSTOCK_OTLP_ENDPOINT is set, and the extra that makes traces is not installed: penstock[tracing]"


class Span(Protocol):
    """One piece of work in a trace, while it goes on."""

    def note(self, name: str, value: Value) -> None:
        """Say something of it; ids, names and numbers only, never what somebody has sent."""

    def failed(self, why: str) -> None:
        """Say in a word why it failed."""


class Tracer(Protocol):
    """Whoever makes spans and sends them away."""

    def span(self, name: str, kind: Kind, parent: str | None) -> AbstractContextManager[Span]:
        """A span for what is done within it: TRACE says so there, and the ids that it is about are noted at its end."""

    async def close(self) -> None:
        """Send what is left, if that can be done soon."""


def tracer(to: str, *, version: str) -> Tracer | None:
    """A tracer that sends to that collector; None when there is no collector."""
    if not to:
        return None
    try:
        from daemon.observability.spans import OtelTracer  # noqa: PLC0415 - an extra, which most do without
    except ModuleNotFoundError:
        raise ValueError(NOT_INSTALLED) from None
    return OtelTracer(to, version)


@asynccontextmanager
async def traced(to: str, *, version: str) -> AsyncIterator[Tracer | None]:
    """A tracer for as long as the service is open, if there is a collector."""
    made = tracer(to, version=version)
    try:
        yield made
    finally:
        if made is not None:
            await made.close()


def turns(tracer: Tracer) -> Callable[[TakeTurn], TakeTurn]:
    """What makes an actor's turns spans, each in the trace of whoever sent the message."""

    def around(turn: TakeTurn) -> TakeTurn:
        async def spanned(envelope: Envelope) -> None:
            if envelope.message is None:  # to wake a run is nobody's wish
                TRACE.set(None)
                await turn(envelope)
                return
            with tracer.span(f"turn {type(envelope.message).__name__}", "internal", envelope.trace):
                await turn(envelope)

        return spanned

    return around


@dataclass(frozen=True, slots=True)
class TracedJournal:
    """A journal whose commits are spans: from the moment a turn hands one over until it is durable."""

    journal: Journal
    tracer: Tracer

    @property
    def shared(self) -> bool:
        return self.journal.shared

    async def append(self, commit: Commit) -> None:
        """Make a commit durable, or raise VersionConflict, ReceiptTaken or StoreFailed."""
        with self.tracer.span("commit", "internal", TRACE.get()) as span:
            span.note("penstock.version", commit.run.version)
            span.note("penstock.events", len(commit.events))
            await self.journal.append(commit)

    async def load(self, company_id: str, run_id: str) -> Run | None:
        """The run as committed; None when the company has no such run."""
        return await self.journal.load(company_id, run_id)

    async def claim(self) -> Sequence[tuple[str, str]]:
        """Take up runs that are not at rest and that nobody sees to: the (company_id, run_id) of each."""
        return await self.journal.claim()
