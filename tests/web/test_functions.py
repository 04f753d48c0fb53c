"""Functions over HTTP: bound once for all templates; who fills one decides alone at its gates."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.people import colleague, company, delegate, member_id
from tests.web.support import CompanyStream, EventStream, House, Person, assert_invalid, assert_problem
from tests.web.test_api_keys import machine, made
from tests.web.test_gate_policies import changes_to
from tests.web.test_makers import LIVE, office, signs
from tests.web.test_own_templates import document, publish
from tests.web.test_policy import policy_of

DIRECTOR = {"director": {"label": "Medical director", "role": "admin"}}


def directed(**signoff: Any) -> dict[str, Any]:
    """A template whose sign-off is the medical director's; an admin stands in."""
    return {**document(**{"function": "director", **signoff}), "functions": DIRECTOR}


def functions_of(person: Person) -> str:
    return f"{company(person)}/functions"


async def bind(ann: Person, *people: Person, groups: tuple[str, ...] = ()) -> Any:
    """Bind the medical director to groups and people."""
    said = {"groups": [*groups], "members": [await member_id(one) for one in people]}
    answer = await ann.put(functions_of(ann), {"director": said})
    assert answer.status == 200, answer.raw
    return answer.json["director"]


async def physicians(ann: Person, *people: Person) -> None:
    body = {"members": [await member_id(one) for one in people]}
    assert (await ann.put(f"{company(ann)}/groups/physicians", body)).status == 200


async def counts(person: Person) -> tuple[int, int, int]:
    """At how many gates the inbox says that a person may decide: counted, listed, shown."""
    counted = (await person.get("/gates/count")).json["mine"]
    mine, every = [(await person.get(f"/gates/{query}")).json for query in ("?mine=true", "")]
    return counted, len(mine), sum(one["can_decide"] for one in every)


async def test_functions_are_listed_with_where_they_are_asked_for_until_they_are_bound_and_after(ann: Person) -> None:
    before = (await ann.get(functions_of(ann))).json
    await publish(ann, directed())
    await publish(ann, {**directed(), "vertical": "float"})
    listed = (await ann.get(functions_of(ann))).json["director"]
    used = {"steps": ["signoff"], "label": "Medical director", "role": "admin"}
    assert listed == {
        "label": "Medical director",
        "role": "admin",
        "groups": [],
        "members": [],
        "bound": False,
        "people": 0,
        "used_by": [{"vertical": "float", **used}, {"vertical": "petty-cash", **used}],
    }
    bob = await colleague(ann, "bob", "viewer")
    await physicians(ann, bob, ann)
    after = await bind(ann, bob, groups=("physicians",))
    assert after == {**listed, "groups": ["physicians"], "members": [await member_id(bob)], "bound": True, "people": 2}
    assert (await bob.get(functions_of(bob))).json == {**before, "director": after}
    assert (await bind(ann)) == listed


async def test_a_binding_leaves_others_as_they_are_outlives_a_restart_and_is_audited(ann: Person, house: House) -> None:
    bob = await colleague(ann, "bob", "viewer")
    await bind(ann, bob)
    clerk: dict[str, Any] = {"clerk": {"members": [await member_id(ann)]}}
    both = (await ann.put(functions_of(ann), clerk)).json
    assert {name for name, one in both.items() if one["bound"]} == {"clerk", "director"}
    assert both["clerk"]["label"] == "clerk"
    await ann.put(functions_of(ann), clerk)
    await house.restart()
    assert (await ann.get(functions_of(ann))).json == both
    events = [one["event"] for one in (await ann.get("/audit/log")).json]
    last, first = [one for one in events if one["type"] == "functions_changed"]
    assert (last["by"], last["number"], list(last["after"]["functions"])) == (ann.email, 2, ["clerk", "director"])
    assert last["before"] == first["after"]
    assert first["before"] == {"functions": {}}


