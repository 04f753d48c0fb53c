"""The composition root: opens every part in order, and closes them in reverse."""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import structlog

from actors.directory import Directory
from actors.ports import StoreFailed
from daemon import __version__
from daemon.aap.instances import Instances
from daemon.actions.deciding import open_deciding
from daemon.actions.making import ActionTemplates, Making
from daemon.audit.sealer import LOOK_S, PUBLIC, Sealer, Signer, open_sealer
from daemon.audit.witness import OFFERED_S, Witness
from daemon.connectors.egress import EgressGuard, UrlPolicy, egress_guard
from daemon.connectors.http import HttpConnector, open_client
from daemon.connectors.sending import Callbacks
from daemon.connectors.service import ConnectorService
from daemon.drafting import DraftModel
from daemon.engine import upkeep
from daemon.engine.assembly import Engine, EngineParts, build_engine
from daemon.engine.change_poller import ChangePoller, ClockWatch, Rights
from daemon.engine.reports import LOOK_S as REPORTS_LOOK_S
from daemon.engine.stored_budgets import LOOK_S as USAGE_LOOK_S
from daemon.engine.stored_budgets import StoredBudgets
from daemon.engine.sweeper import LOOK_AGAIN_S, Sweeper
from daemon.engine.upkeep import SEARCH_S, TEND_S, index_all_runs, tend_inbox
from daemon.evaluation.evaluator import Evaluator, evaluating
from daemon.identity.accounts import Identity, open_identity
from daemon.identity.api_keys import ApiKeys
from daemon.identity.company.companies import Companies
from daemon.identity.password_resets import PasswordResets
from daemon.identity.sessions import USED_S
from daemon.keys.vault import KEYS_CHECKED_S, KeyRotation, Vault
from daemon.mail.mailer import Mails, open_mails
from daemon.model import LostHistory
from daemon.notifications.notifier import SWEEP_S
from daemon.notifications.service import NotificationService
from daemon.observability.loop_watchdog import BEAT_S, LoopWatchdog
from daemon.observability.tracing import traced
from daemon.retention import LOOK_S as ARCHIVES_LOOK_S
from daemon.retention import ArchiveFiles, Archiver
from daemon.runtime import exit_codes
from daemon.runtime.background import Background, Loop
from daemon.runtime.clock import utc_now
from daemon.runtime.offload import Offload
from daemon.runtime.systemd import SystemdEnvironment, SystemdNotifier
from daemon.settings import Settings, key_files, smtp_server
from daemon.sso.service import open_single_sign_on
from daemon.stores.factory import open_store
from daemon.stores.key_files import LOOKED_S, KeyFileWatcher, open_key_files
from daemon.stores.store import Store
from daemon.templates.catalog import Catalog, open_catalog
from daemon.templates.publishing import Publishing
from daemon.templates.reading import NeedToKnow
from daemon.web.server.listen import binding, listening
from daemon.web.server.metrics_endpoint import open_metrics, serve_metrics
from daemon.web.services import Services
from daemon.webhooks.service import WebhookService

if TYPE_CHECKING:
    from daemon.observability.metrics import Metrics
    from daemon.stores.postgres.store import PostgresStore

STORE_LOOKED_S = 1.0
TELL_S = 0.5
"""How long webhooks have to hear of a lost history before the service begins anew."""
_log = structlog.get_logger("penstock")


@dataclass(slots=True)
class Lifecycle:
    """Whether the process goes on, and the exit code when it does not."""

    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    exit_code: int = 0
    draining: bool = False
    rewound: LostHistory | None = None
    """What the database had lost when this life of the service began."""
    lost: LostHistory | None = None
    """What it has lost since, so that nothing in memory counts any more."""

    def stop(self, exit_code: int = 0) -> None:
        """Request shutdown; the first non-zero exit code wins."""
        self.exit_code, self.lost = self.exit_code or exit_code, None
        self.stopping.set()

    def begin_anew(self, lost: LostHistory) -> None:
        """Request that the service ends and begins again, unless it stops for another reason."""
        if not self.stopping.is_set():
            self.lost = lost
            self.stopping.set()


