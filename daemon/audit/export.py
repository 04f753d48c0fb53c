"""The lines of an export, in canonical JSON, so that every changed byte is detected."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from actors.core.canonical import canonical
from daemon.audit.changes import change_of
from daemon.model.chain import text_of_hash
from daemon.model.commitments.salted import holds_redacted
from daemon.model.evidence import Checkpoint, SealedCommit

FORMAT = "penstock-audit-1"
_ARCHIVED = b'"type":"run_archived"'
_REDACTED = b'"type":"run_redacted"'


def manifest(company_id: str, size: int) -> bytes:
    """The first line: the company and the number of commits."""
    return canonical({"company": company_id, "format": FORMAT, "size": size}).encode() + b"\n"


class ArchivesNamed:
    """Whether an export names what became of each run whose events or values it lacks."""

    def __init__(self, company_id: str) -> None:
        self._company_id = company_id
        self._gone: set[str] = set()
        self._named: set[str] = set()

    def take(self, entries: Iterable[SealedCommit]) -> None:
        for one in entries:
            if not one.events or holds_redacted(one.events):
                self._gone.add(one.stream)
            elif one.stream == self._company_id and (_ARCHIVED in one.events or _REDACTED in one.events):
                event = json.loads(one.events)
                self._named.add(event["run_id"] if event["type"] == "run_redacted" else event["form"]["run_id"])

    @property
    def complete(self) -> bool:
        return self._gone <= self._named


def entry_line(entry: SealedCommit) -> bytes:
    """A commit with its leaf number and its events as stored; one in an archive has none."""
    if not entry.events:
        return canonical({**_named(entry), "archived": True, "events": []}).encode() + b"\n"
    lines = entry.events.split(b"\n")
    found = changes(entry.first_seq, [json.loads(line) for line in lines])
    return b'{%s"events":[%s],%s\n' % (
        b'"changes":%s,' % canonical(found).encode() if found else b"",
        b",".join(lines),
        canonical(_named(entry))[1:].encode(),
    )


def _named(entry: SealedCommit) -> dict[str, Any]:
    """What a leaf covers, and where it stands."""
    return {
        "first_seq": entry.first_seq,
        "head": text_of_hash(entry.head),
        "number": entry.number,
        "stream": entry.stream,
        "version": entry.version,
    }


def checkpoint_line(checkpoint: Checkpoint) -> bytes:
    """A checkpoint; checkpoints come last, newest first."""
    return canonical({"checkpoint": checkpoint.document()}).encode() + b"\n"


def changes(first_seq: int, events: list[Any]) -> list[dict[str, Any]]:
    """The changes by users in these events, each with its seq."""
    found = ((seq, change_of(event)) for seq, event in enumerate(events, first_seq))
    return [{"seq": seq, **change} for seq, change in found if change is not None]
