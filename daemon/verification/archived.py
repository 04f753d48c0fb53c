"""Verification of runs whose events are in an archive, by their hashes and the logs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from daemon.model.chain import text_of_hash
from daemon.model.retention.records import Archived
from daemon.stores.database import Key, Row
from daemon.verification.findings import Finding


@dataclass(frozen=True, slots=True)
class GoneHistory:
    """Where a history ends of which hashes alone are left, and the row of its run."""

    key: Key
    version: int
    head: bytes
    found: Row | None
    complete: bool

    def findings(self, archived: Archived | None) -> Iterator[Finding]:
        where = f"run {self.key[1]} of {self.key[0]!r}"
        if archived is None:
            yield Finding("chain", where, "its events are missing, and no log says that it was archived")
            return
        if not self.complete:
            yield Finding("chain", where, "some of its events are here, and it was archived")
        if (self.version, text_of_hash(self.head)) != (archived.form.version, archived.form.head):
            yield Finding("chain", where, "its hashes do not end with the one that the log has of the archive")


def unmarked(key: Key, found: Row | None, *, archived: bool) -> Iterator[Finding]:
    """The finding when a run's row says otherwise than its history."""
    if found is not None and found[-1] != archived:
        said = "is not" if archived else "is"
        yield Finding("run", f"run {key[1]} of {key[0]!r}", f"it {said} marked as archived")


def still_there(archived: Collection[Key], gone: Sequence[GoneHistory]) -> Iterator[Finding]:
    """The runs that the logs say are archived, and that have events."""
    for company_id, run_id in sorted(set(archived) - {one.key for one in gone}):
        where = f"run {run_id} of {company_id!r}"
        yield Finding("archive", where, "the log says that it was archived, and its history is not what that left")
