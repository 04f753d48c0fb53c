"""The work of one message: it moves the run from step to step until the run rests, and collects what became fact."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from actors.core.approvals import CHANGED, Standing, covered, doubt, standing, stands
from actors.core.calls import Connectors, Missing, Request, dry_run, prepare, sendable
from actors.core.evolve import evolve, visit_of
from actors.core.governance import Held, resolve
from actors.core.messages import (
    AUTOPILOT,
    CallSettled,
    Event,
    Failure,
    GateOpened,
    LaterEvent,
    RunEnded,
    StepCleared,
    StepEntered,
)
from actors.core.run import DONE, RETRY, Run, Visit
from actors.core.template import APPROVED, DENIED, Node, Template

TURN_STEPS_MAX = 200
COMPLETE = "what was missing is there now"


@dataclass(slots=True)
class Turn:
    """The run as it stands within a turn, and the events so far."""

    run: Run
    at: datetime
    connectors: Connectors
    template: Template
    steps_max: int
    events: list[Event] = field(default_factory=list)

    def emit(self, event: LaterEvent) -> None:
        """Change the run by an event, which is a fact from now on."""
        self.run = evolve(self.run, event)
        self.events.append(event)

    def flow(self) -> None:
        """Resolve every ready visit until the run rests or has ended, or this turn has done its share."""
        for _ in range(TURN_STEPS_MAX):
            visit = self.run.ready
            if visit is None:
                break
            if self.run.steps > self.steps_max:
                detail = f"The run entered more than {self.steps_max} steps."
                error = Failure(code="step_limit", detail=detail, step_id=visit.step_id)
                self.emit(RunEnded(at=self.at, status="failed", error=error, was=self.run.status))
                return
            self._resolve(visit)
        if self.run.denied:
            self.emit(RunEnded(at=self.at, status="completed", outcome=DENIED, was=self.run.status))

    def enter(self, step_id: str, source: str | None, by: str | None = None, via: str | None = None) -> None:
        """Bring the run to a step; at a join it waits there until each branch has come."""
        node = self.template.node(step_id)
        visit, waiting = self.run.visits.get(step_id, 0) + 1, False
        if source is not None and self.template.joins(step_id):
            here = self.run.at(step_id)
            arrived = 1
            if here is not None and here.status == "waiting":
                visit, arrived = here.visit, len(here.arrived) + 1
            waiting = arrived < len(self.template.entering(step_id))
        self.emit(
            StepEntered(
                at=self.at,
                step_id=step_id,
                visit=visit,
                kind=node.kind,
                tier=node.tier,
                source=source,
                waiting=waiting,
                by=by,
                via=via,
            )
        )

    def leave(self, step_id: str, branch: str) -> None:
        """Go on from a step over the edges of that branch; without one for `denied` this is the end of the way."""
        node = self.template.node(step_id)
        if node.kind == "end":
            self.emit(RunEnded(at=self.at, status="completed", outcome=node.outcome, was=self.run.status))
        onward = branch == APPROVED and node.flow != "exclusive"
        for edge in self.template.leaving(step_id):
            if edge.branch == branch or (onward and edge.branch != DENIED):
                self.enter(edge.target, step_id)

    def perform(self, visit: Visit, request: Request | Missing, reason: str | None = None, by: str = AUTOPILOT) -> None:
        """Let a task run: in shadow it settles here and now, live its call is left outstanding.

        `reason` and `by` say why and by whom it is cleared now; without a reason a verdict has just cleared it.
        """
        cleared_by = None if reason is None else by
        if isinstance(request, Missing):
            detail = f"The key {request.keys[0]} is in neither the facts nor the inputs; nothing was sent."
            error = Failure(code="missing_key", detail=detail, step_id=visit.step_id, maybe_sent=False)
            self.emit(
                CallSettled(
                    at=self.at, step_id=visit.step_id, visit=visit.visit, error=error, by=cleared_by, reason=reason
                )
            )
        elif request.mode == "shadow":
            node = self.template.node(visit.step_id)
            output, hit = dry_run(node, self.run.inputs, self.run.facts)
            sent = None if reason is None else request
            signal = True if hit or node.is_hit(output) else None
            self.emit(
                CallSettled(
                    at=self.at,
                    step_id=visit.step_id,
                    visit=visit.visit,
                    output=output,
                    signal=signal,
                    by=cleared_by,
                    reason=reason,
                    request=sent,
                )
            )
            self.leave(visit.step_id, APPROVED)
        elif reason is not None:
            self.emit(
                StepCleared(at=self.at, step_id=visit.step_id, visit=visit.visit, reason=reason, by=by, request=request)
            )

    def signal(self, step_id: str, output: Any, reported: Any = None) -> Any:
        """The signal of an output: a hit where the template's rule finds one, else what the tool's side reported."""
        return True if self.template.node(step_id).is_hit(output) else reported

    def prepare(self, node: Node) -> Request | Missing:
        """The request of a task as things stand now."""
        return prepare(node, self.connectors, self.run.inputs, self.run.facts)

    def stands(self, visit: Visit) -> Standing:
        """What an open gate asks as things stand now."""
        return stands(self.run, visit, self.template, self.connectors)

    def park(
        self,
        visit: Visit,
        reason: str,
        decisions: tuple[str, ...],
        request: Request | Missing | None,
        missing: tuple[str, ...] = (),
    ) -> None:
        """Open the gate of a visit, with all that a decision can send before the next human fixed in it."""
        known: Any = {"template": self.template, "connectors": self.connectors, "missing": missing}
        self._open(visit, reason, decisions, standing(self.run, visit, decisions, request, **known))

    def reopen(self, visit: Visit, now: Standing) -> Visit:
        """Let an open gate show what stands now, and say anew why it waits where what is missing has changed."""
        assert visit.gate is not None  # noqa: S101 - it is open
        reason = visit.gate.reason
        if now.missing != visit.gate.missing:
            answer = resolve(self.run, self.template.node(visit.step_id), self.template, now.request)
            reason = answer.reason if isinstance(answer, Held) else COMPLETE
        return self._open(visit, reason, visit.gate.decisions, now)

    def _open(self, visit: Visit, reason: str, decisions: tuple[str, ...], now: Standing) -> Visit:
        node = self.template.node(visit.step_id)
        opened = GateOpened(
            at=self.at,
            step_id=visit.step_id,
            visit=visit.visit,
            label=node.label,
            reason=reason,
            decisions=decisions,
            digest=now.digest,
            effects=now.effects,
            missing=now.missing,
            role=node.role,
            request=sendable(now.request),
            signals=self.run.signals,
        )
        self.emit(opened)
        return visit_of(self.run, opened)

    def _resolve(self, visit: Visit) -> None:
        node = self.template.node(visit.step_id)
        request = self.prepare(node) if node.kind == "task" else None
        if node.effect == "irreversible" and (why := doubt(self.run, node.id)) is not None:
            self.park(visit, why, (RETRY, DONE, DENIED), request)
            return
        answer = resolve(self.run, node, self.template, request)
        if isinstance(answer, Held):
            self.park(visit, answer.reason, self.template.decisions(node.id), request, answer.missing)
        elif node.kind == "end":
            self.leave(node.id, APPROVED)
        elif request is None:
            self.emit(
                StepCleared(at=self.at, step_id=node.id, visit=visit.visit, reason=answer.reason, branch=answer.branch)
            )
            self.leave(node.id, answer.branch or APPROVED)
        elif node.effect == "irreversible" and not covered(self.run, node.id, request):
            self.park(visit, CHANGED, self.template.decisions(node.id), request)
        else:
            self.perform(visit, request, answer.reason)
