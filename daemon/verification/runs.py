"""Verification of a run's evidence with the public keys alone: chain, receipts and redactions."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from actors.core.canonical import canonical
from daemon.audit.evidence import (
    ATTRIBUTION,
    EVENT,
    RunEvidence,
    VerdictReader,
    attribution_of,
    chained_event,
    change_of,
    read_evidence,
    without_kind,
)
from daemon.model import merkle
from daemon.model.chain import extended, genesis, hash_of_text, hashes, text_of_hash
from daemon.model.commitments.salted import REDACTED, Redacted, holds_redacted, values
from daemon.model.evidence import StoredCheckpoint, leaf
from daemon.verification.findings import AuditFinding, Counts, titled, wrong_signature


class ReceiptCheck:
    """Finds the verdict of a receipt while the evidence is read, and compares them."""

    def __init__(self, receipt: Mapping[str, Any]) -> None:
        """ValueError when it does not name company, run and verdict."""
        self._said = dict(receipt)
        names = [self._said.get(name) for name in ("company_id", "run_id", "verdict_id")]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("the receipt does not name company_id, run_id and verdict_id")
        self._reader = VerdictReader(*map(str, names))

    def read_events(self, stream: str, first: int, events: Sequence[Mapping[str, Any]], previous: bytes) -> None:
        """Read events of a stream behind the hash of the one before them."""
        if stream != self._reader.run_id:
            return
        lines = [canonical(event).encode() for event in events]
        for seq, (event, digest) in enumerate(zip(events, hashes(previous, lines), strict=True), first):
            self._reader.read_event(seq, event, previous, digest)
            previous = digest

    def findings(self, company: str | None) -> Iterator[AuditFinding]:
        """What is wrong with the receipt, once all is read."""
        reader = self._reader
        where = f"receipt of verdict {reader.verdict_id}"
        if company != reader.company_id:
            yield AuditFinding("receipt", where, f"it is of another company than the evidence, {company!r}")
        elif reader.receipt is None:
            yield AuditFinding("receipt", where, f"run {reader.run_id} has no such verdict here")
        else:
            for name in sorted({*self._said, *reader.receipt}):
                said, found = self._said.get(name), reader.receipt.get(name)
                if name in reader.redacted and name in self._said:
                    continue  # what was said there is gone
                if name not in self._said or name not in reader.receipt or said != found:
                    yield AuditFinding("receipt", where, f"its {name} is not what the history says")


class _Place(NamedTuple):
    """A value: company, run, event, and its JSON pointer in that."""

    company_id: str
    run_id: str
    seq: int
    path: str

    @property
    def where(self) -> str:
        return f"run {self.run_id}, event {self.seq}, {self.path}"


class Redactions:
    """What histories have in place of values, and what logs say of it."""

    def __init__(self) -> None:
        self._found: dict[_Place, tuple[str, str]] = {}
        self._logged: dict[_Place, tuple[str, str]] = {}
        self._strange: list[AuditFinding] = []
        self._records = 0

    def read_commit(self, key: tuple[str, str], first_seq: int, events: bytes) -> None:
        """Note what is redacted in the events of a commit."""
        if not holds_redacted(events):
            return
        for seq, line in enumerate(events.split(b"\n"), first_seq):
            if line.startswith(REDACTED):
                try:
                    self._line(key, seq, line)
                except (ValueError, KeyError) as error:
                    self._strange.append(
                        AuditFinding("redaction", f"run {key[1]}, event {seq}", f"it is damaged: {error!r}")
                    )

    def _line(self, key: tuple[str, str], seq: int, line: bytes) -> None:
        said, held = Redacted.read(line), values(line)
        if said.salts.keys() != held.keys() or not said.gone.keys() <= held.keys():
            raise ValueError("it names other values than the event has")
        for path, was in said.gone.items():
            self._found[_Place(*key, seq, path)] = (was, said.now(path, held[path]))

    def record(self, company_id: str, event: Mapping[str, Any]) -> None:
        """Note what a log says was redacted, as the event is stored."""
        self._records += 1
        for one in event["places"]:
            place = _Place(company_id, event["run_id"], one["seq"], one["path"])
            first, _ = self._logged.get(place, (one["was"], ""))
            self._logged[place] = (first, one["now"])
            if first != one["was"]:
                what = "a later record has another commitment to what stood there at first"
                self._strange.append(AuditFinding("redaction", place.where, what))

    def findings(self, counts: Counts, gone: Collection[str] = ()) -> Iterator[AuditFinding]:
        """What does not fit; of runs whose events are `gone` nothing can be compared."""
        counts.update({"redactions": self._records} if self._records else {})
        yield from self._strange
        for place, found in sorted(self._found.items()):
            logged = self._logged.get(place)
            if logged is None:
                yield AuditFinding(
                    "redaction", place.where, "the value was removed, and no log says that it was redacted"
                )
            elif found[0] != logged[0]:
                yield AuditFinding(
                    "redaction", place.where, "the value that was removed is not the one that the log says"
                )
            elif found != logged:
                yield AuditFinding(
                    "redaction", place.where, "what stands in place of the value is not what the log says"
                )
        for place in sorted(self._logged.keys() - self._found.keys()):
            if place.run_id not in gone:
                yield AuditFinding("redaction", place.where, "the log says that it was redacted, and it is not")


BEGINNING_BYTES = 64
_BEGINS = re.compile(rb'\s*\{\s*"(?:events|checkpoint|head|leaf|proof|run_id|version)"\s*:')


def is_run(beginning: bytes) -> bool:
    """Whether a file that begins so is the evidence of one run."""
    return _BEGINS.match(beginning) is not None


def verify_run(
    raw: bytes,
    keys: Mapping[str, bytes],
    against: Sequence[StoredCheckpoint] = (),
    counts: Counts | None = None,
    receipt: ReceiptCheck | None = None,
) -> Iterator[AuditFinding]:
    try:
        document = json.loads(raw)
        said = read_evidence(document)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        yield AuditFinding("form", "the file", f"it is no evidence of a run: {error!r}")
        return
    chain = _Chain(said, document["events"], receipt)
    yield from chain.findings()
    yield from _covered(said, document["leaf"])
    yield from _redacted(said, chain.redactions, Counts() if counts is None else counts)
    yield from wrong_signature(said.checkpoint, keys)
    if replace(said, events=chain.written).serialize() != raw:
        yield AuditFinding("form", f"run {said.run_id}", "the file is not byte for byte what the service wrote")
    if receipt is not None:
        yield from receipt.findings(said.checkpoint.company)
    for one in against:
        yield from _against(said.checkpoint, one, keys)
    if counts is not None:
        counts["events"] += len(chain.written)
        counts["checkpoints"] += 1


def sentence(raw: bytes) -> str:
    said = read_evidence(json.loads(raw))
    top = said.checkpoint
    return (
        f"run {said.run_id} of company {top.company}, from its start to event {said.version}, as of {top.at}: "
        f"unchanged since a checkpoint over {top.size} commits was signed with the key {top.key_id}"
    )


def comparable(raw: bytes, against: Sequence[StoredCheckpoint]) -> Sequence[StoredCheckpoint]:
    """The checkpoints that can be compared with a run's evidence; ValueError when none can.

    A run's evidence proves its own checkpoint only.
    """
    try:
        top = read_evidence(json.loads(raw)).checkpoint
    except (ValueError, TypeError, KeyError, RecursionError):
        return against
    found = [one for one in against if one.company != top.company or one.size == top.size]
    if against and not found:
        raise ValueError(
            f"none of the kept checkpoints is of size {top.size} as that of this run: verify an export against them"
        )
    return found


@dataclass(slots=True)
class _Chain:
    said: RunEvidence
    events: Any
    receipt: ReceiptCheck | None = None
    written: list[bytes] = field(default_factory=list)
    redactions: Redactions = field(default_factory=Redactions)

    def findings(self) -> Iterator[AuditFinding]:
        where = f"run {self.said.run_id}"
        try:
            first, head = self._begun()
            for seq, one in enumerate(self.events, first):
                before = head
                line = canonical(one["event"]).encode()
                self.redactions.read_commit((self.said.checkpoint.company, self.said.run_id), seq, line)
                head = extended(before, [line])
                yield from self._event(seq, one, before, head)
                if self.receipt is not None:
                    self.receipt.read_events(self.said.run_id, seq, [one["event"]], before)
                self.written.append(chained_event(seq, line, before, head, earlier=ATTRIBUTION.isdisjoint(one)))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            yield AuditFinding(
                "chain", f"{where}, event {len(self.written) + 1}", f"it is no event of a run: {error!r}"
            )
            return
        last = first + len(self.written) - 1
        if first > 1 or last != self.said.version:
            what = f"it holds the events {first} to {last} of {self.said.version}: a page is no evidence of a whole run"
            yield AuditFinding("part", where, what)
        elif head != self.said.head:
            yield AuditFinding("chain", where, "its head is not the hash of its last event")

    def _begun(self) -> tuple[int, bytes]:
        """Number of the first event and the hash before it; for a whole run, the genesis hash."""
        own = genesis(self.said.checkpoint.company, self.said.run_id)
        if not self.events or self.events[0]["seq"] == 1:
            return 1, own
        return int(self.events[0]["seq"]), hash_of_text(self.events[0]["previous"])

    def _event(self, seq: int, one: Any, before: bytes, head: bytes) -> Iterator[AuditFinding]:
        where = f"run {self.said.run_id}, event {seq}"
        who = {name: one[name] for name in ATTRIBUTION if name in one}  # earlier versions did not say it
        if set(one) - ATTRIBUTION != EVENT or one["seq"] != seq:
            yield AuditFinding("chain", where, "an event is missing, moved, or has other members")
        if (one["previous"], one["hash"]) != (text_of_hash(before), text_of_hash(head)):
            yield AuditFinding("chain", where, "the hash chain does not fit the event")
        if who and who != attribution_of(one["event"]):
            yield AuditFinding("changes", where, "it is not by the one whom its event names")
        change = change_of(one["event"])
        if one["change"] != (change if who else without_kind(change)):
            yield AuditFinding("changes", where, "the change is not that of its event")


def _covered(said: RunEvidence, leaf: Mapping[str, Any]) -> Iterator[AuditFinding]:
    """The findings when the checkpoint does not cover the run's last commit."""
    where, top = f"run {said.run_id}, leaf {said.number}", said.checkpoint
    if leaf.get("hash") != text_of_hash(said.leaf):
        yield AuditFinding("leaf", where, "it is not the leaf of the run's last commit")
    try:
        proven = merkle.includes(said.number, top.size, said.leaf, said.proof, hash_of_text(top.root))
    except ValueError:
        proven = False
    if not proven:
        yield AuditFinding("proof", where, f"it does not lead to the root of the {titled(top)}")


