"""Policies of gates over HTTP: groups, quorum, four eyes, reasons, forms, withdrawal, solo."""

from __future__ import annotations

from typing import Any

from tests.web.people import colleague, company, member_id
from tests.web.support import Answer, EventStream, Person

FORM = {"units": 3, "reason": "as ordered"}


async def finance(ann: Person, *people: Person) -> None:
    members = [await member_id(one) for one in people]
    assert (await ann.put(f"{company(ann)}/groups/finance", {"members": members})).status == 200


async def signs(person: Person, run: Any, decision: str = "approved", **brought: Any) -> Answer:
    body = {"gate": "sign", "decision": decision, **brought}
    return await person.post(f"/process-runs/{run['id']}/resume", body)


def errors(answer: Answer) -> list[str]:
    assert (answer.status, answer.json["code"]) == (422, "invalid")
    return [one["pointer"] for one in answer.json["errors"]]


async def test_the_only_person_of_a_company_decides_alone_and_the_record_says_so(ann: Person) -> None:
    run = await ann.start("signatures")
    policy = run["gate"]["policy"]
    assert (policy["quorum"], policy["groups"], policy["four_eyes"]) == (2, ["finance"], ["starter"])
    done = await signs(ann, run, form=FORM)
    assert (done.status, done.json["outcome"]) == (200, "paid")
    assert done.json["trace"][0]["verdict"]["solo"] is True


async def test_from_the_second_person_on_nobody_decides_alone_at_open_gates_neither(ann: Person) -> None:
    run = await ann.start("signatures")
    bob = await colleague(ann, "bob", "manager")
    refused = await signs(ann, run, form=FORM)
    assert (refused.status, refused.json["reason"]) == (403, "group")
    await ann.delete(f"{company(ann)}/members/{await member_id(bob)}")
    assert (await signs(ann, run, form=FORM)).status == 403


async def test_two_of_the_group_close_a_gate_and_the_first_is_told_that_more_are_needed(ann: Person) -> None:
    bob, cyd, dan = [await colleague(ann, name, "manager") for name in ("bob", "cyd", "dan")]
    await finance(ann, ann, bob, cyd)
    run = await ann.start("signatures")
    assert (await signs(ann, run, form=FORM)).json["reason"] == "four_eyes"
    assert (await signs(dan, run, form=FORM)).json["reason"] == "group"
    first = await signs(bob, run, form=FORM)
    assert (first.status, first.json["status"]) == (202, "parked")
    assert [one["by"] for one in first.json["gate"]["verdicts"]] == [bob.email]
    again = await signs(bob, run, form=FORM)
    assert (again.status, again.json["code"]) == (409, "already_decided")
    second = await signs(cyd, run, form={"units": 5, "reason": "ditto"})
    assert (second.status, second.json["outcome"]) == (200, "paid")
    facts = second.json["facts"]["sign"]
    assert facts["form"] == {"units": 5, "reason": "ditto"}
    assert facts["forms"] == {bob.email: FORM, cyd.email: {"units": 5, "reason": "ditto"}}


async def test_all_that_a_verdict_lacks_is_said_at_once_by_pointer_in_the_order_of_the_schema(ann: Person) -> None:
    run = await ann.start("signatures")
    assert errors(await signs(ann, run)) == ["/form/units", "/form/reason"]
    assert errors(await signs(ann, run, form={"units": 0, "more": 1})) == ["/form/units", "/form/reason", "/form/more"]
    assert errors(await signs(ann, run, "denied")) == ["/comment", "/code"]
    assert errors(await signs(ann, run, "denied", code="rain", comment="no")) == ["/code"]
    assert errors(await signs(ann, run, "denied", code="duplicate", comment="no", form=FORM)) == ["/form"]
    done = await signs(ann, run, "denied", code="duplicate", comment="seen in May")
    assert (done.status, done.json["outcome"]) == (200, "denied")
    assert done.json["facts"]["sign"]["code"] == "duplicate"


async def test_a_verdict_is_taken_back_while_the_gate_is_open_by_who_gave_it(ann: Person) -> None:
    bob, cyd = [await colleague(ann, name, "manager") for name in ("bob", "cyd")]
    await finance(ann, bob, cyd)
    run = await ann.start("signatures")
    verdict = f"/process-runs/{run['id']}/gates/sign/verdict"
    assert (await bob.delete(verdict)).status == 404
    await signs(bob, run, form=FORM)
    assert (await cyd.delete(verdict)).status == 404
    back = await bob.delete(verdict)
    assert (back.status, back.json["gate"]["verdicts"]) == (200, [])
    assert (await signs(cyd, run, form=FORM)).status == 202
    assert (await signs(bob, run, form=FORM)).status == 200
    assert (await bob.delete(verdict)).status == 409


async def test_the_verdict_of_who_lost_the_right_counts_no_more(ann: Person) -> None:
    bob, cyd, dan = [await colleague(ann, name, "manager") for name in ("bob", "cyd", "dan")]
    await finance(ann, bob, cyd, dan)
    run = await ann.start("signatures")
    assert (await signs(bob, run, form=FORM)).status == 202
    await ann.send("PATCH", f"{company(ann)}/members/{await member_id(bob)}", {"role": "viewer"})
    assert (await signs(cyd, run, form=FORM)).status == 202
    assert (await signs(dan, run, form=FORM)).status == 200


async def test_a_gate_that_too_few_people_can_close_says_so_and_no_more_once_they_can(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    run = await ann.start("signatures")
    assert run["gate"]["blocked"] == {"needed": 2, "eligible": 0}
    cyd = await colleague(ann, "cyd", "manager")
    await finance(ann, bob, cyd)
    await changes_to(ann, run, None)


async def changes_to(person: Person, run: Any, blocked: Any) -> None:
    """Follow the run until its gate is as blocked as that."""
    async with EventStream(person, run["id"]) as stream:
        while (await person.run(run))["gate"]["blocked"] != blocked:
            await anext(stream)


async def test_a_gate_says_that_it_is_blocked_when_its_only_decider_changes_the_connector(ann: Person) -> None:
    bob = await colleague(ann, "bob", "member")
    await bob.put("/connectors/wire", {"base_url": "http://127.0.0.1:9", "method": "POST"})
    run = await ann.start("authored")
    assert run["gate"]["blocked"] is None
    await ann.put("/connectors/wire", {"base_url": "http://127.0.0.1:8", "method": "POST"})
    await changes_to(ann, run, {"needed": 1, "eligible": 0})
    await bob.put("/connectors/wire", {"base_url": "http://127.0.0.1:9", "method": "POST"})
    await changes_to(ann, run, None)
