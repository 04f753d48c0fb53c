"""Legal holds and archived runs, as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple, cast

from actors.core.messages import AUTOPILOT, Failure, RunEnded, attribution, kept_kind
from actors.core.run import Run
from daemon.model.events.company import ArchiveForm, RedactedPlace

Over = Literal["completed", "failed", "cancelled"]
IN_THE_ARCHIVE = "What went wrong is in the archive of the run."


class HistoryArchived(Exception):
    """The events of a run are in its archive."""

    def __init__(self, archived: Archived) -> None:
        super().__init__(f"The events of {archived.form.run_id} are in its archive.")
        self.archived = archived


@dataclass(frozen=True, slots=True)
class LegalHold:
    """A run that must not be archived, and why."""

    company_id: str
    run_id: str
    reason: str
    held_at: datetime
    held_by: str


@dataclass(frozen=True, slots=True)
class Archived:
    """A run whose events are in an archive."""

    company_id: str
    archived_at: datetime
    form: ArchiveForm

    @property
    def run(self) -> Run:
        """What stays of the run."""
        form = self.form
        error = None if form.error_code is None else Failure(code=form.error_code, detail=IN_THE_ARCHIVE)
        return Run(
            id=form.run_id,
            company_id=self.company_id,
            vertical=form.vertical,
            template_version=form.template_version,
            template_digest=form.template_digest,
            inputs={},
            auto_resolve=form.auto_resolve,
            created_by=form.created_by,
            created_at=form.created_at,
            updated_at=form.updated_at,
            created_by_kind=form.created_by_kind,
            business_key=form.business_key,
            version=form.version,
            ended=RunEnded(
                at=form.ended_at,
                by=None if form.ended_by == AUTOPILOT else form.ended_by,
                by_kind=kept_kind(form.ended_by_kind),
                error=error,
                outcome=form.outcome,
                status=cast("Over", form.status),
            ),
        )


@dataclass(frozen=True, slots=True)
class StoredRedaction:
    """Values of a run that were redacted: who did it, when, and why."""

    company_id: str
    run_id: str
    number: int
    reason: str
    redacted_at: datetime
    redacted_by: str
    pointers: tuple[str, ...]

    @property
    def placeholder(self) -> str:
        """What stands in place of the values."""
        at = self.redacted_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return f"redacted on {at} by {self.redacted_by} because {self.reason}"


class RedactionMade(NamedTuple):
    """A redaction with its places in events, and the events that hold a copy that had to stay."""

    redaction: StoredRedaction
    places: tuple[RedactedPlace, ...] = ()
    left: tuple[str, ...] = ()


class NotRedactable(Exception):
    """Why the values of a run cannot be redacted now."""


class Retained(NamedTuple):
    """How a run is kept: its hold, its archive and its redactions, if there are any."""

    hold: LegalHold | None
    archived: Archived | None
    redactions: tuple[StoredRedaction, ...] = ()


class Candidate(NamedTuple):
    """A run that may be archived, in the order of creation."""

    created_at: str
    run_id: str


def archive_form(run: Run, head: str, sha256: str, size: int) -> ArchiveForm:
    """What stays of a run that has ended; ValueError for any other."""
    ended = run.ended
    if ended is None:
        raise ValueError(f"{run.id} has not ended")
    who = attribution(ended)
    return ArchiveForm(
        auto_resolve=run.auto_resolve,
        business_key=run.business_key,
        bytes=size,
        created_at=run.created_at,
        created_by=run.created_by,
        created_by_kind=run.created_by_kind,
        ended_at=ended.at,
        ended_by=who.by,
        ended_by_kind=who.by_kind,
        error_code=None if ended.error is None else ended.error.code,
        head=head,
        outcome=ended.outcome,
        run_id=run.id,
        sha256=sha256,
        status=run.status,
        template_digest=run.template_digest,
        template_version=run.template_version,
        updated_at=run.updated_at,
        version=run.version,
        vertical=run.vertical,
    )
