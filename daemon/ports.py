"""What the rooms of the daemon need of each other, as records and protocols, so that they need not know each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from actors.calls import Connector
from actors.messages import Event
from actors.ports import Commit, Journal, Receipt, StoreFailed
from actors.run import Run
from daemon.audit.log import LogEvent, Logged, SecretChange
from daemon.audit.records import Evidence
from daemon.placed import Placements
from daemon.webhooks.records import WebhookShelf


class EmailTaken(Exception):
    """An account with this e-mail address exists."""


class SchemaMismatch(Exception):
    """The store cannot be used by this version of the service; the text says why and what to do."""


class FolderInUse(StoreFailed):
    """Another process has the data folder."""


class DiskFull(StoreFailed):
    """There is no room to write; reads go on, and writes as soon as there is."""


class StoreBroken(StoreFailed):
    """The disk or the database failed in a way that this process must not write on; the outcome is still certain."""


@dataclass(frozen=True, slots=True)
class Company:
    """A tenant: whatever belongs to one company is invisible to all others."""

    id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class User:
    """A person of a company; `email` is kept as written and compared without case."""

    id: str
    company_id: str
    email: str
    name: str | None
    role: str
    password_hash: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Account:
    """A user and the company the user belongs to."""

    user: User
    company: Company


@dataclass(frozen=True, slots=True)
class StoredConnector:
    """A connector as stored: its public part, and its secret sealed by the vault."""

    company_id: str
    connector: Connector
    sealed_secret: bytes | None
    created_at: datetime
    updated_at: datetime
    updated_by: str


SESSION = "session"
"""The kind of token that a person has after logging in."""


@dataclass(frozen=True, slots=True)
class ConnectorChange:
    """One change of a connector, for good: who, when, from what, to what; of its secret only what became of it.

    `number` counts the changes of a tool-id from 1; `version` is the connector's after the change, and a deleted one's
    last. It never starts again.
    """

    company_id: str
    tool_id: str
    number: int
    version: int
    at: datetime
    by: str
    secret: SecretChange
    before: Connector | None
    after: Connector | None
    via: str = SESSION


@dataclass(frozen=True, slots=True)
class CompanyKey:
    """The data key of a company, wrapped by the key-encryption key of that id."""

    company_id: str
    key_id: str
    wrapped: bytes
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TemplateDocument:
    """A template as it was loaded once: the canonical JSON under its digest."""

    digest: str
    vertical: str
    version: int
    document: str


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs of a company to list: newest first, those older than the run `before`, at most `limit`."""

    limit: int = 50
    before: str | None = None
    status: str | None = None
    vertical: str | None = None
    parked_at: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event and its place in the history of its run, from 1."""

    seq: int
    event: Event


@dataclass(frozen=True, slots=True)
class ParkedRun:
    """A run that waits for a human at so many gates; it was `created` then, and has not changed since `since`."""

    company_id: str
    run_id: str
    vertical: str
    gates: int
    since: datetime
    created: datetime


class Accounts(Protocol):
    """Companies, their people, and the tokens that no longer count."""

    async def register(self, account: Account, receipt: Receipt | None, logged: Sequence[Logged] = ()) -> None:
        """Keep a new company with its first user; EmailTaken when the address has an account."""

    async def account_by_email(self, email: str) -> Account | None:
        """The account of an e-mail address, whatever its case."""

    async def account(self, user_id: str) -> Account | None:
        """The account of a user."""

    async def revoke(self, token_id: str, expires_at: datetime, logged: Logged | None = None) -> None:
        """Remember that a token no longer counts, until it would have expired."""

    async def revoked(self) -> dict[str, datetime]:
        """The revoked tokens and when each would have expired."""

    async def log(self, logged: Logged) -> None:
        """Add an event to a company's own log."""

    async def last_logged(self, company_id: str, holding: str) -> LogEvent | None:
        """The latest event of a company's own log whose JSON holds this text."""


class ConnectorShelf(Protocol):
    """The connectors of each company, and every change of them."""

    async def put_connector(self, stored: StoredConnector, change: ConnectorChange) -> None:
        """Keep a connector in place of any earlier one, and its change; StoreFailed when the number is taken."""

    async def delete_connector(self, change: ConnectorChange) -> bool:
        """Forget the connector that the change names and keep the change; False, and nothing kept, without one."""

    async def connectors_of(self, company_id: str) -> Sequence[StoredConnector]:
        """A company's connectors by tool-id, in order."""

    async def connector_changes(
        self, company_id: str, tool_id: str, before: int | None, limit: int
    ) -> Sequence[ConnectorChange]:
        """At most `limit` changes of a tool's connector, newest first, those with a number below `before`."""


class CompanyKeys(Protocol):
    """The wrapped data keys of the companies."""

    async def company_key(self, company_id: str) -> CompanyKey | None:
        """A company's key."""

    async def add_company_key(self, key: CompanyKey) -> CompanyKey:
        """Keep a company's key unless it has one; returns the one that counts."""

    async def company_keys(self, not_by: str, after: str, limit: int) -> Sequence[CompanyKey]:
        """At most `limit` keys that are not wrapped by the key of that id, by company behind the company `after`."""

    async def rewrap_company_keys(self, keys: Sequence[CompanyKey]) -> None:
        """Put other wrappings in place of the earlier ones, all or none."""


