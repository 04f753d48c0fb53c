"""The work of one message: the run as it stands within it, and what became fact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from actors.core.approvals import (
    GateSnapshot,
    allowing,
    changed_gates,
    current_snapshot,
    departures,
    lost_call,
    restated,
    snapshot_gate,
    tag,
)
from actors.core.autonomy import (
    NO_RECORD,
    UNRECORDED,
    ClearanceDecision,
    PanelVerdict,
    Record,
    decide_clearance,
    record_key,
)
from actors.core.calls import CallRequest, Connectors, Missing, prepare, sendable
from actors.core.canonical import canonical
from actors.core.eligibility import Setting, blocked, valid_verdicts
from actors.core.folding.evolve import evolve
from actors.core.folding.gates import visit_of
from actors.core.gate_policy import PLAIN, AnchoredDeadline, GateFunction, GatePolicy, deadlines, inherited
from actors.core.governance import Held, resolve
from actors.core.messages import Event, GateBlocked, GateOpened, GateUnblocked, LaterEvent, VerdictWithdrawn
from actors.core.people import Company
from actors.core.rules.guards import breach_role
from actors.core.rules.questions import rendered
from actors.core.run import DONE, Gate, Run, Visit
from actors.core.template import Node, Template

COMPLETE = "what was missing is there now"


@dataclass(slots=True)
class Turn:
    """The run as it stands within a turn, and the events so far."""

    run: Run
    at: datetime
    connectors: Connectors
    template: Template
    company: Company
    steps_max: int
    events: list[Event] = field(default_factory=list)
    onto: Template | None = None
    """The version that the run is to go on by, where it migrates."""
    records: Mapping[str, Record] = field(default_factory=lambda: UNRECORDED)
    """What is known of the steps of the template that panels hear."""

    follow: Callable[[Turn, LaterEvent], None] | None = None
    """Adds an event together with what clocks make of it, where there are clocks."""

    def emit(self, event: LaterEvent) -> None:
        """Change the run by an event, which is a fact from now on, and by what follows from it."""
        if self.follow is not None:
            self.follow(self, event)
            return
        self.run = evolve(self.run, event)
        self.events.append(event)

    def add(self, event: LaterEvent) -> None:
        """Change the run by an event alone, as what follows events does."""
        self.run = evolve(self.run, event)
        self.events.append(event)

    def deadlines(self, policy: GatePolicy, opened_at: datetime) -> tuple[datetime | None, tuple[datetime, ...]]:
        """The deadline and the reminders of a gate that opened then, as calendar and clocks are."""
        if policy.deadline is None and not policy.remind:
            return None, ()
        if not isinstance(policy.deadline, AnchoredDeadline):
            return deadlines(policy, opened_at, self.company.calendar)
        clock = self.run.clock(policy.deadline.clock)
        goes = clock is not None and clock.state in ("running", "breached")
        return deadlines(policy, opened_at, self.company.calendar, clock.due_at if clock and goes else None)

    @property
    def setting(self) -> Setting:
        """What surrounds the run."""
        return Setting(self.template, self.connectors, self.company)

    @property
    def autonomous(self) -> bool:
        """Whether the company lets anything be cleared without a human."""
        return self.company.autonomy.auto_resolve

    def decide_clearance(self, visit: Visit, raw: float) -> ClearanceDecision:
        """Whether a visit is cleared whose panel is for it with that raw confidence."""
        node = self.template.node(visit.step_id)
        about = (self.run.id, self.run.vertical, node.id, visit.visit, node.effect)
        heard = PanelVerdict(*about, raw, self.template.version, recorded_about(self.run, visit))
        record = self.records.get(record_key(node.id, heard.about), NO_RECORD)
        return decide_clearance(self.company.autonomy, record, heard)

    def signal(self, step_id: str, output: Any, reported: Any = None) -> Any:
        """The signal of an output: the template's rule finds a hit, or the tool reported one."""
        return True if self.template.node(step_id).is_hit(output) else reported

    def prepare(self, node: Node) -> CallRequest | Missing:
        """The request of a task as things stand now."""
        return prepare(node, self.connectors, self.run.inputs, self.run.facts)

    def tag(self) -> str:
        """The entity tag of the run as it stands."""
        return tag(self.run, changed_gates(self.run, self.template, self.connectors, self.company))

    def seen(self, tags: frozenset[str] | None) -> bool:
        """Whether the run stands as these entity tags say, if there are any.

        Proposals change nothing of what is decided on, so the tags before them still fit.
        """
        if tags is None:
            return True
        number, dash, gates = self.tag().partition("-")
        return any(f"{int(number) - back}{dash}{gates}" in tags for back in range(self.run.proposed + 1))

    def stands(self, visit: Visit) -> GateSnapshot:
        """What an open gate asks as things stand now."""
        return current_snapshot(self.run, visit, self.template, self.connectors, self.company)

    def park(
        self,
        visit: Visit,
        reason: str,
        decisions: tuple[str, ...],
        request: CallRequest | Missing | None,
        missing: tuple[str, ...] = (),
        *,
        weighed: ClearanceDecision | UnsetType = UNSET,
    ) -> None:
        """Open the gate of a visit; it fixes what a decision can send before the next human."""
        now = snapshot_gate(
            self.run,
            visit,
            decisions,
            request,
            template=self.template,
            connectors=self.connectors,
            missing=missing,
            company=self.company,
        )
        self._open(visit, reason, decisions, now, weighed)

    def reopen(
        self,
        visit: Visit,
        now: GateSnapshot,
        decisions: tuple[str, ...] | None = None,
    ) -> Visit:
        """Open a gate again with what stands now; the reason follows what is missing or changed."""
        assert visit.gate is not None  # noqa: S101 - it is open
        reason = visit.gate.reason
        if now.changed not in (None, visit.gate.changed):
            reason = now.changed
        elif now.missing != visit.gate.missing:
            answer = resolve(
                self.run, self.template.node(visit.step_id), self.template, now.request, autonomous=self.autonomous
            )
            reason = answer.reason if isinstance(answer, Held) else COMPLETE
        decisions = visit.gate.decisions if decisions is None else decisions
        return self._open(visit, reason, decisions, now)

    def change_arguments(self, visit: Visit, arguments: dict[str, Any]) -> Visit:
        """Let a gate of an action show the call with these arguments; verdicts on others lapse."""
        changed = replace(self.run, inputs=arguments)
        now = restated(changed, visit, self.template, self.connectors, self.company)
        return self.reopen(visit, replace(now, arguments=arguments))

    def answer_by(self, due_at: datetime | None) -> datetime | None:
        """When a gate is due, which at an action is at the latest when the agent waits no more."""
        if self.run.action is None or self.run.action.deadline_at is None:
            return due_at
        return min(self.run.action.deadline_at, due_at or self.run.action.deadline_at)

    def _open(
        self,
        visit: Visit,
        reason: str,
        decisions: tuple[str, ...],
        now: GateSnapshot,
        weighed: ClearanceDecision | UnsetType = UNSET,
    ) -> Visit:
        node, first, doubtful = self.template.node(visit.step_id), visit.gate is None, DONE in decisions
        gates = allowing(self.run, visit, self.template, doubtful=doubtful)
        policy = reduce(lambda own, gate: inherited(own, gate.policy), gates, node.policy)
        barred = self._barred(visit, gates)
        due_at, remind_at = self.deadlines(policy, self.at) if first else (None, ())
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
            role=policy.role if gates else node.role,
            request=sendable(now.request),
            signals=self.run.signals,
            policy=policy if policy != PLAIN and policy.asks else UNSET,
            due_at=due_at or UNSET,
            remind_at=remind_at or UNSET,
            question=(self._doubt(visit, now) if doubtful else self._question(node, decisions)) or UNSET,
            differences=departures(self.run, visit, now.request) or UNSET,
            weighed=weighed,
            barred=barred or UNSET,
            in_doubt=True if doubtful else UNSET,
            breach_role=(self._breach_role(visit.step_id) if first and self.run.clocks else None) or UNSET,
            function=UNSET if policy.function is None else self._function(policy.function),
        )
        if self.run.action is not None:
            due_at = self.answer_by(due_at) if first and not doubtful else due_at
            opened = self._of_action(replace(opened, due_at=due_at or UNSET), now)
        self.emit(opened)
        if policy.asks_people or barred:
            review(self, visit_of(self.run, opened))
        return visit_of(self.run, opened)

    def _of_action(self, opened: GateOpened, now: GateSnapshot) -> GateOpened:
        """The opening of the gate of an action, perhaps with other arguments."""
        opened = replace(opened, changed=now.changed or UNSET, arguments=now.arguments)
        question = self.template.node(opened.step_id).question
        if now.arguments is UNSET or question is None:
            return opened
        asked = rendered(question, now.arguments, self.run.facts, self.run.business_key, [])
        return replace(opened, question=asked)

    def _breach_role(self, step_id: str) -> str | None:
        """The least role that a breached clock opens a gate to that stands in its way."""
        breached = [one.id for one in self.run.clocks if one.state == "breached"]
        return breach_role(self.template, step_id, [one for one in self.template.clocks if one.id in breached])

    def _barred(self, visit: Visit, gates: tuple[Gate, ...]) -> tuple[str, ...]:
        """Who has made a gate laxer, or the gates at which its call was allowed."""
        if not (gates or self.template.loosened or self.run.loosened):
            return ()
        here = [one.by for one in (*self.template.loosened, *self.run.loosened) if one.step_id == visit.step_id]
        return tuple(dict.fromkeys(name for names in (*here, *(gate.barred for gate in gates)) for name in names))

    def _function(self, name: str) -> GateFunction:
        """A function as the template calls it and the company has bound it."""
        rule = self.template.functions.get(name)
        return GateFunction(name, name if rule is None else rule.label, self.company.binding(name).bound)

    def _doubt(self, visit: Visit, now: GateSnapshot) -> str | None:
        """What may have been sent, which a change of the connector does not alter."""
        return lost_call(now.request) if visit.gate is None else visit.gate.question

    def _question(self, node: Node, decisions: tuple[str, ...]) -> str | None:
        """What the template asks here, unless it is about something else, as about a lost call."""
        if node.question is None or decisions != self.template.decisions(node.id):
            return None
        shadowed = {one.step_id: one.request.mode == "shadow" for one in self.run.trace if one.request is not None}
        samples = [step_id for step_id, is_sample in shadowed.items() if is_sample]
        return rendered(node.question, self.run.inputs, self.run.facts, self.run.business_key, samples)


