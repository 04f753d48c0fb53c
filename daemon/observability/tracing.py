"""Traces of turns and commits; none without a collector."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from actors.actor import Envelope, TakeTurn
from actors.context import TRACE
from actors.ports import Commit, CommittedRun, Journal

if TYPE_CHECKING:
    from daemon.observability.spans import Tracer  # noqa: TC004 - the class is only named

NOT_INSTALLED = "PENSTOCK_OTLP_ENDPOINT is set, and the extra that makes traces is not installed: penstockd[tracing]"


def tracer(to: str, *, version: str) -> Tracer | None:
    if not to:
        return None
    try:
        from daemon.observability.spans import Tracer  # noqa: PLC0415 - an extra, which most do without
    except ModuleNotFoundError:
        raise ValueError(NOT_INSTALLED) from None
    return Tracer(to, version)


@asynccontextmanager
async def traced(to: str, *, version: str) -> AsyncIterator[Tracer | None]:
    made = tracer(to, version=version)
    try:
        yield made
    finally:
        if made is not None:
            await made.close()


def turns(tracer: Tracer) -> Callable[[TakeTurn], TakeTurn]:
    """Wraps an actor's turns in spans of the sender's trace."""

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
    """Wraps commits in spans, from append until durable."""

    journal: Journal
    tracer: Tracer

    @property
    def shared(self) -> bool:
        return self.journal.shared

    async def append(self, commit: Commit) -> bytes:
        with self.tracer.span("commit", "internal", TRACE.get()) as span:
            span.set_attribute("penstock.version", commit.run.version)
            span.set_attribute("penstock.events", len(commit.events))
            return await self.journal.append(commit)

    async def load_committed(self, company_id: str, run_id: str) -> CommittedRun | None:
        return await self.journal.load_committed(company_id, run_id)

    async def claim(self) -> Sequence[tuple[str, str]]:
        return await self.journal.claim()
