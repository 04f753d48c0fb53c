"""Functions: who fills one decides alone at its gates; while it is unbound its role does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace as changed

from actors.core.eligibility import Decider, GateDemand, Setting, as_bound, asked_at, why_not, why_not_for_anybody
from actors.core.gate_policy import Escalation, GateFunction, GatePolicy, GateTerms, inherited, laxer
from actors.core.messages import Migrate, Rejected, Review
from actors.core.people import ActiveDelegation, ByKind, Company, FunctionBinding, Person
from actors.core.rules.policies import policy_violations, policy_warnings
from actors.core.template import FunctionRule, Node, Template
from tests.conversations import MORNING, Conversation
from tests.core.test_gate_policies import BOB, CYD, DAN, OFFICE, reason
from tests.core.test_loosening import barred, decides, version
from tests.processes import end, gate, process, task

EVE, FAY = (
    Person(f"m-{name}", name, role, frozenset(("doctors",))) for name, role in (("eve", "viewer"), ("fay", "member"))
)
DOCTORS = FunctionBinding(groups=frozenset(("doctors",)))
DIRECTOR = FunctionRule("Medical director", "manager")


def staffed(binding: FunctionBinding | None = DOCTORS, **about: Any) -> Company:
    """A company in which the medical director is whom the binding says, if any is there."""
    people = {**OFFICE.people, "eve": EVE, "fay": FAY}
    return Company(people, functions={} if binding is None else {"director": binding}, **about)


def naming(template: Template) -> Template:
    return replace(template, functions={"director": DIRECTOR})


def directed(**policy: Any) -> Template:
    """A payment that the medical director approves."""
    return naming(process(gate("a", function="director", **policy), task("pay"), end(), ways="a -> pay -> end"))


def asking(company: Company | None = None, **policy: Any) -> Conversation:
    return Conversation(directed(**policy), company=company or staffed()).start()


def refused(talk: Conversation, by: str, **said: Any) -> str | None:
    """Why somebody may not decide there; None where the verdict was taken."""
    person = talk.company.person(by, "viewer")
    talk.resume("a", by=by, role=person.role, **said)
    return reason(talk) if isinstance(talk.last, Rejected) else None


def status(talk: Conversation) -> str:
    return talk.run.status


def function_of(talk: Conversation) -> GateFunction | None:
    (visit,) = talk.run.parked
    return None if visit.gate is None else visit.gate.function


@pytest.mark.parametrize("policy", [{}, {"role": "owner"}, {"groups": ("finance",)}])
def test_who_fills_a_function_decides_alone_whatever_role_and_groups(policy: dict[str, Any]) -> None:
    for other in ("ann", "bob", "dan"):
        talk = asking(**policy)
        assert refused(talk, other) == "function"
        assert isinstance(talk.last, Rejected)
        assert talk.last.more["required"] == "director"
        assert "Medical director" in talk.last.detail
    for doctor in ("eve", "fay"):
        assert refused(asking(**policy), doctor) is None


def test_a_function_is_filled_by_members_who_are_named_too() -> None:
    named = staffed(FunctionBinding(groups=frozenset(("nobody",)), members=frozenset(("m-bob",))))
    assert refused(asking(named), "bob") is None
    assert refused(asking(named), "cyd") == "function"


def test_while_it_is_unbound_its_role_and_the_groups_of_the_gate_decide() -> None:
    unbound = staffed(None)
    assert refused(asking(unbound), "cyd") is None
    assert refused(asking(unbound), "eve") == "role"
    assert refused(asking(unbound, groups=("finance",)), "dan") == "group"
    assert refused(asking(staffed(FunctionBinding())), "cyd") is None


@pytest.mark.parametrize("kind", ["service", "agent"])
def test_a_machine_never_decides_by_a_function(kind: ByKind) -> None:
    talk = asking(staffed(FunctionBinding(members=frozenset(("m-eve",)))))
    setting, (visit,) = Setting(talk.template, {}, talk.company), talk.run.parked
    assert why_not(Decider(EVE, kind), visit, talk.run, setting) == "machine"


def test_an_escalation_lets_a_role_in_past_the_function_and_takes_nobody_away() -> None:
    talk = asking(deadline="PT1H", on_deadline=Escalation("admin"))
    talk.passed = timedelta(hours=2)
    talk.due()
    assert refused(talk, "bob") == "function"
    assert refused(talk, "dan") is None


def test_an_escalation_past_a_function_is_no_idle_one() -> None:
    policy: dict[str, Any] = {"deadline": "PT1H", "on_deadline": Escalation("manager")}
    assert [*policy_warnings(directed(**policy))] == []
    assert [one.rule for one in policy_warnings(process(gate("a", **policy), end(), ways="a -> end"))] == [
        "escalates_to_nobody"
    ]


def test_who_decides_for_another_has_the_giver_s_function() -> None:
    day = timedelta(days=1)
    given = (ActiveDelegation("m-eve", "m-bob", MORNING - day, MORNING + day),)
    talk = asking(staffed(delegations=given))
    setting, (visit,) = Setting(talk.template, {}, talk.company), talk.run.parked
    assert why_not(Decider(BOB), visit, talk.run, setting) == "function"
    assert why_not_for_anybody(Decider(BOB), visit, talk.run, setting, MORNING) is None
    assert why_not_for_anybody(Decider(CYD), visit, talk.run, setting, MORNING) == "function"
    assert refused(talk, "bob", on_behalf_of="m-eve") is None


def test_a_delegate_does_not_lend_their_own_function_to_the_giver() -> None:
    day = timedelta(days=1)
    given = (ActiveDelegation("m-bob", "m-eve", MORNING - day, MORNING + day),)
    talk = asking(staffed(delegations=given))
    assert refused(talk, "eve", on_behalf_of="m-bob") == "function"


def test_four_eyes_and_quorum_hold_among_those_who_fill_it() -> None:
    talk = asking(quorum=2, four_eyes=("starter",))
    assert (refused(talk, "eve"), status(talk)) == (None, "parked")
    assert (refused(talk, "fay"), status(talk)) == (None, "completed")
    barred_one = asking(staffed(FunctionBinding(members=frozenset(("m-ann", "m-eve")))), four_eyes=("starter",))
    assert refused(barred_one, "ann") == "four_eyes"


def test_a_gate_that_too_few_of_them_can_pass_is_blocked_until_the_binding_changes() -> None:
    talk = asking(staffed(FunctionBinding(members=frozenset(("m-gone", "m-bob")))), quorum=2)
    (visit,) = talk.run.parked
    assert visit.gate is not None
    assert visit.gate.blocked is not None
    assert (visit.gate.blocked.needed, visit.gate.blocked.eligible) == (2, 1)
    talk.company = staffed()
    talk.say(Review(at=talk.at))
    (visit,) = talk.run.parked
    assert visit.gate is not None
    assert visit.gate.blocked is None


def test_the_verdict_of_who_fills_it_no_more_counts_no_more() -> None:
    talk = asking(quorum=2)
    assert refused(talk, "eve") is None
    talk.company = staffed(FunctionBinding(members=frozenset(("m-fay", "m-bob"))))
    talk.say(Review(at=talk.at))
    (visit,) = talk.run.parked
    assert visit.gate is not None
    assert visit.gate.verdicts == ()


def test_the_only_person_of_a_company_decides_whoever_fills_it() -> None:
    alone = Company({"dan": DAN}, solo=True, functions={"director": DOCTORS})
    talk = Conversation(directed(), company=alone).start()
    assert refused(talk, "dan") is None
    verdict = talk.run.trace[0].verdict
    assert verdict is not None
    assert verdict.solo


def test_a_gate_says_which_function_decides_and_whether_it_is_bound() -> None:
    assert function_of(asking()) == GateFunction("director", "Medical director", bound=True)
    talk = asking(staffed(None))
    assert function_of(talk) == GateFunction("director", "Medical director", bound=False)
    shown = as_bound(talk.run, staffed())
    assert [one.gate.function for one in shown.parked if one.gate is not None] == [
        GateFunction("director", "Medical director", bound=True)
    ]
    assert as_bound(talk.run, staffed(None)) is talk.run
    plain = Conversation(process(gate("a"), end(), ways="a -> end")).start()
    assert as_bound(plain.run, staffed()) is plain.run
    plain.cancel()
    assert as_bound(plain.run, staffed()) is plain.run


def test_what_is_asked_is_kept_as_before_where_no_function_is_and_read_either_way() -> None:
    read = msgspec.json.Decoder(GateDemand).decode
    for function in (None, "director"):
        one = naming(process(gate("a", function=function), end(), ways="a -> end"))
        talk = Conversation(one, company=staffed()).start()
        asked = asked_at(talk.run.parked[0], talk.run)
        assert read(asked.to_json()) == asked
        assert len(msgspec.json.decode(asked.to_json())) == 6 + bool(function)


@pytest.mark.parametrize(
    ("before", "after", "is_laxer"),
    [
        ({"function": "director"}, {}, True),
        ({"function": "director"}, {"role": "owner", "groups": ("finance",)}, True),
        ({"function": "director"}, {"function": "clerk"}, True),
        ({"function": "director", "role": "admin"}, {"function": "director"}, True),
        ({"function": "director", "groups": ("x",)}, {"function": "director"}, True),
        ({"function": "director"}, {"function": "director", "on_deadline": Escalation("admin")}, True),
        ({"function": "director"}, {"function": "director", "role": "admin", "groups": ("x",)}, False),
        ({}, {"function": "director"}, False),
        ({"groups": ("x",)}, {"function": "director", "groups": ("x",)}, True),
        ({"role": "admin"}, {"function": "director", "role": "admin"}, True),
    ],
)
def test_without_its_function_or_with_another_one_a_gate_is_laxer(
    before: dict[str, Any], after: dict[str, Any], *, is_laxer: bool
) -> None:
    assert laxer(GateTerms(GatePolicy(**before)), GateTerms(GatePolicy(**after))) is is_laxer


def test_who_drops_the_function_of_a_gate_does_not_decide_there_until_it_is_back() -> None:
    def publishes(number: int, *gates: Node, **about: Any) -> Template:
        return naming(version(number, *gates, **about))

    second = publishes(2, gate("a"), before=publishes(1, gate("a", function="director"), by="bob"))
    assert barred(second) == {"dan"}
    assert decides(second, "bob", "dan", company=staffed(None)) == ["bob"]
    renamed = publishes(3, gate("b"), before=publishes(1, gate("a", function="director"), by="bob"))
    assert barred(renamed, "b") == {"dan"}
    again = publishes(3, gate("a", function="director"), before=second)
    assert barred(again) == set()


def test_the_gate_of_a_call_in_doubt_takes_the_function_of_the_gate_that_allowed_it() -> None:
    asked = inherited(GatePolicy(role="manager"), GatePolicy(function="director", groups=("x",)))
    assert (asked.function, asked.groups) == ("director", ("x",))
    assert inherited(GatePolicy(function="clerk"), GatePolicy()).function == "clerk"
    assert inherited(GatePolicy(function="clerk"), GatePolicy(function="director")).function == "director"


def test_a_gate_names_a_function_of_its_template_and_a_manager_at_least_stands_in_for_it() -> None:
    assert [*policy_violations(directed())] == []
    unknown = process(gate("a", function="director"), end(), ways="a -> end")
    assert [(one.rule, one.node) for one in policy_violations(unknown)] == [("function_refused", "a")]
    wrong = replace(directed(), functions={"director": FunctionRule("Director", "member")})
    assert [(one.rule, one.node) for one in policy_violations(wrong)] == [("function_refused", None)]


def test_a_company_says_who_fills_any_function_and_forgets_nothing_of_it() -> None:
    company = staffed()
    assert company.fills_any(EVE)
    assert not company.fills_any(BOB)
    assert not company.binding(None).bound
    assert company.binding("director") is DOCTORS
    assert changed(company, solo=True).fills_any(EVE)


def test_a_run_that_goes_on_by_another_version_asks_for_the_function_of_that_one() -> None:
    talk = asking(staffed(FunctionBinding(members=frozenset(("m-gone",)))))
    assert talk.gate("a").blocked is not None
    plain = replace(process(gate("a"), task("pay"), end(), ways="a -> pay -> end"), version=2, digest="sha256:2")
    talk.say(Migrate(by="dan", at=talk.at), plain)
    assert (talk.gate("a").function, talk.gate("a").blocked) == (None, None)
    assert talk.gate("a").barred == ("dan",)
    back = replace(directed(), version=3, digest="sha256:3")
    talk.company = staffed()
    talk.say(Migrate(by="dan", at=talk.at), back)
    talk.template = back
    assert function_of(talk) == GateFunction("director", "Medical director", bound=True)
    assert (refused(talk, "bob"), refused(talk, "eve")) == ("function", None)
