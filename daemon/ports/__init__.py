"""What the rooms of the daemon need of each other, as records and protocols, so that they need not know each other."""

from daemon.ports.accounts import Account, Accounts, Company, EmailTaken, Following, User
from daemon.ports.connectors import (
    SESSION,
    CompanyKey,
    CompanyKeys,
    ConnectorChange,
    ConnectorShelf,
    StoredConnector,
    Targets,
    Tester,
    Toolbox,
)
from daemon.ports.failures import DiskFull, FolderInUse, SchemaMismatch, StoreBroken
from daemon.ports.runs import ParkedRun, Recorded, RunQuery, Runs
from daemon.ports.stores import Performs, Rates, Receipts, SharedStore, Store, StoreState
from daemon.ports.templates import TemplateDocument, TemplateShelf

__all__ = [
    "SESSION",
    "Account",
    "Accounts",
    "Company",
    "CompanyKey",
    "CompanyKeys",
    "ConnectorChange",
    "ConnectorShelf",
    "DiskFull",
    "EmailTaken",
    "FolderInUse",
    "Following",
    "ParkedRun",
    "Performs",
    "Rates",
    "Receipts",
    "Recorded",
    "RunQuery",
    "Runs",
    "SchemaMismatch",
    "SharedStore",
    "Store",
    "StoreBroken",
    "StoreState",
    "StoredConnector",
    "Targets",
    "TemplateDocument",
    "TemplateShelf",
    "Tester",
    "Toolbox",
    "User",
]
