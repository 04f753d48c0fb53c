"""Does work that evaluates what tenants wrote, and finds the answers that are not cheap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from actors.ports import LIGHT_BYTES_MAX, Asker
from daemon.evaluation.pool import WorkerPool
from daemon.observability.logs import ThrottledLog
from daemon.runtime.json_codec import NotJson, dumps, loads
from daemon.runtime.offload import Offload
from daemon.runtime.workers import WorkerFailed
from daemon.stores.store import Store
from daemon.templates.answers import COSTLY, NO_ANSWER, Asking, Failed, Kind, Paused, Question, Unanswered

T = TypeVar("T")
WORKER = "daemon.evaluation.worker"
ANSWER_BYTES_MAX = 4 * 2**20
ASKED_MAX = 64
"""So many answers of processes a piece of work gets; one more is a bound of what it may cost."""


COSTLY_FAILED = Failed(COSTLY)
KILLED = "the service ended while this was evaluated, so a human looks before it is evaluated again"
REPEATED: frozenset[Kind] = frozenset({"all_errors", "check", "form", "inputs"})
"""What is evaluated for a request alone: nothing but a repeat of it asks again."""


class Evaluator:
    """Gives each piece of work the answers that it asks for.

    The processes bound each of them in time and memory. What is over a bound has no answer, and
    neither has what the same work asks after it.
    """

    def __init__(self, offload: Offload, begun: Store | None = None, by: int = 0) -> None:
        """`begun` keeps what daemon `by` has begun for runs."""
        self._offload = offload
        self._begun = begun
        self._by = by
        self.pool = WorkerPool(WORKER, answer_bytes_max=ANSWER_BYTES_MAX)
        self._stopped = ThrottledLog("evaluation_stopped")

    async def close(self) -> None:
        await self.pool.close()

    async def evaluated(self, asker: Asker, size: int, work: Callable[[], T]) -> T:
        """The value of pure `work()` on so many bytes, for a company and perhaps a run of it."""
        asking, asked, stopped = Asking(), 0, None
        run = partial(asking.run, work)
        try:
            while True:
                try:
                    return await self._offload.sized(asker.company_id, size, run)
                except Paused:
                    await asyncio.sleep(0)
                except Unanswered as one:
                    asked += 1
                    stopped = stopped or await self._why_not(asker, one.question, asked)
                    answer = stopped or await self.ask(asker, one.question)
                    stopped = stopped or (COSTLY_FAILED if answer == COSTLY_FAILED else None)
                    asking.answers.append(answer)
        finally:
            if asked:
                await self._end(asker)

    async def _why_not(self, asker: Asker, question: Question, asked: int) -> Failed | None:
        """Why a question is asked no more; what is begun for a run is durable before it is."""
        if asked > ASKED_MAX:
            return COSTLY_FAILED
        return None if asked > 1 or question.kind in REPEATED else await self._begin(asker)

    async def _begin(self, asker: Asker) -> Failed | None:
        if asker.run_id is None or self._begun is None:
            return None
        if await self._begun.begin_evaluation(asker.company_id, asker.run_id, asker.version, self._by):
            return None
        self._stopped.warn(company_id=asker.company_id, run_id=asker.run_id, why=KILLED)
        return Failed(KILLED)

    async def _end(self, asker: Asker) -> None:
        if asker.run_id is not None and self._begun is not None:
            await self._begun.end_evaluation(asker.company_id, asker.run_id, self._by)

    async def beside(self, asker: Asker, work: Callable[[], T]) -> T:
        """The value of pure `work()`, which is never done on the event loop."""
        return await self.evaluated(asker, LIGHT_BYTES_MAX + 1, work)

    async def ask_once(self, asker: Asker, question: Question, size: int | None = None) -> Any:
        """The same as `ask`, but not again where the service was killed while it was asked."""
        if (killed := await self._begin(asker)) is not None:
            return killed
        try:
            return await self.ask(asker, question, size)
        finally:
            await self._end(asker)

    async def ask(self, asker: Asker, question: Question, size: int | None = None) -> Any:
        """The answer of a process, or Failed."""
        company_id = asker.company_id
        encode = partial(dumps, [question.kind, question.said, question.data])
        async with self.pool.turn(company_id) as worker:
            raw = await self._offload.sized(company_id, LIGHT_BYTES_MAX + 1 if size is None else size, encode)
            try:
                answer = await worker.ask(raw)
                if answer[:1] == NO_ANSWER:
                    return Failed(answer[1:].decode())
                return await self._offload.sized(company_id, len(answer), partial(loads, answer[1:]))
            except (WorkerFailed, NotJson):
                self._stopped.warn(company_id=company_id, run_id=asker.run_id, kind=question.kind)
                return Failed(COSTLY)


@asynccontextmanager
async def evaluating(offload: Offload, begun: Store | None = None, by: int = 0) -> AsyncIterator[Evaluator]:
    one = Evaluator(offload, begun, by)
    try:
        yield one
    finally:
        await one.close()