def recorded_about(run: Run, visit: Visit) -> str:
    """What the record of a visit is about: an action's tool and model, and the models of judges.

    With another model nothing is known.
    """
    votes = () if visit.panel is None else visit.panel.votes
    judges = {vote.judge: vote.model for vote in votes if vote.model is not UNSET}
    said: dict[str, Any] = {"judges": judges} if judges else {}
    if run.action is not None:
        said |= {"tool": run.action.tool, "server": run.action.server, "model": run.action.model}
    return canonical(said) if said else ""


def lapse(turn: Turn, visit: Visit) -> None:
    """Take back the verdicts of those who may decide no more."""
    assert visit.gate is not None  # noqa: S101 - it is open
    counts = valid_verdicts(visit, turn.run, turn.setting)
    for one in visit.gate.verdicts:
        if one not in counts:
            turn.emit(
                VerdictWithdrawn(
                    at=turn.at,
                    step_id=visit.step_id,
                    visit=visit.visit,
                    giver=one.by,
                    verdict_id=one.verdict_id or UNSET,
                )
            )


def review(turn: Turn, visit: Visit) -> None:
    """Note whether too few people can close a gate, where that has changed."""
    assert visit.gate is not None  # noqa: S101 - it is open
    found, before = blocked(visit, turn.run, turn.setting), visit.gate.blocked
    where: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit}
    if found is None:
        if before is not None:
            turn.emit(GateUnblocked(**where))
    elif before is None or (before.needed, before.eligible) != found:
        turn.emit(GateBlocked(**where, needed=found[0], eligible=found[1]))
