"""Verification of the MACs of commits and snapshots, which needs their keys."""

from __future__ import annotations

from collections.abc import Iterator

from daemon.keys.commit_keys import CommitKeys
from daemon.model.chain import CommitForged
from daemon.stores.tables.audit_source import AuditSource
from daemon.verification.findings import Counts, Finding, called


def wrong_macs(source: AuditSource, keys: CommitKeys, counts: Counts) -> Iterator[Finding]:
    """The commits and snapshots that the service did not write, sealed or not."""
    if not source.has_macs():
        return
    for company_id, stream, version, first_seq, head, mac, events in source.commit_macs():
        counts["MACs"] += 1
        try:
            keys.check((company_id, stream), version, first_seq, head, mac, events=events)
        except CommitForged as forged:
            yield Finding("mac", f"{called(stream)} of {company_id!r}, event {first_seq}", forged.what)
    for company_id, run_id, version, schema, mac, body in source.snapshot_macs():
        if mac is None or not keys.made_snapshot((company_id, run_id), version, schema, body, mac):
            yield Finding("snapshot", f"run {run_id}, snapshot of version {version}", "the MAC does not fit it")
    for company_id, position in source.stopped():
        yield Finding("sealing", f"company {company_id!r}", f"it stopped before the commit at position {position}")
