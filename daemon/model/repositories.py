"""What a store offers: that of one daemon, and that which several daemons share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from actors.core.run import Run
from actors.ports import Commit, Journal, Receipt
from daemon.model.connectors import CompanyKeys, ConnectorRepository
from daemon.model.event_log import EventLog
from daemon.model.events.autonomy import StoredAutonomy
from daemon.model.events.policies import StoredPolicy
from daemon.model.evidence import Evidence
from daemon.model.inbox import Inbox
from daemon.model.own_templates import OwnTemplateRepository
from daemon.model.people.accounts import Accounts
from daemon.model.people.api_keys import ApiKeyRepository
from daemon.model.people.companies import AutonomyRepository, CompanyRepository
from daemon.model.people.members import MemberRepository, Standing
from daemon.model.people.saved_views import ViewRepository
from daemon.model.people.second_factors import Enrolment
from daemon.model.people.sessions import PolicyRepository, SecondFactorRepository, SessionRepository, TokenEpoch
from daemon.model.people.subjects import SubjectRepository
from daemon.model.reports.judged import JudgedRepository
from daemon.model.reports.questions import ReportRepository
from daemon.model.retention.records import RetentionRepository
from daemon.model.runs import Runs
from daemon.model.usage import UsageRepository
from daemon.model.webhooks import WebhookRepository

StoreState: TypeAlias = Literal["ok", "full", "stalled", "failed"]
"""Whether the store can write, as far as known; a `stalled` one does not answer."""


@dataclass(frozen=True, slots=True)
class TemplateDocument:
    """The canonical JSON of a template under its digest."""

    digest: str
    vertical: str
    version: int
    document: str


class TemplateRepository(Protocol):
    """Every template of no company's own that a run may be pinned to."""

    async def template_document(self, digest: str) -> TemplateDocument | None: ...

    async def template_digests(self) -> Mapping[tuple[str, int], str]:
        """The digests of all that are stored, by vertical and version."""

    async def keep_template(self, document: TemplateDocument) -> None:
        """Store a template; SchemaMismatch when its version has another digest."""


class Receipts(Protocol):
    """The responses stored under Idempotency-Keys."""

    async def receipt(self, company_id: str, path: str, key: str, otherwise: str = "") -> Receipt | None: ...

    async def add_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt; ReceiptTaken when there is any under its key."""

    async def keep_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt or complete an unanswered one; ReceiptTaken when it is answered."""

    async def drop_receipts(self, before: datetime) -> int:
        """Delete the receipts kept before that time; returns how many."""


class EvaluationRepository(Protocol):
    """Evaluations that are under way for runs."""

    async def begin_evaluation(self, company_id: str, run_id: str, version: int, by: int) -> bool:
        """Note that one is begun; False where a daemon ended within one of the run as it stands."""

    async def end_evaluation(self, company_id: str, run_id: str, by: int) -> None:
        """What was begun by this daemon has ended."""


class Store(
    Journal,
    EvaluationRepository,
    Runs,
    Accounts,
    SessionRepository,
    MemberRepository,
    AutonomyRepository,
    PolicyRepository,
    CompanyRepository,
    SecondFactorRepository,
    ApiKeyRepository,
    SubjectRepository,
    ConnectorRepository,
    CompanyKeys,
    Receipts,
    TemplateRepository,
    OwnTemplateRepository,
    Evidence,
    EventLog,
    WebhookRepository,
    UsageRepository,
    ViewRepository,
    Inbox,
    JudgedRepository,
    ReportRepository,
    RetentionRepository,
    Protocol,
):
    """All that is durable, in one place and one transaction domain."""

    async def ping(self) -> None:
        """Prove that the store can write; StoreFailed when it cannot."""

    async def refresh_state(self) -> None:
        """Update `state` without a write of a caller; never raises StoreFailed."""

    async def follow_keys(self) -> None:
        """Use the keys of commits as their file has them now."""

    @property
    def state(self) -> StoreState:
        """Whether the store can write, as it was seen last; costs no access to it."""

    @property
    def failed(self) -> bool:
        """Whether the store has failed for good, so that the process must end."""


class Ownership(NamedTuple):
    """Which daemon performs the outstanding work of a run.

    A daemon that is gone may have begun what was outstanding at the version `claimed`; 0 for none.
    """

    epoch: int
    claimed: int


class Rates(Protocol):
    """Request counts shared by all daemons."""

    async def hit(self, who: str, amount: int, window_s: float) -> float | None:
        """Count one of at most `amount` requests in the window; returns the seconds to wait."""

    async def hits(self, who: str, amount: int, window_s: float) -> tuple[int, float]:
        """How many up to `amount` the window has, and the seconds until the first leaves it."""


class SharedStore(Store, Rates, Protocol):
    """A store that several daemons use: leases, changes, and ownership of runs."""

    @property
    def epoch(self) -> int:
        """The number of this daemon's lease, never used before."""

    @property
    def held(self) -> bool:
        """Whether no other daemon can have taken over from this one."""

    async def append_owned(self, commit: Commit) -> Ownership:
        """Append a commit; returns who performs the outstanding work of the run."""

    async def load_owned(self, company_id: str, run_id: str) -> tuple[Run, Ownership] | None:
        """The run as committed, and who performs its outstanding work."""

    def subscribe(self, listener: Callable[[frozenset[str] | None], None]) -> None:
        """Call `listener` with the companies that other daemons changed; None means any."""

    async def peers(self) -> frozenset[int]:
        """The epochs of the daemons that are alive."""

    async def has_peers(self) -> bool:
        """Whether another daemon holds its lease at this moment."""

    async def positions(self, companies: Collection[str]) -> dict[str, int]: ...

    async def versions(self, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]: ...

    async def moved_by_others(self) -> dict[tuple[str, str], int]:
        """The runs owned by this daemon that another one changed, with their versions."""

    async def database_time(self) -> datetime:
        """The database's clock, which all daemons use."""

    async def acknowledge(self, since: datetime) -> None:
        """Record that this daemon has seen all earlier changes of tokens and connectors."""

    async def recent_revocations(self) -> dict[str, datetime]:
        """The tokens revoked within the last seconds, and when each would have expired."""

    async def recent_epochs(self) -> dict[str, TokenEpoch]:
        """The epochs by user that began within the last seconds."""

    async def recent_standings(self) -> Mapping[str, Standing]:
        """How the members stand that were changed within the last seconds."""

    async def recent_key_deletions(self) -> Sequence[bytes]:
        """The hashes of the API keys that were deleted within the last seconds."""

    async def recent_connector_changes(self) -> Sequence[str]:
        """The companies whose connectors were changed within the last seconds."""

    async def recent_publications(self) -> Sequence[str]:
        """The companies whose own templates were published or retired within the last seconds."""

    async def recent_policies(self) -> Sequence[StoredPolicy]:
        """The policies that were changed within the last seconds."""

    async def recent_autonomies(self) -> Sequence[StoredAutonomy]:
        """The autonomies that were changed within the last seconds."""

    async def recent_company_changes(self) -> Mapping[str, datetime]:
        """The companies that were changed within the last seconds, and when; see `Companies`."""

    async def recent_enrolments(self) -> dict[str, Enrolment]:
        """The users whose second factor was changed within the last seconds."""
