"""Questions that people ask the agent of an action before they decide, and its answers."""

from __future__ import annotations

from actors.core.approvals import restated
from actors.core.commands.verdicts import may_not, not_here
from actors.core.eligibility import Decider, why_not
from actors.core.messages import AnswerQuestion, AskAgent, GateAnswered, GateAsked, Rejected, kept_kind
from actors.core.people import Person
from actors.core.turn import Turn

ASKED_MAX = 20
"""Questions that are asked at a gate."""


def ask(turn: Turn, message: AskAgent) -> Rejected | None:
    """Ask the agent something; the gate stays open."""
    visit = next((one for one in turn.run.parked if one.step_id == message.gate), None)
    if visit is None or visit.gate is None:
        return not_here(turn.run, message.gate)
    action = turn.run.action
    if action is None:
        errors = [{"pointer": "/to", "detail": "names the agent of an action, and this run is none"}]
        return Rejected("invalid", "Not valid at /to: only the agent of an action is asked.", {"errors": errors})
    if action.way == "aap":
        return Rejected("not_for_aap", "Only an agent that waits for its action here can be asked.")
    known = turn.company.people.get(message.by)
    person = Person("", message.by, message.role) if known is None else known
    if (why := why_not(Decider(person, message.by_kind), visit, turn.run, turn.setting)) is not None:
        return may_not(why, visit.gate)
    if len(visit.gate.questions) >= ASKED_MAX:
        detail = f"{ASKED_MAX} questions were asked at this gate, which is all it takes."
        return Rejected("quota_exceeded", detail, {"budget": "questions", "limit": ASKED_MAX})
    turn.emit(
        GateAsked(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            question=message.question,
            text=message.text,
        )
    )
    return None


def answer(turn: Turn, message: AnswerQuestion) -> Rejected | None:
    """Take the agent's answer, once: the gate shows it, and verdicts before it lapse."""
    asked = [one for one in turn.run.parked if one.gate is not None and one.step_id == message.gate]
    found = [(one, each) for one in asked if one.gate for each in one.gate.questions if each.id == message.question]
    if not found or turn.run.action is None or turn.run.action.agent_id != message.agent_id:
        return Rejected("not_found", "There is no such question to this agent.")
    visit, question = found[0]
    if question.answer is not None:
        return Rejected("already_answered", "The question was answered before.")
    turn.emit(
        GateAnswered(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            question=message.question,
            text=message.text,
        )
    )
    visit = turn.run.at(visit.step_id) or visit
    turn.reopen(visit, restated(turn.run, visit, turn.template, turn.connectors, turn.company))
    return None
