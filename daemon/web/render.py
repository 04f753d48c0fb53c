"""How runs, gates and templates look to callers."""

from __future__ import annotations

from typing import Any

from actors.core.calls import Connector, shown, shown_plan
from actors.core.run import Run, Visit
from actors.core.template import Template
from daemon.model import Account, ConnectorChange, Recorded, StoredConnector
from daemon.model.event_log import shown_event
from daemon.model.webhooks import Delivery, Webhook
from daemon.templates.catalog import Entry


def run(run: Run) -> dict[str, Any]:
    """A run as the contract shows it."""
    parked = run.parked
    gates = [gate(visit) for visit in parked]
    ended = run.ended
    return {
        "id": run.id,
        "vertical": run.vertical,
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
        "trace": [_visit(visit) for visit in (*run.trace, *run.open)],
        "version": run.version,
        "created_by": run.created_by,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "completed_at": ended.at if ended is not None and ended.status == "completed" else None,
        "ended": None if ended is None else {"at": ended.at, "by": ended.by, "reason": ended.reason},
    }


def summary(one: Run) -> dict[str, Any]:
    """A run without what makes it large."""
    return {name: member for name, member in run(one).items() if name not in ("inputs", "facts", "trace")}


def gate(visit: Visit) -> dict[str, Any] | None:
    """What a human is asked at a visit, with all that a decision can send."""
    asked = visit.gate
    if asked is None:
        return None
    return {
        "step_id": visit.step_id,
        "label": asked.label,
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
    }


def _visit(visit: Visit) -> dict[str, Any]:
    return {
        "step_id": visit.step_id,
        "visit": visit.visit,
        "kind": visit.kind,
        "status": visit.status,
        "mode": None if visit.request is None else visit.request.mode,
        "tier": visit.tier,
        "resolved_by": visit.resolved_by,
        "reason": visit.gate.reason if visit.reason is None and visit.gate is not None else visit.reason,
        "verdict": visit.verdict,
        "started_at": visit.started_at,
        "ended_at": visit.ended_at,
        "request": shown(visit.request),
        "output": visit.output,
        "attempts": visit.attempts,
        "error": visit.error,
    }


def event(recorded: Recorded) -> dict[str, Any]:
    """An event of a run's history."""
    return shown_event(recorded.seq, recorded.event)


def webhook(one: Webhook) -> dict[str, Any]:
    """A webhook, without its secret."""
    return {
        "id": one.id,
        "url": one.url,
        "events": one.events,
        "description": one.description,
        "enabled": one.enabled,
        "disabled_reason": one.reason,
        "failures": one.failures,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "updated_by": one.updated_by,
    }


def delivery(one: Delivery) -> dict[str, Any]:
    """An event on its way to a webhook, and how the last attempt went."""
    return {
        "id": one.id,
        "event_id": str(one.place),
        "run_id": one.run_id,
        "seq": one.seq,
        "type": one.type,
        "status": one.status,
        "attempts": one.attempts,
        "status_code": one.status_code,
        "latency_ms": one.latency_ms,
        "error": one.error,
        "created_at": one.created_at,
        "last_attempt_at": one.last_at,
        "next_attempt_at": one.next_at,
    }


def template(entry: Entry) -> dict[str, Any]:
    """A template as lists show it."""
    one = entry.template
    return {
        "vertical": one.vertical,
        "title": one.title,
        "description": entry.description,
        "version": one.version,
        "digest": one.digest,
        "gates": one.gates,
        "steps": len(one.nodes),
    }


def canvas(one: Template) -> dict[str, Any]:
    """A template as a graph with its governance."""
    return {
        "vertical": one.vertical,
        "version": one.version,
        "digest": one.digest,
        "title": one.title,
        "start": one.start,
        "nodes": [_node(one, node.id) for node in one.nodes],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "branch": edge.branch,
                "when": None if edge.when is None else edge.when.text,
            }
            for edge in one.edges
        ],
        "gates": one.gates,
    }


def _node(one: Template, step_id: str) -> dict[str, Any]:
    node = one.node(step_id)
    return {
        "id": node.id,
        "kind": node.kind,
        "label": node.label,
        "tier": node.tier,
        "tool": node.tool,
        "effect": node.effect,
        "gate": node.gate,
        "decisions": one.decisions(node.id) if node.gate else [],
        "role": node.role,
        "flow": node.flow,
        "outcome": node.outcome,
        "signal_when": None if node.signal_when is None else node.signal_when.text,
    }


def connector(stored: StoredConnector) -> dict[str, Any]:
    """A connector as stored; of its secret only whether there is one."""
    return {
        "tool_id": stored.connector.tool_id,
        **_target(stored.connector),
        "auth_token_set": stored.sealed_secret is not None,
        "version": stored.connector.version,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
        "updated_by": stored.updated_by,
    }


def connector_change(change: ConnectorChange) -> dict[str, Any]:
    """A change of a connector: who, when, from what, to what; of its secret only what became of it."""
    return {
        "number": change.number,
        "tool_id": change.tool_id,
        "version": change.version,
        "at": change.at,
        "by": change.by,
        "secret": change.secret,
        "via": change.via,
        "before": None if change.before is None else _target(change.before),
        "after": None if change.after is None else _target(change.after),
    }


def _target(one: Connector) -> dict[str, Any]:
    """What a connector calls, and how."""
    return {
        "base_url": one.base_url,
        "method": one.method,
        "path": one.path,
        "auth_type": one.auth_type,
        "auth_header": one.auth_header,
        "query_map": one.query_map,
        "body_map": one.body_map,
        "signal_rule": one.signal_rule,
        "reversible": one.reversible,
        "idempotent": one.idempotent,
        "timeout_s": one.timeout_s,
        "retries": one.retries,
    }


def account(one: Account) -> dict[str, Any]:
    """Who somebody is."""
    return {
        "user": {"id": one.user.id, "email": one.user.email, "name": one.user.name},
        "company": {"id": one.company.id, "name": one.company.name},
        "role": one.user.role,
    }
