"""Panels: judges that are heard where the autopilot would clear a medium step."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from actors.core.autonomy import Breakpoint, ClearanceDecision, CompanyAutonomy, Record, record_key
from actors.core.decider import TurnResult
from actors.core.governance import Cleared
from actors.core.messages import (
    CallAccepted,
    CallEffect,
    CallReturned,
    JudgeAnswered,
    PanelAsked,
    PanelDecided,
    StepCleared,
)
from actors.core.messages.votes import Asked, Vote
from actors.core.panels import REASON_CHARS_MAX, convene
from actors.core.preview import previews
from actors.core.rules import violations
from actors.core.template import Node, Template
from actors.core.turn import Turn
from tests.conversations import ALONE, DOWN, MORNING, Conversation, fold
from tests.processes import asking, connector, end, gate, parallel, process, ruling, seated, task, wait

SURE = Record(200, 200, 1.0, (Breakpoint(0.0, 0.5, 0.4), Breakpoint(0.6, 1.0, 0.98)))
YES: dict[str, Any] = {"verdict": "clear", "confidence": 0.9, "reason": "as usual"}
NO: dict[str, Any] = {"verdict": "flag", "confidence": 0.9, "reason": "an unknown payee"}
WAYS = "look -> pay -> end"


def judged(*judges: Any, quorum: int | None = None, effect: Any = "reversible") -> Template:
    return process(task("look"), seated(task("pay", "medium", effect), *judges, quorum=quorum), end(), ways=WAYS)


def talk_of(template: Template, **connectors: Any) -> Conversation:
    """A run that stands at the judged step; its visit is one that no sampling takes."""
    bound = {tool: connector(tool, **how) for tool, how in ({"pay": {}} | connectors).items()}
    talk = Conversation(template, bound, records={"pay": SURE})
    return talk.start({"amount": 12})


def raw_of(talk: Conversation) -> float | None:
    decided = next(one for one in reversed(talk.history) if isinstance(one, PanelDecided))
    return decided.confidence if isinstance(decided.confidence, float) else None


def test_a_step_whose_judges_are_sure_enough_is_cleared_with_the_numbers() -> None:
    talk = talk_of(judged(ruling("small", lambda inputs, _f, call: call["tool"] == "pay" and inputs["amount"] < 20)))
    assert talk.events[-3:] == ("panel_asked", "panel_decided", "step_cleared")
    assert isinstance(talk.last, TurnResult)
    assert talk.last.uses_records
    cleared = talk.history[-1]
    assert isinstance(cleared, StepCleared)
    assert cleared.by == "autopilot"
    assert cleared.reason == (
        "1 of 1 judges clear it with a confidence of 1.000; "
        "people approve at least 0.980 of such cases (95 %, 200 cases), above 0.7"
    )
    talk.returned("pay")
    assert talk.run.status == "completed"
    assert fold(talk.history) == talk.run


def test_without_what_people_decided_every_judged_step_waits_for_them() -> None:
    talk = talk_of(judged(ruling("small", answer=True)))
    talk.records = {}
    talk.cancel()
    talk = Conversation(talk.template, talk.connectors).start()
    assert talk.gate("pay").reason.endswith("people have decided 0 such cases of the 50 that are needed")
    panel = talk.visit("pay").panel
    assert panel is not None
    assert (panel.votes, panel.confidence) == ((Vote("small", "Small step", "clear", 1.0),), 1.0)
    assert panel.weighed is not None
    assert panel.weighed.why == "few_cases"
    talk.resume("pay")
    talk.returned("pay")
    assert talk.run.status == "completed"


@pytest.mark.parametrize(
    ("answers", "quorum", "raw"),
    [
        ((1.0, 0.8, 0.9), 3, 0.8),
        ((1.0, 0.8, 0.9), 2, 0.9),
        ((1.0, 0.8, 0.9), 1, 1.0),
        ((0.5, None, 0.9), 2, 0.5),
        ((0.5, None, 0.9), 3, None),
        ((None, None), 1, None),
    ],
)
def test_the_raw_confidence_is_the_lowest_of_the_surest_votes_of_the_quorum(
    answers: tuple[float | None, ...], quorum: int, raw: float | None
) -> None:
    judges = [ruling(f"j{n}", one is not None, one or 1.0) for n, one in enumerate(answers)]
    assert raw_of(talk_of(judged(*judges, quorum=quorum))) == raw


def test_rules_without_a_yes_flag_and_say_why() -> None:
    talk = talk_of(judged(ruling("small", answer=False), ruling("known", lambda inputs, *_: inputs["payee"])))
    assert talk.gate("pay").reason == "0 of 2 judges clear it, and 2 are needed"
    panel = talk.visit("pay").panel
    assert panel is not None
    assert [one.reason for one in panel.votes] == [
        "The rule small says so does not hold.",
        "The rule known says so has no clear answer: KeyError('payee')",
    ]


def test_a_tool_is_asked_by_a_call_that_knows_the_prepared_call() -> None:
    mapped = {"body_map": {"amount": "inputs.amount", "where": "call.url"}}
    talk = talk_of(judged(asking("model"), asking("other")), model=mapped, other={})
    asked = [one for one in talk.done.effects if isinstance(one, CallEffect)]
    assert talk.run.status == "executing"
    assert not talk.run.resting
    assert asked[0].request.body == {"amount": 12, "where": "https://api.test/pay"}
    body = asked[1].request.body
    assert body is not None
    assert body["call"]["tool"] == "pay"
    assert all(one.repeatable for one in asked)
    assert asked[0].key.startswith("run:pay:1:model:sha256:")
    talk.judge("model", YES)
    assert [*talk.events] == ["judge_answered"]
    talk.judge("other", {**YES, "confidence": 1})
    assert [*talk.events] == ["judge_answered", "panel_decided", "step_cleared"]
    assert (raw_of(talk), fold(talk.history)) == (0.9, talk.run)


def test_a_judge_whose_model_changes_begins_anew() -> None:
    template = judged(asking("model"), ruling("small", answer=True))
    first = '{"judges":{"model":"j-1"}}'
    for name, why in (("j-1", "calibrated"), ("j-2", "few_cases"), (None, "calibrated")):
        talk = Conversation(template, {"pay": connector("pay"), "model": connector("model")})
        talk.records = {record_key("pay", first): SURE} if name else {"pay": SURE}
        talk.start({"amount": 12})
        talk.judge("model", YES if name is None else {**YES, "model": name})
        assert isinstance(talk.last, TurnResult)
        about = "" if name is None else first.replace("j-1", name)
        assert talk.last.weighed == {("pay", about)}
        decided = next(one for one in talk.history if isinstance(one, PanelDecided))
        assert isinstance(decided.weighed, ClearanceDecision)
        assert (decided.weighed.why, decided.weighed.about) == (why, about)
        assert fold(talk.history) == talk.run


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({**YES, "model": 4}, "The model is no text of at most 200 characters."),
        ({**YES, "model": "m" * 201}, "The model is no text of at most 200 characters."),
        (NO, "an unknown payee"),
        (DOWN, "The far side answered 500."),
        ("clear", "The answer is no object of exactly verdict, confidence and reason."),
        ([YES, NO], "The answer is no object of exactly verdict, confidence and reason."),
        ({"verdict": "clear", "reason": ""}, "The answer is no object of exactly verdict, confidence and reason."),
        ({**YES, "verdict2": "flag"}, "The answer is no object of exactly verdict, confidence and reason."),
        ({**YES, "verdict": "CLEAR"}, "The verdict is neither clear nor flag."),
        ({**YES, "verdict": ["clear", "flag"]}, "The verdict is neither clear nor flag."),
        ({**YES, "confidence": True}, "The confidence is no number from 0 to 1."),
        ({**YES, "confidence": "0.9"}, "The confidence is no number from 0 to 1."),
        ({**YES, "confidence": 1.01}, "The confidence is no number from 0 to 1."),
        ({**YES, "confidence": float("nan")}, "The confidence is no number from 0 to 1."),
        ({**YES, "confidence": None}, "The confidence is no number from 0 to 1."),
        ({**YES, "reason": None}, f"The reason is no text of at most {REASON_CHARS_MAX} characters."),
        ({**YES, "reason": "x" * 501}, f"The reason is no text of at most {REASON_CHARS_MAX} characters."),
    ],
)
def test_an_answer_that_is_not_clear_is_a_flag(answer: Any, why: str) -> None:
    talk = talk_of(judged(asking("model")), model={})
    talk.judge("model", answer)
    said = talk.history[-3]
    assert isinstance(said, JudgeAnswered)
    assert (said.vote.verdict, said.vote.reason) == ("flag", why)
    assert talk.parked == ["pay"]


@pytest.mark.parametrize(
    ("bound", "why"),
    [
        ({}, "There is no connector for model."),
        ({"model": {"reversible": False}}, "The connector of model is shadowed."),
        ({"model": {"callback": True}}, "The connector of model answers later; a judge answers at once."),
        ({"model": {"body_map": {"x": "inputs.nowhere"}}}, "What model is asked with lacks inputs.nowhere."),
    ],
)
def test_a_tool_that_cannot_be_asked_flags_at_once(bound: dict[str, Any], why: str) -> None:
    talk = talk_of(judged(asking("model")), **bound)
    panel = talk.visit("pay").panel
    assert panel is not None
    assert [one.reason for one in panel.votes] == [why]
    assert talk.parked == ["pay"]


def test_an_answer_to_another_question_visit_or_judge_falls_away() -> None:
    talk = talk_of(judged(asking("model")), model={})
    asked = talk.done.effects[-1]
    assert isinstance(asked, CallEffect)
    assert asked.asked is not None
    known = asked.asked
    for step_id, visit, whom in (
        ("pay", 1, Asked("model", "sha256:other")),
        ("pay", 2, known),
        ("look", 1, known),
        ("pay", 1, Asked("nobody", known.digest)),
    ):
        talk.say(CallReturned(step_id=step_id, visit=visit, output=YES, asked=whom, at=talk.at))
        assert talk.events == ()
    talk.say(CallAccepted(step_id="pay", visit=1, until=talk.at, asked=known, at=talk.at))
    assert talk.parked == ["pay"]
    talk.say(CallReturned(step_id="pay", visit=1, output=YES, asked=known, at=talk.at))
    assert talk.events == ()


def test_a_panel_is_asked_anew_where_the_facts_have_changed() -> None:
    nodes = (parallel("fork"), task("check"), seated(task("pay", "medium", "reversible"), asking("model")))
    ways = "fork -> check -> join -> end\nfork -> pay -> join"
    talk = talk_of(process(*nodes, parallel("join"), end(), ways=ways), model={}, check={})
    talk.returned("check")
    talk.judge("model", YES)
    assert talk.events == ("judge_answered", "panel_asked")
    talk.judge("model", NO)
    assert talk.parked == ["pay"]
    assert len([one for one in talk.history if isinstance(one, PanelAsked)]) == 2
    assert fold(talk.history) == talk.run


def test_what_holds_a_step_comes_before_its_panel() -> None:
    for company, auto in ((ALONE, False), (replace(ALONE, autonomy=CompanyAutonomy(auto_resolve=False)), True)):
        talk = Conversation(judged(ruling("yes", answer=True)), company=company, records={"pay": SURE})
        talk.start(auto=auto).resume("look")
        assert talk.parked == ["pay"]
        assert not any(isinstance(one, PanelAsked) for one in talk.history)


def test_a_company_that_clears_nothing_any_more_holds_a_step_whose_panel_is_out() -> None:
    talk = talk_of(judged(asking("model")), model={})
    talk.company = replace(talk.company, autonomy=CompanyAutonomy(auto_resolve=False))
    talk.judge("model", YES)
    assert talk.gate("pay").reason == "every step of this company waits for a human"


def test_a_run_that_ends_drops_its_judges() -> None:
    for compensate in (False, True):
        talk = talk_of(judged(asking("model")), model={})
        call = talk.done.effects[-1]
        talk.cancel(compensate=compensate)
        assert (talk.run.status, talk.done.effects) == ("cancelled", ())
        assert talk.visit("pay").status == "cancelled"
        assert isinstance(call, CallEffect)
        talk.say(CallReturned(step_id="pay", visit=1, output=YES, asked=call.asked, at=talk.at))
        assert talk.events == ()


@pytest.mark.parametrize("node", [task("pay", "high", "reversible"), task("pay", "low"), task("pay", "critical")])
def test_no_panel_clears_a_step_of_another_tier(node: Node) -> None:
    """The checker refuses it, the autopilot holds it, and the panel itself does not clear it."""
    template = process(task("look"), seated(node, ruling("yes", answer=True)), end(), ways=WAYS)
    assert [one.rule for one in violations(template)] == ["judge_refused"]
    talk = talk_of(template)
    visit = talk.run.at("pay")
    assert talk.parked == ["pay"]
    assert visit is not None
    known: Any = {"records": {"pay": SURE}}
    turn = Turn(talk.run, MORNING, talk.connectors, template, talk.company, 10, **known)
    request = turn.prepare(template.node("pay"))
    assert convene(turn, visit, template.node("pay"), request, Cleared("yes")) is None


def test_an_irreversible_step_needs_the_higher_floor() -> None:
    nodes = (gate("signoff"), seated(task("pay", "medium", "irreversible"), ruling("yes", answer=True)), end())
    talk = Conversation(process(*nodes, ways="signoff -> pay -> end"), {"pay": connector("pay")})
    talk.records = {"pay": replace(SURE, curve=(Breakpoint(0.0, 0.9, 0.9),))}
    talk.start().resume("signoff")
    assert talk.gate("pay").reason.endswith("(95 %, 200 cases), not 0.95")


def test_a_call_that_lacks_something_fails_and_is_not_heard() -> None:
    talk = Conversation(judged(ruling("yes", answer=True)), {"pay": connector("pay", body_map={"x": "facts.nowhere"})})
    talk.start()
    assert talk.run.status == "failed"
    assert not any(isinstance(one, PanelAsked) for one in talk.history)


def test_a_loop_that_comes_again_drops_the_judges_of_before() -> None:
    template = judged(asking("model"))
    talk = talk_of(template, model={})
    entered = next(one for one in talk.history if one.type == "step_entered" and getattr(one, "step_id", "") == "pay")
    again = fold([*talk.history, replace(entered, visit=2)])
    assert [(one.step_id, one.status) for one in again.trace][-1] == ("pay", "cancelled")


def test_judges_sit_at_medium_tasks_and_a_quorum_is_one_of_them() -> None:
    yes = ruling("yes", answer=True)
    for node, rule in (
        (seated(task("pay", "high", "reversible"), yes), "judge_refused"),
        (seated(wait("pay", duration="PT1H"), yes), "judge_refused"),
        (seated(task("pay", "medium"), yes, quorum=2), "quorum_refused"),
        (seated(task("pay", "medium"), yes, quorum=0), "quorum_refused"),
    ):
        assert [one.rule for one in violations(process(task("look"), node, end(), ways=WAYS))] == [rule]
    assert violations(judged(yes)) == ()


def test_a_preview_never_says_that_a_judged_step_is_certain() -> None:
    step = seated(task("pay", "medium", "reversible"), ruling("yes", answer=True))
    for nodes, ways in (
        ((gate("signoff"), step, task("after"), end()), "signoff -> pay -> after -> end"),
        ((gate("signoff"), task("live"), step, task("after"), end()), "signoff -> live -> pay -> after -> end"),
    ):
        talk = Conversation(process(*nodes, ways=ways), {"live": connector("live")}).start()
        found = previews(talk.run, talk.run.parked[0], talk.template, talk.connectors)[0]
        assert {one.node.id: one.certain for one in found.steps if one.node.id in ("pay", "after")} == {
            "pay": False,
            "after": False,
        }
        assert (found.gates, found.outcomes) == (("pay",), ("done",))
