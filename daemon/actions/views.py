"""Actions as they are answered: what was asked for, what was made of it, and what came of it."""

from __future__ import annotations

from typing import Any

from actors.core.run import Run, Visit
from daemon.model.actions import ActionRow, action_outcome


def action_json(run: Run, gate: dict[str, Any] | None) -> dict[str, Any]:
    """An action, with its open gate as JSON."""
    facts = run.action
    assert facts is not None  # noqa: S101 - it is an action
    call = made(run)
    answered = next((one for one in reversed((*run.trace, *run.open)) if one.calls and one.status == "done"), None)
    return {
        "id": run.id,
        "kind": "action",
        "status": run.status,
        "outcome": action_outcome(run),
        "tool": facts.tool,
        "server": facts.server,
        "arguments": run.inputs if facts.asked is None else facts.asked,
        "made": None if call is None else run.inputs,
        "mode": _mode(run),
        "agent": facts.agent,
        "model": facts.model,
        "reasoning": facts.reasoning,
        "context": facts.context,
        "rule": {"id": facts.rule.id, "version": facts.rule.version, "digest": facts.rule.digest},
        "decision": facts.decision,
        "why": facts.why,
        "reason": _reason(run),
        "result": None if answered is None else answered.output,
        "gate": gate,
        "question": question(run),
        "created_at": run.created_at,
        "expires_at": expires_at(run),
    }


def action_summary(row: ActionRow) -> dict[str, Any]:
    """An action as lists show it, from its row alone."""
    return {
        "id": row.run_id,
        "kind": "action",
        "status": row.status,
        "outcome": row.outcome,
        "tool": row.tool,
        "server": row.server,
        "agent": row.agent,
        "model": row.model,
        "way": row.way,
        "rule": {"id": row.rule, "version": row.rule_version, "digest": None},
        "decision": row.decision,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
    }


def question(run: Run) -> dict[str, str] | None:
    """What the agent is asked first and has not answered yet."""
    asked = (one for visit in run.parked if visit.gate is not None for one in visit.gate.questions)
    found = next((one for one in asked if one.answer is None), None)
    return None if found is None else {"id": found.id, "text": found.text}


def made(run: Run) -> Visit | None:
    """The visit whose call was made, by the service or by the agent; None where none was."""
    for one in reversed((*run.trace, *run.open)):
        if one.grant is not None:
            return one if one.grant.consumed_at is not None else None
        if one.calls and one.request is not None and one.request.mode == "live" and _sent(one):
            return one
    return None


def _mode(run: Run) -> str | None:
    """How its call is made, or was; in shadow it is recorded and not sent. None without one."""
    calls = (one.request.mode for one in reversed((*run.trace, *run.open)) if one.calls and one.request is not None)
    return next(calls, None)


def _sent(visit: Visit) -> bool:
    """Whether its call has been made, as far as anybody knows."""
    if visit.error is not None:
        return visit.error.maybe_sent is not False
    return visit.call_out or (visit.status == "done" and (visit.gate is None or not visit.gate.in_doubt))


def expires_at(run: Run) -> Any:
    """Until when the question, or the approval, of an action counts."""
    visit = run.open[0] if run.open else None
    if visit is not None and visit.grant is not None:
        return visit.grant.expires_at
    return None if run.action is None or run.ended is not None else run.action.deadline_at


def _reason(run: Run) -> str | None:
    """Why it ended as it did, or failed."""
    if run.error is not None:
        return run.error.detail
    return run.ended.reason if run.ended is not None and run.ended.reason is not None else _said(run)


def _said(run: Run) -> str | None:
    """What a person said who denied it."""
    verdicts = (one.verdict for one in reversed(run.trace) if one.verdict is not None)
    found = next(verdicts, None)
    return None if found is None else found.comment or found.code
