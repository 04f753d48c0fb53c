"""Which runs can go on by another version of their template, and what their gates ask then."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from actors.core.messages import Migrate, Rejected
from actors.core.people import Company, Person
from actors.core.preview import goes_otherwise
from actors.core.template import Node, Template
from tests.conversations import ALONE, MORNING, Conversation
from tests.processes import choice, connector, edges, end, gate, parallel, process, task, wait

WAYS = "look -> signoff -> pay -> end"


def version(number: int, *steps: Node, ways: str = WAYS) -> Template:
    return replace(process(*steps, ways=ways), version=number, digest=f"sha256:{number}")


def first(**policy: Any) -> Template:
    return version(1, task("look"), gate("signoff", **policy), task("pay"), end())


def parked(template: Template, company: Company | None = None) -> Conversation:
    return Conversation(template, company=company or ALONE).start()


def why(talk: Conversation, onto: Template) -> list[str]:
    """The steps that keep the run from going on by that version."""
    assert isinstance(talk.migrate(onto), Rejected)
    assert talk.refusal.code == "not_migratable"
    return list(talk.refusal.more["steps"])


def test_a_parked_run_goes_on_by_the_new_version_and_its_gate_has_another_digest() -> None:
    talk = parked(first())
    before = talk.gate("signoff")
    second = version(
        2, task("look"), gate("signoff", role="admin", quorum=2), task("post"), end(), ways=WAYS.replace("pay", "post")
    )
    talk.migrate(second)
    assert talk.events == ("run_migrated", "gate_opened", "gate_blocked")
    assert (talk.run.template_version, talk.run.template_digest) == (2, "sha256:2")
    gate_now = talk.gate("signoff")
    assert gate_now.digest != before.digest
    assert (gate_now.role, gate_now.policy.quorum, gate_now.opened_at) == ("admin", 2, before.opened_at)
    talk.resume("signoff", digest=before.digest)
    assert talk.refusal.code == "stale"


def test_a_migration_to_the_same_version_changes_nothing() -> None:
    talk = parked(first())
    talk.migrate(first())
    assert talk.events == ()


def test_verdicts_so_far_lapse_with_what_they_were_given_on() -> None:
    people = Company({name: Person(f"m-{name}", name, "manager") for name in ("ann", "bob", "cyd")})
    talk = parked(first(quorum=2), people)
    talk.resume("signoff", by="bob", role="manager")
    assert talk.gate("signoff").verdicts
    talk.migrate(replace(first(quorum=2), version=2, digest="sha256:2"))
    assert talk.gate("signoff").verdicts == ()


def test_a_step_that_is_open_has_to_be_in_the_version_and_of_the_same_kind() -> None:
    without = version(2, task("look"), task("pay"), end(), ways="look -> pay -> end")
    assert why(parked(first()), without) == ["signoff"]
    other = version(2, task("look"), task("signoff"), task("pay"), end())
    assert why(parked(first()), other) == ["signoff"]


def test_a_call_that_is_out_needs_the_same_tool_there() -> None:
    calling = Conversation(first(), {"look": connector("look")}).start()
    assert calling.calls
    other = version(2, task("look", tool="elsewhere"), gate("signoff"), task("pay"), end())
    assert why(calling, other) == ["look"]
    calling.migrate(replace(first(), version=2, digest="sha256:2"))
    assert calling.events == ("run_migrated",)


def test_branches_that_wait_for_each_other_need_the_same_join() -> None:
    block = (parallel("fork"), task("left"), gate("right"), parallel("join"), end())
    talk = parked(version(1, *block, ways="fork -> left -> join -> end\nfork -> right -> join"))
    assert [visit.step_id for visit in talk.run.open] == ["right", "join"]
    moved = (parallel("fork"), task("other"), gate("right"), parallel("join"), end())
    assert why(talk, version(2, *moved, ways="fork -> other -> join -> end\nfork -> right -> join")) == ["join"]
    alone = (gate("right"), parallel("join"), end())
    assert why(talk, version(2, *alone, ways="right -> join -> end")) == ["join"]


def test_what_was_done_can_still_be_undone() -> None:
    booked = version(1, task("book", compensate="unbook"), gate("signoff"), end(), ways="book -> signoff -> end")
    forgets = version(2, task("book"), gate("signoff"), end(), ways="book -> signoff -> end")
    assert why(parked(booked), forgets) == ["book"]
    keeps = version(2, task("book", compensate="unbook"), task("look"), gate("signoff"), end(), ways=f"book -> {WAYS}")
    talk = parked(booked)
    talk.migrate(replace(keeps, edges=edges("book -> look -> signoff -> end")))
    assert talk.events == ("run_migrated", "gate_opened")
    left = version(2, gate("signoff"), end(), ways="signoff -> end")
    assert why(parked(booked), left) == ["book"]
    # what was done by a version before the last one has its way back no more, and keeps nothing
    talk = parked(version(1, task("look"), gate("signoff"), end(), ways="look -> signoff -> end"))
    talk.migrate(left)
    talk.migrate(replace(left, version=3, digest="sha256:3"))
    assert talk.run.template_version == 3
    talk.cancel(compensate=True)
    assert talk.run.status == "cancelled"


def test_a_run_that_has_ended_stays_by_its_version() -> None:
    talk = parked(first())
    talk.cancel()
    assert why(talk, replace(first(), version=2, digest="sha256:2")) == []


def test_a_deadline_of_the_version_counts_from_the_opening_of_the_gate() -> None:
    talk = parked(first())
    opened = talk.gate("signoff").opened_at
    timed = version(
        2, task("look"), gate("signoff", deadline="PT2H", on_deadline="denied", remind=("PT1H",)), task("pay"), end()
    )
    talk.passed += timedelta(minutes=90)
    talk.migrate(timed)
    assert talk.events == ("run_migrated", "gate_opened", "gate_rescheduled")
    assert talk.gate("signoff").due_at == opened + timedelta(hours=2)
    assert talk.gate("signoff").remind_at == ()
    talk.due(timedelta(hours=1))
    assert talk.run.status == "completed"


def test_a_gate_that_nobody_could_pass_is_blocked_no_more_where_the_version_asks_for_nobody() -> None:
    talk = parked(first(groups=("nobody",)), Company({"ann": Person("m-ann", "ann", "owner")}))
    assert talk.gate("signoff").blocked is not None
    talk.say(Migrate(by="bob", at=talk.at), replace(first(), version=2, digest="sha256:2"))
    assert talk.events == ("run_migrated", "gate_opened", "gate_unblocked")


def test_a_call_in_doubt_is_asked_about_as_before() -> None:
    paying = version(1, gate("signoff"), task("pay", effect="irreversible"), end(), ways="signoff -> pay -> end")
    talk = Conversation(paying, {"pay": connector("pay")}).start()
    talk.resume("signoff")
    talk.failed("pay", unknown=True)
    assert talk.gate("pay", 2).decisions == ("retry", "done", "denied")
    talk.migrate(replace(paying, version=2, digest="sha256:2"))
    assert talk.gate("pay", 2).decisions == ("retry", "done", "denied")


def test_what_was_approved_by_the_earlier_version_is_shown_again_before_it_is_sent() -> None:
    steps = (gate("signoff"), task("look"), task("pay", effect="irreversible"), end())
    paying = version(1, *steps, ways="signoff -> look -> pay -> end")
    talk = Conversation(paying, {"look": connector("look"), "pay": connector("pay")}).start()
    talk.resume("signoff")
    talk.migrate(replace(paying, version=2, digest="sha256:2"))
    talk.returned("look")
    assert talk.parked == ["pay"]
    assert talk.gate("pay").reason == "changed since approval"


def test_an_exclusive_gateway_takes_the_branches_of_the_version() -> None:
    talk = parked(version(1, choice("which", "high"), end(), ways="which -[a]-> end\nwhich -[b]-> end"))
    talk.migrate(version(2, choice("which", "high"), end(), ways="which -[a]-> end\nwhich -[c]-> end"))
    assert talk.gate("which").decisions == ("a", "c")
    talk.resume("which", "c")
    assert talk.run.status == "completed"


def test_a_run_that_waits_goes_on_waiting() -> None:
    talk = parked(version(1, wait("pause", duration="PT1H"), end(), ways="pause -> end"))
    talk.migrate(version(2, wait("pause", duration="PT5H"), end(), ways="pause -> end"))
    assert talk.events == ("run_migrated",)
    assert talk.run.wake_at == MORNING + timedelta(hours=1)


# ---------------------------------------------------------------------- what a version would change


def test_a_run_goes_otherwise_only_where_what_lies_ahead_of_it_differs() -> None:
    talk = parked(first())
    earlier = version(2, task("look", "medium"), gate("signoff"), task("pay"), end())
    assert not goes_otherwise(talk.run, first(), earlier)
    later = version(2, task("look"), gate("signoff"), task("pay", "medium"), end())
    assert goes_otherwise(talk.run, first(), later)
    assert goes_otherwise(talk.run, first(), first(quorum=2))
    without = version(2, task("look"), task("pay"), end(), ways="look -> pay -> end")
    assert goes_otherwise(talk.run, first(), without)
