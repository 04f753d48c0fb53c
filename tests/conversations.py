"""A run and everything that was said to it, so that a test reads as a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from actors.core.autonomy import Record
from actors.core.calls import Connector
from actors.core.decider import STEPS_MAX, TurnResult, outstanding, step
from actors.core.folding.evolve import evolve
from actors.core.messages import (
    BreakGlass,
    CallAccepted,
    CallEffect,
    CallFailed,
    CallReturned,
    Cancel,
    Deliver,
    Due,
    Elapsed,
    Event,
    Failure,
    Message,
    Migrate,
    Promote,
    Propose,
    Rejected,
    Resume,
    Retry,
    Review,
    Settle,
    Start,
    Withdraw,
)
from actors.core.people import Company
from actors.core.run import Gate, Run, Visit
from actors.core.template import Template

ALONE = Company(solo=True)
"""A company of one person, who decides alone."""
MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DOWN = Failure(code="connector_failed", detail="The far side answered 500.", status_code=500, attempts=3)
LOST = Failure(code="outcome_unknown", detail="Nobody can know whether the call took effect.", attempts=1)

NOT_SENT = Failure(code="call_failed", detail="There is no connection.", attempts=1, maybe_sent=False)
RECONNECTED = Failure(code="connector_changed", detail="The connector has changed since.", maybe_sent=False)


def fold(events: list[Event]) -> Run:
    """The run that a history makes."""
    run: Run | None = None
    for event in events:
        run = evolve(run, event)
    assert run is not None
    return run


@dataclass
class Conversation:
    """The state of one run between messages; a minute passes before each of them."""

    template: Template
    connectors: dict[str, Connector] = field(default_factory=dict)
    steps_max: int = STEPS_MAX
    history: list[Event] = field(default_factory=list)
    last: TurnResult | Rejected | None = None
    minutes: int = 0
    state: Run | None = None
    company: Company = ALONE
    records: dict[str, Record] = field(default_factory=dict)
    passed: timedelta = timedelta()

    @property
    def run(self) -> Run:
        assert self.state is not None
        return self.state

    @property
    def at(self) -> datetime:
        return MORNING + timedelta(minutes=self.minutes) + self.passed

    def say(self, message: Message, onto: Template | None = None) -> TurnResult | Rejected:
        """Let the run decide on a message, and keep what came of it."""
        known: dict[str, Any] = {"company": self.company, "onto": onto, "records": self.records}
        done = step(self.state, message, self.template, self.connectors, self.steps_max, **known)
        if isinstance(done, TurnResult):
            self.state = done.run
            self.history.extend(done.events)
        self.last, self.minutes = done, self.minutes + 1
        return done

    def start(self, inputs: dict[str, Any] | None = None, *, auto: bool = True) -> Conversation:
        """Start the run; answers the conversation, so that it can stand in one line."""
        self.say(Start(run_id="run", company_id="acme", by="ann", inputs=inputs or {}, auto_resolve=auto, **self._told))
        return self

    def resume(
        self,
        gate: str,
        decision: str = "approved",
        *,
        by: str = "bob",
        role: str = "owner",
        comment: str | None = None,
        digest: str | None = None,
        versions: set[int] | set[str] | None = None,
        output: Any = None,
        inputs: dict[str, Any] | None = None,
        **brought: Any,
    ) -> TurnResult | Rejected:
        tags = None if versions is None else frozenset(map(str, versions))
        said: Any = {"digest": digest, "tags": tags, "output": output, "comment": comment, "inputs": inputs, **brought}
        return self.say(Resume(gate=gate, decision=decision, by=by, role=role, **said, **self._told))

    def propose(
        self, gate: str, decision: str = "approved", *, by: str = "robot", **said: Any
    ) -> TurnResult | Rejected:
        who = {"by_kind": "agent", "role": "member"} | said
        return self.say(Propose(gate=gate, decision=decision, by=by, **who, **self._told))

    def withdraw(self, gate: str, *, by: str = "bob") -> TurnResult | Rejected:
        return self.say(Withdraw(gate=gate, by=by, **self._told))

    def deliver(self, name: str, payload: Any = None) -> TurnResult | Rejected:
        return self.say(Deliver(name=name, payload=payload, by="intake", by_kind="service", **self._told))

    def due(self, after: timedelta = timedelta()) -> TurnResult | Rejected:
        """Let time pass, and say that something may be due."""
        self.passed += after
        return self.say(Due(**self._told))

    def review(self, company: Company) -> TurnResult | Rejected:
        """Change the company, and say so."""
        self.company = company
        return self.say(Review(**self._told))

    def promote(self, onto: str) -> TurnResult | Rejected:
        return self.say(Promote(promoted_to=onto, by="ann", **self._told))

    def break_glass(self, reason: str) -> TurnResult | Rejected:
        return self.say(BreakGlass(by="ann", reason=reason, **self._told))

    def cancel(self, reason: str | None = None, *, compensate: bool = False) -> TurnResult | Rejected:
        return self.say(Cancel(by="ann", reason=reason, compensate=compensate, **self._told))

    def migrate(self, onto: Template) -> TurnResult | Rejected:
        """Let the run go on by another version, if it can."""
        done = self.say(Migrate(by="ann", **self._told), onto)
        if isinstance(done, TurnResult):
            self.template = onto
        return done

    def retry(self) -> TurnResult | Rejected:
        return self.say(Retry(by="ann", **self._told))

    def returned(self, step_id: str, visit: int = 1, output: Any = None, signal: Any = None) -> TurnResult | Rejected:
        answer = {"ok": True} if output is None else output
        return self.say(CallReturned(step_id=step_id, visit=visit, output=answer, signal=signal, **self._told))

    def judge(self, judge: str, answer: Any) -> TurnResult | Rejected:
        """Let a judge that is asked answer, or fail where the answer is a failure."""
        asking = next(
            one
            for one in outstanding(self.run, self.template)
            if isinstance(one, CallEffect) and one.asked is not None and one.asked.judge == judge
        )
        where: dict[str, Any] = {"step_id": asking.step_id, "visit": asking.visit, "asked": asking.asked}
        if isinstance(answer, Failure):
            return self.say(CallFailed(**where, error=answer, **self._told))
        return self.say(CallReturned(**where, output=answer, **self._told))

    def awaits_answer(
        self, step_id: str, visit: int = 1, within: timedelta = timedelta(hours=1)
    ) -> TurnResult | Rejected:
        """The tool took the call, and answers within that time."""
        return self.say(CallAccepted(step_id=step_id, visit=visit, until=self.at + within, **self._told))

    def answered_later(
        self, step_id: str, visit: int = 1, output: Any = None, signal: Any = None
    ) -> TurnResult | Rejected:
        """The tool answers later."""
        answer = {"ok": True} if output is None else output
        return self.say(Settle(step_id=step_id, visit=visit, output=answer, signal=signal, **self._told))

    def failed(
        self, step_id: str, visit: int = 1, *, unknown: bool = False, error: Failure | None = None
    ) -> TurnResult | Rejected:
        error = error or (LOST if unknown else DOWN)
        return self.say(CallFailed(step_id=step_id, visit=visit, error=error, unknown=unknown, **self._told))

    def elapsed(self, step_id: str, visit: int = 1) -> TurnResult | Rejected:
        return self.say(Elapsed(step_id=step_id, visit=visit, **self._told))

    @property
    def _told(self) -> dict[str, Any]:
        """What every message is told of the world."""
        return {"at": self.at}

    # ---------------------------------------------------------------------------- what a test asks

    @property
    def events(self) -> tuple[str, ...]:
        """The types of the events that the last message led to."""
        return tuple(event.type for event in self.done.events)

    @property
    def done(self) -> TurnResult:
        """What the last message did; it must not have been refused outright."""
        assert isinstance(self.last, TurnResult), self.last
        return self.last

    @property
    def refusal(self) -> Rejected:
        """Why the last message was refused."""
        refused = self.last.rejected if isinstance(self.last, TurnResult) else self.last
        assert refused is not None
        return refused

    @property
    def parked(self) -> list[str]:
        """The steps at which the run is parked, the first opened first."""
        return [visit.step_id for visit in self.run.parked]

    @property
    def calls(self) -> tuple[str, ...]:
        """The keys of what is outstanding after the last message."""
        return tuple(effect.key for effect in self.done.effects)

    def visit(self, step_id: str, visit: int = 1) -> Visit:
        """One visit, open or not."""
        every = (*self.run.trace, *self.run.open)
        return next(v for v in every if v.step_id == step_id and v.visit == visit)

    def gate(self, step_id: str, visit: int = 1) -> Gate:
        """What a human was or is asked at a visit."""
        gate = self.visit(step_id, visit).gate
        assert gate is not None
        return gate

    def steps(self) -> list[str]:
        """The ended visits, one word each: `pay:1 done`."""
        return [f"{visit.step_id}:{visit.visit} {visit.status}" for visit in self.run.trace]