async def test_only_an_admin_binds_and_only_to_who_is_there(ann: Person, eve: Person) -> None:
    bob, robot = (
        await colleague(ann, "bob", "manager"),
        machine(ann.house, await made(ann, kind="service", role="admin")),
    )
    body: dict[str, Any] = {"director": {"groups": [], "members": []}}
    assert_problem(await bob.put(functions_of(bob), body), 403, "forbidden", required="admin")
    assert_problem(await robot.put(functions_of(ann), body), 403, "forbidden", reason="machine")
    assert_problem(await eve.put(functions_of(ann), body), 404, "not_found")
    assert_problem(await eve.get(functions_of(ann)), 404, "not_found")
    wrong = {"director": {"groups": ["nobody"], "members": [await member_id(bob), await member_id(eve)]}}
    assert_invalid(await ann.put(functions_of(ann), wrong), "/director/groups/0", "/director/members/1")
    assert_invalid(await ann.put(functions_of(ann), {"Director": {}}), "/Director")
    assert_invalid(await ann.put(functions_of(ann), {"director": {"member": []}}), "/director/member")
    assert "director" not in (await ann.get(functions_of(ann))).json


async def test_who_is_gone_stays_bound_so_that_nobody_else_may_decide_and_can_be_sent_again(ann: Person) -> None:
    bob = await colleague(ann, "bob", "viewer")
    await publish(ann, directed())
    listed = await bind(ann, bob)
    await ann.delete(f"{company(ann)}/members/{await member_id(bob)}")
    kept = (await ann.get(functions_of(ann))).json["director"]
    assert kept == {**listed, "people": 0}
    run = await ann.start("petty-cash")
    assert run["gate"]["blocked"] == {"needed": 1, "eligible": 0}
    again = {"director": {"members": kept["members"]}}
    assert (await ann.put(functions_of(ann), again)).status == 200
    assert_problem(await signs(ann, run), 403, "forbidden", reason="function")


@pytest.mark.parametrize("role", ["viewer", "manager"])
async def test_who_is_bound_decides_alone_whatever_the_role_and_everybody_is_told_so(ann: Person, role: str) -> None:
    bob, cyd = await colleague(ann, "bob", role), await colleague(ann, "cyd", "admin")
    await publish(ann, directed())
    await physicians(ann, bob)
    await bind(ann, groups=("physicians",))
    run = await cyd.start("petty-cash")
    assert run["gate"]["function"] == {"id": "director", "label": "Medical director", "bound": True}
    assert (run["gate"]["policy"]["function"], run["gate"]["role"]) == ("director", "admin")
    assert (await counts(ann), await counts(cyd), await counts(bob)) == ((0, 0, 0), (0, 0, 0), (1, 1, 1))
    [row] = (await cyd.get("/gates/?view=row")).json
    assert (row["why_not"], row["gate"]["function"]["bound"]) == ("function", True)
    grouped = (await ann.get("/gates/?group=physicians")).json
    assert [one["run_id"] for one in grouped] == [run["id"]]
    one = (await bob.get(f"/process-runs/{run['id']}/gates/signoff")).json
    assert (one["can_decide"], one["gate"]["function"]["bound"]) == (True, True)
    refused = assert_problem(await signs(ann, run), 403, "forbidden", reason="function", required="director")
    assert "Medical director" in refused["detail"]
    assert (await bob.post(f"/process-runs/{run['id']}/gates/signoff/claim")).status == 200
    assert (await signs(bob, run)).status == 200


async def test_one_who_fills_no_function_is_refused_by_role_and_decides_in_batches_who_does(ann: Person) -> None:
    bob, cyd = await colleague(ann, "bob", "viewer"), await colleague(ann, "cyd", "viewer")
    await publish(ann, directed())
    await bind(ann, bob)
    run = await ann.start("petty-cash")
    item = {"run_id": run["id"], "gate": "signoff", "decision": "approved", "digest": run["gate"]["digest"]}
    assert_problem(await cyd.post("/gates/verdicts", {"verdicts": [item]}), 403, "forbidden", reason="role")
    [done] = (await bob.post("/gates/verdicts", {"verdicts": [item]})).json["results"]
    assert (done["status"], done["run"]["status"]) == (200, "completed")


