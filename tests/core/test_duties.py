"""Acts of duty: who denies one finds somebody above, or an end that is exempt."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from actors.core.rules import Violation, violations
from actors.core.template import Node, Template
from tests.conversations import Conversation
from tests.processes import When, choice, connector, end, gate, parallel, process, task, wait

ABOVE: dict[str, Any] = {"role": "admin", "four_eyes": ("gate:first",)}


def duteous(*nodes: Node, ways: str, exempt: tuple[str, ...] = ()) -> Template:
    act = structs.replace(task("act"), duty="law")
    return replace(process(*nodes, act, end(), ways=f"{ways}\nact -> end"), exempt={"law": exempt})


def avoided(template: Template) -> list[Violation]:
    every = violations(template)
    assert {one.rule for one in every} <= {"duty_avoidable"}, every
    return list(every)


def why(template: Template) -> list[str]:
    return [one.detail.partition(": ")[2] for one in avoided(template)]


def test_a_denial_before_a_duty_leads_to_an_exempt_end_or_avoids_it() -> None:
    nodes, ways = (gate("first"), end("none")), "first -> act\nfirst -[denied]-> none"
    assert avoided(duteous(*nodes, ways=ways, exempt=("none",))) == []
    (found,) = avoided(duteous(*nodes, ways=ways))
    assert (found.node, found.path) == ("first", ("first", "none"))
    assert found.detail == "a denial at first avoids act, the duty of law: the run ends at none, which is not exempt"


def test_a_denial_that_leads_nowhere_avoids_a_duty() -> None:
    assert why(duteous(gate("first"), ways="first -> act")) == ["it leads nowhere"]
    act = structs.replace(task("act", "high"), duty="law")
    template = replace(process(act, end(), ways="act -> end"), exempt={"law": ()})
    assert why(template) == ["it leads nowhere"]


def test_a_denial_behind_which_the_duty_is_done_all_the_same_avoids_nothing() -> None:
    assert avoided(duteous(gate("first"), ways="first -> act\nfirst -[denied]-> act")) == []
    nodes, ways = (gate("first"), wait("w", duration="P1D")), "first -> act\nfirst -[denied]-> w -> act"
    assert avoided(duteous(*nodes, ways=ways)) == []


def test_ways_behind_a_denial_that_meet_again_are_followed_once() -> None:
    ways = "first -> act\nfirst -[denied]-> c -[one]-> t\nc -[other]-> t\nt -> none"
    nodes = (gate("first"), choice("c"), task("t"), end("none"))
    when: dict[str, Any] = {"one": When("inputs.x", lambda *_: True)}
    act = structs.replace(task("act"), duty="law")
    template = process(*nodes, act, end(), ways=f"{ways}\nact -> end", when=when)
    assert avoided(replace(template, exempt={"law": ("none",)})) == []


CHAIN = "first -> act\nfirst -[denied]-> second -> act\nsecond -[denied]-> none"


def chain(**policy: Any) -> Template:
    return duteous(gate("first"), gate("second", **policy), end("none"), ways=CHAIN, exempt=("none",))


def test_a_gate_above_with_other_people_answers_a_denial() -> None:
    assert avoided(chain(**ABOVE)) == []


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"role": "manager", "four_eyes": ("gate:first",)}, "second asks for the role manager, which is no higher one"),
        ({"role": "admin"}, "who denies may decide at second, too: its four_eyes lack gate:first"),
    ],
)
def test_a_gate_that_is_not_above_or_has_the_same_people_answers_nothing(policy: dict[str, Any], said: str) -> None:
    assert why(chain(**policy)) == [said]


def test_a_denial_that_comes_back_to_its_own_gate_avoids_the_duty() -> None:
    (found,) = avoided(duteous(gate("first"), ways="first -> act\nfirst -[denied]-> first"))
    assert found.path == ("first", "first")


def test_the_last_gate_of_the_chain_leads_to_exempt_ends_alone() -> None:
    nodes = (gate("first"), gate("second", **ABOVE), end("none"))
    (found,) = avoided(duteous(*nodes, ways=CHAIN))
    assert (found.node, found.path) == ("second", ("second", "none"))


def test_a_gate_above_that_agrees_to_do_nothing_ends_at_an_exempt_end() -> None:
    above = choice("second", "high", **ABOVE)
    ways = "first -> act\nfirst -[denied]-> second -[do]-> act\nsecond -[leave]-> none"
    (found,) = avoided(duteous(gate("first"), above, end("none"), ways=ways))
    assert (found.node, found.path) == ("first", ("first", "second", "none"))
    assert avoided(duteous(gate("first"), above, end("none"), ways=ways, exempt=("none",))) == []


def test_a_gate_above_that_may_only_leave_it_has_a_way_for_its_denial_too() -> None:
    nodes, ways = (
        (gate("first"), gate("second", **ABOVE), end("none")),
        "first -> act\nfirst -[denied]-> second -> none",
    )
    assert why(duteous(*nodes, ways=ways, exempt=("none",))) == ["a denial at second leads nowhere"]
    assert avoided(duteous(*nodes, ways=f"{ways}\nsecond -[denied]-> none", exempt=("none",))) == []


def test_gates_behind_the_duty_and_choices_before_it_are_nobodys_denial() -> None:
    nodes = (choice("c", "high"), end("other"))
    assert avoided(duteous(*nodes, ways="c -[yes]-> act\nc -[no]-> other")) == []
    act = structs.replace(task("act"), duty="law")
    behind = process(act, gate("g"), end(), ways="act -> g -> end")
    assert avoided(replace(behind, exempt={"law": ()})) == []


def test_a_duty_names_a_rule_and_exempt_names_ends() -> None:
    act = structs.replace(task("act"), duty="unknown")
    template = replace(process(act, end(), ways="act -> end"), exempt={"law": ("act", "nowhere")})
    assert [(one.rule, one.node, one.detail) for one in violations(template)] == [
        ("duty_refused", "act", "duty names unknown, which is the id of no rule"),
        ("duty_refused", None, "rules/law: exempt names act, which is no end"),
        ("duty_refused", None, "rules/law: exempt names nowhere, which is no end"),
    ]


def test_so_many_duties_that_nobody_could_look_at_them_are_refused() -> None:
    acts = [structs.replace(task(f"act-{number}"), duty="law") for number in range(800)]
    names = [*(one.id for one in acts), "end"]
    ways = "\n".join(f"{one} -> {after}" for one, after in pairwise(names))
    found = violations(replace(process(*acts, end(), ways=ways), exempt={"law": ()}))
    assert [one.rule for one in found] == ["too_large"]


def test_a_call_of_duty_whose_denial_leads_nowhere_is_not_denied() -> None:
    act = structs.replace(task("act", "medium", "irreversible"), duty="law")
    talk = Conversation(process(act, end(), ways="act -> end"), {"act": connector("act")}).start(auto=False)
    assert talk.gate("act").decisions == ("approved",)
    talk.resume("act")
    talk.failed("act", unknown=True)
    assert talk.gate("act", 2).decisions == ("retry", "done")


def test_a_denial_of_the_call_of_duty_itself_leads_to_somebody_above() -> None:
    ways = "act -> end\nact -[denied]-> above\nabove -> act\nabove -[denied]-> none"
    lacking = "who denies may decide at above, too: its four_eyes lack gate:act"
    for four_eyes, found in ((("gate:act",), []), ((), [lacking])):
        act, above = structs.replace(task("act"), duty="law"), gate("above", role="admin", four_eyes=four_eyes)
        template = process(act, above, end("none"), end(), ways=ways)
        assert why(replace(template, exempt={"law": ("none",)})) == found


def beside(*nodes: Node, ways: str, exempt: tuple[str, ...] = ()) -> Template:
    """A duty in one of two branches that are done beside each other."""
    act = structs.replace(task("act"), duty="law")
    around = (parallel("fork"), gate("first"), task("t"), act, parallel("join"), end())
    ways = f"fork -> first -> t -> join\nfork -> act -> join\njoin -> end\n{ways}"
    return replace(process(*around, *nodes, ways=ways), exempt={"law": exempt})


def test_a_denial_in_a_branch_beside_a_duty_avoids_it_where_the_run_ends() -> None:
    assert why(beside(ways="")) == ["it leads nowhere"]
    (found,) = avoided(beside(end("none"), ways="first -[denied]-> none"))
    assert (found.node, found.path) == ("first", ("first", "none"))
    assert avoided(beside(end("none"), ways="first -[denied]-> none", exempt=("none",))) == []


def test_a_denial_in_a_branch_beside_a_duty_avoids_nothing_where_the_branches_join() -> None:
    assert avoided(beside(ways="first -[denied]-> t")) == []
    above, ways = (gate("second", **ABOVE), end("none")), "first -[denied]-> second -> t\nsecond -[denied]-> none"
    assert avoided(beside(*above, ways=ways, exempt=("none",))) == []
    assert [(one.node, one.path) for one in avoided(beside(*above, ways=ways))] == [("second", ("second", "none"))]


def test_a_denial_in_the_branch_of_a_duty_does_not_come_to_it_by_the_join() -> None:
    act = structs.replace(task("act"), duty="law")
    nodes = (parallel("fork"), gate("first"), act, task("t"), task("other"), parallel("join"), end())
    ways = "fork -> first -> act -> t -> join\nfork -> other -> join\njoin -> end\nfirst -[denied]-> t"
    assert why(replace(process(*nodes, ways=ways), exempt={"law": ()})) == ["the run ends at end, which is not exempt"]


def test_branches_within_branches_are_beside_a_duty_too() -> None:
    act = structs.replace(task("act"), duty="law")
    inner = (parallel("inner"), gate("first"), task("a"), task("b"), parallel("met"))
    nodes = (parallel("fork"), *inner, act, parallel("join"), end())
    ways = "fork -> inner\ninner -> first -> a -> met\ninner -> b -> met\nmet -> join\nfork -> act -> join\njoin -> end"
    assert avoided(replace(process(*nodes, ways=f"{ways}\nfirst -[denied]-> a"), exempt={"law": ()})) == []
    ways = f"{ways}\nfirst -[denied]-> none"
    (found,) = avoided(replace(process(*nodes, end("none"), ways=ways), exempt={"law": ()}))
    assert found.path == ("first", "none")
