"""Verification of a verdict's receipt against the chain of its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actors.core.canonical import canonical
from daemon.audit.receipts import VerdictReader
from daemon.model.chain import hashes
from daemon.verification.findings import Finding


class ReceiptCheck:
    """Finds the verdict of a receipt while the evidence is read, and compares them."""

    def __init__(self, receipt: Mapping[str, Any]) -> None:
        """ValueError when it does not name company, run and verdict."""
        self._said = dict(receipt)
        names = [self._said.get(name) for name in ("company_id", "run_id", "verdict_id")]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("the receipt does not name company_id, run_id and verdict_id")
        self._reader = VerdictReader(*map(str, names))

    def take(self, stream: str, first: int, events: Sequence[Mapping[str, Any]], previous: bytes) -> None:
        """Read events of a stream behind the hash of the one before them."""
        if stream != self._reader.run_id:
            return
        lines = [canonical(event).encode() for event in events]
        for seq, (event, digest) in enumerate(zip(events, hashes(previous, lines), strict=True), first):
            self._reader.take(seq, event, previous, digest)
            previous = digest

    def findings(self, company: str | None) -> Iterator[Finding]:
        """What is wrong with the receipt, once all is read."""
        reader = self._reader
        where = f"receipt of verdict {reader.verdict_id}"
        if company != reader.company_id:
            yield Finding("receipt", where, f"it is of another company than the evidence, {company!r}")
        elif reader.receipt is None:
            yield Finding("receipt", where, f"run {reader.run_id} has no such verdict here")
        else:
            for name in sorted({*self._said, *reader.receipt}):
                said, found = self._said.get(name), reader.receipt.get(name)
                if name in reader.redacted and name in self._said:
                    continue  # what was said there is gone
                if name not in self._said or name not in reader.receipt or said != found:
                    yield Finding("receipt", where, f"its {name} is not what the history says")