async def test_a_change_counts_at_open_gates_at_once_and_streams_tell_of_it(ann: Person) -> None:
    bob, cyd = await office(ann)
    await publish(ann, directed())
    run = await ann.start("petty-cash")
    assert run["gate"]["function"]["bound"] is False
    assert await counts(bob) == (1, 1, 1)
    tag = (await ann.get(f"/process-runs/{run['id']}")).headers["ETag"]
    async with EventStream(ann, run["id"]) as stream, CompanyStream(ann, "/") as every:
        await bind(ann, cyd)
        while (told := await anext(stream))["event"] != "gate_changed":
            pass
        assert told["data"]["gate"]["function"]["bound"] is True
        while (await anext(every))["event"] != "people_changed":
            pass
    assert (await counts(bob), await counts(cyd)) == ((0, 0, 0), (1, 1, 1))
    read = await ann.get(f"/process-runs/{run['id']}", If_None_Match=tag)
    assert (read.status, read.json["gate"]["function"]["bound"]) == (200, True)
    listed = [one["gate"]["function"]["bound"] for one in (await ann.get("/process-runs/")).json]
    assert listed == [True]
    assert_problem(await signs(bob, run), 403, "forbidden", reason="function")
    await bind(ann)
    assert (await ann.run(run))["gate"]["function"]["bound"] is False
    assert (await signs(bob, run, decision="denied")).status == 200


async def test_a_condition_on_a_run_does_not_hang_on_who_fills_its_functions(ann: Person) -> None:
    bob, cyd = await office(ann)
    await publish(ann, directed())
    run = await ann.start("petty-cash")
    tag = (await ann.get(f"/process-runs/{run['id']}")).headers["ETag"]
    await bind(ann, cyd)
    body = {"gate": "signoff", "decision": "approved"}
    assert (await bob.post(f"/process-runs/{run['id']}/resume", body, If_Match=tag)).status == 403
    assert (await cyd.post(f"/process-runs/{run['id']}/resume", body, If_Match=tag)).status == 200


async def test_an_answer_to_a_verdict_says_what_is_bound_by_then_under_a_key_too(ann: Person) -> None:
    bob, cyd = await office(ann)
    await publish(ann, directed(quorum=2))
    run = await ann.start("petty-cash")
    assert run["gate"]["function"]["bound"] is False
    await bind(ann, bob, cyd)
    path, body = f"/process-runs/{run['id']}/resume", {"gate": "signoff", "decision": "approved"}
    for _ in range(2):
        first = await bob.post(path, body, Idempotency_Key="k")
        assert (first.status, first.json["gate"]["function"]["bound"]) == (202, True)
    assert (await cyd.post(path, body)).json["outcome"] == "paid"


async def test_a_gate_is_blocked_while_too_few_fill_its_function(ann: Person) -> None:
    bob, cyd = await office(ann)
    await publish(ann, directed(quorum=2))
    await bind(ann, bob)
    run = await ann.start("petty-cash")
    assert run["gate"]["blocked"] == {"needed": 2, "eligible": 1}
    await bind(ann, bob, cyd)
    await changes_to(ann, run, None)


async def test_who_decides_for_another_does_so_by_the_other_s_function(ann: Person) -> None:
    bob, cyd = await colleague(ann, "bob", "manager"), await colleague(ann, "cyd", "viewer")
    await publish(ann, directed())
    await bind(ann, bob)
    await delegate(bob, cyd)
    run = await ann.start("petty-cash")
    assert await counts(cyd) == (1, 1, 1)
    assert_problem(await signs(cyd, run), 403, "forbidden", reason="function")
    assert (await signs(cyd, run, on_behalf_of=await member_id(bob))).status == 200


async def test_the_only_person_of_a_company_decides_whoever_fills_the_function(ann: Person) -> None:
    await publish(ann, directed())
    assert (await ann.put(functions_of(ann), {"director": {"members": [await member_id(ann)]}})).status == 200
    run = await ann.start("petty-cash")
    done = await signs(ann, run)
    assert (done.status, done.json["trace"][1]["verdict"]["solo"]) == (200, True)