async def serve(settings: Settings, announce: Callable[[str], None] = lambda _: None) -> int:
    """Serve until SIGTERM or SIGINT, or until the store fails; returns the exit code.

    Where the database has lost what was acknowledged, all parts are closed and opened again.
    """
    environment, rewound = SystemdEnvironment(), None
    while True:
        lifecycle = Lifecycle(rewound=rewound)
        await _serve(settings, lifecycle, environment, announce)
        if lifecycle.lost is None:
            return lifecycle.exit_code
        rewound, announce = lifecycle.lost, lambda _: None


async def _serve(
    settings: Settings, lifecycle: Lifecycle, environment: SystemdEnvironment, announce: Callable[[str], None]
) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, lifecycle.stop)
    notifier = SystemdNotifier(environment)
    notifier.notify("STATUS=Opening the store and taking up runs")
    async with AsyncExitStack() as stack:
        bound = await stack.enter_async_context(binding(settings, environment.sockets))
        started = await _started(settings, lifecycle, stack, notifier)
        if started is None:
            return
        services, engine = started
        if notifier.watchdog_s is not None:
            interval_s = notifier.watchdog_s / 2
            feed = partial(notifier.ping_watchdog, services.store.ping, interval_s)
            services.background.start(stack, Loop("watchdog", feed, interval_s))
        inherited = bool(environment.sockets)
        server = await stack.enter_async_context(listening(services, bound, inherited=inherited))
        upkeep.tune_interpreter()
        if not environment.notify_socket:  # systemd gets the next line, and would take this one for the log's
            announce(server.address)
        notifier.ready(server.address)
        _log.info("serving", address=server.address, data_dir=str(settings.data_dir))
        with _watched(services, stack):
            await lifecycle.stopping.wait()
        if lifecycle.lost is not None:
            await engine.deliverer.tell_now(TELL_S)
        notifier.notify("STOPPING=1", "STATUS=Draining: requests in flight are answered")
        _log.info("draining")
        lifecycle.draining = True
        server.begin_drain()
        await engine.drain(settings.drain_timeout_s if lifecycle.lost is None else 0)
    notifier.notify(f"STATUS=Stopped with exit code {lifecycle.exit_code}")
    _log.info("stopped", exit_code=lifecycle.exit_code)


async def _started(
    settings: Settings, lifecycle: Lifecycle, stack: AsyncExitStack, notifier: SystemdNotifier
) -> tuple[Services, Engine] | None:
    """All parts of the service; None when it was stopped while it waited for its database."""
    awaiting = partial(notifier.await_database, lifecycle.stopping) if notifier.listens else None
    try:
        return await _open(settings, lifecycle, stack, awaiting)
    except StoreFailed:
        if awaiting is None or not lifecycle.stopping.is_set():
            raise
        return None


@asynccontextmanager
async def opened(settings: Settings, lifecycle: Lifecycle) -> AsyncIterator[Services]:
    """All parts of the service without its listening socket; drains on exit."""
    async with AsyncExitStack() as stack:
        services, engine = await _open(settings, lifecycle, stack)
        with _watched(services, stack):
            yield services
        lifecycle.draining = True
        await engine.drain(settings.drain_timeout_s)


Awaiting: TypeAlias = Callable[[str], Awaitable[None]]


