"""Events of a company's log: legal holds, and runs that were archived."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from actors.core.messages import EventBase
from actors.core.people import ByKind
from actors.core.run import Status


class HoldForm(Struct, frozen=True, kw_only=True):
    """Why a run is held."""

    reason: str


class HoldChanged(EventBase, frozen=True, kw_only=True, tag="hold_changed"):
    """A run was put under legal hold, or released from it."""

    after: HoldForm | None
    before: HoldForm | None
    by: str
    run_id: str
    via: str


class ArchiveForm(Struct, frozen=True, kw_only=True):
    """What stays of an archived run beside its hashes.

    `sha256` is that of the archive's file, `head` the hash of the last event.
    """

    auto_resolve: bool
    business_key: str | None
    bytes: int
    created_at: datetime
    created_by: str
    created_by_kind: ByKind
    ended_at: datetime
    ended_by: str
    ended_by_kind: ByKind
    error_code: str | None
    head: str
    outcome: str | None
    run_id: str
    sha256: str
    status: Status
    template_digest: str
    template_version: int
    updated_at: datetime
    version: int
    vertical: str


class RunArchived(EventBase, frozen=True, kw_only=True, tag="run_archived"):
    """The events of a run went into an archive, so many days after its end."""

    after_days: int
    by: str = ""
    form: ArchiveForm
    via: str = "service"


class RedactedPlace(Struct, frozen=True, kw_only=True):
    """A value of an event: commitments to what stood there at first, and to what stands there."""

    now: str
    path: str
    seq: int
    was: str


class RunRedacted(EventBase, frozen=True, kw_only=True, tag="run_redacted"):
    """Values of a run were redacted: those that were named, and copies of them.

    `left` are the events that hold a copy where none can be redacted.
    """

    by: str
    left: tuple[str, ...] = ()
    number: int
    places: tuple[RedactedPlace, ...]
    pointers: tuple[str, ...]
    reason: str
    run_id: str
    via: str


RetentionEvent = HoldChanged | RunArchived | RunRedacted
