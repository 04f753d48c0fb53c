"""Who may decide under a policy, what a verdict has to bring, and what it leaves behind."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from actors.core.calls import StoredBinding
from actors.core.eligibility import Decider, Setting, free_deciders, why_not_for_anybody
from actors.core.gate_policy import Escalation
from actors.core.people import ActiveDelegation, ByKind, Company, Person
from actors.core.preview import previews
from tests.conversations import MORNING, NOT_SENT, Conversation
from tests.effort import Effort
from tests.processes import When, choice, connector, end, gate, parallel, process, task

ANN, BOB, CYD, DAN = (
    Person(f"m-{name}", name, role, frozenset(groups))
    for name, role, groups in (
        ("ann", "owner", ("finance",)),
        ("bob", "manager", ("finance",)),
        ("cyd", "manager", ("finance",)),
        ("dan", "admin", ()),
    )
)
OFFICE = Company({one.email: one for one in (ANN, BOB, CYD, DAN)})


class Amount:
    """A form with one field."""

    def errors(self, values: dict[str, Any]) -> list[tuple[str, str]]:
        return [] if isinstance(values.get("amount"), int) else [("/amount", "has to be a number")]


def asking(form: Amount | None = None, **policy: Any) -> Conversation:
    asked = gate("a", form=form, **policy)
    return Conversation(process(asked, task("pay"), end(), ways="a -> pay -> end"), company=OFFICE).start()


def test_those_who_may_decide_are_neither_kept_out_nor_have_they_decided() -> None:
    talk = asking(quorum=2, groups=("finance",), four_eyes=("starter",))

    def free() -> set[str]:
        return {*free_deciders(talk.run.parked[0], talk.run, Setting(talk.template, {}, OFFICE))}

    assert free() == {"bob", "cyd"}, "ann has started it"
    talk.resume("a", by="cyd", role="manager")
    assert free() == {"bob"}


def wrong(talk: Conversation) -> list[str]:
    """What the last verdict lacks or brings too much."""
    assert talk.refusal.code == "invalid"
    return [f"{one['pointer']} {one['detail']}" for one in talk.refusal.more["errors"]]


def stands(talk: Conversation) -> str:
    return talk.run.status


def reason(talk: Conversation) -> str:
    """Why the last verdict was not its sender's to give."""
    assert talk.refusal.code == "forbidden"
    return str(talk.refusal.more["reason"])


@pytest.mark.parametrize(
    ("giver", "verticals", "kind", "why"),
    [
        ("m-bob", (), "person", None),
        ("m-bob", ("process",), "person", None),
        ("m-bob", ("another",), "person", "role"),
        ("m-gone", (), "person", "role"),
        ("m-dan", (), "person", "role"),
        ("m-bob", (), "service", "machine"),
    ],
)
def test_who_may_decide_in_the_place_of_another_may_decide(
    giver: str, verticals: tuple[str, ...], kind: ByKind, why: str | None
) -> None:
    eve = Person("m-eve", "eve", "member")
    day = timedelta(days=1)
    given = ActiveDelegation(giver, "m-eve", MORNING - day, MORNING + day, verticals)
    talk = asking(groups=("finance",))
    named = tuple([talk.run.vertical if one == "process" else one for one in verticals])
    people = {**OFFICE.people, "eve": eve}
    setting = Setting(talk.template, {}, Company(people, (replace(given, verticals=named),)))
    (visit,) = talk.run.parked
    assert why_not_for_anybody(Decider(eve, kind), visit, talk.run, setting, MORNING) == why
    assert why_not_for_anybody(Decider(BOB), visit, talk.run, setting, MORNING) is None
    assert setting.company.givers(eve, MORNING + 2 * day) == []
    assert [one.member_id for one in setting.company.givers(eve, MORNING)] == [giver] * (giver != "m-gone")


def staff(count: int) -> dict[str, Person]:
    """People who may decide at a gate that asks for nothing more."""
    return {f"p{number}": Person(f"m-{number}", f"p{number}", "manager") for number in range(count)}


