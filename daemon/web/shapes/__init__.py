"""The shapes of what callers receive, for the OpenAPI document; `render` makes them."""

from daemon.web.shapes.accounts import AccountShape, CompanyShape, SessionShape, UserShape
from daemon.web.shapes.connectors import ConnectorChangeShape, ConnectorShape, TargetShape, TrialShape
from daemon.web.shapes.evidence import ChainedShape, ChangeShape, CheckpointShape, LeafShape, RunAuditShape, WhoShape
from daemon.web.shapes.runs import (
    CallShape,
    EndShape,
    EventShape,
    FailureShape,
    GateChangedShape,
    GateShape,
    PinShape,
    RunShape,
    RunSummaryShape,
    VerdictShape,
    VisitShape,
)
from daemon.web.shapes.service import HealthShape, LiveShape, ProblemShape
from daemon.web.shapes.templates import CanvasShape, EdgeShape, NodeShape, TemplateDetailShape, TemplateShape
from daemon.web.shapes.told import DeliveryShape, NewWebhookShape, PlacedShape, WebhookShape, WebhookTrialShape

__all__ = [
    "AccountShape",
    "CallShape",
    "CanvasShape",
    "ChainedShape",
    "ChangeShape",
    "CheckpointShape",
    "CompanyShape",
    "ConnectorChangeShape",
    "ConnectorShape",
    "DeliveryShape",
    "EdgeShape",
    "EndShape",
    "EventShape",
    "FailureShape",
    "GateChangedShape",
    "GateShape",
    "HealthShape",
    "LeafShape",
    "LiveShape",
    "NewWebhookShape",
    "NodeShape",
    "PinShape",
    "PlacedShape",
    "ProblemShape",
    "RunAuditShape",
    "RunShape",
    "RunSummaryShape",
    "SessionShape",
    "TargetShape",
    "TemplateDetailShape",
    "TemplateShape",
    "TrialShape",
    "UserShape",
    "VerdictShape",
    "VisitShape",
    "WebhookShape",
    "WebhookTrialShape",
    "WhoShape",
]
