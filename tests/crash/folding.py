"""What a run's exported history leads to, worked out anew here and from nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import orjson

Event = dict[str, Any]


@dataclass(slots=True)
class Visit:
    """One entry of a run into a step."""

    step_id: str
    visit: int
    kind: str
    status: str


@dataclass(slots=True)
class Fold:
    """A run as its events up to some point make it."""

    version: int = 0
    at: str = ""
    open: dict[str, Visit] = field(default_factory=dict)
    past: list[Visit] = field(default_factory=list)
    ended: Event | None = None

    @property
    def status(self) -> str:
        """Where the run stands."""
        if self.ended is not None:
            return str(self.ended["status"])
        found = {visit.status for visit in self.open.values()}
        return next((status for status in ("failed", "parked") if status in found), "executing")

    def seen(self) -> dict[str, Any]:
        """What the service has to show for it."""
        visits = [[v.step_id, v.visit, v.status] for v in (*self.past, *self.open.values())]
        parked = sorted(v.step_id for v in self.open.values() if v.status == "parked")
        return {
            "version": self.version,
            "status": self.status,
            "parked": parked,
            "outcome": None if self.ended is None else self.ended["outcome"],
            "updated_at": self.at,
            "visits": digest(visits),
        }

    def apply(self, event: Event) -> None:
        """Take the next event in; KeyError when it cannot follow."""
        self.version, self.at = self.version + 1, event["at"]
        match event["type"]:
            case "run_started":
                pass
            case "step_entered":
                self._enter(event)
            case "run_ended":
                self._end(event)
            case "call_settled" if self.ended is not None:
                late = next(v for v in self.past if (v.step_id, v.visit) == (event["step_id"], event["visit"]))
                late.status = "done" if event["error"] is None else "failed"
            case _:
                self._change(self.open[event["step_id"]], event)

    def _enter(self, event: Event) -> None:
        here = self.open.pop(event["step_id"], None)
        if here is not None and here.visit != event["visit"]:
            self.past.append(here)
        status = "waiting" if event["waiting"] else "ready"
        self.open[event["step_id"]] = Visit(event["step_id"], event["visit"], event["kind"], status)

    def _end(self, event: Event) -> None:
        self.ended = event
        for visit in self.open.values():
            if visit.status != "failed":
                visit.status = "done" if visit.kind == "end" and event["status"] == "completed" else "cancelled"
            self.past.append(visit)
        self.open.clear()

    def _change(self, visit: Visit, event: Event) -> None:
        if visit.visit != event["visit"]:
            raise KeyError(event["step_id"])
        visit.status = _next_status(visit.kind, event)
        if visit.status in ("done", "denied") or (event["type"], visit.status) == ("verdict_given", "failed"):
            self.past.append(self.open.pop(visit.step_id))


def _next_status(kind: str, event: Event) -> str:
    match event["type"]:
        case "step_cleared":
            return "calling" if kind == "task" else "done"
        case "call_settled":
            return "done" if event["error"] is None else "failed"
        case "gate_opened":
            return "parked"
        case "verdict_given" if kind == "task":
            return {"approved": "calling", "done": "calling", "retry": "failed"}.get(event["decision"], "denied")
        case "verdict_given":
            return "denied" if event["decision"] == "denied" else "done"
        case _:
            raise KeyError(event["type"])


def seen(run: dict[str, Any]) -> dict[str, Any]:
    """What a run as the service shows it says of its history."""
    return {
        "version": run["version"],
        "status": run["status"],
        "parked": sorted(run["parked_gates"]),
        "outcome": run["outcome"],
        "updated_at": run["updated_at"],
        "visits": digest([[one["step_id"], one["visit"], one["status"]] for one in run["trace"]]),
    }


def digest(visits: list[list[Any]]) -> str:
    """A short name for where each visit stands."""
    return hashlib.sha256(orjson.dumps(sorted(visits))).hexdigest()[:16]