async def test_an_agent_s_key_never_decides_by_a_function(ann: Person) -> None:
    await publish(ann, directed())
    await bind(ann, ann)
    robot = machine(ann.house, await made(ann))
    run = await ann.start("petty-cash")
    assert_problem(await signs(robot, run), 403, "forbidden", reason="machine")
    mine = (await robot.get(f"/process-runs/{run['id']}/gates/signoff")).json
    assert (mine["can_decide"], mine["why_not"]) == (False, "machine")


async def test_a_template_names_the_functions_that_its_gates_ask_for(ann: Person) -> None:
    wrong = {**directed(), "functions": {"clerk": {"label": "Clerk", "role": "member"}}}
    found = (await ann.post("/process-templates/validate", wrong)).json
    assert [(one["rule"], one["node"]) for one in found["violations"]] == [
        ("function_refused", None),
        ("function_refused", "signoff"),
    ]
    canvas = (await ann.post("/process-templates/validate", directed())).json["canvas"]
    assert canvas["functions"] == DIRECTOR
    again = (await ann.post("/process-templates/validate", canvas)).json
    assert (again["violations"], again["canvas"]["functions"]) == ([], DIRECTOR)
    [asked] = [one["policy"]["function"] for one in again["canvas"]["nodes"] if one["id"] == "signoff"]
    assert asked == "director"


async def test_functions_come_back_from_bpmn(ann: Person) -> None:
    await publish(ann, directed())
    xml = (await ann.get("/process-templates/petty-cash/bpmn")).raw.decode()
    found = (await ann.post("/process-templates/import-bpmn", {"xml": xml})).json
    assert (found["violations"], found["document"]["functions"]) == ([], DIRECTOR)
    [asked] = [one["function"] for one in found["document"]["steps"] if one["id"] == "signoff"]
    assert asked == "director"


async def test_a_company_binds_a_bounded_number_of_functions(ann: Person) -> None:
    for block in range(2):
        many = {f"f{block}-{number}": {"members": [await member_id(ann)]} for number in range(100)}
        assert (await ann.put(functions_of(ann), many)).status == 200
    assert_invalid(await ann.put(functions_of(ann), {"more": {"members": [await member_id(ann)]}}), "")
    assert (await ann.put(functions_of(ann), {"f1-0": {}, "more": {"members": [await member_id(ann)]}})).status == 200


async def test_where_functions_are_required_no_connector_goes_live_before_they_are_bound(ann: Person) -> None:
    bob = await colleague(ann, "bob", "member")
    await publish(ann, directed())
    assert (await ann.put(policy_of(ann), {"functions": "required"})).json["functions"] == "required"
    assert_invalid(await ann.put(policy_of(ann), {"functions": "maybe"}), "/functions")
    shadow = {**LIVE, "reversible": False}
    assert (await ann.put("/connectors/cash-box", shadow)).status == 201
    assert_problem(await bob.put("/connectors/cash-box", LIVE), 403, "forbidden", required="admin")
    refused = assert_problem(await ann.put("/connectors/cash-box", LIVE), 409, "functions_unbound")
    assert refused["functions"] == [{"id": "director", "label": "Medical director", "vertical": "petty-cash"}]
    assert (await ann.put("/connectors/elsewhere", LIVE)).status == 201
    await bind(ann, bob)
    assert (await ann.put("/connectors/cash-box", LIVE)).status == 200
    await bind(ann)
    changed = {**LIVE, "timeout_s": 7}
    assert_problem(await ann.put("/connectors/cash-box", changed), 409, "functions_unbound")
    assert (await ann.put("/connectors/cash-box", LIVE)).status == 200  # it is as it was
    assert (await ann.put("/connectors/cash-box", shadow)).status == 200
    await ann.put(policy_of(ann), {"functions": "optional"})
    assert (await ann.put("/connectors/cash-box", LIVE)).status == 200
