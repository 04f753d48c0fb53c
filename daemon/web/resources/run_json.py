"""Runs and gates as JSON objects, whole and as rows of lists, and those that were read last.

Written by hand: making the models first takes four times as long, and each command answers a run.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any

from aiohttp import web
from msgspec import UNSET
from msgspec.structs import replace

from actors.core.actions.deciding import ActionFacts
from actors.core.calls import shown, shown_plan
from actors.core.eligibility import named_functions
from actors.core.messages import GateBlocked, RunEnded, attribution
from actors.core.messages.votes import PanelSession
from actors.core.messages.votes import Vote as JudgeVote
from actors.core.run import Clock, Gate, Run, Visit
from actors.ports import Compute
from daemon.contract.agents.asked import GateAction, GateQuestion
from daemon.contract.autonomy import Vote, Weighed
from daemon.contract.lists import INPUT_CHARS_MAX, INPUTS_MAX
from daemon.contract.runs import Archive, Hold, Redaction, Waiting
from daemon.model.retention.records import Retained
from daemon.runtime.json_codec import dumps, dumps_in_pieces
from daemon.web.bodies import HELD

PIECES_BYTES = 1024 * 1024
TAG_DIGITS = 16
_PLAIN = Retained(None, None)
SAID_BY_AGENT = ("reasoning", "context")


def run_json(run: Run) -> dict[str, Any]:
    parked = run.parked
    gates = [gate_json(visit, run) for visit in parked]
    ended = run.ended
    return {
        "id": run.id,
        "vertical": run.vertical,
        "business_key": run.business_key,
        "template": {"version": run.template_version, "digest": run.template_digest},
        "status": run.status,
        "parked_at": parked[0].step_id if parked else None,
        "gate": gates[0] if gates else None,
        "parked_gates": [visit.step_id for visit in parked],
        "gates": gates,
        "auto_resolve": run.auto_resolve,
        "inputs": run.inputs,
        "facts": run.facts,
        "outcome": None if ended is None else ended.outcome,
        "error": run.error,
        "trace": [_visit_json(visit) for visit in (*run.trace, *run.open)],
        "version": run.version,
        "created_by": run.created_by,
        "created_by_kind": run.created_by_kind,
        "made_by": run.made_by,
        "on_behalf_of": run.on_behalf_of,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "completed_at": ended.at if ended is not None and ended.status == "completed" else None,
        "ended": None if ended is None else _end_json(ended),
        "promoted_from": run.promoted_from,
        "promoted_to": run.promoted_to,
        "clocks": [_clock_json(one) for one in run.clocks] if run.clocks else (),
    }


def _clock_json(clock: Clock) -> dict[str, Any]:
    return {
        "id": clock.id,
        "label": clock.label,
        "state": clock.state,
        "started_at": clock.started_at,
        "due_at": clock.due_at,
        "paused_s": clock.paused.total_seconds(),
        "extended": len(clock.extended_by),
        "breached_at": clock.breached_at,
        "stopped_at": clock.stopped_at,
        "stopped_by": clock.stopped_by,
        "reason": clock.reason,
        "source": clock.source,
        "assumed": clock.assumed,
    }


def _end_json(ended: RunEnded) -> dict[str, Any]:
    who = attribution(ended)
    return {
        "at": ended.at,
        "by": who.by,
        "by_kind": who.by_kind,
        "on_behalf_of": who.on_behalf_of,
        "reason": ended.reason,
    }


def run_body(run: Run) -> bytes:
    return dumps_in_pieces(run_json(run)) if run.size_bytes > PIECES_BYTES else dumps(run_json(run))


def summary_json(run: Run) -> dict[str, Any]:
    return {name: member for name, member in run_json(run).items() if name not in ("inputs", "facts", "trace")}


def gate_json(visit: Visit, run: Run) -> dict[str, Any] | None:
    asked = visit.gate
    if asked is None:
        return None
    return {
        "step_id": visit.step_id,
        "label": asked.label,
        "question": asked.question,
        "kind": visit.kind,
        "tier": visit.tier,
        "visit": visit.visit,
        "decisions": asked.decisions,
        "role": asked.role,
        "reason": asked.reason,
        "opened_at": asked.opened_at,
        "digest": asked.digest,
        "signals": asked.signals,
        "missing": asked.missing,
        "effect": shown(visit.request),
        "effects": [
            shown_plan(one, visit.request if one.step_id == visit.step_id else None) for one in asked.effects or ()
        ],
        "proposals": asked.proposals,
        "policy": replace(asked.policy, batch=visit.batch_rule(asked.effects)),
        "function": asked.function,
        "verdicts": asked.verdicts,
        "due_at": asked.due_at,
        "remind_at": asked.remind_at,
        "escalation": None if asked.escalated is None else {"to": asked.escalated, "at": asked.escalated_at},
        "blocked": None if asked.blocked is None else _blocked(asked.blocked),
        "differences": asked.differences,
        "panel": None if visit.panel is None else _panel(visit.panel),
        "clock_due_at": run.clock_due_at,
        "breach_role": asked.breach_role,
        "action": None if run.action is None else _action(run.action, run, asked),
        "questions": [GateQuestion.view(one) for one in asked.questions] if asked.questions else (),
    }


def _action(facts: ActionFacts, run: Run, asked: Gate) -> dict[str, Any]:
    spent = facts.spent and {"count": facts.spent.count, "sum": facts.spent.sum, "max": facts.spent.max}
    own = {"arguments": run.inputs, "said_by_agent": SAID_BY_AGENT, "changed": asked.changed}
    return GateAction.view(facts, spent=spent, **own)


def _blocked(event: GateBlocked) -> dict[str, int]:
    return {"needed": event.needed, "eligible": event.eligible}


def _panel(heard: PanelSession) -> dict[str, Any]:
    return {
        "quorum": heard.quorum,
        "clear": heard.clear,
        "confidence": heard.confidence,
        "votes": [_vote(one) for one in heard.votes],
        "waiting": [one.judge for one in heard.calls],
        "weighed": None if heard.weighed is None else Weighed.view(heard.weighed),
    }


def _vote(one: JudgeVote) -> dict[str, Any]:
    return Vote.view(one, model=None if one.model is UNSET else one.model)


def _visit_json(visit: Visit) -> dict[str, Any]:
    return {
        "step_id": visit.step_id,
        "visit": visit.visit,
        "kind": visit.kind,
        "status": visit.status,
        "mode": None if visit.request is None else visit.request.mode,
        "tier": visit.tier,
        "resolved_by": visit.resolved_by,
        "resolved_by_kind": visit.resolved_by_kind,
        "reason": visit.gate.reason if visit.reason is None and visit.gate is not None else visit.reason,
        "verdict": visit.verdict,
        "started_at": visit.started_at,
        "ended_at": visit.ended_at,
        "request": shown(visit.request),
        "output": visit.output,
        "attempts": visit.attempts,
        "error": visit.error,
        "wait": None if visit.wait is None else Waiting.view(visit.wait),
        "undoes": visit.undoes,
        "panel": None if visit.panel is None else _panel(visit.panel),
    }


def retained_body(body: bytes, retained: Retained) -> bytes:
    """The JSON of a run with how it is kept; that of most runs is as it was."""
    return body if retained == _PLAIN else b"%s,%s" % (body[:-1], _retention(retained)[1:])


def retained_tag(tag: str, run: Run, retained: Retained) -> str:
    """The entity tag of a run with how it is kept, and which functions of its gates are bound."""
    functions = named_functions(run)
    if retained == _PLAIN and not functions:
        return tag
    more = dumps(functions) if functions else b""
    return f"{tag}{HELD}{sha256(_retention(retained) + more).hexdigest()[:TAG_DIGITS]}"


def _retention(retained: Retained) -> bytes:
    hold, archived, redactions = retained
    kept = None if archived is None else Archive.view(archived.form, archived_at=archived.archived_at)
    held = None if hold is None else Hold.view(hold)
    gone = [Redaction.view(one) for one in redactions] or None
    members = (("hold", held), ("archived", kept), ("redactions", gone))
    return dumps({name: one for name, one in members if one is not None})


KEPT_BYTES_MAX = 16 * 1024 * 1024


class ResponseCache:
    """Keeps the JSON of one version of each run, the oldest dropped first.

    Only committed runs may come here: of two decisions on the same version one is never committed.
    """

    def __init__(self, compute: Compute, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._compute = compute
        self._kept: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._free_bytes = bytes_max

    async def body(self, run: Run) -> bytes:
        """A committed run as JSON."""
        key = (run.company_id, run.id)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == run.version:
            return kept[1]
        body = await self._compute.run_by_size(run.company_id, run.size_bytes, partial(run_body, run))
        self.keep(run, body)
        return body

    def keep(self, run: Run, body: bytes) -> None:
        """Keep the JSON of a committed run that was made for a response.

        That of gates with a function is not kept: whether it is bound is not the run's.
        """
        if named_functions(run):
            return
        key = (run.company_id, run.id)
        self._drop(key)
        self._kept[key] = (run.version, body)
        self._free_bytes -= len(body)
        while self._free_bytes < 0:
            self._drop(next(iter(self._kept)))

    def forget(self, key: tuple[str, str]) -> None:
        """Drop the JSON of a run whose values are gone."""
        self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._free_bytes += len(kept[1])


RESPONSE_CACHE = web.AppKey("response_cache", ResponseCache)


def gate_head(visit: Visit, run: Run) -> dict[str, Any]:
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
        "clock_due_at": run.clock_due_at,
        "role": gate.role,
        "groups": policy.groups,
        "function": gate.function,
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
    """Live if a decision can lead to a live call, or handed; None if it leads to no call."""
    planned = () if visit.gate is None else visit.gate.effects or ()
    modes = {one.mode for one in planned} | (set() if visit.request is None else {visit.request.mode})
    return next((one for one in ("live", "handed", "shadow") if one in modes), None)


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
    return next((one for one in ("live", "handed", "shadow") if one in modes), None)


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
    return isinstance(value, (bool, int, float))
