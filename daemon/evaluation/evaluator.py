"""Evaluates what tenants wrote in processes that companies share fairly."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from actors.actor import Overloaded
from actors.ports import LIGHT_BYTES_MAX, Asker
from daemon.connectors.response_map import is_plain, map_response, wrong_expressions
from daemon.observability.logs import ThrottledLog
from daemon.runtime.json_codec import NotJson, dumps, loads
from daemon.runtime.offload import Offload
from daemon.runtime.workers import Worker, WorkerFailed
from daemon.stores.store import Store
from daemon.templates.answers import (
    COSTLY,
    NEVER,
    NO_ANSWER,
    Asking,
    Failed,
    Kind,
    Paused,
    Question,
    Unanswered,
    answered,
)
from daemon.templates.cel import signal_of

WORKERS = 2
WAITING_MAX = 256
HALF_LIFE_S = 60.0


class WorkerPool:
    """Some processes; a company has all but one of them at most, and `WAITING_MAX` wait.

    The company that has used them least of late is next: many that ask for much hold up none that
    asks for little.
    """

    def __init__(self, module: str, count: int = WORKERS, *, answer_bytes_max: int) -> None:
        self._idle = [Worker(module, answer_bytes_max=answer_bytes_max) for _ in range(count)]
        self._all = tuple(self._idle)
        self._share_max = max(1, count - 1)
        self._busy: Counter[str] = Counter()
        self._used: dict[str, tuple[float, float]] = {}
        self._waiting: dict[str, deque[asyncio.Future[Worker]]] = {}

    @property
    def workers(self) -> tuple[Worker, ...]:
        return self._all

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._all))

    @asynccontextmanager
    async def turn(self, company_id: str) -> AsyncIterator[Worker]:
        """A process, once it is the company's turn; Overloaded when too much of it waits."""
        worker = await self._take(company_id)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            yield worker
        finally:
            self._used[company_id] = self._use(company_id) + loop.time() - began, loop.time()
            self._give(company_id, worker)

    async def _take(self, company_id: str) -> Worker:
        line = self._waiting.setdefault(company_id, deque())
        if len(line) >= WAITING_MAX:
            raise Overloaded
        turn: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        line.append(turn)
        self._hand_out()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was given in the same moment
                self._give(company_id, turn.result())
            raise

    def _give(self, company_id: str, worker: Worker) -> None:
        self._busy[company_id] -= 1
        self._idle.append(worker)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._idle and (company_id := self._next()) is not None:
            line = self._waiting[company_id] = self._waiting.pop(company_id)  # behind those that used as little
            turn = line.popleft()
            if not turn.done():
                self._busy[company_id] += 1
                turn.set_result(self._idle.pop())

    def _next(self) -> str | None:
        """The company whose turn it is; forgets those that neither wait nor have used anything."""
        for company_id in [one for one, line in self._waiting.items() if not line]:
            del self._waiting[company_id]
        self._busy = +self._busy
        self._used = {one: use for one, use in self._used.items() if one in self._busy or self._use(one) > 0.001}  # noqa: PLR2004
        may = [one for one in self._waiting if self._busy[one] < self._share_max]
        return min(may, key=self._use, default=None)

    def _use(self, company_id: str) -> float:
        """The seconds that a company has used of late."""
        used_s, at = self._used.get(company_id, (0.0, 0.0))
        return float(used_s * 0.5 ** ((asyncio.get_running_loop().time() - at) / HALF_LIFE_S))


T = TypeVar("T")
WORKER = "daemon.evaluation.worker"
ANSWER_BYTES_MAX = 4 * 2**20
ASKED_MAX = 64
"""So many answers of processes a piece of work gets; one more is a bound of what it may cost."""


COSTLY_FAILED = Failed(COSTLY)
KILLED = "the service ended while this was evaluated, so a human looks before it is evaluated again"
REPEATED: frozenset[Kind] = frozenset({"all_errors", "check", "expressions", "form", "inputs"})
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
                    return await self._offload.run_by_size(asker.company_id, size, run)
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
            raw = await self._offload.run_by_size(company_id, LIGHT_BYTES_MAX + 1 if size is None else size, encode)
            try:
                answer = await worker.ask(raw)
                if answer[:1] == NO_ANSWER:
                    return Failed(answer[1:].decode())
                return await self._offload.run_by_size(company_id, len(answer), partial(loads, answer[1:]))
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


CHEAP_CHARS_MAX = 256
ALL = 2**20
"""More than the names and expressions of a connector weigh."""
CHEAP_CALLS = frozenset({"endsWith", "has", "size", "startsWith"})
_CALL = re.compile(r"\b(\w++)\s*+\(")


class Signals:
    """Evaluates rules and maps: the provably cheap at once, all others in a process of its own."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    async def value(self, asker: Asker, rule: str, status: int, body: Any, size: int) -> Any:
        """The signal in a response of so many bytes; a rule without an answer counts as a hit."""
        if size <= LIGHT_BYTES_MAX and is_cheap(rule):
            return signal_of(rule, status, body)
        found = await self._asked(asker, Question("signal", rule, [status, body]), size)
        return True if isinstance(found, Failed) else found

    async def mapped(self, asker: Asker, names: dict[str, str], body: Any, size: int) -> dict[str, Any] | None:
        """What these expressions find in a response; None if that takes too long or is too much."""
        if size * len(names) <= LIGHT_BYTES_MAX and all(map(is_plain, names.values())):
            return map_response(names, body)
        found: dict[str, Any] | Failed = await self._asked(asker, Question("mapped", names, body), size)
        return None if isinstance(found, Failed) else found

    async def _asked(self, asker: Asker, question: Question, size: int) -> Any:
        try:
            return await self._evaluator.ask_once(asker, question, size)
        except Overloaded:  # too much of the company waits
            return Failed(COSTLY)


def is_cheap(rule: str) -> bool:
    """Whether a rule takes time in proportion to the response: few words, no loops, no patterns."""
    short = len(rule) <= CHEAP_CHARS_MAX and "//" not in rule  # a comment could part a name from its bracket
    return short and CHEAP_CALLS.issuperset(_CALL.findall(rule))


def refused_expressions(rule: str | None, names: dict[str, str]) -> list[tuple[str, str]]:
    """As `wrong_expressions`, by a process where that takes long; ConditionFailed if too long."""
    cheap = (rule is None or is_cheap(rule)) and all(map(is_plain, names.values()))
    here, limit = partial(wrong_expressions, rule, names), ALL if cheap else NEVER
    return [(where, why) for where, why in answered("expressions", rule, names, here, limit)]