async def _open(
    settings: Settings, lifecycle: Lifecycle, stack: AsyncExitStack, awaiting: Awaiting | None = None
) -> tuple[Services, Engine]:
    enter, files, metrics = stack.enter_async_context, key_files(settings), open_metrics(settings, __version__)
    stop = partial(lifecycle.stop, exit_codes.STORE_FAILED)
    offload, background = stack.enter_context(closing(Offload())), _supervising(stop, metrics)
    tracer = await enter(traced(settings.otlp_endpoint, version=__version__))
    known = {**_ending(lifecycle, stop), "awaiting": awaiting, "metrics": metrics, "compute": offload}
    store, shared = await enter(open_store(settings, background=background, **known))
    key_rings, key_watcher = await open_key_files(settings, store, shared)
    sealer, mails = await enter(_sealer(settings, store, metrics)), await enter(_mails(settings, metrics))
    evaluator, catalog = await enter(_evaluating(offload, store, shared)), await _catalog(settings, store, offload)
    vault, clocks = Vault(key_rings["secrets"], store, utc_now), _clocks(settings, lifecycle, metrics)
    connectors = ConnectorService(store, vault, utc_now, shared=shared is not None)
    identity = await enter(open_identity(settings, files["tokens"], store, vault))
    http = await enter(open_client(guard := _guard(settings), settings.response_bytes_max, tracer, offload))
    deciding = await open_deciding(store, identity.companies, evaluator, utc_now)
    asked = (*_readers(identity, store, catalog), deciding.pauses, offload, evaluator)
    tools = EngineParts(connectors, http, vault, *asked, tracer, _callbacks(settings, identity), mails, metrics)
    engine, keys = build_engine(settings, store, shared, catalog, tools), _api_keys(settings, store, vault, identity)
    kept: dict[str, Any] = {"catalog": catalog, "api_keys": keys, "pauses": deciding.pauses, "clocks": clocks}
    parts: dict[str, Any] = {"offload": offload, "evaluator": evaluator, "tracer": tracer, "mails": mails}
    services = Services(
        settings=settings,
        **parts,
        version=__version__,
        now=utc_now,
        directory=engine.directory,
        store=store,
        catalog=catalog,
        publishing=_publishing(settings, store, catalog, evaluator),
        connector_service=connectors,
        dispatcher=engine.dispatcher,
        url_policy=UrlPolicy(guard),
        webhooks=_webhooks(settings, store, vault, engine),
        notifications=_notifications(settings, store, vault, engine),
        api_keys=keys,
        identity=identity,
        sso=await enter(open_single_sign_on(settings, guard, store, identity, utc_now)),
        feed=engine.feed,
        reports=engine.reports,
        reading=tools.reading,
        sealer=sealer,
        background=background,
        deciding=deciding,
        making=Making(ActionTemplates(catalog), now=utc_now),
        instances=_instances(store, vault, keys, engine),
        stored=_stored(settings, store, engine),
        archiver=_archiver(settings, store, sealer),
        draining=lambda: lifecycle.draining,
        rewound=lifecycle.rewound,
        witness=_witness(settings, store, http),
        metrics=metrics,
        rates=shared,
        rights=None if shared is None else Rights(shared, identity, connectors, **kept),
        draft_model=_draft_model(settings, http, evaluator, catalog),
        password_resets=None if mails is None else PasswordResets(store, identity, mails, utc_now),
    )
    return await _begin(services, engine, stack, _background(services, engine, shared, vault, key_watcher))


async def _begin(
    services: Services, engine: Engine, stack: AsyncExitStack, loops: Sequence[Loop]
) -> tuple[Services, Engine]:
    """Serve metrics, take up the runs that are not at rest, and start the background loops."""
    services.identity.sessions.standings.subscribe(engine.feed.people_changed)
    services.identity.companies.subscribe(engine.feed.people_changed)
    services.identity.companies.subscribe(engine.reviewer.changed)
    if services.rights is not None:
        engine.guard.fresh = engine.deliverer.fresh = services.rights.ensure_fresh
    if services.metrics is not None:
        services.metrics.rewound(0 if services.rewound is None else services.rewound.commits)
        await stack.enter_async_context(serve_metrics(services.metrics, services))
    _log.info("recovered", runs=await engine.directory.recover())
    stack.push_async_callback(engine.deliverer.drain, 0)
    stack.push_async_callback(engine.notifier.drain, 0)
    for loop in loops:
        services.background.start(stack, loop)
    return services, engine


def _ending(lifecycle: Lifecycle, stop: Callable[[], None]) -> dict[str, Any]:
    superseded = partial(lifecycle.stop, exit_codes.SUPERSEDED)
    return {"on_failed": stop, "on_superseded": superseded, "on_rewound": lifecycle.begin_anew}


