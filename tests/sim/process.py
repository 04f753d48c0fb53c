"""One process of the service: its real parts, wired as the composition root wires them, on the
simulation's loop.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from actors.actor import ActorContext, Answer, Envelope, ReceiptMaker, RunActor
from actors.core.messages import Command, Effect, Event, Outcome, Wake
from actors.core.people import Company, ReaderRule
from actors.core.run import Run
from actors.core.template import Template
from actors.directory import Directory
from actors.ports import StoreFailed
from daemon.connectors.responses import ResponseReader
from daemon.connectors.retry import CallLimits, RetryClock
from daemon.connectors.sending import Callbacks
from daemon.connectors.service import ConnectorService
from daemon.engine.dispatcher import Dispatcher
from daemon.engine.due_runs import DueRuns, Reviewer, Timers
from daemon.engine.feed import Feed
from daemon.keys.keyring import KeyRing
from daemon.keys.vault import Vault
from daemon.runtime.clock import utc_now
from daemon.runtime.offload import Offload
from tests.memory_database import MemoryRepositories
from tests.sim.disk import Key, SimStore, never
from tests.sim.farside import FarSide, Hits
from tests.sim.loop import LIFE, Lifecycle
from tests.sim.rooms import desk

if TYPE_CHECKING:
    from tests.sim.world import World

T = TypeVar("T")
REPEAT_S = 1.0
FAILED_S = 0.1
DRAIN_S = 5.0
ACTORS_DRAIN_S = 2.0


@cache
def vault() -> Vault:
    """A vault that is never opened: no connector of the simulation has a secret."""
    return Vault(KeyRing("", {}).rotated(), MemoryRepositories(), utc_now)


class WatchedFeed(Feed):
    """The feed, each publication under the eyes of the witness."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process

    def publish(self, run: Run, events: Sequence[Event]) -> None:
        self._process.world.witness.seen(f"{self._process.name} feed", run, events)
        if run.ended is not None:
            self._process.over.add((run.company_id, run.id))
        super().publish(run, events)


class WatchedDispatcher(Dispatcher):
    """The dispatcher, each request for effects under the eyes of the witness."""

    process: Process

    def perform(self, effects: Sequence[Effect], *, recovered: bool) -> None:
        self.process.world.witness.asked(self.process.name, effects)
        super().perform(effects, recovered=recovered)


class WatchedDirectory(Directory):
    """The directory, each rest of an actor under the eyes of the witness."""

    process: Process

    def on_idle(self, actor: RunActor) -> None:
        super().on_idle(actor)
        self.process.world.witness.left(self.process, actor)

    def on_undelivered(self, key: Key, envelope: Envelope, error: Exception) -> None:
        super().on_undelivered(key, envelope, error)
        if isinstance(error, StoreFailed) and error.outcome == "not_applied":
            self.process.repeats[key] = self.process.world.loop.time() + REPEAT_S


class Companies:
    """The people of companies, a moment away."""

    def __init__(self, world: World) -> None:
        self._world = world

    def clears_nothing(self, company_id: str) -> bool:
        """Whether the company lets nothing be cleared without a human."""
        return not self._world.companies[company_id].autonomy.auto_resolve

    def narrows(self, company_id: str, vertical: str) -> bool:
        """Whether the company itself says who reads the runs of a vertical."""
        return vertical in self.narrowed(company_id)

    def narrowed(self, company_id: str) -> Mapping[str, ReaderRule]:
        """Whom the company itself lets read, by vertical."""
        return self._world.rules(company_id).narrowed

    async def load(self, company_id: str) -> Company:
        """The company as it is now."""
        await self._world.pause(0.001)
        return self._world.companies[company_id]