def test_many_people_are_looked_at_once_for_all_gates_of_a_fork() -> None:
    gates = [gate(f"g{number}", four_eyes=("starter",)) for number in range(50)]
    ways = "\n".join(f"fork -> {one.id} -> join" for one in gates)
    wide = process(parallel("fork"), *gates, parallel("join"), end(), ways=f"{ways}\njoin -> end")

    def effort(people: int) -> int:
        with Effort() as done:
            Conversation(wide, company=Company(staff(people))).start()
        return done.steps

    assert effort(1_010) - effort(10) < 50 * 1_000


def test_who_may_decide_for_many_is_told_without_a_look_at_all_delegations() -> None:
    people, day = {**OFFICE.people, **staff(1_000)}, timedelta(days=1)
    given = tuple(ActiveDelegation(one.member_id, "m-0", MORNING, MORNING + day) for one in people.values())
    talk = asking(groups=("nobody",))
    setting, (visit,) = Setting(talk.template, {}, Company(people, given)), talk.run.parked

    def effort(person: Person) -> int:
        assert why_not_for_anybody(Decider(person), visit, talk.run, setting, MORNING) == "group"
        with Effort() as done:
            why_not_for_anybody(Decider(person), visit, talk.run, setting, MORNING)
        return done.steps

    assert effort(people["p1"]) < 200
    assert effort(people["p0"]) < 15 * len(given)


def test_the_tools_ahead_of_a_gate_are_looked_for_once() -> None:
    steps = [task(f"t{number}") for number in range(50)]
    line = process(gate("a"), *steps, end(), ways=f"a -> {' -> '.join(one.id for one in steps)} -> end")
    assert len(line.tools_ahead("a")) == len(steps)
    with Effort() as done:
        line.tools_ahead("a")
    assert done.steps < len(steps)


# ---------------------------------------------------------------------------- what a verdict brings


def test_a_verdict_hears_of_everything_that_it_lacks_at_once() -> None:
    talk = asking(Amount(), comment="always", denial_codes=("late", "odd"), code="required")
    talk.resume("a", comment=" ", form={"amount": "ten"})
    assert wrong(talk) == [
        "/comment is missing: this gate asks for the reason of a decision",
        "/form/amount has to be a number",
    ]
    talk.resume("a", "denied", form={"amount": 10})
    assert wrong(talk) == [
        "/comment is missing: this gate asks for the reason of a decision",
        "/code is missing: a denial here names one of late, odd",
        "/form is not asked for with this decision",
    ]
    talk.resume("a", "denied", comment="no", code="rude")
    assert wrong(talk) == ["/code is none of late, odd"]
    talk.resume("a", "denied", comment="no", code="odd")
    assert (talk.run.status, talk.visit("a").output) == (
        "completed",
        {"decision": "denied", "comment": "no", "code": "odd"},
    )


def test_a_code_is_refused_where_none_is_asked_for() -> None:
    talk = asking()
    talk.resume("a", "denied", code="odd")
    assert wrong(talk) == ["/code is not asked for at this gate"]


def test_the_inputs_that_are_missing_come_with_the_verdict_that_closes_the_gate() -> None:
    needy = replace(gate("a", quorum=2), needs=("iban",))
    talk = Conversation(process(needy, end(), ways="a -> end"), company=OFFICE).start()
    talk.resume("a", by="bob", role="manager", inputs={"iban": "AT1"})
    assert wrong(talk) == ["/inputs are taken with the verdict that closes the gate"]
    talk.resume("a", by="bob", role="manager")
    talk.resume("a", by="cyd", role="manager", inputs={"iban": "AT1"})
    assert (talk.run.status, talk.run.inputs) == ("completed", {"iban": "AT1"})


def test_the_form_of_a_verdict_at_a_task_becomes_part_of_its_fact() -> None:
    asked = replace(task("pay", "high"), form=Amount())
    talk = Conversation(process(asked, end(), ways="pay -> end"), {"pay": connector("pay")}).start()
    talk.resume("pay", form={"amount": 10})
    talk.returned("pay", output={"ok": True})
    assert talk.run.facts["pay"] == {"ok": True, "form": {"amount": 10}}