def _redacted(said: RunEvidence, found: Redactions, counts: Counts) -> Iterator[AuditFinding]:
    """The findings where a value is gone without a record that the checkpoint covers."""
    top = said.checkpoint
    for one in said.redactions:
        where, event = f"run {said.run_id}, record {one.version}", json.loads(one.event)
        if event.get("type") != "run_redacted" or event.get("run_id") != said.run_id:
            yield AuditFinding("redaction", where, "it is no record of a redaction of this run")
            continue
        made = leaf(top.company, one.version, extended(one.previous, [one.event]))
        try:
            proven = merkle.includes(one.number, top.size, made, one.proof, hash_of_text(top.root))
        except ValueError:
            proven = False
        if proven:
            found.record(top.company, event)
        else:
            yield AuditFinding("proof", where, f"it does not lead to the root of the {titled(top)}")
    yield from found.findings(counts)


def _against(top: StoredCheckpoint, kept: StoredCheckpoint, keys: Mapping[str, bytes]) -> Iterator[AuditFinding]:
    """The findings when a checkpoint differs from the one that was stored elsewhere."""
    yield from wrong_signature(kept, keys)
    if kept.company != top.company:
        yield AuditFinding("against", titled(kept), f"the run is of the company {top.company!r}")
    elif kept.root != top.root:
        yield AuditFinding("rewritten", titled(kept), "the history here is not the one that the kept checkpoint covers")
