"""A run as it is kept in memory after it was loaded."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from actors.core.run import Run, Visit
from actors.core.template import Template


def interned(run: Run, template: Template) -> Run:
    """A loaded run in which equal names, times and outputs are one object each, to save memory."""
    times: dict[datetime, datetime] = {}
    texts: dict[str | None, str | None] = {}

    def moment(at: datetime) -> datetime:
        return times.setdefault(at, at)

    def lean(visit: Visit) -> Visit:
        fact, ended_at = run.facts.get(visit.step_id), visit.ended_at
        latest = run.ended is None and visit.visit == run.visits[visit.step_id]
        return replace(
            visit,
            step_id=template.node(visit.step_id).id if template.has(visit.step_id) else visit.step_id,
            started_at=moment(visit.started_at),
            ended_at=None if ended_at is None else moment(ended_at),
            reason=texts.setdefault(visit.reason, visit.reason),
            resolved_by=texts.setdefault(visit.resolved_by, visit.resolved_by),
            output=fact if latest and fact == visit.output else visit.output,
        )

    visits = {"open": tuple(map(lean, run.open)), "trace": tuple(map(lean, run.trace))}
    times_at = {"created_at": moment(run.created_at), "updated_at": moment(run.updated_at)}
    return replace(run, template_digest=template.digest, **times_at, **visits)