def test_a_gate_is_blocked_while_its_verdicts_are_split_and_nobody_is_left() -> None:
    talk = asking(groups=("finance",), quorum=2, denials=2)
    talk.company = replace(OFFICE, people={one.email: one for one in (ANN, BOB)})
    talk.resume("a", by="ann")
    assert talk.events[-1] == "verdict_given"
    talk.resume("a", "denied", by="bob")
    assert talk.events[-1] == "gate_blocked"
    asked = talk.visit("a").gate
    assert asked is not None
    assert asked.blocked is not None
    assert (asked.blocked.needed, asked.blocked.eligible) == (2, 1)
    talk.withdraw("a", by="bob")
    assert talk.events[-1] == "gate_unblocked"
    talk.resume("a", by="bob")
    assert talk.steps()[0] == "a:1 done"


def test_a_verdict_is_withdrawn_at_an_open_gate_alone() -> None:
    talk = asking(quorum=2)
    talk.withdraw("pay", by="bob")
    assert talk.refusal.code == "gate_mismatch"


# -------------------------------------------------------------------------------------- who decides


def test_who_changed_a_connector_does_not_decide_on_its_call() -> None:
    bound = StoredBinding(**{name: getattr(connector("pay"), name) for name in connector("pay").__struct_fields__})
    asked = gate("a", four_eyes=("connector-author",))
    template = process(asked, task("look"), task("pay"), end(), ways="a -> look -> pay -> end")
    talk = Conversation(template, {"pay": replace(bound, changed_by="bob")}, company=OFFICE).start()
    talk.resume("a", by="bob", role="manager")
    assert reason(talk) == "four_eyes"
    talk.resume("a", by="cyd", role="manager")
    assert talk.run.status == "executing"


def test_who_published_a_template_does_not_decide_in_it() -> None:
    talk = asking(four_eyes=("template-author", "starter"))
    talk.resume("a", by="bob", role="manager")
    assert talk.run.status == "completed"
    talk = asking(four_eyes=("template-author", "starter"))
    talk.template = type(talk.template)(
        "process", 1, "sha256:process", "A process", "a", talk.template.nodes, talk.template.edges, author="bob"
    )
    talk.resume("a", by="bob", role="manager")
    assert reason(talk) == "four_eyes"
    talk.resume("a", by="ann", role="owner")
    assert reason(talk) == "four_eyes"
    talk.resume("a", by="cyd", role="manager")
    assert talk.run.status == "completed"


def test_whoever_took_a_verdict_back_has_not_decided_at_the_earlier_gate() -> None:
    first, second = gate("a", quorum=2), gate("b", four_eyes=("gate:a",))
    talk = Conversation(process(first, second, end(), ways="a -> b -> end"), company=OFFICE).start()
    talk.resume("a", by="ann", role="owner")
    talk.withdraw("a", by="ann")
    talk.resume("a", by="bob", role="manager")
    talk.resume("a", by="cyd", role="manager")
    talk.resume("b", by="bob", role="manager")
    assert reason(talk) == "four_eyes"
    talk.resume("b", by="ann", role="owner")
    assert talk.run.status == "completed"


def test_a_verdict_of_a_delegate_counts_as_long_as_the_delegation_and_the_delegate_are_there() -> None:
    given = ActiveDelegation("m-bob", "m-dan", MORNING, MORNING + timedelta(days=1))
    others = {name: one for name, one in OFFICE.people.items() if name != "dan"}
    for left in (replace(OFFICE, delegations=()), Company(others, (given,))):
        talk = asking(groups=("finance",), quorum=2)
        talk.review(replace(OFFICE, delegations=(given,)))
        talk.resume("a", by="dan", role="admin", on_behalf_of="m-bob")
        talk.resume("a", by="bob", role="manager")
        assert talk.refusal.code == "already_decided"
        talk.review(left)
        assert talk.events == ("verdict_withdrawn",)
        talk.resume("a", by="cyd", role="manager")
        assert stands(talk) == "parked"
        talk.resume("a", by="bob", role="manager")
        assert stands(talk) == "completed"


