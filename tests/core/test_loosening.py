"""A laxer version bars who published it, and who let a run go on by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.core.gate_policy import Escalation, GatePolicy, GateTerms, laxer
from actors.core.messages import Migrate, Rejected
from actors.core.people import Company
from actors.core.rules.guards import published
from actors.core.template import ClockRule, Node, Template
from tests.conversations import Conversation
from tests.core.test_gate_policies import ANN, BOB, CYD, DAN, OFFICE, reason
from tests.effort import Effort
from tests.processes import end, gate, process, task

STRICT: dict[str, Any] = {"quorum": 2, "four_eyes": ("starter",)}


def version(
    number: int, *gates: Node, before: Template | None = None, by: str = "dan", origin: Template | None = None
) -> Template:
    ways = " -> ".join((*(one.id for one in gates), "pay", "end"))
    made = replace(process(*gates, task("pay"), end(), ways=ways), version=number, digest=f"sha256:{number}")
    return replace(made, author=by, loosened=() if before is None else published(before, made, by, origin))


def barred(template: Template, step_id: str = "a") -> set[str]:
    return {name for one in template.loosened if one.step_id == step_id for name in one.by}


def decides(template: Template, *people: str, company: Company = OFFICE) -> list[str]:
    """Of these people those whom a run of the template does not keep from its gate."""
    found = []
    for name in people:
        talk = Conversation(template, company=company).start()
        talk.resume("a", by=name, role=company.people[name].role)
        found += [] if isinstance(talk.last, Rejected) else [name]
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"role": "admin"}, {}),
        ({"groups": ("x",)}, {}),
        ({"groups": ("x",)}, {"groups": ("x", "y")}),
        ({"quorum": 2}, {}),
        ({"four_eyes": ("starter", "template-author")}, {"four_eyes": ("starter",)}),
        ({"groups": ("x",)}, {"groups": ("x",), "on_deadline": Escalation("manager")}),
        ({"role": "admin"}, {"role": "admin", "on_deadline": Escalation("manager")}),
    ],
)
def test_a_policy_that_lets_more_people_decide_or_asks_fewer_is_laxer(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    one, other = GateTerms(GatePolicy(**before)), GateTerms(GatePolicy(**after))
    assert laxer(one, other)
    assert not laxer(other, one)


def test_an_escalation_to_who_may_decide_anyhow_makes_nothing_laxer() -> None:
    plain = GateTerms(GatePolicy())
    assert not laxer(plain, GateTerms(GatePolicy(on_deadline=Escalation("admin"))))
    assert not laxer(plain, GateTerms(GatePolicy(), "manager"))


@pytest.mark.parametrize(
    ("policy", "before", "after"),
    [
        ({"role": "admin"}, None, "manager"),
        ({"role": "owner"}, "admin", "manager"),
        ({"groups": ("x",)}, None, "admin"),
        ({"function": "medic"}, "admin", "manager"),
    ],
)
def test_a_clock_whose_breach_lets_in_a_lower_role_or_others_makes_the_gates_in_its_way_laxer(
    policy: dict[str, Any], before: str | None, after: str
) -> None:
    first = timed(version(1, gate("a", **policy), by="bob"), before)
    second = timed(version(2, gate("a", **policy)), after)
    assert barred(replace(second, loosened=published(first, second, "dan"))) == {"dan"}
    assert published(second, first, "dan") == ()


def test_what_a_clock_let_in_before_stays_what_later_versions_are_compared_with() -> None:
    first = timed(version(1, gate("a", role="owner"), by="bob"), "admin")
    second = timed(version(2, gate("a", role="owner")), "manager")
    second = replace(second, author="dan", loosened=published(first, second, "dan"))
    assert [one.breach_role for one in second.loosened] == ["admin"]
    back = timed(version(3, gate("a", role="owner")), "admin")
    assert published(second, back, "dan") == ()
    assert published(second, timed(back, "manager"), "dan") == second.loosened


def test_a_clock_whose_acts_lie_before_a_gate_makes_it_no_laxer() -> None:
    first, second = (replace(version(one, gate("a", role="admin")), author="bob") for one in (1, 2))
    late = replace(process(task("pay"), gate("a", role="admin"), end(), ways="pay -> a -> end"), version=2)
    assert published(first, timed(second, None), "dan") == ()
    assert published(first, timed(late, "manager"), "dan") == ()


def timed(template: Template, escalate: str | None) -> Template:
    """With a clock that paying stops."""
    clock = ClockRule(id="notice", label="Notice", within="P7D", stops=("pay",), escalate=escalate)
    return replace(template, clocks=(clock,))


def test_who_publishes_a_laxer_version_does_not_decide_at_its_gate_and_others_do() -> None:
    second = version(2, gate("a"), before=version(1, gate("a", **STRICT), by="bob"))
    assert barred(second) == {"dan"}
    assert decides(second, "bob", "dan") == ["bob"]
    talk = Conversation(second, company=OFFICE).start()
    talk.resume("a", by="dan", role="admin")
    assert reason(talk) == "four_eyes"


def test_the_only_person_of_a_company_decides_all_the_same() -> None:
    second = version(2, gate("a"), before=version(1, gate("a", **STRICT), by="dan"))
    alone = Company({"dan": DAN}, solo=True)
    talk = Conversation(second, company=alone).start()
    talk.resume("a", by="dan", role="admin")
    verdict = talk.run.trace[0].verdict
    assert verdict is not None
    assert verdict.solo


def test_it_stays_so_until_the_gate_is_as_strict_again_or_another_person_publishes() -> None:
    first = version(1, gate("a", **STRICT), by="bob")
    second = version(2, gate("a"), before=first)
    same, halfway = (version(3, gate("a", quorum=number), before=second) for number in (1, 2))
    assert barred(same) == barred(halfway) == {"dan"}
    assert barred(version(4, gate("a"), before=version(3, gate("b"), before=second))) == {"dan"}
    assert barred(version(3, gate("a", **STRICT), before=second)) == set()
    others = version(3, gate("a"), before=second, by="bob")
    assert barred(others) == set()
    assert barred(version(4, gate("a", role="admin"), before=others)) == set()


def test_a_gate_under_another_name_is_compared_with_the_one_that_is_gone() -> None:
    first = version(1, gate("a", **STRICT), by="bob")
    assert barred(version(2, gate("b"), before=first), "b") == {"dan"}
    assert barred(version(2, gate("b", **STRICT), before=first), "b") == set()
    assert barred(version(2, gate("a", **STRICT), gate("b"), before=first), "b") == set()


def test_many_gates_under_other_names_are_compared_in_linear_time() -> None:
    efforts = []
    for count in (20, 80):
        first = version(1, *(gate(f"a{number}", **STRICT) for number in range(count)), by="bob")
        second = version(2, *(gate(f"b{number}", **STRICT) for number in range(count)))
        with Effort() as effort:
            published(first, second, "dan")
        efforts.append(effort.steps)
    assert efforts[1] <= 5 * efforts[0]


def test_a_step_that_is_no_gate_any_more_is_laxer_than_any() -> None:
    first = version(1, gate("a"), by="bob")
    low = replace(process(task("a"), end(), ways="a -> end"), version=2, digest="sha256:2")
    assert [one.step_id for one in published(first, low, "dan")] == ["a"]


def migrated(by: str, made_by: str | None = None) -> Conversation:
    """A run that somebody has let go on by a laxer version, which bob has published."""
    strict, lax = version(1, gate("a", **STRICT), gate("b", **STRICT), by="bob"), version(2, gate("a"), gate("b"))
    talk = Conversation(strict, company=OFFICE).start()
    talk.say(Migrate(by=by, made_by=made_by, at=talk.at), lax)
    talk.template = lax
    return talk


@pytest.mark.parametrize("made_by", [None, "dan"])
def test_who_lets_a_run_go_on_by_a_laxer_version_decides_at_none_of_the_gates_that_it_made_laxer(
    made_by: str | None,
) -> None:
    talk = migrated("dan" if made_by is None else "deploy", made_by)
    talk.resume("a", by="dan", role="admin")
    assert reason(talk) == "four_eyes"
    talk.resume("a", by="bob", role="manager")
    talk.resume("b", by="dan", role="admin")
    assert reason(talk) == "four_eyes"
    talk.resume("b", by="cyd", role="manager")
    assert talk.run.ended is not None


def test_a_second_migration_bars_both_and_one_back_to_what_was_asked_bars_nobody() -> None:
    talk = migrated("dan")
    talk.say(Migrate(by="ann", at=talk.at), replace(talk.template, version=3, digest="sha256:3"))
    assert {one.by for one in talk.run.loosened} == {("dan", "ann")}
    talk.say(Migrate(by="ann", at=talk.at), version(4, gate("a", **STRICT), gate("b", **STRICT)))
    assert talk.run.loosened == ()
    assert talk.gate("a").barred == ()


def test_a_gate_that_only_who_made_it_laxer_could_pass_is_blocked_until_somebody_joins() -> None:
    second = version(2, gate("a"), before=version(1, gate("a", **STRICT), by="bob"))
    talk = Conversation(second, company=Company({"dan": DAN})).start()
    assert talk.gate("a").blocked is not None
    talk.review(Company({"dan": DAN, "bob": BOB}))
    assert talk.gate("a").blocked is None


def test_a_version_of_another_person_lets_who_was_barred_decide_again() -> None:
    second = version(2, gate("a"), before=version(1, gate("a", **STRICT), by="bob"))
    talk = Conversation(second, company=Company({"dan": DAN})).start()
    talk.say(Migrate(by="bob", at=talk.at), version(3, gate("a"), before=second, by="bob"))
    assert talk.gate("a").blocked is None
    assert talk.gate("a").barred == ()


def test_people_of_the_office_are_those_that_the_tests_name() -> None:
    assert {one.email for one in (ANN, BOB, CYD, DAN)} == {*OFFICE.people}


def test_gates_that_were_none_before_are_laxer_than_one_that_is_none_any_more() -> None:
    before = version(1, gate("old", **STRICT), task("look"), by="bob")
    for gone in ((), (task("old"),)):
        after = version(2, gate("a"), gate("b"), gate("look"), *gone, before=before)
        assert [barred(after, step_id) for step_id in ("a", "b", "look")] == [{"dan"}, {"dan"}, {"dan"}]
    kept = version(2, gate("old", **STRICT), gate("look"), before=before)
    assert barred(kept, "look") == set()


def test_what_two_versions_of_one_person_do_counts_as_if_one_did() -> None:
    first = version(1, gate("old", **STRICT), by="bob")
    second = version(2, gate("old", **STRICT), gate("a"), before=first)
    assert barred(second) == set()
    assert barred(version(3, gate("a"), before=second, origin=first)) == {"dan"}
    assert barred(version(3, gate("old", **STRICT), gate("a"), before=second, origin=first)) == set()
    firmer = version(2, gate("old", quorum=3, four_eyes=("starter",)), before=first)
    assert barred(version(3, gate("old", **STRICT), before=firmer, origin=first), "old") == {"dan"}
