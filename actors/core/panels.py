"""Panels of judges: when one is convened, what its answers say, and what it decides.

What a panel said counts for one visit and one question: the inputs, the facts and the prepared
call, by their digest. Where they have changed meanwhile, the panel is asked anew.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from actors.core.autonomy import Judge, PanelRule
from actors.core.calls import CallRequest, Missing, prepare_judge, shown
from actors.core.canonical import digest
from actors.core.governance import Cleared
from actors.core.messages import (
    CallAccepted,
    CallFailed,
    CallReturned,
    JudgeAnswered,
    PanelAsked,
    PanelDecided,
)
from actors.core.messages.votes import JudgeCall, PanelSession, Vote
from actors.core.run import Visit
from actors.core.template import ConditionFailed, Node
from actors.core.turn import Turn

REASON_CHARS_MAX = 500
MODEL_CHARS_MAX = 200
MEMBERS = frozenset({"verdict", "confidence", "reason"})


def vote_of(call: JudgeCall, answer: Any) -> Vote:
    """The vote in what a tool answered."""
    why = _malformed(answer)
    if why is not None:
        return flagged(call.judge, call.label, why)
    said = (answer["verdict"], float(answer["confidence"]), answer["reason"])
    return Vote(call.judge, call.label, *said, answer.get("model", UNSET))


def flagged(judge: str, label: str, why: str) -> Vote:
    """The vote of a judge that gave no clear answer, with why."""
    return Vote(judge, label, "flag", None, why[:REASON_CHARS_MAX])


def _malformed(answer: Any) -> str | None:
    """Why an answer does not count, in one sentence."""
    if not isinstance(answer, dict) or answer.keys() - {"model"} != MEMBERS:
        return "The answer is no object of exactly verdict, confidence and reason."
    model = answer.get("model", "")
    if not isinstance(model, str) or len(model) > MODEL_CHARS_MAX:
        return f"The model is no text of at most {MODEL_CHARS_MAX} characters."
    confidence, reason = answer["confidence"], answer["reason"]
    if answer["verdict"] not in ("clear", "flag"):
        return "The verdict is neither clear nor flag."
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return "The confidence is no number from 0 to 1."
    if not isinstance(reason, str) or len(reason) > REASON_CHARS_MAX:
        return f"The reason is no text of at most {REASON_CHARS_MAX} characters."
    return None


JudgeOutcome = CallReturned | CallFailed | CallAccepted


def convene(turn: Turn, visit: Visit, node: Node, request: CallRequest | Missing, cleared: Cleared) -> Cleared | None:
    """What the panel of a step says where the autopilot clears it; None while it may not go on.

    A call that lacks something is not heard: nothing of it is sent.
    """
    if node.panel is None or isinstance(request, Missing):
        return cleared
    asked = _question(turn, node, request)
    if visit.panel is None or visit.panel.digest != asked:
        visit = _ask(turn, visit, node.panel, request, asked)
    hearing = visit.panel
    assert hearing is not None  # noqa: S101 - it was asked
    return None if hearing.calls else _decide(turn, visit, node, request, hearing)


def answered(turn: Turn, message: JudgeOutcome) -> None:
    """Take the answer of a judge; one to an earlier question falls away."""
    visit, asked = turn.run.at(message.step_id), message.asked
    hearing = None if visit is None or visit.visit != message.visit else visit.panel
    if visit is None or visit.status != "judging" or hearing is None or asked is None or asked.digest != hearing.digest:
        return
    call = next((one for one in hearing.calls if one.judge == asked.judge), None)
    if call is not None:
        vote, attempts = _vote(call, message)
        where: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit}
        turn.emit(JudgeAnswered(**where, digest=hearing.digest, vote=vote, attempts=attempts))


def _question(turn: Turn, node: Node, request: CallRequest) -> str:
    """The digest of all that the judges are asked about."""
    about = {
        "run": turn.run.id,
        "template": turn.template.digest,
        "step": node.id,
        "inputs": turn.run.inputs,
        "facts": turn.run.facts,
        "call": shown(request),
    }
    return digest(about, turn.run.size_bytes)


def _ask(turn: Turn, visit: Visit, panel: PanelRule, request: CallRequest, asked: str) -> Visit:
    """Let rules answer at once; the calls of tools are left outstanding."""
    call = shown(request)
    assert call is not None  # noqa: S101 - there is a request
    said = [
        _ruled(turn, judge, call) if judge.rule is not None else _called(turn, judge, call) for judge in panel.judges
    ]
    turn.emit(
        PanelAsked(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            digest=asked,
            quorum=panel.quorum,
            request=request,
            votes=tuple(one for one in said if isinstance(one, Vote)),
            calls=tuple(one for one in said if isinstance(one, JudgeCall)),
        )
    )
    now = turn.run.at(visit.step_id)
    assert now is not None  # noqa: S101 - asking closes no visit
    return now


def _ruled(turn: Turn, judge: Judge, call: dict[str, Any]) -> Vote:
    """The vote of a rule; without a clear answer it flags."""
    rule = judge.rule
    assert rule is not None  # noqa: S101 - it is asked of rules alone
    try:
        holds = rule.holds(turn.run.inputs, turn.run.facts, call)
    except ConditionFailed as failed:
        return flagged(judge.id, judge.label, f"The rule {rule.text} has no clear answer: {failed}")
    if not holds:
        return flagged(judge.id, judge.label, f"The rule {rule.text} does not hold.")
    return Vote(judge.id, judge.label, "clear", judge.confidence)


def _called(turn: Turn, judge: Judge, call: dict[str, Any]) -> Vote | JudgeCall:
    """The call that asks a tool, or a flag where it cannot be asked."""
    tool = judge.tool or judge.id
    connector = turn.connectors.get(tool)
    if connector is None:
        return flagged(judge.id, judge.label, f"There is no connector for {tool}.")
    if not connector.reversible:
        return flagged(judge.id, judge.label, f"The connector of {tool} is shadowed.")
    if connector.callback:
        return flagged(judge.id, judge.label, f"The connector of {tool} answers later; a judge answers at once.")
    request = prepare_judge(tool, connector, turn.run.inputs, turn.run.facts, call)
    if isinstance(request, Missing):
        return flagged(judge.id, judge.label, f"What {tool} is asked with lacks {', '.join(request.keys)}.")
    return JudgeCall(judge.id, judge.label, request)


def _vote(call: JudgeCall, message: JudgeOutcome) -> tuple[Vote, int]:
    match message:
        case CallReturned():
            return vote_of(call, message.output), message.attempts
        case CallFailed():
            return flagged(call.judge, call.label, message.error.detail), message.error.attempts
        case _:
            return flagged(call.judge, call.label, "It answers later; a judge answers at once."), 1


def _decide(turn: Turn, visit: Visit, node: Node, request: CallRequest, hearing: PanelSession) -> Cleared | None:
    """Clear the visit where the quorum is sure enough, and park it with the reason elsewhere."""
    raw = hearing.confidence
    weighed = None if raw is None else turn.decide_clearance(visit, raw)
    turn.emit(
        PanelDecided(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            digest=hearing.digest,
            clear=hearing.clear,
            quorum=hearing.quorum,
            confidence=UNSET if raw is None else raw,
            weighed=weighed or UNSET,
        )
    )
    said = f"{hearing.clear} of {len(hearing.votes)} judges clear it"
    if weighed is None:
        reason = f"{said}, and {hearing.quorum} are needed"
    else:
        reason = f"{said} with a confidence of {weighed.raw:.3f}; {weighed.reason}"
        if weighed.clears and node.tier == "medium" and not node.gate:
            return Cleared(reason, weighed=weighed)
    turn.park(visit, reason, turn.template.decisions(node.id), request, weighed=weighed or UNSET)
    return None