class Process:
    """Born on a disk that others left, and gone without a word when it is killed."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.life = Lifecycle(name)
        self.gone: asyncio.Future[str] = world.loop.create_future()
        self.stopping, self.recovered = False, asyncio.Event()
        self.waiting: set[str] = set()
        self.under_way: dict[str, asyncio.Lock] = {}
        self.over: set[Key] = set()
        self.repeats: dict[Key, float] = {}
        self._context = contextvars.copy_context()
        self._context.run(LIFE.set, self.life)
        self._context.run(self._build)
        self.spawn(self._post_due())
        for work in (self.due_runs.run_once, self.reviewer.work):
            self.spawn(self._repeat(work))

    def _build(self) -> None:
        world, mix = self.world, self.world.mix
        self.store = SimStore(self, mix.batch_max)
        self.timers, self.feed = Timers(self._post, world.now), WatchedFeed(self)
        self.connector_service = ConnectorService(world.shelf, vault(), world.now)
        self.dispatcher = WatchedDispatcher(
            http=FarSide(self),
            vault=vault(),
            connectors=self.connector_service,
            responses=ResponseReader(Hits(), Offload()),
            post=self._post,
            wake=self.timers.wake,
            now=world.now,
            callbacks=Callbacks(lambda: [b"key"], "https://penstock.test"),
            limits=CallLimits(calls_max=mix.calls_max, step_deadline_s=20.0, failures_max=mix.failures_max),
            clock=RetryClock(world.loop.time, asyncio.sleep, world.rng.random),
        )
        self.dispatcher.process = self
        companies = Companies(world)
        self.desk = desk(world, companies)
        context = ActorContext(
            self.store,
            self._find_template,
            self.connector_service,
            self.dispatcher,
            self.feed,
            mix.mailbox_max,
            mix.steps_max,
            companies=companies,
        )
        self.directory = WatchedDirectory(context, idle_s=mix.idle_s, report=self._report, repeat_s=REPEAT_S)
        self.directory.process = self
        self.due_runs = DueRuns(self.store, self.directory, world.now)  # type: ignore[arg-type]
        self.reviewer = Reviewer(self.store, self.directory, world.now)  # type: ignore[arg-type]
        self.feed.subscribe(self.due_runs.committed)

    async def _find_template(self, _company_id: str, digest: str) -> Template:
        """The template of that digest, a moment away."""
        await self.world.pause(0.001)
        return self.world.witness.templates[digest]

    # ------------------------------------------------------------------------------ life and death

    def do(self, what: Callable[..., T], *args: Any) -> T:
        """Do something as this process."""
        return self._context.run(what, *args)

    def spawn(self, what: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Let a task run in this process, and die with it."""
        task: asyncio.Task[T] = self.world.loop.create_task(what, context=self._context.copy())
        return task

    async def _post_due(self) -> None:
        while True:
            await self.timers.post_due()

    async def _repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it again and again, as the service's loops do, until the process stops."""
        await self.recovered.wait()
        while not self.stopping:
            try:
                await work()
            except StoreFailed:
                await asyncio.sleep(FAILED_S)

    def kill(self, where: str) -> None:
        """End between two instructions: nothing is said, nothing is tidied up."""
        if not self.life.dead:
            self.world.note(f"{self.name} dies {where}")
            self._end("killed")

    async def may_die(self, where: str, weight: float = 1.0) -> None:
        """One of the places at which the seed may kill the process."""
        if self.world.dies(weight):
            self.kill(where)
            await never()

    async def recover(self) -> None:
        """Wake every run that is not at rest, as the service does before it listens."""
        await self.directory.recover()
        self.recovered.set()

    def store_failed(self) -> None:
        """The store has failed for good: the process stops, as the service does."""
        if not self.stopping:
            self.stopping = True
            self.spawn(self.stop("its store failed"))

    async def stop(self, why: str = "it was told to") -> None:
        """Drain as the service does, then exit; whoever waits has been answered by then."""
        self.stopping = True
        await self.recovered.wait()
        self.world.note(f"{self.name} stops: {why}")
        self.directory.refuse()
        self.feed.close()
        self.timers.close()
        await self.dispatcher.drain(DRAIN_S)
        await self.directory.drain(ACTORS_DRAIN_S)
        await self.store.writer.close()
        await asyncio.sleep(0.001)
        witness = self.world.witness
        witness.must(not self.waiting, f"{self.name} has stopped, and {sorted(self.waiting)} still wait")
        witness.must(not len(self.directory), f"{self.name} has stopped with live actors")
        self._end("stopped")

    def _end(self, how: str) -> None:
        self.life.dead = self.stopping = True
        if not self.gone.done():
            self.gone.set_result(how)

    # ------------------------------------------------------------------------------------- at work

    async def ask(self, key: Key, message: Command, template: Template | None, receipt: ReceiptMaker | None) -> Answer:
        """Have a command decided, under the eyes of the witness."""
        name = f"{getattr(message, 'by', None)} on {key[1]}"
        self.waiting.add(name)
        try:
            answer = await self.directory.ask(key, message, template=template, receipt=receipt)
        finally:
            self.waiting.discard(name)
        self.world.witness.answered(self, key, answer)
        return answer

    def passivate(self) -> None:
        """Let idle actors go, as the housekeeping does."""
        before = dict(self.directory._actors)
        self.do(self.directory.passivate, 100)
        gone = [actor for key, actor in before.items() if key not in self.directory._actors]
        self.world.witness.passivated(self, gone)

    def look(self) -> None:
        """See that mailboxes are bounded and that whoever is live shows what is durable."""
        for key, actor in self.directory._actors.items():
            asking = sum(envelope.reply is not None for envelope in actor._mailbox or ())
            self.world.witness.must(asking <= self.world.mix.mailbox_max, f"the mailbox of {key[1]} is too full")
            if actor.run is not None:
                self.world.witness.seen(f"{self.name} reader", actor.run)
        for (company, tool), version in self.world.bound.items():
            held = self.connector_service._held.get(company)
            if held is not None and self.world.mix.alone:
                fresh = tool in held and held[tool].connector.version >= version
                self.world.witness.must(fresh, f"{self.name} still has an earlier {tool} of {company}")

    def sees_to(self, effect: Effect) -> bool:
        """Whether an effect is under way here, or what came of it is."""
        if isinstance(effect, Wake):
            return effect.key in self.timers._handles
        key = (effect.company_id, effect.run_id)
        flights, answered = self.dispatcher._in_flight.get(key, {}), self.dispatcher._answered.get(key, ())
        return effect.key in flights or effect.key in answered

    def _post(self, company_id: str, run_id: str, outcome: Outcome) -> None:
        """Post an outcome; now and then it comes again, at once or late."""
        self.directory.tell(company_id, run_id, outcome)
        for delay_s in self.world.echoes():
            self.world.loop.call_later(delay_s, self.directory.tell, company_id, run_id, outcome)

    def _report(self, key: Key, error: Exception) -> None:
        self.world.note(f"{self.name} could not apply to {key[1]}: {error!r}")
