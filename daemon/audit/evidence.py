"""Evidence in canonical JSON: changes, lines of exports, a run's chain and proof, receipts."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from actors.core.canonical import canonical
from actors.core.gate_policy import GatePolicy
from actors.core.messages import AUTOPILOT
from daemon.model.chain import ChainWalk, hash_of_text, hashes, text_of_hash
from daemon.model.commitments.salted import holds_redacted
from daemon.model.evidence import Proof, ProvenRecord, SealedCommit, StoredCheckpoint, checkpoint, leaf


def change_of(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """The change that an event records, as JSON; None when no user made one."""
    found = _of_run(event) or _of_later(event) or _of_log(event) or _of_people(event)
    found = found or _of_session(event) or _of_templates(event) or _of_retention(event) or _of_service(event)
    if found is None:
        return None
    action, before, after, why = found
    who = {"user": event["by"], "token": event.get("via"), "kind": attribution_of(event)["by_kind"]}
    return {"who": who, "when": event["at"], "action": action, "from": before, "to": after, "why": why}


def attribution_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """Who an event is by, as `actors.core.messages.attribution` has it, from its stored form."""
    if event.get("type") == WITHHELD:
        return dict.fromkeys(("by", "by_kind", "on_behalf_of"))
    by = event.get("by") or AUTOPILOT
    kind = event.get("by_kind") or ("autopilot" if by == AUTOPILOT else "person")
    return {"by": by, "by_kind": kind, "on_behalf_of": event.get("on_behalf_of")}


def without_kind(change: dict[str, Any] | None) -> dict[str, Any] | None:
    """A change as earlier versions wrote it."""
    if change is None:
        return None
    return {**change, "who": {name: one for name, one in change["who"].items() if name != "kind"}}


OF_THE_SERVICE = {
    "adopted": ("company", "users"),
    "commits_adopted": ("number", "key"),
    "companies_adopted": ("companies",),
    "company_keys_wrapped": ("keys",),
    "history_rewound": ("commits", "first"),
    "roots_recorded": ("roots",),
    "template_kept": ("vertical", "template_version", "digest"),
}
"""What the service itself writes into logs, with the members that its change shows."""

PUBLICATIONS = {"template_published": "publish_template", "template_retired": "retire_template"}
_Found = tuple[str, Any, Any, str | None]


def _of_run(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "run_started":
            to = {"status": "executing", "vertical": event["vertical"], "template_version": event["template_version"]}
            return "start", None, to, None
        case "verdict_given":
            gate = {"gate": event["step_id"], "visit": event["visit"]}
            brought = {name: event[name] for name in ("inputs", "arguments") if event.get(name) is not None}
            after = {**gate, "decision": event["decision"], **brought}
            return "verdict", {**gate, "status": "parked"}, after, event["comment"]
        case "proposal_made":
            gate = {"gate": event["step_id"], "visit": event["visit"]}
            return "propose", None, {**gate, "decision": event["decision"]}, event["comment"]
        case "run_ended" if event["status"] == "cancelled":
            return "cancel", {"status": event.get("was")}, {"status": "cancelled"}, event["reason"]
        case "run_migrated":
            before, after = event["from_version"], event["template_version"]
            return "migrate", {"template_version": before}, {"template_version": after}, None
        case "run_promoted":
            return "promote", None, {"promoted_to": event["promoted_to"]}, None
        case "step_entered" if event["by"] is not None:
            step = {"step": event["step_id"]}
            before = {**step, "visit": event["visit"] - 1}
            return "retry", before, {**step, "visit": event["visit"]}, None
        case _:
            return None


def _of_later(event: Mapping[str, Any]) -> _Found | None:
    """What people do to a run that is under way, beside its verdicts."""
    match event.get("type"):
        case "verdict_withdrawn" if attribution_of(event)["by_kind"] == "person":
            gate = {"gate": event["step_id"], "visit": event["visit"]}
            return "withdraw", {**gate, "verdict": event.get("verdict_id")}, gate, None
        case "glass_broken":
            return "break_glass", None, {"until": event["until"]}, event["reason"]
        case "call_consumed":
            step = {"step": event["step_id"], "visit": event["visit"]}
            return "consume", None, {**step, "until": event["until"]}, None
        case "gate_asked" | "gate_answered" as kind:
            gate = {"gate": event["step_id"], "visit": event["visit"]}
            said = {**gate, "question": event["question"], "text": event["text"]}
            return "ask" if kind == "gate_asked" else "answer", None, said, None
        case "message_received":
            return "deliver", None, {"message": event["name"]}, None
        case "compensation_began" if event.get("by") is not None:
            return "cancel", {"status": event.get("was")}, {"status": "compensating"}, event.get("reason")
        case _:
            return None


_OF_CHANGES = {
    "change_requested": "ask_for_change",
    "change_approved": "approve_change",
    "change_denied": "deny_change",
}


def _of_log(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "registered":
            return "register", None, {name: event[name] for name in ("company", "role", "user")}, None
        case "connector_changed" | "mcp_server_changed" as kind:
            what, name = ("connector", "tool_id") if kind == "connector_changed" else ("mcp_server", "server")
            secret = {name: event[name], "secret": event["secret"]}
            return f"change_{what}", event["before"], {**secret, what: event["after"]}, None
        case "webhook_changed" | "notification_changed" | "api_key_changed" | "instance_changed" as kind:
            what = kind.removesuffix("_changed")
            named = "key_id" if what == "api_key" else f"{what}_id"
            after = {named: event[named], what: event["after"]}
            return f"change_{what}", event["before"], after, (event["after"] or {}).get("reason")
        case "subject_linked":
            return "link_subject", None, {name: event[name] for name in ("user", "issuer", "subject")}, None
        case (
            "action_pauses_changed"
            | "action_rules_changed"
            | "autonomy_changed"
            | "calendar_changed"
            | "functions_changed"
            | "policy_changed"
        ) as kind:
            return f"change_{kind.removesuffix('_changed')}", event["before"], event["after"], None
        case "change_requested" | "change_approved" | "change_denied" as kind:
            said = {name: event[name] for name in ("change", "act", "what", "digest")}
            return _OF_CHANGES[kind], None, said, event.get("comment")
        case "keys_changed":
            return "change_keys", event["before"], {"purpose": event["purpose"], "keys": event["after"]}, None
        case _:
            return None


def _of_people(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "member_changed":
            after = {"member": event["member"], **event["after"]}
            return _of_member(event["before"], event["after"]), event["before"], after, None
        case "group_changed":
            before, after = ({"group": event["group"], "members": event[side]} for side in ("before", "after"))
            return "change_group", before, after, None
        case "delegation_made" | "delegation_ended" as kind:
            return _of_delegation(kind, event)
        case "name_changed":
            return "change_name", None, {name: event[name] for name in ("user", "name")}, None
        case _:
            return None


def _of_member(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> str:
    """What a change of a member is called."""
    if after["status"] == "removed":
        return "remove_member"
    if after["status"] == "pending":
        return "invite_member"
    return "join" if before is None or before["status"] == "pending" else "change_role"


def _of_delegation(kind: str, event: Mapping[str, Any]) -> _Found:
    who = {name: event[name] for name in ("delegation", "giver", "to")}
    if kind == "delegation_ended":
        return "end_delegation", who, None, event["reason"]
    return "delegate", None, {**who, **{name: event[name] for name in ("begins", "ends", "verticals")}}, None


def _of_session(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "logged_in":
            return "log_in", None, {"token": event["token"], "until": event["until"]}, None
        case "logged_out":
            return "log_out", {"token": event["token"]}, None, None
        case "session_ended":
            return "end_session", {"session": event["session"]}, None, event["reason"]
        case "sessions_ended":
            return "end_other_sessions", None, {name: event[name] for name in ("user", "kept", "epoch")}, None
        case "password_changed":
            return "change_password", None, {name: event[name] for name in ("user", "kept", "epoch")}, None
        case "second_factor_changed":
            return "change_second_factor", None, {name: event[name] for name in ("user", "change")}, None
        case "login_refused":
            return "log_in_refused", None, None, event["reason"]
        case _:
            return None


def _of_templates(event: Mapping[str, Any]) -> _Found | None:
    action = PUBLICATIONS.get(str(event.get("type")))
    if action is None:
        return None
    return action, None, {name: event[name] for name in ("vertical", "template_version", "digest")}, None


def _of_retention(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "hold_changed":
            after = {"run_id": event["run_id"], "hold": event["after"]}
            return "change_hold", event["before"], after, (event["after"] or {}).get("reason")
        case "run_redacted":
            what = {name: event[name] for name in ("run_id", "number", "pointers")}
            return "redact_run", None, {**what, "places": len(event["places"])}, event["reason"]
        case "run_archived":
            kept = {name: event["form"][name] for name in ("run_id", "version", "sha256")}
            return "archive_run", None, {**kept, "after_days": event["after_days"]}, None
        case _:
            return None


def _of_service(event: Mapping[str, Any]) -> _Found | None:
    kind = str(event.get("type"))
    names = OF_THE_SERVICE.get(kind)
    return None if names is None else (kind, None, {name: event[name] for name in names}, None)


FORMAT = "penstock-audit-1"
_ARCHIVED = b'"type":"run_archived"'
_REDACTED = b'"type":"run_redacted"'


def manifest(company_id: str, size: int) -> bytes:
    """The first line: the company and the number of commits."""
    return canonical({"company": company_id, "format": FORMAT, "size": size}).encode() + b"\n"


class ArchivesNamed:
    """Whether an export names what became of each run whose events or values it lacks."""

    def __init__(self, company_id: str) -> None:
        self._company_id = company_id
        self._gone: set[str] = set()
        self._named: set[str] = set()

    def read_commits(self, entries: Iterable[SealedCommit]) -> None:
        for one in entries:
            if not one.events or holds_redacted(one.events):
                self._gone.add(one.stream)
            elif one.stream == self._company_id and (_ARCHIVED in one.events or _REDACTED in one.events):
                event = json.loads(one.events)
                self._named.add(event["run_id"] if event["type"] == "run_redacted" else event["form"]["run_id"])

    @property
    def complete(self) -> bool:
        return self._gone <= self._named


def entry_line(entry: SealedCommit, *, withheld: bool = False, unnamed: bool = False) -> bytes:
    """A commit with its leaf number and its events as stored; one in an archive has none.

    Nor has one that is `withheld`, since it is of a run that is closed to whom it is exported for.
    One that is `unnamed` does not say of which run it is, either.
    """
    if unnamed:
        hashed = text_of_hash(leaf(entry.stream, entry.version, entry.head))
        return canonical({"leaf": hashed, "number": entry.number, "withheld": True}).encode() + b"\n"
    if withheld:
        return canonical({**_named(entry), "events": [], "withheld": True}).encode() + b"\n"
    if not entry.events:
        return canonical({**_named(entry), "archived": True, "events": []}).encode() + b"\n"
    lines = entry.events.split(b"\n")
    found = changes(entry.first_seq, [json.loads(line) for line in lines])
    return b'{%s"events":[%s],%s\n' % (
        b'"changes":%s,' % canonical(found).encode() if found else b"",
        b",".join(lines),
        canonical(_named(entry))[1:].encode(),
    )


def _named(entry: SealedCommit) -> dict[str, Any]:
    """What a leaf covers, and where it stands."""
    return {
        "first_seq": entry.first_seq,
        "head": text_of_hash(entry.head),
        "number": entry.number,
        "stream": entry.stream,
        "version": entry.version,
    }


def checkpoint_line(checkpoint: StoredCheckpoint) -> bytes:
    """A checkpoint; checkpoints come last, newest first."""
    return canonical({"checkpoint": checkpoint.document()}).encode() + b"\n"


def changes(first_seq: int, events: list[Any]) -> list[dict[str, Any]]:
    """The changes by users in these events, each with its seq."""
    found = ((seq, change_of(event)) for seq, event in enumerate(events, first_seq))
    return [{"seq": seq, **change} for seq, change in found if change is not None]


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
    checkpoint: StoredCheckpoint
    redactions: Sequence[ProvenRecord] = ()

    @property
    def leaf(self) -> bytes:
        return leaf(self.run_id, self.version, self.head)

    def serialize(self) -> bytes:
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


def run_evidence(run_id: str, proven: Proof, after: int = 0, limit: int | None = None) -> RunEvidence:
    """Evidence of a run, at most `limit` events; HistoryBroken if they do not fit their chain."""
    begun = proven.commits[0].first_seq - 1 if proven.commits else 0
    events = list(walk_chain(ChainWalk(run_id, proven.before, begun), proven.commits))
    events, last = events[max(0, after - begun) :][:limit], proven.last
    return RunEvidence(
        run_id, events, last.version, last.head, last.number, proven.proof, proven.checkpoint, proven.redactions
    )


def walk_chain(
    walk: ChainWalk, commits: Iterable[SealedCommit], hidden: Collection[int] = frozenset()
) -> Iterator[bytes]:
    """The events of commits with their hashes; HistoryBroken when they do not fit the chain.

    Of those that are `hidden` by their seq nothing but type, time and hashes is there.
    """
    for one in commits:
        previous, lines = walk.head, walk.read_commit(one.first_seq, one.version, one.head, one.events)
        for seq, (line, digest) in enumerate(zip(lines, hashes(previous, lines), strict=True), one.first_seq):
            shown = _left(line) if seq in hidden else line
            yield chained_event(seq, shown, previous, digest)
            previous = digest


def _left(line: bytes) -> bytes:
    """What stays of an entry of a company's log whose run is closed to the reader."""
    event = json.loads(line)
    return canonical({"at": event["at"], "type": WITHHELD, "withheld": event["type"]}).encode()


