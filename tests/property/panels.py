"""Random panels, answers, records and settings: what was cleared is counted again, another way."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from msgspec.structs import replace

from actors.core.autonomy import Breakpoint, CompanyAutonomy, Judge, LearnableTerms, Record, lower_bound
from actors.core.messages import (
    CallEffect,
    CallFailed,
    CallReturned,
    CallSettled,
    JudgeAnswered,
    PanelAsked,
    StepCleared,
)
from actors.core.messages.votes import Asked, Vote
from actors.core.template import Template, Tier, ToolEffect
from tests.conversations import ALONE, DOWN, NOT_SENT, Conversation, fold
from tests.processes import asking, connector, end, gate, parallel, process, ruling, seated, task

CASES_NEEDED = 50
JUDGES_MAX = 4
TALLY: Counter[str] = Counter()
MALFORMED: tuple[Any, ...] = (
    None,
    "clear",
    [],
    [{"verdict": "clear", "confidence": 1.0, "reason": ""}],
    {},
    {"verdict": "clear"},
    {"verdict": "clear", "confidence": 1.0},
    {"verdict": "clear", "confidence": None, "reason": ""},
    {"verdict": "clear", "confidence": "1", "reason": ""},
    {"verdict": "clear", "confidence": True, "reason": ""},
    {"verdict": "clear", "confidence": 2, "reason": ""},
    {"verdict": "clear", "confidence": float("nan"), "reason": ""},
    {"verdict": "clear", "confidence": 1.0, "reason": "x" * 501},
    {"verdict": "clear", "confidence": 1.0, "reason": "", "and": "flag"},
    {"verdict": ["clear", "flag"], "confidence": 1.0, "reason": ""},
    {"verdict": "sure", "confidence": 1.0, "reason": ""},
)


def outcome(seed: int) -> None:
    """One run with a panel, whose judges answer, lie, fail, come late and contradict themselves."""
    chance = random.Random(seed)
    talk = begun(chance)
    said: dict[tuple[str, str], Any] = {}
    while asked := [one for one in talk.done.effects if isinstance(one, CallEffect) and one.asked is not None]:
        if chance.random() < 0.1:
            stale(talk, chance, asked[0])
        one = chance.choice(asked)
        assert one.asked is not None
        heard = answer(talk, chance, one)
        said[one.asked.digest, one.asked.judge] = heard
        other = [call for call in talk.done.effects if isinstance(call, CallEffect) and call.asked is None]
        if other and chance.random() < 0.5:
            talk.returned(other[0].step_id, other[0].visit, {"n": chance.random()})
    assert fold(talk.history) == talk.run
    check(talk, said)


def begun(chance: random.Random) -> Conversation:
    """A run that has come to its judged step."""
    effects: tuple[ToolEffect, ...] = ("read", "reversible", "irreversible")
    tiers: tuple[Tier, ...] = ("medium", "medium", "medium", "high", "critical")
    judges = [seat(chance, f"j{number}") for number in range(chance.randint(1, JUDGES_MAX))]
    step = seated(
        task("pay", chance.choice(tiers), chance.choice(effects)), *judges, quorum=chance.randint(1, len(judges))
    )
    bound = {
        judge.tool: bind(chance, judge.tool) for judge in judges if judge.tool is not None and chance.random() < 0.9
    }
    live = {"pay": connector("pay")} if chance.random() < 0.5 else {}
    company = replace(ALONE, autonomy=settings_of(chance))
    known = {} if chance.random() < 0.1 else {"pay": record(chance)}
    talk = Conversation(
        graph(chance, step), {**live, **bound, "check": connector("check")}, company=company, records=known
    )
    talk.start({"amount": 12})
    talk.resume("signoff")
    return talk


def graph(chance: random.Random, step: Any) -> Template:
    if chance.random() < 0.7:
        return process(gate("signoff"), step, end(), ways="signoff -> pay -> end")
    nodes = (gate("signoff"), parallel("fork"), task("check"), step, parallel("join"), end())
    return process(*nodes, ways="signoff -> fork -> check -> join -> end\nfork -> pay -> join")


def seat(chance: random.Random, name: str) -> Judge:
    if chance.random() < 0.5:
        return asking(name)
    answers = (True, True, True, False, None)
    found = chance.choice(answers)
    return ruling(name, lambda *_: found, round(chance.random(), 3))


def bind(chance: random.Random, tool: str) -> Any:
    how: tuple[dict[str, Any], ...] = (
        {},
        {},
        {},
        {},
        {"reversible": False},
        {"callback": True},
        {"body_map": {"x": "no"}},
    )
    return connector(tool, **chance.choice(how))


def settings_of(chance: random.Random) -> CompanyAutonomy:
    learnable = {"process/pay": LearnableTerms(chance.choice((0.5, 0.8, 0.95)), chance.choice((1, 2, 50)))}
    return CompanyAutonomy(
        auto_resolve=chance.random() < 0.95,
        confidence_floor=chance.choice((0.0, 0.5, 0.7, 0.9, 1.0)),
        irreversible_floor=chance.choice((0.0, 0.8, 0.95, 1.0)),
        learnable=learnable if chance.random() < 0.3 else {},
    )


def record(chance: random.Random) -> Record:
    cases = chance.choice((0, 1, 49, 50, 51, 200, 200, 200, 5_000, 5_000))
    agreed = cases - min(cases, chance.choice((0, 0, 1, 5, 100)))
    places = sorted(chance.random() for _ in range(chance.randint(0, 4)))
    shares = sorted(chance.random() for _ in range(len(places)))
    if chance.random() < 0.5:
        places, shares = [0.0], [1.0]
    curve = tuple(Breakpoint(raw, share, max(0.0, share - 0.05)) for raw, share in zip(places, shares, strict=True))
    return Record(cases, agreed, chance.choice((0.0, 0.9, 1.0, 1.0)), curve)


def stale(talk: Conversation, chance: random.Random, call: CallEffect) -> None:
    """An answer that nobody asked for: to another question, visit or judge."""
    assert call.asked is not None
    asked = chance.choice((Asked(call.asked.judge, "sha256:other"), Asked("nobody", call.asked.digest)))
    clear = {"verdict": "clear", "confidence": 1.0, "reason": "late"}
    talk.say(CallReturned(step_id=call.step_id, visit=call.visit, output=clear, asked=asked, at=talk.at))
    assert talk.events == ()
    TALLY["stale answers"] += 1


def answer(talk: Conversation, chance: random.Random, call: CallEffect) -> float | None:
    """Let a judge answer; the confidence with which it clears, if it does."""
    where: dict[str, Any] = {"step_id": call.step_id, "visit": call.visit, "asked": call.asked, "at": talk.at}
    draw = chance.random()
    if draw < 0.15:
        talk.say(CallFailed(**where, error=chance.choice((DOWN, NOT_SENT))))
        return None
    if draw < 0.35:
        talk.say(CallReturned(**where, output=chance.choice(MALFORMED)))
        return None
    verdict, confidence = (
        chance.choice(("clear", "clear", "clear", "flag")),
        chance.choice((0, 0.3, 0.75, 0.9, 0.999, 1)),
    )
    talk.say(CallReturned(**where, output={"verdict": verdict, "confidence": confidence, "reason": "so it is"}))
    return confidence if verdict == "clear" else None


def check(talk: Conversation, said: dict[tuple[str, str], Any]) -> None:
    """What was cleared without a human is medium, has its quorum, and stands on enough cases."""
    node, panel = talk.template.node("pay"), talk.template.node("pay").panel
    assert panel is not None
    cleared = [
        one
        for one in talk.history
        if isinstance(one, StepCleared | CallSettled) and one.step_id == "pay" and one.by == "autopilot"
    ]
    TALLY["outcomes"] += 1
    if not cleared:
        TALLY[f"{node.tier} parked"] += 1
        assert talk.parked
        return
    TALLY[f"{node.tier} cleared"] += 1
    assert node.tier == "medium"
    autonomy, known = talk.company.autonomy, talk.records.get("pay")
    assert autonomy.auto_resolve
    assert known is not None
    assert known.cases >= CASES_NEEDED
    votes = counted(talk, said)
    assert len(votes) >= panel.quorum
    raw = sorted(votes, reverse=True)[panel.quorum - 1]
    floor = autonomy.confidence_floor
    if node.effect == "irreversible":
        floor = max(floor, autonomy.irreversible_floor)
    below = [one for one in known.curve if one.raw <= raw]
    learned = autonomy.learnable.get("process/pay")
    least = 2.0
    if learned is not None:
        least = max(learned.threshold, autonomy.irreversible_floor if node.effect == "irreversible" else 0)
    assert (below and below[-1].lower >= floor) or lower_bound(known.agreed, known.cases) > least


def counted(talk: Conversation, said: dict[tuple[str, str], Any]) -> list[float]:
    """The confidences of those who clear it, of rules by the event, of tools by what they said."""
    asked = [one for one in talk.history if isinstance(one, PanelAsked)][-1]
    rules: list[Vote] = [one for one in asked.votes if one.verdict == "clear"]
    answered = [one for one in talk.history if isinstance(one, JudgeAnswered) and one.digest == asked.digest]
    tools = [said[asked.digest, one.judge] for one in asked.calls]
    assert {one.vote.judge for one in answered} == {one.judge for one in asked.calls}
    return [one.confidence or 0.0 for one in rules] + [one for one in tools if one is not None]


def main(amount: int) -> str:
    """Try so many outcomes; the figure."""
    for seed in range(amount):
        outcome(seed)
    held = f"{TALLY['high parked']:,} high and {TALLY['critical parked']:,} critical ones"
    return (
        f"{TALLY['outcomes']:,} panel outcomes: {TALLY['medium cleared']:,} medium steps cleared, none below its "
        f"floor, its quorum or {CASES_NEEDED} cases; {TALLY['medium parked']:,} parked; of {held} none was cleared; "
        f"{TALLY['stale answers']:,} stale answers fell away\n"
    )
