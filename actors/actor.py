"""The actor: the one live owner of a run in a process. It handles its mailbox in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from actors.context import TRACE, set_log_context
from actors.core.canonical import json_size
from actors.core.decider import NO_SUCH_RUN, TurnResult, outstanding, step
from actors.core.messages import Message, Migrate, Rejected, Resume, Review, Start
from actors.core.people import NOBODY, Company
from actors.core.reading.scope import Reading, reading_rows, reading_since
from actors.core.run import Run
from actors.core.template import Template
from actors.failpoints import reach
from actors.loaded import interned
from actors.ports import (
    INLINE,
    LIGHT_BYTES_MAX,
    NO_RECORDS,
    STRANGERS,
    Asker,
    Commit,
    CommitFeed,
    CompanySource,
    Compute,
    Effects,
    Evaluations,
    FindTemplate,
    Journal,
    Receipt,
    ReceiptTaken,
    Records,
    StoreFailed,
    Tools,
    VersionConflict,
)

CONFLICTS_MAX = 8


class Overloaded(Exception):
    """The mailbox is full; nothing was applied."""


class Stopped(Exception):
    """The service is stopping; nothing was applied."""


Answer = TurnResult | Rejected
ReceiptMaker = Callable[[Run, Rejected | None], Receipt]


Renew = Callable[[Run | None, Template], Awaitable[Message | Rejected | Exception]]
"""The message anew, or why its sender may not send it to the run as it stands, or not any more."""


@dataclass(slots=True)
class Envelope:
    """A message for an actor, and the reply. Without a message it only wakes the actor.

    `template` pins a start, or is what a run migrates to; `receipt` makes the record of the answer
    that is committed with the turn; `renew` gives the message as its sender may send it when its
    turn has come, to the run as it is then; `faults` counts how often a fault of our own kept it
    from being applied; `trace` is where its sender stood in a trace; `number` counts the messages
    of its actor.
    """

    message: Message | None
    reply: asyncio.Future[Answer | None] | None = None
    template: Template | None = None
    receipt: ReceiptMaker | None = None
    renew: Renew | None = None
    faults: int = 0
    trace: str | None = field(default_factory=TRACE.get)
    number: int = 0

    def answer(self, value: Answer | None) -> None:
        """Tell the sender, if there is one who still waits."""
        if self.reply is not None and not self.reply.done():
            self.reply.set_result(value)

    def fail(self, error: Exception) -> None:
        """Tell the sender that there is no answer, and why."""
        if self.reply is not None and not self.reply.done():
            self.reply.set_exception(error)


TakeTurn = Callable[[Envelope], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ActorContext:
    """What every actor of a process shares; `traced` makes turns spans of a trace."""

    journal: Journal
    find_template: FindTemplate
    tools: Tools
    effects: Effects
    feed: CommitFeed
    mailbox_max: int
    steps_max: int
    traced: Callable[[TakeTurn], TakeTurn] | None = None
    compute: Compute = INLINE
    evaluations: Evaluations = INLINE
    companies: CompanySource = STRANGERS
    records: Records = NO_RECORDS


class Supervisor(Protocol):
    """What actors report to."""

    def on_idle(self, actor: RunActor) -> None:
        """The actor's mailbox is empty."""

    def on_undelivered(self, key: tuple[str, str], envelope: Envelope, error: Exception) -> None:
        """A message without a waiting sender was not applied."""

    def on_publish_failed(self, key: tuple[str, str], error: Exception) -> None:
        """What a turn has made durable was answered, but could not be performed or published."""


