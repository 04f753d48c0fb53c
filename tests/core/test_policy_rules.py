"""Which policies, waits and compensations a template may not have, each by a smallest process."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from actors.core.gate_policy import AnchoredDeadline, Escalation
from actors.core.rules import policy_warnings, violations
from actors.core.rules.policies import PEOPLE_MAX, REMINDERS_MAX
from actors.core.template import ClockRule, Node, Template
from tests.processes import choice, end, gate, process, task, wait

WAYS = "a -> end"


def alone(node: Node, ways: str = WAYS) -> Template:
    return process(node, end(), ways=ways)


def asking(**policy: Any) -> Template:
    return alone(gate("a", **policy))


ADMIN_LATER = Escalation("admin", "PT24H", "denied")
MONTH = {"deadline": "P1M"}


@pytest.mark.parametrize(
    ("template", "rule", "detail"),
    [
        (asking(quorum=0), "quorum_refused", f"quorum has to be between 1 and {PEOPLE_MAX}"),
        (asking(denials=PEOPLE_MAX + 1), "quorum_refused", f"denials has to be between 1 and {PEOPLE_MAX}"),
        (asking(four_eyes=("gate:nowhere",)), "four_eyes_refused", "nowhere is no other gate of this template"),
        (asking(four_eyes=("gate:a",)), "four_eyes_refused", "a is no other gate of this template"),
        (asking(four_eyes=("gate:end",)), "four_eyes_refused", "end is no other gate of this template"),
        (
            asking(four_eyes=("payer",)),
            "four_eyes_refused",
            "payer is none of starter, connector-author, template-author, gate:<step-id>",
        ),
        (asking(comment="never"), "comment_refused", "comment is one of optional, on-denial, always"),
        (
            asking(code="always", denial_codes=("late",)),
            "comment_refused",
            "code is one of optional, required",
        ),
        (asking(code="required"), "comment_refused", "a code is required, and there are no denial_codes"),
        (
            asking(deadline="soon", on_deadline="denied"),
            "deadline_refused",
            "'soon' is no ISO 8601 duration such as PT72H or P3BD",
        ),
        (
            asking(deadline="PT0S", on_deadline="denied"),
            "deadline_refused",
            "PT0S has to be longer than nothing and at most ten years",
        ),
        (
            asking(deadline="P11Y", on_deadline="denied"),
            "deadline_refused",
            "P11Y has to be longer than nothing and at most ten years",
        ),
        (
            asking(remind=("PT1H",) * (REMINDERS_MAX + 1)),
            "deadline_refused",
            f"there are more than {REMINDERS_MAX} reminders",
        ),
        (
            asking(deadline="P1M"),
            "on_deadline_refused",
            "a deadline says in on_deadline what happens then, and nothing else does",
        ),
        (
            asking(on_deadline=Escalation("guest"), **MONTH),
            "on_deadline_refused",
            "guest is none of manager, admin, owner",
        ),
        (
            asking(on_deadline=Escalation("admin", "later", "denied"), **MONTH),
            "on_deadline_refused",
            "'later' is no ISO 8601 duration such as PT72H or P3BD",
        ),
        (
            asking(on_deadline=Escalation("admin", "PT1H"), **MONTH),
            "on_deadline_refused",
            "again and then stand together",
        ),
        (
            asking(on_deadline="approved", **MONTH),
            "on_deadline_refused",
            "a deadline never approves; it may decide denied",
        ),
        (
            alone(replace(wait("a"), wait=None)),
            "wait_refused",
            "a wait has exactly one of for, until and message",
        ),
        (
            alone(wait("a", duration="P1D", message="paid")),
            "wait_refused",
            "a wait has exactly one of for, until and message",
        ),
        (
            alone(wait("a", duration="tomorrow")),
            "deadline_refused",
            "'tomorrow' is no ISO 8601 duration such as PT72H or P3BD",
        ),
        (
            alone(wait("a", duration="P1D", within="P1D")),
            "wait_refused",
            "only a wait for a message has within",
        ),
        (
            alone(wait("a", message="paid", within="P1D")),
            "wait_refused",
            "a message within a time leads on by message and timeout, any other wait by one way",
        ),
        (
            process(wait("a", duration="P1D"), end(), ways=""),
            "no_way_on",
            "no edge leads on from here",
        ),
        (
            alone(replace(choice("a", "high"), compensate="undo"), "a -[yes]-> end\na -[no]-> end"),
            "compensate_refused",
            "a task names a tool, an end says true",
        ),
        (
            alone(replace(choice("a", "high"), compensates=True), "a -[yes]-> end\na -[no]-> end"),
            "compensate_refused",
            "a task names a tool, an end says true",
        ),
    ],
)
def test_a_template_breaks_a_rule_of_policies_and_time(template: Template, rule: str, detail: str) -> None:
    assert (rule, "a", detail) in [(one.rule, one.node, one.detail) for one in violations(template)]


@pytest.mark.parametrize(
    "template",
    [
        asking(quorum=2, four_eyes=("starter",), comment="always", denial_codes=("late",), code="required"),
        asking(remind=("P1BD",), on_deadline=ADMIN_LATER, **MONTH),
        asking(on_deadline=Escalation("owner"), **MONTH),
        alone(wait("a", duration="P3BD")),
        alone(wait("a", message="paid"), "a -[message]-> end"),
        alone(wait("a", message="paid", within="P1M"), "a -[message]-> end\na -[timeout]-> end"),
        process(gate("b"), gate("a", four_eyes=("gate:b",)), end(), ways="b -> a -> end"),
        alone(task("a", effect="reversible", compensate="undo")),
    ],
)
def test_sound_policies_and_waits_break_none(template: Template) -> None:
    assert list(violations(template)) == []


def test_an_escalation_is_warned_of_where_it_lets_nobody_decide_who_could_not_before() -> None:
    gates = (gate("a", on_deadline=Escalation("admin")), gate("b", role="admin", on_deadline=Escalation("manager")))
    template = process(*gates, gate("c"), end(), ways="a -> b -> c -> end")
    assert [(one.rule, one.node) for one in policy_warnings(template)] == [("escalates_to_nobody", "a")]


def test_a_deadline_is_warned_of_where_its_clock_never_runs_at_the_gate() -> None:
    anchored: dict[str, Any] = {"deadline": AnchoredDeadline("k", "P1D"), "on_deadline": "denied"}
    nodes = (task("first"), gate("a", **anchored), task("act"), gate("b", **anchored), end())
    ways = "first -> a -> act -> b -> end\na -[denied]-> end\nb -[denied]-> end"
    again = f"{ways}\nact -[error]-> b"
    for rule, drawn, warned in (
        (ClockRule(id="k", label="K", within="P7D", stops=("act",)), ways, ["b"]),
        (ClockRule(id="k", label="K", within="P7D", stops=("act",)), again, []),
        (ClockRule(id="k", label="K", within="P7D", stops=("act",), from_step="first"), ways, ["b"]),
        (ClockRule(id="k", label="K", within="P7D", stops=("b",), from_step="act"), ways, ["a"]),
    ):
        template = dataclasses.replace(process(*nodes, ways=drawn), clocks=(rule,))
        assert [(one.rule, one.node) for one in policy_warnings(template)] == [
            ("deadline_without_clock", step) for step in warned
        ]
