"""Assembles the engine: actors, dispatcher, timers, feed and webhook delivery."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from actors.actor import ActorContext
from actors.core.messages import Outcome
from actors.core.run import Run
from actors.directory import Directory
from actors.failpoints import reach
from actors.ports import CompanySource, Effects, Journal
from daemon.aap.sending import AapSending
from daemon.actions.pauses import ActionGuard, Pauses
from daemon.connectors.http import HttpConnector
from daemon.connectors.responses import ResponseReader
from daemon.connectors.retry import CallLimits
from daemon.connectors.sending import Callbacks
from daemon.connectors.service import ConnectorService
from daemon.engine.dispatcher import Dispatcher
from daemon.engine.due_runs import DueRuns, Reviewer, Timers
from daemon.engine.feed import Feed
from daemon.engine.ownership import LeasedConnectors, OwnEffects, SharedJournal
from daemon.engine.reports import ReportFollower, StepRecords
from daemon.evaluation.evaluator import Evaluator, Signals
from daemon.keys.vault import Vault
from daemon.mail.mailer import Mails
from daemon.notifications.audience import NotificationContexts
from daemon.notifications.notifier import Channels, NotificationSending, Notifier
from daemon.observability.tracing import TracedJournal, turns
from daemon.runtime.background import where_raised
from daemon.runtime.clock import utc_now
from daemon.runtime.offload import Offload
from daemon.settings import Settings
from daemon.stores.store import Store
from daemon.templates.catalog import Catalog
from daemon.templates.reading import NeedToKnow
from daemon.webhooks.deliverer import Deliverer

if TYPE_CHECKING:
    from daemon.observability.metrics import Metrics  # noqa: TC004 - the class is only named
    from daemon.observability.spans import Tracer  # noqa: TC004 - the class is only named
    from daemon.stores.postgres.store import PostgresStore

ACTORS_DRAIN_S = 2.0
_log = structlog.get_logger("penstock")


@dataclass(frozen=True, slots=True)
class Engine:
    directory: Directory
    dispatcher: Dispatcher
    timers: Timers
    feed: Feed
    deliverer: Deliverer
    notifier: Notifier
    sending: NotificationSending
    journal: Journal
    due_runs: DueRuns
    reviewer: Reviewer
    reports: ReportFollower
    guard: ActionGuard

    async def drain(self, calls_s: float) -> None:
        """Refuse messages, wait up to `calls_s` for calls, then let the actors finish."""
        reach("drain-begun")
        self.directory.refuse()
        self.feed.close()
        self.timers.close()
        await self.notifier.drain(calls_s)
        await asyncio.gather(self.dispatcher.drain(calls_s), self.deliverer.drain(calls_s))
        await self.directory.drain(ACTORS_DRAIN_S)
        reach("drained")


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What an engine works with."""

    connectors: ConnectorService
    http: HttpConnector
    vault: Vault
    companies: CompanySource
    reading: NeedToKnow
    pauses: Pauses
    offload: Offload
    evaluator: Evaluator
    tracer: Tracer | None
    callbacks: Callbacks
    mails: Mails | None
    metrics: Metrics | None = None


