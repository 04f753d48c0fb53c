"""The lines of an export, in canonical JSON, so that every changed byte is detected."""

from __future__ import annotations

import json
from typing import Any

from actors.core.canonical import canonical
from daemon.audit.changes import change_of
from daemon.model.chain import text_of_hash
from daemon.model.evidence import Checkpoint, SealedCommit

FORMAT = "penstock-audit-1"


def manifest(company_id: str, size: int) -> bytes:
    """The first line: the company and the number of commits."""
    return canonical({"company": company_id, "format": FORMAT, "size": size}).encode() + b"\n"


def entry_line(entry: SealedCommit) -> bytes:
    """A commit with its leaf number and its events as stored."""
    lines = entry.events.split(b"\n")
    found = changes(entry.first_seq, [json.loads(line) for line in lines])
    return b'{%s"events":[%s],%s\n' % (
        b'"changes":%s,' % canonical(found).encode() if found else b"",
        b",".join(lines),
        canonical(
            {
                "first_seq": entry.first_seq,
                "head": text_of_hash(entry.head),
                "number": entry.number,
                "stream": entry.stream,
                "version": entry.version,
            }
        )[1:].encode(),
    )


def checkpoint_line(checkpoint: Checkpoint) -> bytes:
    """A checkpoint; checkpoints come last, newest first."""
    return canonical({"checkpoint": checkpoint.document()}).encode() + b"\n"


def changes(first_seq: int, events: list[Any]) -> list[dict[str, Any]]:
    """The changes by users in these events, each with its seq."""
    found = ((seq, change_of(event)) for seq, event in enumerate(events, first_seq))
    return [{"seq": seq, **change} for seq, change in found if change is not None]