def _readers(identity: Identity, store: Store, catalog: Catalog) -> tuple[Companies, NeedToKnow]:
    """The people of companies, and what each of them may read."""
    return identity.companies, NeedToKnow(store, catalog, identity.companies, utc_now)


async def _catalog(settings: Settings, store: Store, offload: Offload) -> Catalog:
    return await open_catalog(settings.templates_dir, store, offload)


def _witness(settings: Settings, store: Store, http: HttpConnector) -> Witness | None:
    return Witness(settings.witness_url, store, http.offer) if settings.witness_url else None


def _supervising(stop: Callable[[], None], metrics: Metrics | None) -> Background:
    return Background(stop=stop, count=metrics.loop_failed if metrics else None)


def _clocks(settings: Settings, lifecycle: Lifecycle, metrics: Metrics | None) -> ClockWatch:
    stop = partial(lifecycle.stop, exit_codes.CLOCK_SKEWED)
    return ClockWatch(settings.lease_s, stop, metrics.clock_skew if metrics else None)


def _sealer(settings: Settings, store: Store, metrics: Metrics | None) -> AbstractAsyncContextManager[Sealer]:
    signer = Signer(key_files(settings)["audit"], settings.data_dir / PUBLIC, utc_now)
    return open_sealer(store, signer, metrics.sealed if metrics else None)


def _mails(settings: Settings, metrics: Metrics | None) -> AbstractAsyncContextManager[Mails | None]:
    count = metrics.mail if metrics else None
    return open_mails(smtp_server(settings), settings.mail_from, settings.public_url, count)


def _evaluating(offload: Offload, store: Store, shared: PostgresStore | None) -> AbstractAsyncContextManager[Evaluator]:
    """What evaluates; a SQLite file has one daemon at a time, which no other has to know."""
    return evaluating(offload, store, secrets.randbits(62) if shared is None else shared.epoch)


def _draft_model(settings: Settings, http: HttpConnector, evaluator: Evaluator, catalog: Catalog) -> DraftModel | None:
    if not settings.draft_model_url:
        return None
    token = settings.draft_model_token
    ask = partial(http.ask, settings.draft_model_url, None if token is None else token.get_secret_value())
    return DraftModel(ask, settings.draft_model_name, evaluator, catalog.load_document)


def _guard(settings: Settings) -> EgressGuard:
    return egress_guard(settings.egress_allow, settings.egress_hosts, settings.egress_ports)


def _callbacks(settings: Settings, identity: Identity) -> Callbacks:
    return Callbacks(partial(identity.derived, b"callbacks"), settings.public_url)


def _webhooks(settings: Settings, store: Store, vault: Vault, engine: Engine) -> WebhookService:
    send, look, most = engine.dispatcher.send_webhook, engine.deliverer.wake, settings.company_webhooks_max
    return WebhookService(store, vault, send, look, utc_now, most)


def _instances(store: Store, vault: Vault, keys: ApiKeys, engine: Engine) -> Instances:
    send, look = engine.dispatcher.send_webhook, engine.deliverer.wake
    return Instances(store, vault, keys, notify=send, wake=look, now=utc_now)


def _api_keys(settings: Settings, store: Store, vault: Vault, identity: Identity) -> ApiKeys:
    tell, changed = identity.sessions.rights_changed.tell, identity.companies.changed
    return ApiKeys(store, vault, utc_now, settings.company_api_keys_max, deleted=tell, made=changed)


def _notifications(settings: Settings, store: Store, vault: Vault, engine: Engine) -> NotificationService:
    look, most = engine.deliverer.wake, settings.company_notifications_max
    return NotificationService(store, vault, engine.sending, engine.notifier, look, utc_now, most)


def _publishing(settings: Settings, store: Store, catalog: Catalog, evaluator: Evaluator) -> Publishing:
    most, size_max = settings.company_templates_max, settings.company_template_bytes_max
    return Publishing(store, catalog, utc_now, most=most, size_max=size_max, evaluations=evaluator)


def _stored(settings: Settings, store: Store, engine: Engine) -> StoredBudgets:
    stored = StoredBudgets(store, settings.company_runs_max, settings.company_stored_bytes_max)
    engine.feed.subscribe(stored.committed)
    return stored


