"""What the handlers work with, put together by the composition root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from aiohttp import web

from actors.directory import Directory
from daemon.aap.instances import Instances
from daemon.actions.deciding import Deciding
from daemon.actions.making import Making
from daemon.audit.sealer import Sealer
from daemon.audit.witness import Witness
from daemon.connectors.egress import UrlPolicy
from daemon.connectors.service import ConnectorService
from daemon.drafting import DraftModel
from daemon.engine.change_poller import Rights
from daemon.engine.dispatcher import Dispatcher
from daemon.engine.feed import Feed
from daemon.engine.reports import ReportFollower
from daemon.engine.stored_budgets import StoredBudgets
from daemon.evaluation.evaluator import Evaluator
from daemon.identity.accounts import Identity
from daemon.identity.api_keys import ApiKeys
from daemon.identity.password_resets import PasswordResets
from daemon.mail.mailer import Mails
from daemon.model import LostHistory, Rates
from daemon.notifications.service import NotificationService
from daemon.retention import Archiver
from daemon.runtime.background import Background
from daemon.runtime.offload import Offload
from daemon.settings import Settings
from daemon.sso.service import SingleSignOn
from daemon.stores.store import Store
from daemon.templates.catalog import Catalog
from daemon.templates.publishing import Publishing
from daemon.templates.reading import NeedToKnow
from daemon.webhooks.service import WebhookService

if TYPE_CHECKING:
    from daemon.observability.metrics import Metrics  # noqa: TC004 - the class is only named
    from daemon.observability.spans import Tracer  # noqa: TC004 - the class is only named


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    version: str
    now: Callable[[], datetime]
    directory: Directory
    store: Store
    catalog: Catalog
    publishing: Publishing
    connector_service: ConnectorService
    dispatcher: Dispatcher
    url_policy: UrlPolicy
    webhooks: WebhookService
    notifications: NotificationService
    identity: Identity
    api_keys: ApiKeys
    feed: Feed
    reports: ReportFollower
    reading: NeedToKnow
    sealer: Sealer
    background: Background
    offload: Offload
    evaluator: Evaluator
    deciding: Deciding
    making: Making
    instances: Instances
    stored: StoredBudgets
    archiver: Archiver
    draining: Callable[[], bool]
    rewound: LostHistory | None = None
    witness: Witness | None = None
    sso: SingleSignOn | None = None
    metrics: Metrics | None = None
    tracer: Tracer | None = None
    rates: Rates | None = None
    rights: Rights | None = None
    mails: Mails | None = None
    password_resets: PasswordResets | None = None
    draft_model: DraftModel | None = None


SERVICES = web.AppKey("services", Services)
