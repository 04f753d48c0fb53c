"""The answer of a judge that is a tool: anything that is not a clear answer is a flag."""

from __future__ import annotations

from typing import Any

from actors.core.messages.votes import JudgeCall, Vote

REASON_CHARS_MAX = 500
MEMBERS = frozenset({"verdict", "confidence", "reason"})


def vote_of(call: JudgeCall, answer: Any) -> Vote:
    """The vote in what a tool answered."""
    why = _malformed(answer)
    if why is not None:
        return flagged(call.judge, call.label, why)
    return Vote(call.judge, call.label, answer["verdict"], float(answer["confidence"]), answer["reason"])


def flagged(judge: str, label: str, why: str) -> Vote:
    """The vote of a judge that gave no clear answer, with why."""
    return Vote(judge, label, "flag", None, why[:REASON_CHARS_MAX])


def _malformed(answer: Any) -> str | None:
    """Why an answer does not count, in one sentence."""
    if not isinstance(answer, dict) or answer.keys() != MEMBERS:
        return "The answer is no object of exactly verdict, confidence and reason."
    confidence, reason = answer["confidence"], answer["reason"]
    if answer["verdict"] not in ("clear", "flag"):
        return "The verdict is neither clear nor flag."
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return "The confidence is no number from 0 to 1."
    if not isinstance(reason, str) or len(reason) > REASON_CHARS_MAX:
        return f"The reason is no text of at most {REASON_CHARS_MAX} characters."
    return None
