"""Records and protocols that several packages share."""

from daemon.model.accounts import Account, Accounts, Company, EmailTaken, Following, User
from daemon.model.connectors import (
    SESSION,
    CompanyKey,
    CompanyKeys,
    ConnectorChange,
    ConnectorRepository,
    StoredConnector,
)
from daemon.model.errors import DiskFull, FolderInUse, SchemaMismatch, StoreBroken
from daemon.model.repositories import (
    Ownership,
    Rates,
    Receipts,
    SharedStore,
    Store,
    StoreState,
    TemplateDocument,
    TemplateRepository,
)
from daemon.model.runs import ParkedRun, RecordedEvent, RunQuery, Runs
from daemon.model.sessions import (
    EpochChange,
    RefreshHashes,
    SessionEnd,
    SessionKind,
    SessionQuery,
    SessionRepository,
    TokenEpoch,
    UserSession,
)

__all__ = [
    "SESSION",
    "Account",
    "Accounts",
    "Company",
    "CompanyKey",
    "CompanyKeys",
    "ConnectorChange",
    "ConnectorRepository",
    "DiskFull",
    "EmailTaken",
    "EpochChange",
    "FolderInUse",
    "Following",
    "Ownership",
    "ParkedRun",
    "Rates",
    "Receipts",
    "RecordedEvent",
    "RefreshHashes",
    "RunQuery",
    "Runs",
    "SchemaMismatch",
    "SessionEnd",
    "SessionKind",
    "SessionQuery",
    "SessionRepository",
    "SharedStore",
    "Store",
    "StoreBroken",
    "StoreState",
    "StoredConnector",
    "TemplateDocument",
    "TemplateRepository",
    "TokenEpoch",
    "User",
    "UserSession",
]