class Receipts(Protocol):
    """What was answered under which Idempotency-Key."""

    async def receipt(self, company_id: str, path: str, key: str) -> Receipt | None:
        """The receipt kept under that key."""

    async def add_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt; ReceiptTaken when there is any under its key."""

    async def keep_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt, or complete the unanswered one under the same key; ReceiptTaken when it is answered."""

    async def drop_receipts(self, before: datetime) -> int:
        """Drop the receipts kept before that time; returns how many."""


class Runs(Protocol):
    """Reading runs without waking them."""

    async def load(self, company_id: str, run_id: str) -> Run | None:
        """The run as committed; None when the company has no such run."""

    async def find(self, company_id: str, query: RunQuery) -> Sequence[Run]:
        """The runs that a query asks for."""

    async def unfinished(self) -> Sequence[tuple[str, str]]:
        """The (company_id, run_id) of every run that is not at rest."""

    async def restless(self, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """At most `limit` runs behind a (company_id, run_id), in order, that are not at rest or wait for nobody."""

    async def parked(self, after: tuple[str, str], limit: int) -> Sequence[ParkedRun]:
        """At most `limit` runs behind a (company_id, run_id), in order, that wait for a human."""

    async def history(self, company_id: str, run_id: str, after: int, limit: int) -> Sequence[Recorded]:
        """At most `limit` events of a run with a seq above `after`; none for a run that is not the company's."""


class TemplateShelf(Protocol):
    """Every template that was ever loaded."""

    async def keep_template(self, document: TemplateDocument) -> None:
        """Keep a template; SchemaMismatch when its vertical and version are taken by another digest."""

    async def template_document(self, digest: str) -> TemplateDocument | None:
        """The template of that digest."""


class Performs(NamedTuple):
    """Whose the outstanding work of a run is.

    What was outstanding at the version `claimed` may have been begun by a daemon that is gone; 0 when there was none.
    """

    epoch: int
    claimed: int


class Rates(Protocol):
    """Counts of who came how often, kept for all daemons together."""

    async def hit(self, who: str, amount: int, window_s: float) -> float | None:
        """Count one of at most `amount` within that time; in how many seconds there is room, where there is none."""


class Store(
    Journal,
    Runs,
    Accounts,
    ConnectorShelf,
    CompanyKeys,
    Receipts,
    TemplateShelf,
    Evidence,
    Placements,
    WebhookShelf,
    Protocol,
):
    """All that is durable, in one place and one transaction domain."""

    async def ping(self) -> None:
        """Prove that the store can write; StoreFailed when it cannot."""

    @property
    def failed(self) -> bool:
        """Whether the store has failed for good, so that the process must end."""


class SharedStore(Store, Rates, Protocol):
    """A store that several daemons use: what it knows of them, and whose the outstanding work of a run is."""

    @property
    def epoch(self) -> int:
        """The number of this daemon's life; no other ever had it."""

    @property
    def held(self) -> bool:
        """Whether nobody can have taken over from this daemon yet."""

    async def append_standing(self, commit: Commit) -> Performs:
        """Make a commit durable; returns who performs what is outstanding behind it."""

    async def load_standing(self, company_id: str, run_id: str) -> tuple[Run, Performs] | None:
        """The run as committed, and who performs what is outstanding."""

    def tell(self, heard: Callable[[frozenset[str] | None], None]) -> None:
        """Have this called with the companies of which others have committed something; None when it may be any."""

    async def peers(self) -> frozenset[int]:
        """The epochs of the daemons that are alive."""

    async def accompanied(self) -> bool:
        """Whether another daemon holds its lease at this moment."""

    async def positions(self, companies: Collection[str]) -> dict[str, int]:
        """How far each of these companies has come."""

    async def versions(self, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """The version of each of these runs."""

    async def strayed(self) -> dict[tuple[str, str], int]:
        """The runs whose outstanding work is this daemon's and that another one has moved on."""

    async def clock(self) -> datetime:
        """The time by which all daemons go."""

    async def hear(self, since: datetime) -> None:
        """Note that this daemon knows of all tokens and connectors that were changed before that time."""

    async def revoked_lately(self) -> dict[str, datetime]:
        """The tokens revoked within the last seconds, and when each would have expired."""

    async def connected_lately(self) -> Sequence[str]:
        """The companies whose connectors were changed within the last seconds."""


class Toolbox(Protocol):
    """The connectors as people change and try them."""

    async def all(self, company_id: str) -> dict[str, StoredConnector]:
        """A company's connectors by tool-id, in order."""

    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        """The connector of a tool."""

    async def put(
        self, company_id: str, connector: Connector, secret: str | None, by: str, *, via: str = SESSION
    ) -> tuple[StoredConnector, bool]:
        """Keep a connector; returns it and whether it is new. A stored secret stays while the origin does."""

    async def delete(self, company_id: str, tool_id: str, by: str, *, via: str = SESSION) -> bool:
        """Forget a connector; False when there was none."""

    async def changes(
        self, company_id: str, tool_id: str, before: int | None, limit: int
    ) -> Sequence[ConnectorChange] | None:
        """The changes of a connector, newest first, those numbered below `before`; None for one never known."""


class Targets(Protocol):
    """Whoever knows which addresses connectors may call."""

    def mistake(self, text: str) -> str | None:
        """Why a URL can never be called, wherever from; None when that depends on what may be called from here."""

    async def refusal(self, text: str) -> str | None:
        """Why a URL may not be called; None when it may, or when its host cannot be found."""


class Tester(Protocol):
    """Whoever can try a connector."""

    async def test(self, company_id: str, trial: Connector, secret: str | None) -> dict[str, Any]:
        """Try a call that touches no run; says how it went and never fails."""
