"""Open gates and runs as rows: the members that `daemon.contract.lists.rows` defines."""

from __future__ import annotations

from itertools import islice
from typing import Any

from actors.core.run import Gate, Run, Visit
from daemon.contract.lists.rows import INPUT_CHARS_MAX, INPUTS_MAX


def gate_head(visit: Visit) -> dict[str, Any]:
    gate = visit.gate
    assert gate is not None  # noqa: S101 - it is open
    policy = gate.policy
    return {
        "step_id": visit.step_id,
        "label": gate.label,
        "question": gate.question,
        "reason": gate.reason,
        "kind": visit.kind,
        "tier": visit.tier,
        "visit": visit.visit,
        "decisions": gate.decisions,
        "digest": gate.digest,
        "opened_at": gate.opened_at,
        "due_at": gate.due_at,
        "role": gate.role,
        "groups": policy.groups,
        "escalated_to": gate.escalated,
        "quorum": policy.quorum,
        "batch": visit.batch_rule(gate.effects),
        "verdicts": len(gate.verdicts),
        "proposals": len(gate.proposals),
        "blocked": gate.blocked is not None,
        "mode": _mode(visit),
        "needs": _needs(gate),
    }


def _needs(gate: Gate) -> list[str]:
    """What a verdict there has to bring along."""
    policy = gate.policy
    asked = {
        "comment": policy.comment == "always",
        "denial_comment": policy.comment == "on-denial",
        "denial_code": policy.code == "required",
        "form": policy.form is not None,
        "inputs": bool(gate.missing),
    }
    return [name for name, needed in asked.items() if needed]


def _mode(visit: Visit) -> str | None:
    """Live if a decision can lead to a live call; None if it leads to no call."""
    planned = () if visit.gate is None else visit.gate.effects or ()
    modes = {one.mode for one in planned} | (set() if visit.request is None else {visit.request.mode})
    return None if not modes else "live" if "live" in modes else "shadow"


def run_row(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "vertical": run.vertical,
        "business_key": run.business_key,
        "inputs": short_inputs(run),
        "status": run.status,
        "outcome": None if run.ended is None else run.ended.outcome,
        "mode": _run_mode(run),
        "error": None if run.error is None else run.error.detail,
        "gates": [_run_gate(visit) for visit in run.parked],
        "created_by": run.created_by,
        "created_by_kind": run.created_by_kind,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
    }


def _run_mode(run: Run) -> str | None:
    """Live if any call of the run was, beside those that wait for a verdict; None without one."""
    visits = (*run.trace, *(visit for visit in run.open if visit.status != "parked"))
    modes = {visit.request.mode for visit in visits if visit.request is not None}
    return None if not modes else "live" if "live" in modes else "shadow"


def _run_gate(visit: Visit) -> dict[str, Any]:
    label = visit.step_id if visit.gate is None else visit.gate.label
    return {"step_id": visit.step_id, "label": label, "tier": visit.tier}


def short_inputs(run: Run) -> dict[str, Any]:
    """The first inputs that fit into a row."""
    return dict(islice(((name, value) for name, value in run.inputs.items() if _is_short(name, value)), INPUTS_MAX))


def _is_short(name: str, value: Any) -> bool:
    if len(name) > INPUT_CHARS_MAX:
        return False
    if isinstance(value, str):
        return 0 < len(value) <= INPUT_CHARS_MAX
    return isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 10**INPUTS_MAX)
