"""What the rooms of the daemon need of each other, as records and protocols, so that they need not know each other."""

from daemon.model.accounts import Account, Accounts, Company, EmailTaken, Following, User
from daemon.model.connectors import (
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
from daemon.model.errors import DiskFull, FolderInUse, SchemaMismatch, StoreBroken
from daemon.model.repositories import Performs, Rates, Receipts, SharedStore, Store, StoreState
from daemon.model.runs import ParkedRun, Recorded, RunQuery, Runs
from daemon.model.templates import TemplateDocument, TemplateShelf

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