def test_who_delegated_may_decide_at_once_when_the_delegation_has_ended() -> None:
    given = ActiveDelegation("m-bob", "m-dan", MORNING, MORNING + timedelta(days=1))
    talk = asking(groups=("finance",), quorum=2)
    talk.review(replace(OFFICE, delegations=(given,)))
    talk.resume("a", by="dan", role="admin", on_behalf_of="m-bob")
    talk.company = OFFICE
    talk.resume("a", by="bob", role="manager")
    assert talk.events == ("verdict_withdrawn", "verdict_given")
    assert [one.by for one in talk.gate("a").verdicts] == ["bob"]


def test_an_escalation_lets_higher_roles_decide_whatever_their_group() -> None:
    talk = asking(groups=("finance",), deadline="PT1M", on_deadline=Escalation("admin"))
    talk.resume("a", by="dan", role="admin")
    assert reason(talk) == "group"
    talk.due()
    talk.resume("a", by="dan", role="viewer")
    assert reason(talk) == "role"
    talk.resume("a", by="dan", role="admin")
    assert talk.run.status == "completed"


def test_an_escalation_lets_a_role_decide_that_the_gate_does_not_name() -> None:
    asked = gate("a", role="owner", deadline="PT1M", on_deadline=Escalation("admin"))
    talk = Conversation(process(asked, end(), ways="a -> end"), company=OFFICE).start()
    talk.resume("a", by="dan", role="admin")
    assert reason(talk) == "role"
    talk.due()
    talk.resume("a", by="dan", role="admin")
    assert talk.run.status == "completed"


# ---------------------------------------------------------------------------------------- undoing

BOOK = process(
    task("book", effect="reversible", compensate="unbook"),
    gate("a"),
    end(),
    ways="book -> a -> end",
)


def test_an_undoing_that_has_failed_once_asks_a_human_before_it_is_tried_again() -> None:
    talk = Conversation(BOOK, {"unbook": connector("unbook")}).start()
    talk.cancel(compensate=True)
    talk.failed("book", 2)
    assert stands(talk) == "failed"
    talk.retry()
    assert (talk.parked, talk.gate("book", 3).decisions) == (["book"], ("retry", "done", "denied"))
    talk.resume("book", "done")
    assert stands(talk) == "cancelled"


@pytest.mark.parametrize("after", ["failed", "returned"])
def test_a_call_that_was_out_when_the_undoing_began_is_awaited(after: str) -> None:
    sides = process(
        parallel("fork"),
        task("book", effect="reversible", compensate="unbook"),
        task("look"),
        parallel("join"),
        end(),
        ways="fork -> book -> join -> end\nfork -> look -> join",
    )
    talk = Conversation(sides, {"look": connector("look")}).start()
    talk.cancel(compensate=True)
    assert stands(talk) == "compensating"
    if after == "failed":
        talk.failed("look", error=NOT_SENT)
    else:
        talk.returned("look")
    assert stands(talk) == "cancelled"
    assert "book:2 done" in talk.steps()


# ---------------------------------------------------------------------------------------- previews


def previewed(talk: Conversation, step_id: str) -> dict[str, tuple[dict[str, bool], tuple[str, ...], tuple[str, ...]]]:
    """The steps that follow each decision and whether they are certain, gates, and outcomes."""
    found = previews(talk.run, talk.visit(step_id), talk.template, talk.connectors)
    return {
        one.decision: ({step.node.id: step.certain for step in one.steps}, one.gates, one.outcomes) for one in found
    }


def test_an_end_behind_a_call_is_no_gate_where_every_step_waits() -> None:
    talk = Conversation(process(task("look"), end(), ways="look -> end"), {"look": connector("look")})
    assert previewed(talk.start(auto=False), "look")["approved"] == ({"look": True}, (), ("done",))


