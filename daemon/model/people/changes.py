"""Changes that wait for another person's approval, as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from actors.core.people import PrincipalKind
from actors.ports import Receipt
from daemon.model.audit_events import Logged
from daemon.model.events.company import ChangeAct

ChangeStatus = Literal["open", "approved", "denied", "stale"]
OPEN_CHANGES_MAX = 100


class TooManyChanges(Exception):
    """The company has as many open changes as it may have."""


class ChangeDecided(Exception):
    """Somebody else has decided, or it is not open any more."""


class ChangeStale(Exception):
    """What a change stood on is not as it was."""


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A change that was asked for; `digest` is that of its `body`, which is canonical JSON.

    `stands_on` is the number that it follows on: of the policy, of the connector's changes, or of
    the versions. `by_id` is the member or the key that asked, `made_by` made the key.
    """

    company_id: str
    id: str
    act: ChangeAct
    what: str
    digest: str
    body: str
    stands_on: int
    sealed_secret: bytes | None
    requested_by: str
    by_kind: PrincipalKind
    by_id: str
    made_by: str | None
    via: str
    requested_at: datetime
    expires_at: datetime
    status: ChangeStatus = "open"
    decided_at: datetime | None = None
    decided_by: str | None = None
    comment: str | None = None


class ChangeDecision(NamedTuple):
    """A change as it is decided, for the transaction of what it does."""

    change: StoredChange
    logged: Logged
    receipt: Receipt | None = None