WITHHELD = "withheld"


def run_of_entry(event: Mapping[str, Any]) -> str | None:
    """The run that an entry of a company's log says something of."""
    found = event.get("run_id") or (event.get("form") or {}).get("run_id")
    return found if isinstance(found, str) else None


def chained_event(seq: int, line: bytes, previous: bytes, digest: bytes, *, earlier: bool = False) -> bytes:
    """An event with its place in the chain, as stored; perhaps in the form of earlier versions."""
    event = json.loads(line)
    change, place = change_of(event), {"hash": text_of_hash(digest), "previous": text_of_hash(previous), "seq": seq}
    who = {"change": without_kind(change)} if earlier else {"change": change, **attribution_of(event)}
    if "on_behalf_of" in who:
        place["on_behalf_of"] = who.pop("on_behalf_of")
    return b'%s,"event":%s,%s' % (canonical(who)[:-1].encode(), line, canonical(place)[1:].encode())


def read_evidence(document: Any) -> RunEvidence:
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


ABSENT: dict[str, Any] = {"code": None, "comment": None, "solo": False}


class VerdictReader:
    """Reads the chain of a run event by event, and keeps the receipt of one verdict."""

    def __init__(self, company_id: str, run_id: str, verdict_id: str) -> None:
        self.company_id = company_id
        self.run_id = run_id
        self.verdict_id = verdict_id
        self.receipt: dict[str, Any] | None = None
        self.redacted: frozenset[str] = frozenset()
        self._gates: dict[tuple[str, int], Mapping[str, Any]] = {}

    def read_event(self, seq: int, event: Mapping[str, Any], previous: bytes, digest: bytes) -> None:
        """Read the next event; it has the place `seq` and the hash `digest` behind `previous`."""
        if event.get("type") == "gate_opened":
            self._gates[event["step_id"], event["visit"]] = event
        elif event.get("type") == "verdict_given" and event.get("verdict_id") == self.verdict_id:
            place = {"seq": seq, "previous": text_of_hash(previous), "hash": text_of_hash(digest)}
            self.receipt = {**self._said(event), **place}
            gate = self._gates.get((event["step_id"], event["visit"]), {})
            gone = {*event.get("$redacted", ()), *gate.get("$redacted", ())}
            self.redacted = frozenset(name for name in ("comment", "digest") if f"/{name}" in gone)

    def _said(self, event: Mapping[str, Any]) -> dict[str, Any]:
        gate = self._gates.get((event["step_id"], event["visit"]), {})
        policy = msgspec.convert(gate.get("policy") or {}, GatePolicy)
        return {
            "verdict_id": self.verdict_id,
            "company_id": self.company_id,
            "run_id": self.run_id,
            "gate": event["step_id"],
            "visit": event["visit"],
            "decision": event["decision"],
            **{name: event.get(name, absent) for name, absent in ABSENT.items()},
            **attribution_of(event),
            "at": event["at"],
            "digest": gate.get("digest"),
            "policy": msgspec.json.decode(msgspec.json.encode(policy)),
        }
