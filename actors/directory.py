"""The directory: finds or activates the one live actor of each run, and lets idle ones go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from actors.actor import ActorContext, Answer, Envelope, ReceiptMaker, Renew, RunActor, Stopped
from actors.core.messages import CallAccepted, CallFailed, CallReturned, Failure
from actors.failpoints import reach
from actors.ports import StoreFailed

if TYPE_CHECKING:
    from actors.core.messages import Message, Outcome
    from actors.core.run import Run
    from actors.core.template import Template

RECOVER_MAX = 64
REPEAT_S = 1.0
FAULTS_MAX = 5
HEAVY_BYTES = 256 * 1024
HEAVY_IDLE_S = 1.0
"""A larger run takes up to thirty times its bytes in memory, and is let go sooner."""


class Directory:
    """All live actors of a process, by run.

    `idle_s` is how long a run at rest stays in memory after its last message; `report` is told of a
    message that could not be applied and has nobody who waits for an answer; `repeat_s` later it
    comes again.
    """

    def __init__(
        self,
        context: ActorContext,
        *,
        idle_s: float,
        report: Callable[[tuple[str, str], Exception], None],
        repeat_s: float = REPEAT_S,
    ) -> None:
        """Begin empty."""
        self._context = context
        self._idle_s = idle_s
        self._report = report
        self._actors: dict[tuple[str, str], RunActor] = {}
        self._resting: dict[tuple[str, str], RunActor] = {}
        self._heavy: dict[tuple[str, str], RunActor] = {}
        self._repeat_s = repeat_s
        self._repeats: dict[tuple[str, str], int] = {}
        self._stopping = False
        self._stopped = False

    def __len__(self) -> int:
        """How many actors are live."""
        return len(self._actors)

    def waiting(self) -> tuple[int, int]:
        """How many messages wait in all mailboxes, and in the fullest."""
        depths = [actor.waiting for actor in self._actors.values()]
        return sum(depths), max(depths, default=0)

    def has_heavy(self) -> bool:
        """Whether a large run rests in memory; it is let go within a second or two."""
        return bool(self._heavy)

    def live(self, company_id: str, run_id: str) -> Run | None:
        """The run as last committed, if its actor is live and no other process can append."""
        actor = None if self._context.journal.shared else self._actors.get((company_id, run_id))
        return None if actor is None else actor.run

    def under_way(self, key: tuple[str, str]) -> bool:
        """Whether a message to this run is being handled, or will be."""
        actor = self._actors.get(key)
        return self._stopping or key in self._repeats or (actor is not None and actor.task is not None)

    async def wake(self, key: tuple[str, str]) -> None:
        """Reload the run from the journal and go on, unless it is at work."""
        if not self.under_way(key):
            self.forget(key)
            await self._wake(key)

    def forget(self, key: tuple[str, str]) -> None:
        """Drop the actor of a run whose history was changed, unless it is at work."""
        if not self.under_way(key):
            self._actors.pop(key, None)
            self._resting.pop(key, None)
            self._heavy.pop(key, None)

    async def ask(
        self,
        key: tuple[str, str],
        message: Message,
        *,
        template: Template | None = None,
        receipt: ReceiptMaker | None = None,
        renew: Renew | None = None,
    ) -> Answer:
        """Have the run's actor decide on a message; returns once what was decided is durable.

        Raises Overloaded, Stopped, what the journal raised, or what `renew` gives.
        """
        if self._stopping:
            raise Stopped
        reply: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._actor(key).deliver(Envelope(message, reply, template, receipt, renew))
        answer = await reply
        assert answer is not None  # noqa: S101 - only an envelope without a message is answered with None
        return answer

    def tell(self, company_id: str, run_id: str, outcome: Outcome) -> None:
        """Hand an outcome to the run's actor. It is accepted until the drain has ended."""
        self._deliver((company_id, run_id), Envelope(outcome))

    async def recover(self) -> int:
        """Activate every run that needs recovery; returns how many."""
        keys = await self._context.journal.claim()
        for start in range(0, len(keys), RECOVER_MAX):
            await asyncio.gather(*(self.wake(key) for key in keys[start : start + RECOVER_MAX]))
        return len(keys)

    def passivate(self, at_most: int | None = None) -> int:
        """Drop idle actors among the `at_most` that have rested longest; returns how many.

        One that works again stands no longer among them: it comes back when it is left.
        """
        now = asyncio.get_running_loop().time()
        gone = self._release(self._resting, now - self._idle_s, at_most)
        return gone + self._release(self._heavy, now - min(self._idle_s, HEAVY_IDLE_S), at_most)

    def _release(self, resting: dict[tuple[str, str], RunActor], before: float, at_most: int | None) -> int:
        gone = 0
        for actor in [*islice(resting.values(), at_most)]:
            if actor.touched > before:
                break
            if actor.idle:
                reach("before-passivation")
                del self._actors[actor.key]
                gone += 1
            del resting[actor.key]
        return gone

    def refuse(self) -> None:
        """Take no more commands."""
        self._stopping = True

    async def drain(self, timeout_s: float) -> None:
        """Let the actors empty their mailboxes in time, then answer the senders that still wait."""
        self.refuse()
        working = [actor.task for actor in self._actors.values() if actor.task is not None]
        if working:
            await asyncio.wait(working, timeout=timeout_s)
        for actor in self._actors.values():
            actor.stop()
        await asyncio.gather(
            *(actor.task for actor in self._actors.values() if actor.task is not None), return_exceptions=True
        )
        self._actors.clear()
        self._resting.clear()
        self._heavy.clear()
        self._stopped = True

    def on_idle(self, actor: RunActor) -> None:
        """Forget an actor without a run at once, and one at rest when it has been idle.

        Those at rest stand in the order in which they were left, apart from those that wait for
        something else: a look at the idle ones meets no others.
        """
        actor.touched = asyncio.get_running_loop().time()
        if self._actors.get(actor.key) is actor:
            self._resting.pop(actor.key, None)
            self._heavy.pop(actor.key, None)
            if actor.run is None:
                del self._actors[actor.key]
            elif actor.idle:
                resting = self._heavy if actor.run.size_bytes > HEAVY_BYTES else self._resting
                resting[actor.key] = actor

    def on_undelivered(self, key: tuple[str, str], envelope: Envelope, error: Exception) -> None:
        """What nobody waits for was not applied: it is reported and comes again.

        A fault of the store is waited out. A fault of our own may never pass: after a few tries,
        each later than the one before, an answer that cannot be applied gives way to the word that
        nobody knows it.
        """
        self._report(key, error)
        delay_s, message = self._repeat_s, envelope.message
        if not isinstance(error, StoreFailed):
            envelope.faults += 1
            delay_s *= 2**envelope.faults
            if envelope.faults == FAULTS_MAX:
                message = _given_up(message)
            elif envelope.faults > FAULTS_MAX:
                return
        again = Envelope(message, faults=envelope.faults, trace=envelope.trace)
        self._repeats[key] = self._repeats.get(key, 0) + 1
        asyncio.get_running_loop().call_later(delay_s, self._repeat, key, again)

    def on_publish_failed(self, key: tuple[str, str], error: Exception) -> None:
        """Report it, and wake the run so that it finds in the journal what it still wants done."""
        self.on_undelivered(key, Envelope(None), error)

    def _repeat(self, key: tuple[str, str], envelope: Envelope) -> None:
        self._repeats[key] -= 1
        if not self._repeats[key]:
            del self._repeats[key]
        self._deliver(key, envelope)

    def _deliver(self, key: tuple[str, str], envelope: Envelope) -> None:
        if not self._stopped:
            self._actor(key).deliver(envelope)

    async def _wake(self, key: tuple[str, str]) -> None:
        """Activate a run. A failure is reported and stops no other run."""
        reply: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._deliver(key, Envelope(None, reply))
        try:
            await reply
            reach("recovery-half-way")
        except Exception as error:  # noqa: BLE001 - one broken run must not stop the service
            self.on_undelivered(key, Envelope(None), error)

    def _actor(self, key: tuple[str, str]) -> RunActor:
        actor = self._actors.get(key)
        if actor is None:
            actor = self._actors[key] = RunActor(key, self._context, self)
        return actor


def _given_up(message: Message | None) -> Message | None:
    """Replace an outcome that cannot be applied: its call becomes one of unknown outcome."""
    if not isinstance(message, CallReturned | CallAccepted | CallFailed):
        return message
    detail = "The answer of this call could not be taken in; nobody knows what it was."
    error = Failure(code="internal_error", detail=detail, step_id=message.step_id)
    return CallFailed(
        step_id=message.step_id, visit=message.visit, error=error, unknown=True, asked=message.asked, at=message.at
    )
