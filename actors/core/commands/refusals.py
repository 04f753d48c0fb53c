"""Why a command at a gate is refused."""

from __future__ import annotations

from typing import Any

from actors.core.eligibility import WhyNot
from actors.core.messages import Rejected
from actors.core.people import ACTIONS
from actors.core.run import Gate, Run


def may_not(why: WhyNot, gate: Gate) -> Rejected:
    """Why somebody may not decide at a gate."""
    if why == "already_decided":
        detail = "You have decided here already; the gate is open until enough people have."
        return Rejected("already_decided", detail, {"reason": why})
    required = gate.role or ACTIONS["decide"].role
    detail = f"A decision here needs the role {required}."
    if why == "machine":
        detail = "Only people decide at a gate; an API key may propose."
    elif why == "group":
        required = ", ".join(gate.policy.groups)
        detail = f"A decision here is made by one of the groups: {required}."
    elif why == "four_eyes":
        detail = "Somebody else has to decide here: you had a part in what is decided on."
    return Rejected("forbidden", detail, {"required": required, "reason": why})


def no_such_decision(step_id: str, gate: Gate) -> Rejected:
    """The decision is none of the gate's."""
    detail = f"At {step_id} the decision is one of: {', '.join(gate.decisions)}."
    return Rejected("decision_not_allowed", detail, {"decisions": list(gate.decisions)})


def not_in_batch(step_id: str) -> Rejected:
    """The gate takes no verdict that is given together with others."""
    return Rejected("batch_refused", f"At {step_id} each decision is made on its own, not in a batch.")


def not_here(run: Run, gate: str) -> Rejected:
    """Why nothing is decided at that gate: the run is not parked, or parked elsewhere."""
    more: dict[str, Any] = {"run_status": run.status, "parked_at": None, "decided": None}
    closed = run.decided(gate)
    if closed is not None and closed.verdict is not None:
        verdict = closed.verdict
        more["decided"] = {
            "gate": gate,
            "visit": closed.visit,
            "decision": verdict.decision,
            "by": verdict.by,
            "by_kind": verdict.by_kind,
            "on_behalf_of": verdict.on_behalf_of,
            "at": verdict.at,
        }
    if not run.parked:
        return Rejected("not_parked", f"The run is {run.status}, so there is no gate to decide on.", more)
    more["parked_at"] = run.parked[0].step_id
    return Rejected("gate_mismatch", f"The run is parked at {more['parked_at']}, not at the gate that was named.", more)
