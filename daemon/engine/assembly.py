"""The engine: what moves runs, how it is put together, and how it comes to rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from actors.actor import Surroundings
from actors.core.messages import Outcome
from actors.directory import Directory
from actors.failpoints import reach
from actors.ports import Effects, Journal
from daemon.connectors.retry import CallLimits
from daemon.connectors.service import ConnectorService
from daemon.engine.change_poller import ChangePoller, Listeners
from daemon.engine.dispatcher import Dispatcher
from daemon.engine.feed import Feed
from daemon.engine.ownership import LeasedConnectors, OwnEffects, SharedJournal
from daemon.engine.timers import Timers
from daemon.identity.accounts import Identity
from daemon.model import SharedStore, Store
from daemon.observability.tracing import TracedJournal, Tracer, turns
from daemon.runtime.clock import utc_now
from daemon.settings import Settings
from daemon.templates.catalog import Catalog
from daemon.templates.cel import compile_rule
from daemon.webhooks.deliverer import Deliverer

ACTORS_DRAIN_S = 2.0
_log = structlog.get_logger("penstock")


@dataclass(frozen=True, slots=True)
class Shelves:
    """Where what is durable is found."""

    store: Store
    shared: SharedStore | None
    catalog: Catalog
    toolbox: ConnectorService


@dataclass(frozen=True, slots=True)
class Engine:
    """What moves runs: the actors, what performs their effects, and what tells others of their events."""

    directory: Directory
    dispatcher: Dispatcher
    timers: Timers
    feed: Feed
    deliverer: Deliverer
    journal: Journal

    async def drain(self, calls_s: float) -> None:
        """Take nothing new, let calls under way come back within that time, let the actors finish, answer the rest."""
        reach("drain-begun")
        self.directory.refuse()
        self.feed.close()
        self.timers.close()
        await asyncio.gather(self.dispatcher.drain(calls_s), self.deliverer.drain(calls_s))
        await self.directory.drain(ACTORS_DRAIN_S)
        reach("drained")


def build_engine(
    settings: Settings, shelves: Shelves, dispatching: Callable[..., Dispatcher], tracing: Tracer | None
) -> Engine:
    """The engine on these shelves; what several daemons share it moves only where it is this one's to move."""
    store, shared, toolbox = shelves.store, shelves.shared, shelves.toolbox
    directory: Directory

    def post(company_id: str, run_id: str, outcome: Outcome) -> None:
        directory.tell(company_id, run_id, outcome)

    timers, feed = Timers(post, utc_now), Feed()
    dispatcher = dispatching(
        shelf=toolbox if shared is None else LeasedConnectors(shared),
        rule=compile_rule,
        post=post,
        wake=timers.wake,
        now=utc_now,
        limits=CallLimits(calls_max=settings.calls_max),
    )
    journal: Journal = store
    effects: Effects = dispatcher
    if shared is not None:
        journal = own = SharedJournal(shared)
        effects = OwnEffects(own, dispatcher)
    around = Surroundings(
        journal if tracing is None else TracedJournal(journal, tracing),
        shelves.catalog,
        toolbox,
        effects,
        feed,
        settings.mailbox_max,
        settings.steps_max,
        shared=shared is not None,
        traced=None if tracing is None else turns(tracing),
    )
    directory = Directory(around, idle_s=settings.idle_s, report=_report)
    deliverer = Deliverer(store, dispatcher.notify, utc_now)
    toolbox.subscribe(feed.connectors_changed)
    feed.tell(lambda run, _: deliverer.committed(run.company_id))
    return Engine(directory, dispatcher, timers, feed, deliverer, journal)


def hearing(shared: SharedStore, engine: Engine, identity: Identity, toolbox: ConnectorService) -> ChangePoller:
    """What brings to the parts of this daemon what the others have done."""
    journal = engine.journal
    assert isinstance(journal, SharedJournal)  # noqa: S101 - as `build_engine` makes it for a shared store
    made = ChangePoller(
        shared,
        Listeners(journal, engine.directory, engine.dispatcher, engine.feed, engine.deliverer, identity, toolbox),
    )
    shared.tell(made.hint)
    return made


def _report(key: tuple[str, str], error: Exception) -> None:
    _log.error("not_applied", company_id=key[0], run_id=key[1], error=repr(error), exc_info=error)
