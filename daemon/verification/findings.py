"""Findings of a verification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from daemon.model import merkle
from daemon.model.chain import text_of_hash
from daemon.model.evidence import StoredCheckpoint

Counts = Counter[str]


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One deviation from what was written."""

    kind: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.what}"


class Tree:
    """Complete nodes in memory, computed from the leaves."""

    def __init__(self) -> None:
        self.size = 0
        self._levels: list[bytearray] = []

    def append(self, leaf: bytes) -> None:
        for level, _, digest in merkle.completed(self.size, leaf, self.node):
            if level == len(self._levels):
                self._levels.append(bytearray())
            self._levels[level] += digest
        self.size += 1

    def node(self, level: int, number: int) -> bytes:
        width = len(merkle.EMPTY)
        return bytes(self._levels[level][number * width : (number + 1) * width])


def wrong_signature(one: StoredCheckpoint, keys: Mapping[str, bytes]) -> Iterator[AuditFinding]:
    where = titled(one)
    if one.key_id not in keys:
        yield AuditFinding("signature", where, f"the key {one.key_id} is not among those to trust")
    elif not one.genuine(keys):
        yield AuditFinding("signature", where, "the signature does not fit what it signs")


def wrong_root(one: StoredCheckpoint, size: int, node: merkle.Node) -> Iterator[AuditFinding]:
    """The findings when a checkpoint is not of this tree."""
    if not 0 < one.size <= size:
        yield AuditFinding("checkpoint", titled(one), f"it covers {one.size} commits, and there are {size}")
        return
    try:
        root = text_of_hash(merkle.root(one.size, node))
    except (KeyError, IndexError):
        yield AuditFinding("checkpoint", titled(one), "a node of the tree below it is missing")
        return
    if root != one.root:
        what = "its root is not that of the commits: one of them was changed or moved"
        yield AuditFinding("checkpoint", titled(one), what)


def wrong_against(
    one: StoredCheckpoint, keys: Mapping[str, bytes], size: int, node: merkle.Node
) -> Iterator[AuditFinding]:
    """The findings when a tree does not extend a checkpoint that was stored elsewhere."""
    yield from wrong_signature(one, keys)
    if one.size > size:
        what = f"the kept checkpoint covers {one.size} commits and here are {size}: the history was rolled back"
        yield AuditFinding("rolled_back", titled(one), what)
    elif any(True for _ in wrong_root(one, size, node)):
        yield AuditFinding("rewritten", titled(one), "the history here is not the one that the kept checkpoint covers")


def wrong_previous(one: StoredCheckpoint, before: StoredCheckpoint | None) -> Iterator[AuditFinding]:
    """The findings when a checkpoint does not follow the one before it."""
    if before is not None and one.size <= before.size:
        yield AuditFinding("checkpoint", titled(one), f"it comes after one of size {before.size}")
    if one.previous != (None if before is None else before.root):
        what = "it does not name the checkpoint before: one is missing or was changed"
        yield AuditFinding("checkpoint", titled(one), what)


def titled(one: StoredCheckpoint) -> str:
    return f"company {one.company!r}, checkpoint of size {one.size}"


def called(stream: str) -> str:
    """A stream's name in a finding; the service's own log has none."""
    return stream or "''"
