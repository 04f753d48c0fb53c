"""The hunt: one tampering at a time on a fresh copy, and whether it was found and named."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from daemon.verification.exports import verify_export
from daemon.verification.findings import AuditFinding
from daemon.verification.runs import verify_run
from daemon.verification.stores import verify_store
from tests.audit import tampering
from tests.audit.past import Past, plain_copy
from tests.audit.tampering_exports import EXPORT_TAMPERINGS
from tests.audit.tampering_runs import RUN_TAMPERINGS

KINDS = (*tampering.TAMPERINGS, *EXPORT_TAMPERINGS, *RUN_TAMPERINGS, "rolled_back", "rolled_back_export", "rewritten")


@dataclass(frozen=True)
class Caught:
    """A tampering and what was found of it."""

    kind: str
    seed: int
    found: bool
    named: bool
    findings: list[AuditFinding]


def hunt(past: Past, folder: Path, count: int, seed: int = 0) -> Iterator[Caught]:
    """Tamper so many times, each kind in turn."""
    for number in range(seed, seed + count):
        yield once(past, folder / "tampered.db", number)


def once(past: Past, path: Path, seed: int) -> Caught:
    """The tampering of that number."""
    rng, kind = random.Random(seed), KINDS[seed % len(KINDS)]
    if kind in tampering.TAMPERINGS or kind == "rewritten":
        work = tampering.rewritten_with_the_key if isinstance(kind, str) else kind
        with closing(plain_copy(past, path)) as db:
            names = work(db, rng, past)
        against = list(past.kept.values()) if kind == "rewritten" else []
        return caught(kind, seed, list(verify_store(path, past.keys, against, commit_keys=past.commit_keys)), names)
    if kind in RUN_TAMPERINGS:
        run_id, other = rng.sample(sorted(past.runs), 2)
        raw = kind(past.runs[run_id], rng, past.runs[other])
        if raw == past.runs[run_id]:
            return caught(
                kind, seed, [AuditFinding("unchanged", "the file", "nothing was tampered with")], {"the file"}
            )
        return caught(kind, seed, list(verify_run(raw, past.keys)), {"the file", "run ", "checkpoint"})
    company = rng.choice(sorted(past.kept))
    if kind == "rolled_back":
        plain_copy(past, path, past.earlier).close()
        return caught(kind, seed, list(verify_store(path, past.keys, [past.kept[company]])), {"rolled_back", company})
    other = next(one for one in past.kept if one != company)
    if kind == "rolled_back_export":
        lines = past.earlier_exports[company]
    else:
        lines = kind(past.exports[company], rng, past.exports[other])  # type: ignore[operator]
    if lines == past.exports[company]:
        return caught(kind, seed, [AuditFinding("unchanged", "line", "nothing was tampered with")], {"line"})
    findings = list(verify_export(lines, past.keys, [past.kept[company]]))
    return caught(
        kind, seed, findings, {"line", company, "run-", "busy-", "old-", "redacted-", "action-", "checkpoint"}
    )


def caught(kind: object, seed: int, findings: list[AuditFinding], names: set[str]) -> Caught:
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", "?")
    named = any(token in f"{one.kind} {one.where}" for one in findings for token in names)
    return Caught(name, seed, bool(findings), named, findings)
