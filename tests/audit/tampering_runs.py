"""Single tamperings of one run's evidence, each drawn at random; hashes are put right as far as a
forger could.
"""

from __future__ import annotations

import json
from typing import Any

from actors.core.canonical import canonical
from daemon.audit.evidence import RunEvidence, chained_event
from daemon.model.chain import extended, genesis, hash_of_text, hashes
from daemon.model.evidence import StoredCheckpoint
from tests.audit.drawing import Rng, edited, flipped

Document = dict[str, Any]


def written(document: Document, events: list[Any]) -> bytes:
    """The evidence of these events, all hashes, the leaf and the form put right: all but proof and
    signature.
    """
    top = StoredCheckpoint(**document["checkpoint"])
    lines = [canonical(one).encode() for one in events]
    begun = genesis(top.company, document["run_id"])
    digests = list(hashes(begun, lines))
    shown = [
        chained_event(seq, line, previous, digest)
        for seq, (line, previous, digest) in enumerate(zip(lines, [begun, *digests], digests, strict=False), 1)
    ]
    proof = [bytes.fromhex(one) for one in document["proof"]]
    head = extended(begun, lines)
    return RunEvidence(document["run_id"], shown, len(lines), head, document["leaf"]["number"], proof, top).serialize()


def byte_flipped(raw: bytes, rng: Rng, _: bytes) -> bytes:
    return flipped(raw, rng)


def byte_lost(raw: bytes, rng: Rng, _: bytes) -> bytes:
    place = rng.randrange(len(raw))
    return raw[:place] + raw[place + 1 :]


def byte_more(raw: bytes, rng: Rng, _: bytes) -> bytes:
    place = rng.randrange(len(raw) + 1)
    return raw[:place] + rng.choice([b" ", b"\n", b"0", b"x", b","]) + raw[place:]


def member_edited(raw: bytes, rng: Rng, _: bytes) -> bytes:
    return json.dumps(edited(json.loads(raw), rng), separators=(",", ":"), ensure_ascii=False).encode()


def event_edited(raw: bytes, rng: Rng, _: bytes) -> bytes:
    document = json.loads(raw)
    events = [one["event"] for one in document["events"]]
    place = rng.randrange(len(events))
    name = rng.choice(["at", "type", "seen"])
    events[place] = {**events[place], name: edited(events[place].get(name), rng)}
    return rewritten(document, events)


def event_removed(raw: bytes, rng: Rng, _: bytes) -> bytes:
    document = json.loads(raw)
    events = [one["event"] for one in document["events"]]
    del events[rng.randrange(len(events))]
    return rewritten(document, events)


def end_of_run_cut(raw: bytes, rng: Rng, _: bytes) -> bytes:
    """A shorter history, with the head that it had then: it was true once."""
    document = json.loads(raw)
    kept = document["events"][: rng.randrange(len(document["events"]))]
    return rewritten(document, [one["event"] for one in kept])


def run_renamed(raw: bytes, rng: Rng, _: bytes) -> bytes:
    document = json.loads(raw)
    return rewritten({**document, "run_id": document["run_id"] + "x"}, [one["event"] for one in document["events"]])


def proof_of_another(raw: bytes, rng: Rng, other: bytes) -> bytes:
    document, theirs = json.loads(raw), json.loads(other)
    for name in rng.choice([["proof"], ["leaf"], ["checkpoint"], ["proof", "leaf"], ["head"], ["proof", "checkpoint"]]):
        document[name] = theirs[name]
    return form(document)


def number_moved(raw: bytes, rng: Rng, _: bytes) -> bytes:
    document = json.loads(raw)
    document["leaf"]["number"] += rng.choice([-1, 1, 2, 64])
    return form(document)


def rewritten(document: Document, events: list[Any]) -> bytes:
    try:
        return written(document, events)
    except (KeyError, TypeError):  # what people did cannot be told of such an event
        return form({**document, "events": [{**one, "event": {}} for one in document["events"]]})


def form(document: Document) -> bytes:
    hash_of_text(document["head"])
    rest = canonical({name: value for name, value in document.items() if name != "events"})
    return f'{{"events":{canonical(document["events"])},{rest[1:]}'.encode()


RUN_TAMPERINGS = (
    byte_flipped,
    byte_lost,
    byte_more,
    member_edited,
    event_edited,
    event_removed,
    end_of_run_cut,
    run_renamed,
    proof_of_another,
    number_moved,
)