class RunActor:
    """The live owner of one run: it alone decides, commits, and only then lets anything be seen.

    While the mailbox is empty it is an object and no task. After a failure that may have changed
    the journal it forgets its state; the next message finds it there again. The journal was last
    asked or appended to when `_covered` messages had been delivered.
    """

    __slots__ = (
        "_context",
        "_covered",
        "_delivered",
        "_head",
        "_mailbox",
        "_supervisor",
        "_task",
        "_template",
        "key",
        "run",
        "touched",
    )

    def __init__(self, key: tuple[str, str], context: ActorContext, supervisor: Supervisor) -> None:
        """Stand for the run `key`, which is (company_id, run_id), without loading it yet."""
        self.key = key
        self.run: Run | None = None
        self.touched = 0.0
        self._context = context
        self._covered = 0
        self._delivered = 0
        self._head = b""
        self._supervisor = supervisor
        self._template: Template | None = None
        self._mailbox: deque[Envelope] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Whether it does nothing and waits for nothing, so that it may be forgotten."""
        return self._task is None and (self.run is None or self.run.resting)

    @property
    def task(self) -> asyncio.Task[None] | None:
        """The work in progress, if there is any."""
        return self._task

    @property
    def waiting(self) -> int:
        """How many messages wait in its mailbox."""
        return 0 if self._mailbox is None else len(self._mailbox)

    def deliver(self, envelope: Envelope) -> None:
        """Put a message into the mailbox; Overloaded when the mailbox is full."""
        if self._mailbox is None:
            self._mailbox = deque()
        if envelope.reply is not None and len(self._mailbox) >= self._context.mailbox_max:
            raise Overloaded
        self._delivered += 1
        envelope.number = self._delivered
        self._mailbox.append(envelope)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work(self._mailbox))

    def stop(self) -> None:
        """Answer whoever waits, and end the work in progress."""
        for envelope in self._mailbox or ():
            envelope.fail(Stopped())
        if self._task is not None:
            self._task.cancel()

    async def _work(self, mailbox: deque[Envelope]) -> None:
        set_log_context(company_id=self.key[0], run_id=self.key[1])
        turn = self._turn if self._context.traced is None else self._context.traced(self._turn)
        while mailbox:
            envelope = mailbox.popleft()
            try:
                await turn(envelope)
            except asyncio.CancelledError:
                envelope.fail(Stopped())
                raise
            except Exception as error:  # noqa: BLE001 - the top of the actor's loop
                self._failed(envelope, error)
        self._task = self._mailbox = None
        self._supervisor.on_idle(self)

    def _failed(self, envelope: Envelope, error: Exception) -> None:
        self._doubt(error)
        if envelope.reply is None:
            self._supervisor.on_undelivered(self.key, envelope, error)
        elif envelope.reply.done():
            self._supervisor.on_publish_failed(self.key, error)
        else:
            envelope.fail(error)

    def _doubt(self, error: Exception) -> None:
        """Forget the run, unless the journal certainly has it as it is here."""
        certain = isinstance(error, ReceiptTaken) or (isinstance(error, StoreFailed) and error.outcome == "not_applied")
        self._covered = 0
        if self.run is None or not certain:
            self._forget_run()

    def _forget_run(self) -> None:
        self.run, self._template, self._head = None, None, b""

    async def _turn(self, envelope: Envelope) -> None:
        """One message: decide, make durable, and only then perform, publish and reply."""
        template = await self._ready(envelope)
        if template is None or envelope.message is None:
            envelope.answer(None if envelope.message is None else NO_SUCH_RUN)
            return
        for _ in range(CONFLICTS_MAX):
            if (template := self._template) is None:
                raise StoreFailed("The run is not there any more.", "not_applied")
            message = envelope.message if envelope.renew is None else await envelope.renew(self.run, template)
            if isinstance(message, Exception):
                envelope.fail(message)
                return
            company, done = await self._decide(message, template, envelope.template)
            if isinstance(done, Rejected) or not done.events:
                if self._context.journal.shared and envelope.number > self._covered:
                    await self._load()  # what is refused may be right after others' commits
                    continue
                envelope.answer(done)
                return
            try:
                await self._append(done, envelope)
            except VersionConflict:
                await self._load()
                continue
            try:
                self._seen(done, envelope.template)
                reach("before-reply")
            finally:  # it is durable, whatever became of it behind the commit
                envelope.answer(done)
            await self._reviewed(done.run, company)
            return
        raise StoreFailed("The run is changed elsewhere faster than here.", "not_applied")

    async def _decide(
        self, message: Message | Rejected, template: Template, onto: Template | None
    ) -> tuple[Company, Answer]:
        """Decide on a message; where the word of a panel counts, once more with its records."""
        if isinstance(message, Rejected):
            return NOBODY, message
        company = await self._company(message, template)
        connectors = await self._context.tools.connectors(self.key[0])
        steps_max = self._context.steps_max
        decide = partial(step, self.run, message, template, connectors, steps_max, company=company, onto=onto)
        weight = json_size(message) + (0 if self.run is None else self.run.size_bytes)
        evaluated = self._context.evaluations.evaluated
        asker = Asker(self.key[0]) if self.run is None else Asker(*self.key, self.run.version)
        done = await evaluated(asker, weight, decide)
        if template.judged and isinstance(done, TurnResult) and done.uses_records:
            records = await self._context.records.for_template(self.key[0], onto or template, done.weighed)
            done = await evaluated(asker, weight, partial(decide, records=records))
        return company, done

    async def _company(self, message: Message, template: Template) -> Company:
        delegated = isinstance(message, Resume) and message.on_behalf_of is not None
        asked = delegated or isinstance(message, Migrate) or template.asks_company
        asked = asked or bool(self.run is not None and self.run.loosened)
        asked = asked or self._context.companies.clears_nothing(self.key[0])
        return await self._context.companies.load(self.key[0]) if asked else NOBODY

    async def _reviewed(self, run: Run, company: Company) -> None:
        """Look again where people changed while a gate was opened: their own review missed it."""
        if run.reviewed and await self._context.companies.load(self.key[0]) is not company:
            self.deliver(Envelope(Review(at=run.updated_at)))

    async def _append(self, done: TurnResult, envelope: Envelope) -> None:
        self._covered = self._delivered
        receipt = None
        if envelope.receipt is not None:
            make = partial(envelope.receipt, done.run, done.rejected)
            light = done.run.size_bytes <= LIGHT_BYTES_MAX
            receipt = (
                make() if light else await self._context.compute.run_by_size(self.key[0], done.run.size_bytes, make)
            )
        if done.effects:
            reach("before-intent")
        try:
            reading = self._reading(done.run, envelope.template)
            commit = Commit(done.run, done.events, done.run.resting, receipt, self._head, reading)
            self._head = await self._context.journal.append(commit)
        except asyncio.CancelledError:
            envelope.fail(StoreFailed("The service stopped while this was being written.", "unknown"))
            raise
        if done.effects:
            reach("after-intent")
        if envelope.reply is None:
            reach("outcome-committed")

    def _reading(self, run: Run, onto: Template | None) -> Reading | None:
        """What lists have to know of who may read the run; None where that is as before."""
        before, known = self.run, self._template
        assert known is not None  # noqa: S101 - it has decided by it
        template = onto or known
        if before is not None and not (template.guarded or known.guarded or run.glass or before.glass):
            return None
        # A key may be left to read what it started: lists have to know who did.
        narrowed = run.created_by_kind != "person" or self._context.companies.narrows(run.company_id, run.vertical)
        if not (template.guarded or narrowed or before is not None):
            return None
        rows = reading_rows(run, template, narrowed=narrowed)
        return (
            None
            if before is not None and rows == reading_rows(before, known, narrowed=narrowed)
            else reading_since(before, rows)
        )

    def _seen(self, done: TurnResult, template: Template | None) -> None:
        self.run, self._template = done.run, template or self._template
        try:
            if done.run.ended is not None:
                self._context.effects.forget(*self.key)
            elif done.effects:
                reach("before-perform")
                self._context.effects.perform(done.effects, recovered=False)
        finally:
            reach("before-publish")
            self._context.feed.publish(done.run, done.events)

    async def _ready(self, envelope: Envelope) -> Template | None:
        """Load the run if needed; returns its template, or None if there is no such run."""
        if self._template is None:
            if isinstance(envelope.message, Start):
                self._template = envelope.template
            else:
                await self._load()
        return self._template

    async def _load(self) -> None:
        """Take the run from the journal, and see to what it still wants done."""
        reach("before-activation")
        self._covered = self._delivered
        found = await self._context.journal.load_committed(*self.key)
        if found is None:
            self._forget_run()
            return
        run, self._head = found
        self._template = await self._context.find_template(run.company_id, run.template_digest)
        intern = partial(interned, run, self._template)
        self.run = await self._context.compute.run_by_size(self.key[0], run.size_bytes, intern)
        effects = outstanding(self.run, self._template)
        if effects:
            self._context.effects.perform(effects, recovered=True)
