"""The hash chain of a stream: each event's hash covers the one before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from json import JSONEncoder

from actors.ports import StoreFailed
from daemon.model.commitments.salted import SALTED, hashed

PREFIX = "sha256:"
quoted = JSONEncoder(ensure_ascii=False).encode


class HistoryBroken(StoreFailed):
    """A stored history was altered; names the stream, the event and the error."""

    def __init__(self, stream: str, seq: int, what: str) -> None:
        super().__init__(f"The history of {stream} could not be read: at event {seq} {what}.", "not_applied")
        self.stream = stream
        self.seq = seq
        self.what = what


class CommitForged(HistoryBroken):
    """A commit that the service did not write: its MAC is missing or wrong."""

    def __init__(self, company_id: str, stream: str, seq: int, what: str) -> None:
        super().__init__(stream, seq, what)
        self.company_id = company_id


def genesis(company_id: str, stream: str) -> bytes:
    """The hash before the first event, made of the stream's name, so that it cannot be moved."""
    # The canonical JSON of {"company", "stream"}, written out since every run begins with it.
    return hashlib.sha256(f'{{"company":{quoted(company_id)},"stream":{quoted(stream)}}}'.encode()).digest()


def hashes(head: bytes, lines: Iterable[bytes]) -> Iterator[bytes]:
    """The hash of each event after a head, in order."""
    for line in lines:
        head = extended(head, (line,))
        yield head


def extended(head: bytes, lines: Iterable[bytes]) -> bytes:
    """The hash of the last of these events after a head."""
    sha256 = hashlib.sha256
    for line in lines:
        head = sha256(head + (hashed(line) if line.startswith(SALTED) else line)).digest()
    return head


def digest(data: bytes) -> str:
    """The SHA-256 of a secret's sealed or hashed form, by which a log names it."""
    return text_of_hash(hashlib.sha256(data).digest())


def text_of_hash(digest: bytes) -> str:
    return PREFIX + digest.hex()


def hash_of_text(text: str) -> bytes:
    """Parse a hash; ValueError when it is invalid."""
    digest = bytes.fromhex(text.removeprefix(PREFIX))
    if text_of_hash(digest) != text or len(digest) != hashlib.sha256().digest_size:
        raise ValueError(f"{text[:80]} is no SHA-256")
    return digest


@dataclass(slots=True)
class ChainWalk:
    """The last event and hash of a stream while its commits are verified."""

    stream: str
    head: bytes
    seq: int = 0

    def pass_over(self, first_seq: int, version: int, head: bytes) -> None:
        """Go on behind a commit whose events are in an archive; its head is all that is known."""
        if first_seq != self.seq + 1 or version < first_seq:
            what = f"the next commit is that of the events {first_seq} to {version}: one is missing or out of order"
            raise HistoryBroken(self.stream, self.seq + 1, what)
        self.head, self.seq = head, version

    def read_commit(self, first_seq: int, version: int, head: bytes | None, events: bytes) -> list[bytes]:
        """Events of the next commit, one line each; HistoryBroken unless it continues the chain."""
        lines = events.split(b"\n")
        if first_seq != self.seq + 1:
            what = f"the next commit begins with event {first_seq}: events are missing or out of order"
            raise HistoryBroken(self.stream, self.seq + 1, what)
        if version != self.seq + len(lines):
            what = f"a commit up to {version} holds {len(lines)} events"
            raise HistoryBroken(self.stream, first_seq, what)
        try:
            self.head = extended(self.head, lines)
        except (ValueError, KeyError) as error:
            raise HistoryBroken(self.stream, first_seq, f"the salts of its values are damaged: {error!r}") from None
        if self.head != head:
            raise HistoryBroken(self.stream, first_seq, "the hash chain does not fit the events of the commit")
        self.seq = version
        return lines
