"""Autonomy: what a company lets be cleared without a human."""

from __future__ import annotations

from daemon.model.reports.questions import JudgedStep
from tests.reports.comparing import append
from tests.reports.test_judged import heard_histories, recounted
from tests.web.people import colleague, company
from tests.web.support import House, Person, assert_invalid, assert_problem
from tests.web.test_companies import company_of
from tests.web.test_own_templates import document, publish

DEFAULTS = {"auto_resolve": True, "confidence_floor": 0.70, "irreversible_floor": 0.95, "learnable": {}}
OFF = {"auto_resolve": False}


def autonomy_of(person: Person) -> str:
    return f"{company(person)}/autonomy"


async def test_autonomy_has_floors_until_it_is_changed_and_each_change_is_audited(ann: Person) -> None:
    path = autonomy_of(ann)
    answer = await ann.get(path)
    assert (answer.status, answer.json) == (200, DEFAULTS)
    changed = await ann.put(path, {"confidence_floor": 1, "irreversible_floor": 0})
    assert (changed.status, changed.json) == (200, {**DEFAULTS, "confidence_floor": 1, "irreversible_floor": 0})
    assert (await ann.put(path, {"confidence_floor": 1})).json == changed.json
    assert (await ann.put(path, DEFAULTS)).json == DEFAULTS
    events = [one for one in (await ann.get("/audit/log")).json if one["event"]["type"] == "autonomy_changed"]
    assert [one["event"]["number"] for one in events] == [2, 1]
    assert (events[0]["event"]["before"]["confidence_floor"], events[0]["event"]["after"]) == (1, DEFAULTS)
    assert (events[0]["event"]["by"], events[0]["change"]["action"]) == (ann.email, "change_autonomy")


async def test_a_medium_step_may_learn_and_no_other_may(ann: Person) -> None:
    path = autonomy_of(ann)
    steps = {one["id"]: one for one in (await ann.get("/process-templates/prior-auth/canvas")).json["nodes"]}
    medium = next(name for name, one in steps.items() if one["tier"] == "medium" and not one["gate"])
    other = next(name for name, one in steps.items() if one["tier"] != "medium")
    learnable = {f"prior-auth/{medium}": {"threshold": 0.9, "sample_one_in": 10}}
    assert (await ann.put(path, {"learnable": learnable})).json["learnable"] == learnable
    filled = {f"prior-auth/{medium}": {"threshold": 0.95, "sample_one_in": 5}}
    assert (await ann.put(path, {"learnable": {f"prior-auth/{medium}": {}}})).json["learnable"] == filled
    assert (await company_of(ann)).autonomy.learning("prior-auth", medium) is not None
    for wrong in (f"prior-auth/{other}", "prior-auth/nothing", "nothing/at-all"):
        assert_invalid(await ann.put(path, {"learnable": {wrong: {}}}), f"/learnable/{wrong.replace('/', '~1')}")


async def test_steps_whose_templates_are_gone_keep_nobody_from_switching_off(ann: Person) -> None:
    path, step = autonomy_of(ann), {"petty-cash/check": {"threshold": 0.9, "sample_one_in": 10}}
    medium = document()
    medium["steps"][0]["tier"] = "medium"
    await publish(ann, medium)
    assert (await ann.put(path, {"learnable": step})).json["learnable"] == step
    await ann.post("/process-templates/petty-cash/versions/1/retire")
    assert (await ann.put(path, {**OFF, "learnable": step})).json == {**DEFAULTS, **OFF, "learnable": step}
    assert (await ann.put(path, {"learnable": {}})).json["learnable"] == {}
    assert_invalid(await ann.put(path, {"learnable": step}), "/learnable/petty-cash~1check")


