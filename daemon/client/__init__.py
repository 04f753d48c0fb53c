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

__all__ = [
    "Account",
    "Call",
    "Canvas",
    "Checkpoint",
    "Connector",
    "ConnectorChange",
    "Event",
    "Failure",
    "Gate",
    "Health",
    "Patience",
    "Penstock",
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
]
