"""The receipt of a verdict: what the hash chain of its run says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from actors.core.gate_policy import GatePolicy
from daemon.audit.changes import attribution_of
from daemon.model.chain import text_of_hash

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

    def take(self, seq: int, event: Mapping[str, Any], previous: bytes, digest: bytes) -> None:
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