async def test_what_cannot_be_is_refused_by_pointer(ann: Person) -> None:
    path = autonomy_of(ann)
    for wrong in (-0.1, 1.1, "0.5", None, True):
        assert_invalid(await ann.put(path, {"confidence_floor": wrong}), "/confidence_floor")
        assert_invalid(await ann.put(path, {"irreversible_floor": wrong}), "/irreversible_floor")
    for answer in ("yes", 1, None):
        assert_invalid(await ann.put(path, {"auto_resolve": answer}), "/auto_resolve")
    step = "/learnable/prior-auth~1criteria"
    for name, numbers in (("threshold", (0.4, 1, "x")), ("sample_one_in", (0, 1_001, 1.5)), ("unknown", (1,))):
        for number in numbers:
            body = {"learnable": {"prior-auth/criteria": {name: number}}}
            assert_invalid(await ann.put(path, body), f"{step}/{name}")
    assert_invalid(await ann.put(path, {"learnable": {"no step": {}}}), "/learnable/no step")
    refused = await ann.put(path, {"learnable": {"prior-auth/criteria": 5}})
    assert refused.json["errors"] == [{"pointer": step, "detail": "has to be an object"}]
    assert_invalid(await ann.put(path, {"floor": 1}), "/floor")
    assert (await ann.get(path)).json == DEFAULTS


async def test_only_an_admin_changes_the_autonomy_and_all_of_the_company_read_it(ann: Person, eve: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    refused = assert_problem(await bob.put(autonomy_of(ann), OFF), 403, "forbidden")
    assert refused["required"] == "admin"
    assert (await bob.get(autonomy_of(ann))).json == DEFAULTS
    assert_problem(await eve.get(autonomy_of(ann)), 404, "not_found")
    assert_problem(await eve.put(autonomy_of(ann), OFF), 404, "not_found")


async def test_without_autonomy_nothing_is_cleared_in_runs_of_before_neither(house: House, ann: Person) -> None:
    before = (await ann.post("/process-runs/", {"vertical": "prior-auth"})).json
    await ann.put(autonomy_of(ann), OFF)
    await house.restart()
    started = (await ann.post("/process-runs/", {"vertical": "prior-auth", "auto_resolve": True})).json
    assert (started["auto_resolve"], started["parked_at"]) == (False, "pull-chart")
    decided = await ann.post(
        f"/process-runs/{before['id']}/resume", {"gate": before["parked_at"], "decision": "approved"}
    )
    assert decided.json["gate"]["reason"] == "every step of this company waits for a human"
    await ann.put(autonomy_of(ann), {"auto_resolve": True})
    assert (await ann.post("/process-runs/", {"vertical": "prior-auth"})).json["parked_at"] == before["parked_at"]


async def test_calibration_tells_of_each_step_and_version_what_people_decided(house: House, ann: Person) -> None:
    path, company_id = f"{autonomy_of(ann)}/calibration", ann.session["company"]["id"]
    assert (await ann.get(path)).json == {"cases_min": 50, "steps": []}
    commits = heard_histories(range(3), company_id)
    await append(house.services.store, commits)
    cases, cleared = recounted(commits)
    answer = (await ann.get(path)).json["steps"]
    named = {JudgedStep(one["vertical"], one["step_id"], one["template_version"]) for one in answer}
    assert named == {*cases, *cleared}
    for one in answer:
        step = JudgedStep(one["vertical"], one["step_id"], one["template_version"])
        decided = cases.get(step, [])
        assert (one["cases"], one["cleared"]) == (len(decided), cleared.get(step, 0))
        assert (one["agreement"], one["curve"], one["would_clear"]) == (None, [], 0)
        wrong = [(each.run_id, each.raw) for each in reversed(decided) if not each.approved]
        assert [(each["run_id"], each["raw"]) for each in one["disagreements"]] == wrong
        assert sum(each["cases"] for each in one["bins"]) == len(decided)


async def test_the_calibration_of_another_company_is_not_there(ann: Person, eve: Person) -> None:
    assert_problem(await eve.get(f"{autonomy_of(ann)}/calibration"), 404, "not_found")
