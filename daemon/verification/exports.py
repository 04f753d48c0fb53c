"""Verification of an export with the public keys alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from actors.core.canonical import canonical
from daemon.audit import evidence
from daemon.audit.evidence import without_kind
from daemon.model.chain import ChainWalk, HistoryBroken, genesis, hash_of_text, text_of_hash
from daemon.model.evidence import StoredCheckpoint, checkpoint, leaf
from daemon.verification.findings import (
    AuditFinding,
    Counts,
    Tree,
    titled,
    wrong_against,
    wrong_previous,
    wrong_root,
    wrong_signature,
)
from daemon.verification.runs import ReceiptCheck, Redactions

ARCHIVED = "run_archived"
REDACTED = "run_redacted"
ENTRY = {"events", "first_seq", "head", "number", "stream", "version"}
UNNAMED = {"leaf", "number", "withheld"}


def verify_export(
    lines: Iterable[bytes],
    keys: Mapping[str, bytes],
    against: Sequence[StoredCheckpoint] = (),
    counts: Counts | None = None,
    receipt: ReceiptCheck | None = None,
) -> Iterator[AuditFinding]:
    reading = _Export(keys, Counts() if counts is None else counts, receipt)
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line)
            sound = canonical(value).encode() + b"\n" == line
        except (ValueError, TypeError, RecursionError) as error:
            yield AuditFinding("line", f"line {number}", f"it is not JSON: {error}")
            reading.pass_over()
            continue
        if not sound:
            yield AuditFinding("line", f"line {number}", "it is not the canonical JSON of what it says")
        try:
            yield from reading.read_line(number, value)
        except (ValueError, TypeError, KeyError) as error:
            yield AuditFinding("line", f"line {number}", f"it is none of an export: {error!r}")
    yield from reading.end(against)


class _Export:
    def __init__(self, keys: Mapping[str, bytes], counts: Counts, receipt: ReceiptCheck | None) -> None:
        self._keys = keys
        self._receipt = receipt
        self._tally = counts
        self._company: str | None = None
        self._size = 0
        self._walks: dict[str, ChainWalk] = {}
        self._tree = Tree()
        self._next = 0
        self._missing = 0
        self._is_whole = True
        self._later: StoredCheckpoint | None = None
        self._gone: dict[str, ChainWalk] = {}
        self._withheld: dict[str, ChainWalk] = {}
        self._named: dict[str, Any] = {}
        self._redactions = Redactions()

    def read_line(self, number: int, value: Any) -> Iterator[AuditFinding]:
        if number == 1:
            if set(value) != {"company", "format", "size"} or value["format"] != evidence.FORMAT:
                yield AuditFinding("manifest", "line 1", f"it is not the manifest of a {evidence.FORMAT} export")
            self._company, self._size = str(value["company"]), int(value["size"])
        elif set(value) == {"checkpoint"}:
            yield from self._checkpoint(checkpoint(value["checkpoint"]))
        elif set(value) - {"archived", "changes", "withheld"} == ENTRY and self._later is None:
            yield from self._entry(value)
        elif set(value) == UNNAMED and value["withheld"] is True and self._later is None:
            yield from self._in_order(value["number"], "a commit of a run that is not named")
            self._tree.append(hash_of_text(value["leaf"]))
            self._tally.update(["commits", "withheld commits"])
        else:
            yield AuditFinding("line", f"line {number}", "it is neither a commit nor a checkpoint, or out of place")

    def pass_over(self) -> None:
        """A line that was told of: what follows from its absence is not told of again."""
        self._next += 1
        self._missing += 1
        self._is_whole = False

    def _entry(self, value: dict[str, Any]) -> Iterator[AuditFinding]:
        stream, version, first = value["stream"], value["version"], value["first_seq"]
        where = f"{stream}, events {first} to {version}"
        yield from self._in_order(value["number"], where)
        head = hash_of_text(value["head"])
        walk = self._walks.setdefault(stream, ChainWalk(stream, genesis(self._company or "", stream)))
        if gone := {"withheld", "archived"} & set(value):
            yield from (self._left_out if "withheld" in gone else self._archived)(value, walk, head)
            return
        if stream == self._company:
            self._log(value["events"])
        if self._receipt is not None:
            self._receipt.read_events(stream, first, value["events"], walk.head)
        lines = "\n".join(map(canonical, value["events"])).encode()
        try:
            walk.read_commit(first, version, head, lines)
        except HistoryBroken as broken:
            if not self._is_gap(first, walk):
                yield AuditFinding("chain", f"{stream}, event {broken.seq}", broken.what)
            walk.seq, walk.head = version, head
        self._redactions.read_commit((self._company or "", stream), first, lines)
        changes = evidence.changes(first, value["events"])
        if value.get("changes", []) not in (changes, [without_kind(one) for one in changes]):
            yield AuditFinding("changes", where, "the changes are not those of its events")
        self._tree.append(leaf(stream, version, head))
        self._tally["commits"] += 1
        self._tally["events"] += len(value["events"])

    def _in_order(self, number: int, where: str) -> Iterator[AuditFinding]:
        if number != self._next:
            what = f"it is number {number} where {self._next} was expected: one is missing or moved"
            yield AuditFinding("order", where, what)
            self._missing += max(0, number - self._next)
            self._is_whole = False
        self._next = number + 1

    def _is_gap(self, first: int, walk: ChainWalk) -> bool:
        """Whether a history lacks what a missing line had, which was told of."""
        if self._missing == 0 or first <= walk.seq + 1:
            return False
        self._missing -= 1
        return True

    def _log(self, events: Sequence[Any]) -> None:
        """What the company's log says of histories that are not whole."""
        for one in events:
            if one["type"] == ARCHIVED:
                self._named[one["form"]["run_id"]] = one["form"]
            elif one["type"] == REDACTED:
                self._redactions.record(self._company or "", one)

    def _archived(self, value: dict[str, Any], walk: ChainWalk, head: bytes) -> Iterator[AuditFinding]:
        """A commit whose events are in an archive: its hash is compared with the tree alone."""
        stream, version = value["stream"], value["version"]
        if value["archived"] is not True or value["events"] or "changes" in value or stream == self._company:
            yield AuditFinding("archived", f"{stream}, up to event {version}", "it is no commit of an archived run")
        try:
            walk.pass_over(value["first_seq"], version, head)
        except HistoryBroken as broken:
            if not self._is_gap(value["first_seq"], walk):
                yield AuditFinding("chain", f"{stream}, event {broken.seq}", broken.what)
            walk.seq, walk.head = version, head
        self._gone[stream] = walk
        self._tree.append(leaf(stream, version, head))
        self._tally["commits"] += 1

    def _left_out(self, value: dict[str, Any], walk: ChainWalk, head: bytes) -> Iterator[AuditFinding]:
        """A commit that the export leaves out: its hash is compared with the tree."""
        stream, version = value["stream"], value["version"]
        if value["withheld"] is not True or value["events"] or set(value) & {"archived", "changes"}:
            yield AuditFinding("withheld", f"{stream}, up to event {version}", "it is withheld and says something")
        try:
            walk.pass_over(value["first_seq"], version, head)
        except HistoryBroken as broken:
            if not self._is_gap(value["first_seq"], walk):
                yield AuditFinding("chain", f"{stream}, event {broken.seq}", broken.what)
            walk.seq, walk.head = version, head
        self._withheld[stream] = walk
        self._tree.append(leaf(stream, version, head))
        self._tally["commits"] += 1

    def _unexplained(self) -> Iterator[AuditFinding]:
        """The runs without events of which the company's log knows no such archive."""
        for stream, walk in self._gone.items():
            form = self._named.get(stream)
            if form is None:
                yield AuditFinding(
                    "archived", f"run {stream}", "its events are missing, and no log says that it was archived"
                )
            elif (form["version"], form["head"]) != (walk.seq, text_of_hash(walk.head)):
                what = "its hashes do not end with the one that the log has of the archive"
                yield AuditFinding("archived", f"run {stream}", what)
        self._tally.update({"archived runs": len(self._gone)} if self._gone else {})
        self._tally.update({"withheld histories": len(self._withheld)} if self._withheld else {})

    def _checkpoint(self, one: StoredCheckpoint) -> Iterator[AuditFinding]:
        """The newest comes first, so each must be the predecessor of the one above."""
        if one.company != self._company:
            yield AuditFinding("checkpoint", titled(one), f"the export is of the company {self._company!r}")
        if self._later is None and one.size != self._size:
            yield AuditFinding(
                "checkpoint", titled(one), f"the export has {self._size} commits: the last one is missing"
            )
        if self._later is not None:
            yield from wrong_previous(self._later, one)
        yield from wrong_signature(one, self._keys)
        yield from self._counted()
        if self._is_whole:
            yield from wrong_root(one, self._tree.size, self._tree.node)
        self._later = one
        self._tally["checkpoints"] += 1

    def _counted(self) -> Iterator[AuditFinding]:
        """Commits that are missing at the end, told once."""
        if self._is_whole and self._tree.size != self._size:
            what = f"{self._size} commits were announced, and {self._tree.size} are here"
            yield AuditFinding("manifest", f"company {self._company!r}", what)
            self._is_whole = False

    def end(self, against: Sequence[StoredCheckpoint]) -> Iterator[AuditFinding]:
        if self._company is None:
            yield AuditFinding("manifest", "line 1", "the export is empty")
            return
        yield from self._counted()
        yield from self._unexplained()
        yield from self._redactions.findings(self._tally, {**self._gone, **self._withheld})
        if self._later is not None:
            yield from wrong_previous(self._later, None)
        elif self._tree.size:
            yield AuditFinding("checkpoint", f"company {self._company!r}", "no checkpoint covers the commits")
        if self._receipt is not None:
            yield from self._receipt.findings(self._company)
        for one in against:
            if one.company != self._company:
                yield AuditFinding("against", titled(one), f"the export is of the company {self._company!r}")
            elif self._is_whole:
                yield from wrong_against(one, self._keys, self._tree.size, self._tree.node)
