"""A typed client of the service's API, for the command line and for whoever imports it: see docs/client.md."""

from daemon.client.api import Penstock
from daemon.client.errors import Problem, Unreachable
from daemon.client.exchange import Patience
from daemon.client.models import (
    Account,
    Call,
    Canvas,
    Checkpoint,
    Connector,
    ConnectorChange,
    Event,
    Failure,
    Gate,
    Health,
    Run,
    Session,
    Target,
    Template,
    TemplateDetail,
    TraceEntry,
    Trial,
    Verdict,
)
from daemon.client.told import Delivery, NewWebhook, Placed, Webhook, WebhookTrial

__all__ = [
    "Account",
    "Call",
    "Canvas",
    "Checkpoint",
    "Connector",
    "ConnectorChange",
    "Delivery",
    "Event",
    "Failure",
    "Gate",
    "Health",
    "NewWebhook",
    "Patience",
    "Penstock",
    "Placed",
    "Problem",
    "Run",
    "Session",
    "Target",
    "Template",
    "TemplateDetail",
    "TraceEntry",
    "Trial",
    "Unreachable",
    "Verdict",
    "Webhook",
    "WebhookTrial",
]
