"""Decides what each message does to a run. Pure: no IO, no clock, no randomness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import UNSET, Struct

from actors.core.approvals import differs, restated
from actors.core.autonomy import UNRECORDED, Record
from actors.core.calls import Connectors
from actors.core.commands import callbacks, clocks, deadlines, endings, handovers, verdicts
from actors.core.commands.callbacks import deliver
from actors.core.commands.glass import break_glass, mend
from actors.core.commands.handovers import refuse
from actors.core.commands.migrations import migrate
from actors.core.commands.promotions import promote
from actors.core.commands.verdicts import make_proposal
from actors.core.eligibility import Setting
from actors.core.folding.evolve import evolve
from actors.core.kinds import NODE_KINDS, CallOutcome, enter_step, flow
from actors.core.messages import (
    AnswerQuestion,
    AskAgent,
    BreakGlass,
    CallAccepted,
    CallEffect,
    CallFailed,
    CallReturned,
    Cancel,
    Command,
    Consume,
    Deliver,
    Due,
    Effect,
    Elapsed,
    Event,
    Message,
    Migrate,
    PanelDecided,
    Promote,
    Propose,
    Rejected,
    ReportOutcome,
    Resume,
    Retry,
    Review,
    RunStarted,
    Settle,
    Start,
    Wake,
    Withdraw,
    kept_kind,
    repeatable,
)
from actors.core.messages.votes import Asked, PanelSession
from actors.core.panels import answered
from actors.core.people import NOBODY, Company
from actors.core.run import Run, Visit
from actors.core.template import Template
from actors.core.turn import Turn

STEPS_MAX = 10_000


class TurnResult(Struct, frozen=True):
    """What a message did: the run after it, the facts, what is asked of the outside.

    `rejected` is set when a command was refused and the refusal itself changed something: a gate
    that opened again because what it showed no longer holds.
    """

    run: Run
    events: tuple[Event, ...]
    effects: tuple[Effect, ...]
    rejected: Rejected | None = None

    @property
    def uses_records(self) -> bool:
        """Whether the word of a panel was weighed, on the records that the message came with."""
        return bool(self.weighed)

    @property
    def weighed(self) -> frozenset[tuple[str, str]]:
        """The steps that records are needed of, each with what its record is about."""
        found = (one for one in self.events if isinstance(one, PanelDecided))
        return frozenset([(one.step_id, one.weighed.about) for one in found if one.weighed is not UNSET])


def step(
    run: Run | None,
    message: Message,
    template: Template,
    connectors: Connectors,
    steps_max: int = STEPS_MAX,
    *,
    company: Company = NOBODY,
    onto: Template | None = None,
    records: Mapping[str, Record] = UNRECORDED,
) -> TurnResult | Rejected:
    """Decide on a message and evolve the run; Rejected when nothing became fact.

    `onto` is the version that a run migrates to; `records` tell of the steps that panels hear.
    """
    if isinstance(message, Start):
        if run is not None:
            return Rejected("already_exists", "A run with this id has already started.")
        turn = _started(message, Setting(template, connectors, company), steps_max, records)
        rejected = None
    elif run is None:
        return NO_SUCH_RUN
    else:
        at = max(message.at, run.updated_at)  # daemons have clocks of their own, and a history one order
        turn = Turn(run, at, connectors, template, company, steps_max, onto=onto, records=records)
        if template.clocks:
            turn.follow = clocks.follow
        if run.action is not None and isinstance(message, Resume | Consume):
            deadlines.expire(turn)  # what has lapsed is not decided on, nor used, any more
            flow(turn)
        rejected = _decide(turn, message)
    if rejected is None and not isinstance(message, Propose | BreakGlass):  # neither changes a gate
        flow(turn)
        _renew(turn)
        if turn.run.clocks:
            clocks.expire(turn, turn.at)
    elif rejected is not None and not turn.events:
        return rejected
    return TurnResult(turn.run, tuple(turn.events), outstanding(turn.run, turn.template), rejected)


def outstanding(run: Run, template: Template) -> tuple[Effect, ...]:
    """What the run still wants done; empty when it is at rest. Derived, never stored."""
    effects: list[Effect] = []
    for visit in run.open:
        if visit.status == "ready":
            effects.append(Wake(run.company_id, run.id, visit.step_id, visit.visit))
        elif visit.status == "judging" and visit.panel is not None:
            effects.extend(_asking(run, visit, visit.panel))
        elif visit.status == "calling" and visit.request is not None:
            effect = template.node(visit.step_id).effect
            effects.append(
                CallEffect(
                    run.company_id,
                    run.id,
                    visit.step_id,
                    visit.visit,
                    request=visit.request,
                    repeatable=repeatable(visit.request, effect, undoes=visit.undoes is not None),
                    traceparent=run.traceparent,
                    agent=None if run.action is None else run.action.agent,
                )
            )
    return tuple(effects)


def _asking(run: Run, visit: Visit, panel: PanelSession) -> Iterator[CallEffect]:
    """The calls that ask judges; they are reads, and may be repeated."""
    for one in panel.calls:
        yield CallEffect(
            run.company_id,
            run.id,
            visit.step_id,
            visit.visit,
            request=one.request,
            repeatable=True,
            traceparent=run.traceparent,
            asked=Asked(one.judge, panel.digest),
            agent=None if run.action is None else run.action.agent,
        )


def _started(message: Start, setting: Setting, steps_max: int, records: Mapping[str, Record]) -> Turn:
    template = setting.template
    started = RunStarted(
        at=message.at,
        run_id=message.run_id,
        company_id=message.company_id,
        by=message.by,
        by_kind=kept_kind(message.by_kind),
        via=message.via,
        vertical=template.vertical,
        template_version=template.version,
        template_digest=template.digest,
        inputs=message.inputs,
        auto_resolve=message.auto_resolve and setting.company.autonomy.auto_resolve,
        business_key=message.business_key or UNSET,
        traceparent=message.traceparent,
        promoted_from=message.promoted_from or UNSET,
        recorded=message.recorded or UNSET,
        made_by=message.made_by or UNSET,
        on_behalf_of=message.on_behalf_of or UNSET,
        action=message.action or UNSET,
    )
    run = evolve(None, started)
    turn = Turn(run, message.at, setting.connectors, template, setting.company, steps_max, [started], records=records)
    if template.clocks:
        clocks.begin(turn)
    if message.action is not None and message.action.decision == "deny":
        refuse(turn, message.action)
        return turn
    enter_step(turn, template.start, None)
    return turn


def _decide(turn: Turn, message: Message) -> Rejected | None:
    match message:
        case CallReturned() | CallFailed() | CallAccepted() if message.asked is not None:
            answered(turn, message)
        case CallReturned() | CallFailed():
            _outcome(turn, message)
        case CallAccepted():
            callbacks.accept(turn, message)
        case Due():
            deadlines.expire(turn)
            mend(turn)
        case Review():
            deadlines.review_gates(turn)
        case Start() | Elapsed():
            pass
        case _:
            return COMMANDS[type(message)](turn, message)
    return None


def _renew(turn: Turn) -> None:
    """Let each gate that waits beside other branches show what they have changed meanwhile."""
    if not turn.events or len(turn.run.open) == 1:
        return
    for visit in turn.run.parked:
        now = restated(turn.run, visit, turn.template, turn.connectors, turn.company)
        if differs(visit, now):
            turn.reopen(visit, now)


def _outcome(turn: Turn, message: CallOutcome) -> None:
    """Take what came of a call; a stale outcome falls away."""
    visit = turn.run.awaiting(message.step_id, message.visit)
    if visit is not None and (taken := NODE_KINDS[visit.kind].on_outcome) is not None:
        taken(turn, visit, message)


NO_SUCH_RUN = Rejected("not_found", "There is no such run.")

COMMANDS: dict[type[Command], Callable[[Turn, Any], Rejected | None]] = {
    Resume: verdicts.give_verdict,
    Withdraw: verdicts.withdraw_verdict,
    Propose: make_proposal,
    Deliver: deliver,
    Cancel: endings.cancel,
    Retry: endings.retry,
    Migrate: migrate,
    Promote: promote,
    Settle: callbacks.settle,
    Consume: handovers.consume,
    ReportOutcome: handovers.report,
    AskAgent: handovers.ask,
    AnswerQuestion: handovers.answer,
    BreakGlass: break_glass,
}
"""What each command does to a run; Rejected when it is refused."""
