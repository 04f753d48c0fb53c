"""A typed client of the service's API: see docs/guides/client.md."""

from daemon.client.api import Penstock
from daemon.client.blocking import SyncPenstock
from daemon.client.errors import Problem, Unreachable
from daemon.client.transport import Patience
from daemon.contract.accounts import Account, ActiveSession, Membership, OwnAccount, Session
from daemon.contract.api_keys import ApiKey, NewApiKey
from daemon.contract.audit import Checkpoint, VerdictReceipt
from daemon.contract.autonomy.calibration import Calibration
from daemon.contract.autonomy.panels import Vote
from daemon.contract.autonomy.settings import Autonomy
from daemon.contract.calendars import Calendar, Holiday, Holidays
from daemon.contract.connectors import Connector, ConnectorChange, ConnectorTestResult, Target
from daemon.contract.events import CompanyEvent, Event, GateChanged
from daemon.contract.gates import DecisionPreview, GatePreview, OpenGate, PreviewStep, VerdictResult, VerdictResults
from daemon.contract.lists.rows import GateCount, GateRow, RunRow
from daemon.contract.people import Delegation, Group, InvitationDetails, InvitedMember, Member
from daemon.contract.policies import Policy, RecoveryCodes, SecondFactor
from daemon.contract.reports.entries import ReportedClearing, ReportedDecision, ReportedFailure, ReportedGate
from daemon.contract.reports.numbers import (
    Report,
    ReportConnector,
    ReportDay,
    ReportGate,
    ReportPerson,
    ReportStep,
)
from daemon.contract.retention.holds import Archive, Hold, MadeRedaction, Redaction, RetainedRun
from daemon.contract.runs import Call, Difference, Failure, Gate, PlannedCall, Proposal, Run, TraceEntry, Verdict
from daemon.contract.service import Health
from daemon.contract.templates import (
    AffectedRun,
    Canvas,
    DraftDocument,
    DraftEntry,
    Edge,
    Node,
    PublishedVersion,
    Template,
    TemplateCheck,
    TemplateDetail,
    TemplateVersion,
    TemplateVersionDetail,
    Violation,
)
from daemon.contract.webhooks import (
    Delivery,
    NewNotificationRule,
    NewWebhook,
    NotificationDelivery,
    NotificationRule,
    RotatedSecret,
    Webhook,
    WebhookTestResult,
)

__all__ = [
    "Account",
    "ActiveSession",
    "AffectedRun",
    "ApiKey",
    "Archive",
    "Autonomy",
    "Calendar",
    "Calibration",
    "Call",
    "Canvas",
    "Checkpoint",
    "CompanyEvent",
    "Connector",
    "ConnectorChange",
    "ConnectorTestResult",
    "DecisionPreview",
    "Delegation",
    "Delivery",
    "Difference",
    "DraftDocument",
    "DraftEntry",
    "Edge",
    "Event",
    "Failure",
    "Gate",
    "GateChanged",
    "GateCount",
    "GatePreview",
    "GateRow",
    "Group",
    "Health",
    "Hold",
    "Holiday",
    "Holidays",
    "InvitationDetails",
    "InvitedMember",
    "MadeRedaction",
    "Member",
    "Membership",
    "NewApiKey",
    "NewNotificationRule",
    "NewWebhook",
    "Node",
    "NotificationDelivery",
    "NotificationRule",
    "OpenGate",
    "OwnAccount",
    "Patience",
    "Penstock",
    "PlannedCall",
    "Policy",
    "PreviewStep",
    "Problem",
    "Proposal",
    "PublishedVersion",
    "RecoveryCodes",
    "Redaction",
    "Report",
    "ReportConnector",
    "ReportDay",
    "ReportGate",
    "ReportPerson",
    "ReportStep",
    "ReportedClearing",
    "ReportedDecision",
    "ReportedFailure",
    "ReportedGate",
    "RetainedRun",
    "RotatedSecret",
    "Run",
    "RunRow",
    "SecondFactor",
    "Session",
    "SyncPenstock",
    "Target",
    "Template",
    "TemplateCheck",
    "TemplateDetail",
    "TemplateVersion",
    "TemplateVersionDetail",
    "TraceEntry",
    "Unreachable",
    "Verdict",
    "VerdictReceipt",
    "VerdictResult",
    "VerdictResults",
    "Violation",
    "Vote",
    "Webhook",
    "WebhookTestResult",
]
