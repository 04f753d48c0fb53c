"""Need to know: whom rules let read a run, whom it is about, and broken glass."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from actors.core.gate_policy import Escalation
from actors.core.messages import BreakGlass, Propose, Start
from actors.core.people import ActiveDelegation, Company, FunctionBinding, Person, ReaderRule
from actors.core.reading.scope import (
    OWN,
    Narrowing,
    Reader,
    ReadingRow,
    Reads,
    ReadScope,
    may_break,
    may_read,
    reading_rows,
    reading_since,
    scope_of,
    subject_name,
)
from actors.core.rules import violations
from actors.core.template import ClockRule, FunctionRule, Node, Template
from tests.conversations import MORNING, Conversation
from tests.processes import end, gate, process, task

PEOPLE = {
    "ann": Person("1", "ann", "owner"),
    "adm": Person("2", "adm", "admin"),
    "off": Person("3", "off", "manager", frozenset({"officers"})),
    "aud": Person("4", "aud", "viewer", frozenset({"auditors"})),
    "mem": Person("5", "mem", "member"),
    "man": Person("6", "man", "manager"),
}
HOUSE = Company(PEOPLE)
GATE = gate("a", groups=("officers",))


def closed(rule: ReaderRule | None = ReaderRule(), *nodes: Node, **more: Any) -> Template:  # noqa: B008
    steps = nodes or (GATE, end())
    return replace(process(*steps, ways=f"{steps[0].id} -> end"), readers=rule, **more)


def scope(who: str, template: Template, company: Company = HOUSE, **narrowed: Narrowing) -> ReadScope:
    return scope_of(Reader(company.people[who]), [template], narrowed, company, MORNING)


def ran(template: Template, inputs: dict[str, Any] | None = None, **start: Any) -> Conversation:
    talk = Conversation(template, company=HOUSE)
    who: dict[str, Any] = {"by": "mem", **start}
    talk.say(Start(run_id="run", company_id="acme", inputs=inputs or {}, **who, at=talk.at))
    return talk


def readers(template: Template, company: Company = HOUSE, talk: Conversation | None = None) -> set[str]:
    """Who of the house reads a run of the template."""
    run = (talk or ran(template)).run
    return {who for who in company.people if may_read(scope(who, template, company), run, template, MORNING)}


@pytest.mark.parametrize(
    ("rule", "who"),
    [
        (None, {*PEOPLE}),
        (ReaderRule(), {"off"}),
        (ReaderRule(role="admin"), {"ann", "adm", "off"}),
        (ReaderRule(role="nobody"), {"off"}),
        (ReaderRule(groups=("auditors",)), {"aud", "off"}),
        (ReaderRule(starter=True), {"mem", "off"}),
        (ReaderRule(functions=("chief",)), {"off"}),
        (ReaderRule(groups=("auditors",), role="owner", starter=True), {"ann", "aud", "mem", "off"}),
    ],
)
def test_each_that_is_named_reads_and_who_may_decide_at_a_gate(rule: ReaderRule | None, who: set[str]) -> None:
    assert readers(closed(rule)) == who


def test_who_is_alone_in_a_company_reads_all_but_what_is_about_them() -> None:
    alone = Company({"mem": PEOPLE["mem"]}, solo=True)
    template = closed(ReaderRule(), task("look"), end(), subjects=("inputs.who",))
    assert readers(template, alone) == {"mem"}
    assert readers(template, alone, ran(template, {"who": "mem"})) == set()


def test_a_function_is_read_by_who_fills_it_and_by_its_role_while_nobody_does() -> None:
    template = closed(ReaderRule(functions=("chief",)), functions={"chief": FunctionRule("Chief", "admin")})
    assert readers(template) == {"ann", "adm", "off"}
    bound = Company(PEOPLE, functions={"chief": FunctionBinding(members=frozenset({"5"}))})
    assert readers(template, bound) == {"mem", "off"}


def test_who_fills_the_function_of_a_gate_reads_and_its_role_alone_does_not() -> None:
    template = closed(ReaderRule(), gate("a", function="chief"), end())
    assert readers(template) == {"ann", "adm", "off", "man"}
    bound = Company(PEOPLE, functions={"chief": FunctionBinding(groups=frozenset({"auditors"}))})
    assert readers(template, bound) == {"aud"}


def test_whom_an_escalation_or_the_breach_of_a_clock_lets_decide_reads_too() -> None:
    late = gate("a", groups=("officers",), deadline="PT1H", on_deadline=Escalation("admin"))
    assert readers(closed(ReaderRule(), late, end())) == {"ann", "adm", "off"}
    clock = ClockRule(id="law", label="Law", within="P7D", stops=("a",), escalate="owner")
    assert readers(closed(ReaderRule(), clocks=(clock,))) == {"ann", "off"}


def test_a_run_is_read_by_who_made_the_key_that_started_it_and_by_whom_it_acts_for() -> None:
    template = closed(ReaderRule(starter=True))
    talk = ran(template, by="ci", by_kind="service", made_by="AUD", on_behalf_of="man")
    assert readers(template, HOUSE, talk) == {"aud", "man", "off"}
    for kind, name, maker, reads in (("service", "ci", "aud", True), ("agent", "other", "mem", False)):
        key = Reader(Person("", name, "member"), kind, maker)  # type: ignore[arg-type]
        assert may_read(scope_of(key, [template], {}, HOUSE, MORNING), talk.run, template, MORNING) is reads
    person = ran(template, by="ci")  # whose address is written as the name of the key is
    key = Reader(Person("", "ci", "member"), "service", "aud")
    assert not may_read(scope_of(key, [template], {}, HOUSE, MORNING), person.run, template, MORNING)


def test_whom_a_run_is_about_does_not_read_it_whatever_else_they_are_nor_by_a_key_of_theirs() -> None:
    template = closed(
        ReaderRule(role="owner", starter=True), subjects=("inputs.who", "inputs.more.list", "inputs.no.one")
    )
    talk = ran(template, {"who": "ANN", "more": {"list": ["off ", 3]}, "no": "thing"})
    assert readers(template, HOUSE, talk) == {"mem"}
    key = Reader(Person("", "ci", "owner"), "service", "ann")
    assert not may_read(scope_of(key, [template], {}, HOUSE, MORNING), talk.run, template, MORNING)
    talk.resume("a", by="off", role="manager")
    assert talk.refusal.more["reason"] == "four_eyes"


def test_a_template_with_subjects_alone_is_read_by_all_others() -> None:
    template = closed(None, subjects=("inputs.who",))
    assert readers(template, HOUSE, ran(template, {"who": "man"})) == {*PEOPLE} - {"man"}


def test_a_delegate_reads_for_the_time_and_nothing_that_is_about_the_giver() -> None:
    template = closed(subjects=("inputs.who",))
    hour = timedelta(hours=1)
    lent = Company(PEOPLE, (ActiveDelegation("3", "5", MORNING - hour, MORNING + hour),))
    assert readers(template, lent) == {"off", "mem"}
    assert readers(template, lent, ran(template, {"who": "off"})) == set()
    over = Company(PEOPLE, (ActiveDelegation("3", "5", MORNING - 2 * hour, MORNING - hour),))
    assert readers(template, over) == {"off"}


def test_who_reads_by_their_own_right_does_so_though_whom_a_run_is_about_lets_them_decide_elsewhere() -> None:
    mine = closed(subjects=("inputs.who",))
    other = replace(closed(ReaderRule(), gate("a", role="owner"), end()), digest="sha256:other")
    hour = timedelta(hours=1)
    lent = Company(PEOPLE, (ActiveDelegation("1", "3", MORNING - hour, MORNING + hour),))
    found = scope_of(Reader(PEOPLE["off"]), [mine, other], {}, lent, MORNING)
    assert found.open == {mine.digest, other.digest}
    run = ran(mine, {"who": "ann"}).run
    assert may_read(found, run, mine, MORNING)
    assert not may_read(structs.replace(found, lent=frozenset({(mine.digest, "ann")})), run, mine, MORNING)


def test_a_policy_narrows_a_vertical_beside_what_the_template_says() -> None:
    template = closed(ReaderRule(role="admin"))
    run = ran(template).run

    def reads(rule: ReaderRule, company: Company = HOUSE) -> set[str]:
        narrowed = {"process": Narrowing(rule, (template,))}
        found = {who: scope(who, template, company, **narrowed) for who in company.people}
        return {who for who, one in found.items() if may_read(one, run, template, MORNING)}

    assert reads(ReaderRule(role="owner")) == {"ann", "off"}
    assert reads(ReaderRule(groups=("auditors",), starter=True)) == {"off"}
    hour = timedelta(hours=1)
    lent = Company(PEOPLE, (ActiveDelegation("3", "1", MORNING - hour, MORNING + hour),))
    assert reads(ReaderRule(), lent) == {"off", "ann"}
    opened, narrowed = closed(None), {"process": Narrowing(ReaderRule(starter=True), (template,))}
    who = [one for one in PEOPLE if may_read(scope(one, opened, HOUSE, **narrowed), run, opened, MORNING)]
    assert who == ["off", "mem"]
    assert [scope("aud", opened, HOUSE, **rule).lets_read_all("process") for rule in ({}, narrowed)] == [True, False]


# ------------------------------------------------------------------------------------------ glass


def glasses(talk: Conversation) -> int:
    return len(talk.run.glass)


def broken(talk: Conversation, by: str = "adm") -> None:
    talk.say(BreakGlass(by=by, reason="The auditor waits.", at=talk.at))


def test_a_broken_glass_lets_an_admin_read_for_an_hour_and_is_mended_then() -> None:
    template = closed()
    talk = ran(template)
    broken(talk)
    glass = talk.run.glass[0]
    assert glass.until - glass.at == timedelta(hours=1)
    assert talk.run.wake_at == glass.until
    assert readers(template, HOUSE, talk) == {"off", "adm"}
    demoted = Company({**PEOPLE, "adm": Person("2", "adm", "manager")})
    assert readers(template, demoted, talk) == {"off"}
    assert not may_read(scope("adm", template), talk.run, template, glass.until)
    broken(talk)
    assert glasses(talk) == 1
    talk.due(timedelta(minutes=30))
    assert glasses(talk) == 1
    talk.due(timedelta(minutes=31))
    assert (glasses(talk), talk.events[-1:]) == (0, ("glass_mended",))


def test_a_broken_glass_changes_nothing_of_what_is_decided_on() -> None:
    talk = ran(closed())
    before = talk.run.parked[0].gate
    talk.say(Propose(gate="a", decision="approved", by="mem", role="member", at=talk.at))
    broken(talk)
    assert (talk.run.proposed, talk.run.parked[0].gate and talk.run.parked[0].gate.digest) == (
        2,
        before and before.digest,
    )


def test_nobody_but_an_admin_breaks_glass_and_never_whom_the_run_is_about() -> None:
    template = closed(subjects=("inputs.who",))
    run = ran(template, {"who": "ann"}).run
    assert {who for who in PEOPLE if may_break(scope(who, template), run, template)} == {"adm"}


# ------------------------------------------------------------------------------------------- rows


def test_lists_know_of_a_closed_run_its_rule_starters_subjects_and_glass() -> None:
    template = closed(subjects=("inputs.who",))
    talk = ran(template, {"who": "ANN"}, by="ci", by_kind="service", made_by="aud")
    broken(talk)
    until = talk.run.glass[0].until
    assert set(reading_rows(talk.run, template)) == {
        ReadingRow("rule", template.digest),
        ReadingRow("starter", "key:ci@aud"),
        ReadingRow("starter", "person:aud"),
        ReadingRow("subject", subject_name("acme", "ann")),
        ReadingRow("glass", "adm", until),
    }
    assert "ann" not in subject_name("acme", "ann")


def test_lists_know_nothing_of_a_run_that_everybody_reads_but_who_started_one_that_is_narrowed() -> None:
    template = closed(None)
    assert reading_rows(ran(template).run, template) == ()
    assert reading_rows(ran(template).run, template, narrowed=True) == (ReadingRow("starter", "person:mem"),)


def test_whom_a_run_is_about_stays_in_the_rows_of_one_that_has_ended() -> None:
    template = closed(subjects=("inputs.who",))
    talk = ran(template, {"who": "ann"})
    rows = reading_rows(talk.run, template)
    assert reading_since(None, rows) == reading_since(talk.run, rows) == (rows, ("rule", "subject", "glass"))
    talk.resume("a", by="off", role="manager")
    assert talk.run.ended is not None
    assert reading_since(talk.run, (*rows, ReadingRow("glass", "adm", MORNING))) == (
        (ReadingRow("glass", "adm", MORNING),),
        ("glass",),
    )


# ------------------------------------------------------------------------------------------ rules


def test_readers_that_nobody_can_be_are_refused() -> None:
    rule = ReaderRule(functions=("chief",), groups=("Not A Group",), role="king")
    found = [one.detail.partition(":")[0] for one in violations(closed(rule)) if one.rule == "readers_refused"]
    assert found == ["readers/functions", "readers/groups", "readers/role"]
    fine = closed(ReaderRule(("chief",), ("auditors",), "viewer"), functions={"chief": FunctionRule("Chief", "admin")})
    assert not [one for one in violations(fine) if one.rule == "readers_refused"]
    assert not [one for one in violations(process(task("pay"), end(), ways="pay -> end")) if "readers" in one.rule]


def test_a_vertical_that_the_company_has_narrowed_is_not_read_whole() -> None:
    narrowed = ReadScope("me", closed=frozenset({"a"}), closed_unless_started=frozenset({"b"}))
    assert [narrowed.lets_read_all(one) for one in "abc"] == [False, False, True]


# ------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    ("reads", "own", "other", "whole"),
    [
        (None, True, True, True),
        (OWN, True, False, False),
        (("x", "?*"), True, True, True),
        (("other",), False, False, False),
        ((), False, False, False),
    ],
)
def test_a_key_reads_no_more_than_its_scopes_let_it(reads: Reads | None, own: bool, other: bool, whole: bool) -> None:
    template = closed(None)
    found = scope_of(Reader(Person("", "ci", "member"), "agent", "ann", reads), [], {}, HOUSE, MORNING)
    started, foreign = (ran(template, by=who, by_kind="agent", made_by="ann").run for who in ("ci", "another"))
    assert may_read(found, started, template, MORNING) is own
    assert may_read(found, foreign, template, MORNING) is other
    assert found.lets_read_all(template.vertical) is whole


def test_what_a_template_closes_no_scope_opens() -> None:
    template = closed()
    found = scope_of(Reader(Person("", "ci", "member"), "agent", "ann", ("*",)), [template], {}, HOUSE, MORNING)
    assert not may_read(found, ran(template).run, template, MORNING)