def build_engine(
    settings: Settings, store: Store, shared: PostgresStore | None, catalog: Catalog, tools: EngineParts
) -> Engine:
    """Wire the actors to journal, effects and feed; on a shared store, only for its own runs."""
    directory: Directory

    def post(company_id: str, run_id: str, outcome: Outcome) -> None:
        directory.tell(company_id, run_id, outcome)

    timers, feed, signals = Timers(post, utc_now), Feed(), Signals(tools.evaluator)

    def live(company_id: str, run_id: str) -> Run | None:
        return directory.live(company_id, run_id)

    guard = ActionGuard(store, tools.pauses, tools.companies, utc_now, live)
    dispatcher = Dispatcher(
        http=tools.http,
        vault=tools.vault,
        connectors=tools.connectors if shared is None else LeasedConnectors(shared),
        responses=ResponseReader(signals, tools.offload),
        post=post,
        wake=timers.wake,
        now=utc_now,
        callbacks=tools.callbacks,
        guard=guard,
        limits=CallLimits(
            settings.calls_max,
            settings.company_calls_per_minute_max,
            body_bytes_max=settings.response_bytes_max,
        ),
    )
    journal, effects = _owning(store, shared, dispatcher)
    reports = ReportFollower(store, utc_now, shared=shared is not None)
    feed.subscribe(reports.committed)
    records = StepRecords(store, reports)
    context = _context(settings, catalog, tools, records, journal=journal, effects=effects, feed=feed)
    directory = Directory(context, idle_s=settings.run_idle_s, report=_report)
    sending, deliverer, notifier = _notifying(settings, store, catalog, tools, dispatcher)
    tools.connectors.subscribe(feed.connectors_changed)
    feed.subscribe(lambda run, _: deliverer.committed(run.company_id))
    feed.subscribe(notifier.published)
    due_runs = DueRuns(store, directory, utc_now)
    feed.subscribe(due_runs.committed)
    reviewer = Reviewer(store, directory, utc_now)
    tools.connectors.subscribe(reviewer.changed)  # four eyes may bar who changed one
    return Engine(
        directory=directory,
        dispatcher=dispatcher,
        timers=timers,
        feed=feed,
        deliverer=deliverer,
        notifier=notifier,
        sending=sending,
        journal=journal,
        due_runs=due_runs,
        reviewer=reviewer,
        reports=reports,
        guard=guard,
    )


def _owning(store: Store, shared: PostgresStore | None, dispatcher: Dispatcher) -> tuple[Journal, Effects]:
    """The journal, and effects that are performed for this daemon's own runs alone."""
    if shared is None:
        return store, dispatcher
    own = SharedJournal(shared)
    return own, OwnEffects(own, dispatcher)


def _notifying(
    settings: Settings, store: Store, catalog: Catalog, tools: EngineParts, dispatcher: Dispatcher
) -> tuple[NotificationSending, Deliverer, Notifier]:
    """What tells people and programs of events, and finds out whom."""
    situations = NotificationContexts(store, catalog, tools.connectors, tools.companies, tools.reading)
    mailer = None if tools.mails is None else tools.mails.mailer
    channels = Channels(dispatcher.post_notification, mailer, settings.public_url)
    counted = None if tools.metrics is None else tools.metrics.notified
    sending = NotificationSending(store, situations, tools.companies, channels, utc_now, counted)
    send, closed = dispatcher.send_webhook, tools.reading.is_closed
    aap = AapSending(store, send)
    how: dict[str, Any] = {"notifications": sending, "is_closed": closed, "aap": aap, "chosen": aap.wanted}
    deliverer = Deliverer(store, send, utc_now, compute=tools.offload, **how)
    return sending, deliverer, Notifier(store, situations, deliverer.wake, utc_now)


def _context(
    settings: Settings,
    catalog: Catalog,
    tools: EngineParts,
    records: StepRecords,
    *,
    journal: Journal,
    effects: Effects,
    feed: Feed,
) -> ActorContext:
    tracer = tools.tracer
    return ActorContext(
        journal if tracer is None else TracedJournal(journal, tracer),
        catalog.pinned,
        tools.connectors,
        effects,
        feed,
        settings.mailbox_max,
        settings.steps_max,
        traced=None if tracer is None else turns(tracer),
        compute=tools.offload,
        evaluations=tools.evaluator,
        companies=tools.companies,
        records=records,
    )


def _report(key: tuple[str, str], error: Exception) -> None:
    """Log the type and place of an error; its words may quote facts of the run."""
    where = where_raised(error)
    _log.error("message_failed", company_id=key[0], run_id=key[1], error=type(error).__name__, where=where)
