"""Leaves, signed checkpoints, and commits as they are exported."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from actors.core.canonical import canonical
from daemon.model import merkle
from daemon.model.chain import quoted, text_of_hash

SEAL_MAX = 256
"""Commits that are sealed in one piece of work, so that nobody waits long behind it."""

CHECKPOINT = ("at", "company", "key_id", "previous", "root", "signature", "size")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCheckpoint:
    """The signed root of a company's tree; `previous` is that of the checkpoint before."""

    at: str
    company: str
    key_id: str
    previous: str | None
    root: str
    signature: str
    size: int

    def document(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in CHECKPOINT}

    def genuine(self, keys: Mapping[str, bytes]) -> bool:
        key = keys.get(self.key_id)
        if key is None:
            return False
        try:
            signature = base64.b64decode(self.signature, validate=True)
            Ed25519PublicKey.from_public_bytes(key).verify(signature, signed(self.document()))
        except (InvalidSignature, ValueError):
            return False
        return base64.b64encode(signature).decode() == self.signature


def checkpoint(document: Any) -> StoredCheckpoint:
    """Parse a checkpoint; ValueError when it is invalid."""
    if not isinstance(document, dict) or tuple(sorted(document)) != CHECKPOINT:
        raise ValueError(f"a checkpoint has the members {', '.join(CHECKPOINT)}")
    texts = [document[name] for name in CHECKPOINT if name not in ("size", "previous")]
    previous, size = document["previous"], document["size"]
    fits = all(isinstance(one, str) for one in texts) and (previous is None or isinstance(previous, str))
    if not fits or type(size) is not int:
        raise ValueError("a member of the checkpoint is of the wrong type")
    return StoredCheckpoint(**document)


def signed(document: Mapping[str, Any]) -> bytes:
    """The signed bytes of a checkpoint: canonical JSON of all other members."""
    return canonical({name: value for name, value in document.items() if name != "signature"}).encode()


def leaf(stream: str, version: int, head: bytes) -> bytes:
    """The hash of a leaf: canonical JSON of head, stream and version, formatted for speed."""
    return merkle.leaf_hash(f'{{"head":"{text_of_hash(head)}","stream":{quoted(stream)},"version":{version}}}'.encode())


@dataclass(frozen=True, slots=True)
class SealedCommit:
    """A commit with its leaf number; `events` as stored."""

    number: int
    stream: str
    version: int
    first_seq: int
    head: bytes
    events: bytes
    exact: bytes | None = None


@dataclass(frozen=True, slots=True)
class ProvenRecord:
    """A commit of one event in a company's log, with the proof that a checkpoint covers it."""

    number: int
    version: int
    previous: bytes
    event: bytes
    proof: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Proof:
    """Commits of a run with the proof that the last one is covered by a checkpoint.

    `redactions` are the records of its redactions.
    """

    commits: Sequence[SealedCommit]
    before: bytes
    last: SealedCommit
    proof: Sequence[bytes]
    checkpoint: StoredCheckpoint
    redactions: Sequence[ProvenRecord] = ()


Sign = Callable[[str, int, bytes, str | None], StoredCheckpoint]
"""Signs a company's (id, size, root, root of the checkpoint before)."""


class TreeBuilder:
    """A company's tree during appends; collects the completed nodes."""

    def __init__(self, company_id: str, size: int, previous: str | None, node: merkle.Node) -> None:
        self.company_id = company_id
        self.size = size
        self.made: dict[tuple[int, int], bytes] = {}
        self._previous = previous
        self._node = node

    def append(self, leaf: bytes) -> int:
        for level, number, digest in merkle.completed(self.size, leaf, self.node):
            self.made[level, number] = digest
        self.size += 1
        return self.size - 1

    def node(self, level: int, number: int) -> bytes:
        return self.made.get((level, number)) or self._node(level, number)

    def checkpoint(self, sign: Sign) -> StoredCheckpoint:
        return sign(self.company_id, self.size, merkle.root(self.size, self.node), self._previous)