def _archiver(settings: Settings, store: Store, sealer: Sealer) -> Archiver:
    folder = settings.archive_dir
    if folder is None and settings.database_url is None:
        folder = settings.data_dir / "archive"  # with PostgreSQL it may be gone with its daemon
    return Archiver(store, sealer, ArchiveFiles(folder), utc_now, timedelta(seconds=settings.receipt_ttl_s))


def _watched(services: Services, stack: AsyncExitStack) -> AbstractContextManager[None]:
    """Count the stalls of the event loop while the service serves."""
    metrics = services.metrics
    watchdog = LoopWatchdog() if metrics is None else LoopWatchdog(metrics.loop_lag, metrics.loop_stalled)
    services.background.start(stack, Loop("loop-lag", watchdog.beat, BEAT_S))
    return watchdog.watching()


def _is_calm(offload: Offload, directory: Directory) -> bool:
    """Whether nobody is kept waiting by a look at all objects, and no large run adds to these."""
    return offload.idle and not directory.has_heavy() and not directory.waiting()[0]


def _background(
    services: Services, engine: Engine, shared: PostgresStore | None, vault: Vault, key_watcher: KeyFileWatcher
) -> list[Loop]:
    settings, store = services.settings, services.store
    dispatcher = engine.dispatcher
    watched = services.catalog, engine.directory, dispatcher.under_way, engine.timers, dispatcher.forget_answered
    sweeper = Sweeper(store, *watched)
    sweep = partial(sweeper.run_once, min(settings.sweep_interval_s, LOOK_AGAIN_S))
    drop_old = partial(upkeep.drop_old, store, utc_now, timedelta(seconds=settings.receipt_ttl_s))
    collection = upkeep.FullCollection(partial(_is_calm, services.offload, engine.directory))
    loops = [
        Loop("timers", engine.timers.post_due, 0.0, vital=True),
        Loop("due-runs", engine.due_runs.run_once, 0.0, vital=True),
        Loop("reviews", engine.reviewer.work, 0.0),
        Loop("inbox", partial(tend_inbox, store), TEND_S),
        Loop("search", partial(index_all_runs, store), SEARCH_S),
        Loop("key-files", key_watcher.run_once, LOOKED_S, at_once=False),
        Loop("secrets", KeyRotation(key_files(settings)["secrets"], vault).run_once, KEYS_CHECKED_S),
        Loop("sessions", services.identity.sessions.record_use, USED_S, at_once=False),
        Loop("api-keys", services.api_keys.record_use, USED_S, at_once=False),
        Loop("commit-keys", store.follow_keys, KEYS_CHECKED_S),
        Loop("full-collection", collection.run_once, upkeep.FULL_LOOKED_S),
        Loop("passivation", partial(upkeep.passivate, engine.directory), upkeep.PASSIVATE_S),
        Loop("old-rows", drop_old, upkeep.DROP_OLD_S),
        Loop("usage", services.stored.run_once, USAGE_LOOK_S),
        Loop("reports", engine.reports.run_once, REPORTS_LOOK_S),
        Loop("archives", services.archiver.tick, ARCHIVES_LOOK_S),
        Loop("store", store.refresh_state, STORE_LOOKED_S),
        Loop("sweeper", sweep, settings.sweep_interval_s, at_once=False),
        Loop("sealer", services.sealer.tick, LOOK_S, vital=True),
        *([] if services.witness is None else [Loop("witness", services.witness.run_once, OFFERED_S)]),
        Loop("notifications", engine.notifier.sweep, SWEEP_S),
        Loop("webhooks", engine.deliverer.sweep_all, engine.deliverer.sweep_interval_s),
    ]
    if services.mails is not None and services.password_resets is not None:
        loops += [
            Loop("mail", services.mails.mailer.work, 0.0),
            Loop("password-resets", services.password_resets.work, 0.0),
        ]
    if shared is not None and services.rights is not None:
        loops.append(Loop("peers", ChangePoller(shared, engine, services.rights).run, 0.0, vital=True))
    return loops
