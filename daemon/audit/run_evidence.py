"""The evidence of one run: its chain, and the proof that a checkpoint covers its end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from actors.core.canonical import canonical
from daemon.audit.changes import attribution_of, change_of, without_kind
from daemon.model.chain import ChainWalk, hash_of_text, hashes, text_of_hash
from daemon.model.evidence import Checkpoint, Proof, ProvenRecord, SealedCommit, checkpoint, leaf

MEMBERS = {"checkpoint", "events", "head", "leaf", "proof", "run_id", "version"}
RECORD = {"event", "number", "previous", "proof", "version"}
EVENT = {"change", "event", "hash", "previous", "seq"}
ATTRIBUTION = frozenset({"by", "by_kind", "on_behalf_of"})


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """The evidence of a run: its events as stored, and the proof of the last one."""

    run_id: str
    events: Sequence[bytes]
    version: int
    head: bytes
    number: int
    proof: Sequence[bytes]
    checkpoint: Checkpoint
    redactions: Sequence[ProvenRecord] = ()

    @property
    def leaf(self) -> bytes:
        return leaf(self.run_id, self.version, self.head)

    def written(self) -> bytes:
        rest = {
            "checkpoint": self.checkpoint.document(),
            "head": text_of_hash(self.head),
            "leaf": {"hash": text_of_hash(self.leaf), "number": self.number},
            "proof": [digest.hex() for digest in self.proof],
            "run_id": self.run_id,
            "version": self.version,
        }
        if self.redactions:
            rest["redactions"] = [_record(one) for one in self.redactions]
        return b'{"events":[%s],%s' % (b",".join(self.events), canonical(rest)[1:].encode())


def _record(one: ProvenRecord) -> dict[str, Any]:
    return {
        "event": json.loads(one.event),
        "number": one.number,
        "previous": text_of_hash(one.previous),
        "proof": [digest.hex() for digest in one.proof],
        "version": one.version,
    }


def _read_record(one: Any) -> ProvenRecord:
    if set(one) != RECORD or type(one["number"]) is not int or type(one["version"]) is not int:
        raise ValueError(f"a record of a redaction has the members {', '.join(sorted(RECORD))}")
    proof = [bytes.fromhex(digest) for digest in one["proof"]]
    return ProvenRecord(
        one["number"], one["version"], hash_of_text(one["previous"]), canonical(one["event"]).encode(), proof
    )


def evidence(run_id: str, proven: Proof, after: int = 0, limit: int | None = None) -> RunEvidence:
    """Evidence of a run, at most `limit` events; HistoryBroken if they do not fit their chain."""
    begun = proven.commits[0].first_seq - 1 if proven.commits else 0
    events = list(walked(ChainWalk(run_id, proven.before, begun), proven.commits))
    events, last = events[max(0, after - begun) :][:limit], proven.last
    return RunEvidence(
        run_id, events, last.version, last.head, last.number, proven.proof, proven.checkpoint, proven.redactions
    )


def walked(walk: ChainWalk, commits: Iterable[SealedCommit]) -> Iterator[bytes]:
    """The events of commits with their hashes; HistoryBroken when they do not fit the chain."""
    for one in commits:
        previous, lines = walk.head, walk.take(one.first_seq, one.version, one.head, one.events)
        for seq, (line, digest) in enumerate(zip(lines, hashes(previous, lines), strict=True), one.first_seq):
            yield chained(seq, line, previous, digest)
            previous = digest


def chained(seq: int, line: bytes, previous: bytes, digest: bytes, *, earlier: bool = False) -> bytes:
    """An event with its place in the chain, as stored; perhaps in the form of earlier versions."""
    event = json.loads(line)
    change, place = change_of(event), {"hash": text_of_hash(digest), "previous": text_of_hash(previous), "seq": seq}
    who = {"change": without_kind(change)} if earlier else {"change": change, **attribution_of(event)}
    if "on_behalf_of" in who:
        place["on_behalf_of"] = who.pop("on_behalf_of")
    return b'%s,"event":%s,%s' % (canonical(who)[:-1].encode(), line, canonical(place)[1:].encode())


def read(document: Any) -> RunEvidence:
    """Parse a document without its events; ValueError, TypeError or KeyError when it is invalid."""
    if not isinstance(document, dict) or set(document) - {"redactions"} != MEMBERS:
        raise ValueError(f"the evidence of a run has the members {', '.join(sorted(MEMBERS))}")
    if type(document["version"]) is not int or type(document["leaf"]["number"]) is not int:
        raise ValueError("a member is of the wrong type")
    json.dumps(document, ensure_ascii=False).encode()  # half a surrogate pair is a ValueError, too
    return RunEvidence(
        str(document["run_id"]),
        (),
        document["version"],
        hash_of_text(document["head"]),
        document["leaf"]["number"],
        [bytes.fromhex(one) for one in document["proof"]],
        checkpoint(document["checkpoint"]),
        [_read_record(one) for one in document.get("redactions", ())],
    )