HIGH_RISK = When("look.risk > 5", lambda _inputs, facts: facts["look"]["risk"] > 5, ("look",))
URGENT = When("inputs.urgent", lambda inputs, _facts: inputs["urgent"])
CALM = When("!inputs.urgent", lambda inputs, _facts: not inputs["urgent"])
CHOOSING = process(
    gate("a"),
    task("look"),
    choice("size"),
    task("pay"),
    choice("hurry"),
    end("fast", "fast"),
    end("slow", "slow"),
    ways="""a -> look -> size -[high]-> pay -> hurry -[urgent]-> fast
            size -[low]-> pay
            hurry -[calm]-> slow""",
    when={"high": HIGH_RISK, "urgent": URGENT, "calm": CALM},
)


def test_a_preview_names_every_way_that_an_answer_or_a_missing_input_leaves_open() -> None:
    live = {"look": connector("look")}
    talk = Conversation(CHOOSING, live).start()
    approved = {"look": True, "size": False, "pay": False, "hurry": False}
    assert previewed(talk, "a") == {"approved": (approved, (), ("fast", "slow")), "denied": ({}, (), ("denied",))}
    talk = Conversation(CHOOSING, live).start({"urgent": True})
    assert previewed(talk, "a")["approved"] == (approved, (), ("fast",))
    talk = Conversation(CHOOSING, live).start({"urgent": False})
    assert previewed(talk, "a")["approved"] == (approved, (), ("slow",))


def test_a_preview_of_a_gate_that_lacks_an_input_says_what_may_follow() -> None:
    needy = replace(gate("a"), needs=("iban",))
    talk = Conversation(process(needy, task("pay"), gate("b"), end(), ways="a -> pay -> b -> end")).start()
    assert previewed(talk, "a") == {"approved": ({"pay": False}, ("b",), ()), "denied": ({}, (), ("denied",))}


def test_a_preview_of_a_form_leads_over_the_edges_of_its_decision() -> None:
    asked = replace(gate("a", form=Amount()), needs=("iban",))
    ways = "a -> pay -> end\na -[denied]-> b -> end"
    talk = Conversation(process(asked, task("pay"), gate("b"), end(), ways=ways)).start()
    assert previewed(talk, "a") == {
        "approved": ({"pay": False}, (), ("done",)),
        "denied": ({}, ("b",), ()),
    }


def test_a_preview_of_a_call_is_certain_of_the_call_and_not_of_what_follows_its_answer() -> None:
    risky = process(task("pay", "high", "irreversible"), task("tell"), gate("b"), end(), ways="pay -> tell -> b -> end")
    talk = Conversation(risky, {"pay": connector("pay")}).start()
    assert previewed(talk, "pay")["approved"] == ({"pay": True, "tell": False}, ("b",), ())
    talk = Conversation(risky).start()
    assert previewed(talk, "pay")["approved"] == ({"pay": True, "tell": True}, ("b",), ())


def test_a_preview_of_a_choice_has_the_way_of_each_branch() -> None:
    ways = "size -[yes]-> pay -> end\nsize -[no]-> no"
    choosing = process(choice("size", "high"), task("pay"), end(), end("no", "refused"), ways=ways)
    talk = Conversation(choosing).start()
    assert previewed(talk, "size") == {"yes": ({"pay": True}, (), ("done",)), "no": ({}, (), ("refused",))}
    needy = process(replace(choice("size", "high"), needs=("iban",)), *choosing.nodes[1:], ways=ways)
    talk = Conversation(needy).start()
    assert previewed(talk, "size") == {"yes": ({"pay": False}, (), ("done",)), "no": ({}, (), ("refused",))}


def test_a_company_forgets_who_has_a_right_once_it_remembers_many_and_answers_as_before() -> None:
    company, asked = Company(staff(2)), list[str]()

    def has_right(one: Person) -> bool:
        asked.append(one.email)
        return one.email == "p1"

    answers = [company.entitled(right, has_right) for _ in range(2) for right in ("first", "first", *range(20))]
    assert set(answers) == {frozenset({"p1"})}
    assert len(company.people) * 21 < len(asked) < len(company.people) * len(answers)
