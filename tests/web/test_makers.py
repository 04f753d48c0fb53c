"""Keys before four eyes, laxer versions, calls in doubt and batches, over HTTP and in the store."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.people import colleague, delegate, member_id
from tests.web.support import FarSide, House, Person, assert_invalid, assert_problem
from tests.web.test_api_keys import machine, made
from tests.web.test_own_templates import document, publish

LIVE = {"base_url": "http://127.0.0.1:9", "method": "POST", "reversible": True}


async def signs(person: Person, run: Any, gate: str = "signoff", **said: Any) -> Any:
    return await person.post(f"/process-runs/{run['id']}/resume", {"gate": gate, "decision": "approved", **said})


async def key_of(person: Person, **said: Any) -> Person:
    """A key that somebody has made, of a service that may do most."""
    key = await made(person, **{"name": "robot", "kind": "service", "role": "admin", **said})
    assert key["made_by"] == person.email
    return machine(person.house, key)


async def office(ann: Person) -> tuple[Person, Person]:
    return await colleague(ann, "bob", "admin"), await colleague(ann, "cyd", "admin")


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("word", ["starter", "template-author", "connector-author", "draft"])
async def test_what_a_key_does_counts_for_four_eyes_as_done_by_who_made_it(
    ann: Person,
    house: House,
    word: str,
    deleted: bool,
) -> None:
    bob, cyd = await office(ann)
    key = await key_of(bob)
    one = document(four_eyes=["template-author" if word == "draft" else word])
    if word == "draft":
        assert (await key.put("/process-templates/petty-cash/draft", one)).status == 200
        assert (await ann.post("/process-templates/petty-cash/publish")).status == 201
    else:
        await publish(key if word == "template-author" else ann, one)
    if word == "connector-author":
        assert (await key.put("/connectors/cash-box", {**LIVE, "reversible": False})).status == 201
        assert (await ann.put("/connectors/cash-box", {**LIVE, "reversible": False})).status == 200
    run = await (key if word == "starter" else ann).start("petty-cash")
    if deleted:
        [listed] = (await ann.get("/api-keys/")).json
        assert (await bob.delete(f"/api-keys/{listed['id']}")).status == 204
        await house.restart()
    mine = await bob.get(f"/process-runs/{run['id']}/gates/signoff")
    assert (mine.json["can_decide"], mine.json["why_not"], mine.json["four_eyes_open"]) == (False, "four_eyes", False)
    assert_problem(await signs(bob, run), 403, "forbidden", reason="four_eyes")
    assert (await bob.get("/gates/?mine=true")).json == []
    assert (await bob.get("/gates/count")).json == {"open": 1, "mine": 0}
    assert (await signs(cyd, run)).status == 200


async def test_a_key_that_acts_for_others_says_for_whom_it_starts_a_run(ann: Person) -> None:
    bob, cyd = await office(ann)
    await publish(ann, document(four_eyes=["starter"]))
    plain, acting = await key_of(bob, name="plain"), await key_of(bob, name="acting", acts_for=True)
    body = {"vertical": "petty-cash", "on_behalf_of": await member_id(cyd)}
    for refused in (ann, plain):
        assert_problem(await refused.post("/process-runs/", body), 403, "forbidden")
    wrong = await acting.post("/process-runs/", {**body, "on_behalf_of": "nobody"})
    assert_invalid(wrong, "/on_behalf_of")
    run = (await acting.post("/process-runs/", body)).json
    assert (run["made_by"], run["on_behalf_of"]) == (bob.email, cyd.email)
    for barred in (bob, cyd):
        assert_problem(await signs(barred, run), 403, "forbidden", reason="four_eyes")
    events = (await ann.get(f"/process-runs/{run['id']}/events")).json
    assert (events[0]["by"], events[0]["on_behalf_of"]) == ("acting", cyd.email)
    assert (await signs(ann, run)).status == 200


@pytest.mark.parametrize("by", ["a person", "a key"])
async def test_who_publishes_or_migrates_onto_a_laxer_version_does_not_decide_at_what_it_made_laxer(
    ann: Person, house: House, by: str
) -> None:
    bob, cyd = await office(ann)
    does = bob if by == "a person" else await key_of(bob)
    await publish(ann, document(quorum=2, four_eyes=["starter"]))
    run = await bob.start("petty-cash")
    await publish(does, document())
    moved = await does.post(f"/process-runs/{run['id']}/migrate", {"version": 2})
    assert moved.status == 200, moved.raw
    assert_problem(await signs(bob, run), 403, "forbidden", reason="four_eyes")
    fresh = await cyd.start("petty-cash")
    await house.restart()
    assert_problem(await signs(bob, fresh), 403, "forbidden", reason="four_eyes")
    assert (await bob.get("/gates/?mine=true")).json == []
    await publish(cyd, document())
    assert (await signs(bob, await bob.start("petty-cash"))).status == 200
    assert (await signs(cyd, run)).status == 200


async def test_a_lax_gate_beside_a_strict_one_that_goes_later_is_not_passed_by_who_published_both(ann: Person) -> None:
    bob, cyd = await office(ann)
    strict = document(quorum=2)
    await publish(ann, strict)
    check, signoff, *others = strict["steps"]
    lax = {**signoff, "id": "glance", "quorum": 1}
    await publish(bob, {**strict, "steps": [check, {**signoff, "next": {"approved": "glance"}}, lax, *others]})
    await publish(bob, {**strict, "steps": [{**check, "next": "glance"}, lax, *others]})
    run = await ann.start("petty-cash")
    assert_problem(await signs(bob, run, "glance"), 403, "forbidden", reason="four_eyes")
    assert (await signs(cyd, run, "glance")).status == 200


async def test_a_gate_names_the_first_who_may_decide_there_of_the_least_role_and_counts_them_all(ann: Person) -> None:
    bob, cyd = await office(ann)
    kim = await colleague(ann, "kim", "manager")
    await publish(ann, document(quorum=3))
    await publish(bob, document(quorum=2))
    path = f"/process-runs/{(run := await ann.start('petty-cash'))['id']}/gates/signoff"
    for reader in (ann, bob):
        found = (await reader.get(path)).json
        assert (found["deciders"], found["deciders_count"]) == ([kim.email, cyd.email, ann.email], 3)
    assert (await signs(cyd, run)).status == 202
    assert (await kim.post(f"{path}/claim")).json["deciders"] == [kim.email, ann.email]
    more = [await colleague(ann, f"m{number}", "manager") for number in range(20)]
    found = (await ann.get(path)).json
    assert (found["deciders"], found["deciders_count"]) == (sorted(one.email for one in (kim, *more))[:20], 22)


async def test_who_migrates_onto_anothers_laxer_version_does_not_decide_in_that_run(ann: Person) -> None:
    bob, cyd = await office(ann)
    await publish(ann, document(quorum=2))
    run = await ann.start("petty-cash")
    await publish(cyd, document())
    assert (await bob.post(f"/process-runs/{run['id']}/migrate", {"version": 2})).status == 200
    for barred in (bob, cyd):
        assert_problem(await signs(barred, run), 403, "forbidden", reason="four_eyes")
    assert (await signs(ann, run)).status == 200


async def test_a_migration_by_a_key_is_by_who_made_the_key(ann: Person) -> None:
    bob, cyd = await office(ann)
    await publish(ann, document(quorum=2))
    run = await ann.start("petty-cash")
    await publish(cyd, document())
    key = await key_of(bob)
    assert (await key.post(f"/process-runs/{run['id']}/migrate", {"version": 2})).status == 200
    assert_problem(await signs(bob, run), 403, "forbidden", reason="four_eyes")
    assert (await signs(ann, run)).status == 200


@pytest.mark.parametrize("word", ["template-author", "connector-author"])
async def test_what_is_sent_again_as_it_stands_changes_no_author(ann: Person, word: str) -> None:
    bob, cyd = await office(ann)
    one, connector = document(four_eyes=[word]), {**LIVE, "reversible": False}
    for person in (bob, cyd):
        assert (await person.put("/process-templates/petty-cash/draft", one)).status == 200
        assert (await person.put("/connectors/cash-box", connector)).status in (200, 201)
    assert (await ann.post("/process-templates/petty-cash/publish")).status == 201
    run = await ann.start("petty-cash")
    assert_problem(await signs(bob, run), 403, "forbidden", reason="four_eyes")
    assert (await signs(cyd, run)).status == 200


@pytest.mark.parametrize(
    "laxer",
    [{}, {"function": "clerk"}, {"function": "director", "role": "manager"}],
    ids=["none", "another", "a lower role in its place"],
)
async def test_who_publishes_a_version_with_another_function_does_not_decide_there_until_it_is_back(
    ann: Person, laxer: dict[str, Any]
) -> None:
    bob, cyd = await office(ann)
    functions = {name: {"label": name, "role": "admin"} for name in ("director", "clerk")}
    strict = {**document(function="director"), "functions": functions}
    await publish(ann, strict)
    await publish(bob, {**document(**laxer), "functions": functions})
    run = await ann.start("petty-cash")
    assert_problem(await signs(bob, run), 403, "forbidden", reason="four_eyes")
    assert (await signs(cyd, run)).status == 200
    await publish(bob, strict)
    assert (await signs(bob, await ann.start("petty-cash"))).status == 200


async def test_a_company_of_one_works_with_its_own_laxer_version(ann: Person) -> None:
    await publish(ann, document(quorum=2, four_eyes=["template-author"]))
    await publish(ann, document())
    assert (await signs(ann, await ann.start("petty-cash"))).status == 200


async def test_a_call_in_doubt_stands_first_in_every_order_and_says_what_was_sent(ann: Person, far: FarSide) -> None:
    await ann.connect("transfer", far.url, body_map={"amount": "amount"})
    far.open.clear()
    run = await ann.start("direct", {"amount": 640.5})
    others = [await ann.start("direct", {"amount": number}) for number in range(2)]
    await ann.resume(run, "transfer", Prefer="respond-async")
    await far.arrived.wait()
    await ann.house.restart()
    await ann.until(run, "parked")
    last = await ann.start("direct", {"amount": 7})
    for order in ("urgency", "risk", "oldest", "newest"):
        for view in ("", "&view=row"):
            found = (await ann.get(f"/gates/?order={order}{view}")).json
            assert found[0]["run_id"] == run["id"], order
            assert len(found) == 4
            assert found[0]["gate"]["reason"] == "outcome unknown"
            first = await ann.get(f"/gates/?order={order}&limit=1{view}")
            path = first.headers["Link"].split(";")[0].strip("<>")
            assert [one["run_id"] for one in (await ann.get(path)).json] == [found[1]["run_id"]]
    gate = (await ann.run(run))["gate"]
    assert f"POST {far.url}/do may have been sent" in gate["question"]
    assert "amount: 640.5" in gate["question"]
    assert (gate["effect"]["method"], gate["effect"]["body"]) == ("POST", {"amount": 640.5})
    early = "2020-01-01T00:00:00Z"
    assert (await ann.get(f"/gates/?due_before={early}")).json == []
    assert (await ann.get(f"/gates/?opened_before={early}")).json == []
    late = (await ann.get("/gates/?opened_before=2999-01-01T00:00:00Z")).json
    assert {one["run_id"] for one in late} == {one["id"] for one in (run, *others, last)}


async def test_a_batch_is_refused_where_it_leads_to_a_live_call_and_recorded_where_it_is_not(ann: Person) -> None:
    await publish(ann, document())
    await publish(ann, document(vertical="slow", batch="never"))
    runs = [await ann.start("petty-cash"), await ann.start("petty-cash"), await ann.start("slow")]
    assert [run["gate"]["policy"]["batch"] for run in runs] == ["allowed", "allowed", "never"]
    rows = (await ann.get("/gates/?view=row&order=oldest")).json
    assert [one["gate"]["batch"] for one in rows] == ["allowed", "allowed", "never"]

    async def batch(*decided: Any) -> Any:
        items = [
            {
                "run_id": run["id"],
                "gate": "signoff",
                "decision": "approved",
                "digest": (await ann.run(run))["gate"]["digest"],
            }
            for run in decided
        ]
        return (await ann.post("/gates/verdicts", {"verdicts": items})).json["results"]

    first, slow = await batch(runs[0], runs[2])
    assert (first["status"], slow["status"], slow["problem"]["code"]) == (200, 409, "batch_refused")
    [given] = [
        one for one in (await ann.get(f"/process-runs/{runs[0]['id']}/events")).json if one["type"] == "verdict_given"
    ]
    named = given["batch"]
    assert named["size"] == 2
    assert first["run"]["trace"][1]["verdict"]["batch"] == named
    evidence = (await ann.get(f"/process-runs/{runs[0]['id']}/audit")).raw.decode()
    assert named["id"] in evidence
    await ann.put("/connectors/cash-box", LIVE)
    assert (await ann.run(runs[1]))["gate"]["policy"]["batch"] == "never"
    [refused] = await batch(runs[1])
    assert refused["problem"]["code"] == "batch_refused"
    assert (await ann.run(runs[1]))["status"] == "parked"


async def test_a_verdict_for_another_names_both_wherever_it_is_shown(ann: Person) -> None:
    bob, cyd = await office(ann)
    await publish(ann, document())
    await delegate(bob, cyd)
    run = await ann.start("petty-cash")
    done = (await signs(cyd, run, on_behalf_of=await member_id(bob))).json
    who = (cyd.email, bob.email)
    visit = next(one for one in done["trace"] if one["step_id"] == "signoff")
    assert (visit["verdict"]["by"], visit["verdict"]["on_behalf_of"]) == who
    for path in (f"/process-runs/{run['id']}/events", "/events/"):
        found = [one.get("event", one) for one in (await ann.get(path)).json]
        events = [one for one in found if one["type"] == "verdict_given"]
        assert [(one["by"], one["on_behalf_of"]) for one in events] == [who], path
    lists = ("/reports/decisions/", "/audit/log?run_id=" + run["id"])
    for path in lists:
        answer = await ann.get(path)
        if answer.status == 200:
            assert bob.email in answer.raw.decode(), path
    again = assert_problem(await signs(ann, run), 409, "not_parked")
    assert (again["decided"]["by"], again["decided"]["on_behalf_of"]) == who
    receipt = await ann.get(f"/process-runs/{run['id']}/verdicts/{visit['verdict']['verdict_id']}")
    assert bob.email in receipt.raw.decode()
