"""Section 10: templates of a company's own, from a draft to a version that runs go by."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actors.core.preview import goes_otherwise
from actors.core.run import Run
from actors.core.template import Template
from daemon.settings import Settings
from daemon.web.resources.templates import versions
from tests.web.people import colleague
from tests.web.support import Answer, House, Person, assert_invalid, assert_problem

PETTY = "/process-templates/petty-cash"
REFUND = "/process-templates/refund"
CHECK = {"id": "check", "kind": "task", "label": "Check the receipt", "tool": "receipt-check", "effect": "read"}
SIGNOFF = {"id": "signoff", "kind": "gate", "label": "Sign-off", "next": {"approved": "pay", "denied": "refused"}}
PAY = {"id": "pay", "kind": "task", "label": "Pay", "tool": "cash-box", "effect": "irreversible", "next": "paid"}
ENDS = [
    {"id": "paid", "kind": "end", "label": "Paid", "outcome": "paid"},
    {"id": "refused", "kind": "end", "label": "Refused", "outcome": "refused"},
]


def document(title: str = "Petty cash", vertical: str = "petty-cash", **signoff: Any) -> dict[str, Any]:
    steps = [{**CHECK, "next": "signoff"}, {**SIGNOFF, **signoff}, PAY, *ENDS]
    return {"vertical": vertical, "title": title, "steps": steps}


UNGATED = {"vertical": "petty-cash", "title": "Petty cash", "steps": [{**CHECK, "next": "pay"}, PAY, *ENDS]}


async def publish(person: Person, one: dict[str, Any] | None = None) -> Any:
    """Store a draft and publish it; the new version."""
    one = one or document()
    path = f"/process-templates/{one['vertical']}"
    assert (await person.put(f"{path}/draft", one)).status == 200
    answer = await person.post(f"{path}/publish")
    assert answer.status == 201, answer.json
    return answer.json


async def decide(person: Person, run: Any, digest: str) -> Answer:
    """Approve what was shown under a digest."""
    said = {"gate": "signoff", "decision": "approved", "digest": digest}
    return await person.post(f"/process-runs/{run['id']}/resume", said)


# ------------------------------------------------------------------------------------- validating


async def test_a_document_that_keeps_all_rules_is_valid_and_its_steps_come_in_order(ann: Person) -> None:
    found = (await ann.post("/process-templates/validate", document())).json
    canvas = found.pop("canvas")
    assert (canvas["start"], [node["id"] for node in canvas["nodes"]][:3]) == ("check", ["check", "signoff", "pay"])
    assert found == {
        "valid": True,
        "violations": [],
        "warnings": [],
        "steps": ["check", "signoff", "pay", "refused", "paid"],
        "gates": ["signoff"],
        "guards": [{"step_id": "pay", "gates": ["signoff"]}],
        "clocks": [],
        "loosened": [],
        "awaits_approval": False,
    }


async def test_all_violations_are_named_at_once_with_their_node_or_edge(ann: Person) -> None:
    graph = {
        "nodes": [
            {"id": "which", "kind": "gateway", "flow": "exclusive"},
            {"id": "pay", "kind": "agent", "reversible": False, "blast": "huge"},
            {"id": "alone", "kind": "agent"},
            {"id": "end", "kind": "end"},
        ],
        "edges": [
            {"source": "which", "target": "pay", "branch": "a"},
            {"source": "which", "target": "end", "branch": "b", "when": "inputs.amount >"},
            {"source": "pay", "target": "end"},
            {"source": "alone", "target": "nowhere"},
        ],
    }
    found = (await ann.post("/process-templates/validate", graph)).json
    assert not found["valid"]
    assert all(set(one) == {"rule", "node", "edge", "detail"} for one in found["violations"])
    assert {(one["rule"], one["node"]) for one in found["violations"]} == {
        ("blast_refused", "pay"),
        ("condition_refused", "which"),
        ("unknown_node", "nowhere"),
        ("branch_without_condition", "which"),
        ("ungated_irreversible", "pay"),
    }
    edges = {one["rule"]: one["edge"] for one in found["violations"]}
    assert edges["branch_without_condition"] == {"source": "which", "target": "pay", "branch": "a"}
    assert edges["unknown_node"] == {"source": "alone", "target": "nowhere", "branch": None}
    assert edges["ungated_irreversible"] is None
    assert all(one["detail"][0].isupper() and one["detail"].endswith(".") for one in found["violations"])


async def test_a_bare_graph_starts_at_its_first_node_and_ends_where_no_edge_leads_on(ann: Person) -> None:
    graph: dict[str, Any] = {
        "nodes": [
            {"id": "fetch", "kind": "agent"},
            {"id": "ok", "kind": "gate"},
            {"id": "send", "kind": "agent", "reversible": False},
        ],
        "edges": [{"source": "fetch", "target": "ok"}, {"source": "ok", "target": "send"}],
    }
    found = (await ann.post("/process-templates/validate", graph)).json
    assert (found["valid"], found["steps"], found["gates"]) == (True, ["fetch", "ok", "send"], ["ok"])
    raised = {**graph, "nodes": [{**graph["nodes"][0], "blast": "high"}, *graph["nodes"][1:]]}
    assert (await ann.post("/process-templates/validate", raised)).json["gates"] == ["fetch", "ok"]


async def test_a_role_that_only_the_policy_of_a_node_says_is_the_role_of_its_gate(ann: Person) -> None:
    end = {"id": "end", "kind": "end"}
    gate = {"id": "ok", "kind": "gate", "policy": {"role": "admin"}}
    graph = {"nodes": [gate, end], "edges": [{"source": "ok", "target": "end"}]}
    found = (await ann.post("/process-templates/validate", graph)).json
    assert found["canvas"]["nodes"][0]["policy"]["role"] == "admin"
    gate["policy"] = {"role": "guest"}
    found = (await ann.post("/process-templates/validate", graph)).json
    assert [(one["rule"], one["node"]) for one in found["violations"]] == [("unknown_role", "ok")]


async def test_a_time_at_a_step_that_is_no_wait_is_named(ann: Person) -> None:
    gate = {"id": "ok", "kind": "gate", "wait": {"duration": "P1D"}}
    graph = {"nodes": [gate, {"id": "end", "kind": "end"}], "edges": [{"source": "ok", "target": "end"}]}
    found = (await ann.post("/process-templates/validate", graph)).json
    assert [(one["rule"], one["node"]) for one in found["violations"]] == [("misplaced_field", "ok")]


async def test_every_canvas_is_valid_as_it_is_answered(ann: Person) -> None:
    for one in (await ann.get("/process-templates/")).json:
        canvas = (await ann.get(f"/process-templates/{one['vertical']}/canvas")).json
        found = (await ann.post("/process-templates/validate", canvas)).json
        assert found["violations"] == [], one["vertical"]
        assert found["gates"] == canvas["gates"]


async def test_what_has_not_the_form_of_a_template_is_422_with_pointers(ann: Person) -> None:
    first = {**CHECK, "kind": "tusk", "colour": "red", "next": 7}
    wrong = {**document(), "steps": [first, SIGNOFF, PAY, *ENDS]}
    assert_invalid(
        await ann.post("/process-templates/validate", wrong), "/steps/0/kind", "/steps/0/next", "/steps/0/colour"
    )
    assert_invalid(await ann.post("/process-templates/validate", {}), "/nodes")
    assert_invalid(await ann.post("/process-templates/validate", {"nodes": [{"kind": "gate"}]}), "/nodes/0/id")
    assert_invalid(await ann.post("/process-templates/validate", {**document(), "colour": "red"}), "/colour")
    assert_invalid(await ann.put(f"{PETTY}/draft", {**document(), "title": ""}), "/title")


async def test_a_template_of_too_many_steps_is_told_so_at_once(ann: Person) -> None:
    nodes = [{"id": f"s{number}", "kind": "agent"} for number in range(1_002)]
    found = (await ann.post("/process-templates/validate", {"nodes": nodes, "edges": []})).json
    assert [one["rule"] for one in found["violations"]] == ["too_large"]


async def test_a_template_has_no_judges_and_an_unknown_one_is_not_found(ann: Person, eve: Person) -> None:
    await publish(ann)
    for path in (f"{PETTY}/judges", f"{PETTY}/judges/", f"{REFUND}/judges"):
        answer = await ann.get(path)
        assert (answer.status, answer.json) == (200, []), path
    assert_problem(await eve.get(f"{PETTY}/judges"), 404, "not_found")


# ----------------------------------------------------------------------------------------- drafts


async def test_a_draft_may_be_invalid_and_is_read_as_it_was_written(ann: Person, eve: Person) -> None:
    stored = await ann.put(f"{PETTY}/draft", UNGATED)
    assert (stored.status, stored.json) == (200, UNGATED)
    read = await ann.get(f"{PETTY}/draft")
    assert (read.json, read.headers["ETag"]) == (UNGATED, stored.headers["ETag"])
    listed = (await ann.get("/template-drafts/")).json
    assert [(one["vertical"], one["title"], one["saved_by"]) for one in listed] == [
        ("petty-cash", "Petty cash", ann.email)
    ]
    assert_problem(await eve.get(f"{PETTY}/draft"), 404, "not_found")
    assert (await eve.get("/template-drafts/")).json == []


async def test_a_stale_draft_is_not_overwritten(ann: Person) -> None:
    assert_problem(await ann.put(f"{PETTY}/draft", document(), **{"If-Match": '"abc"'}), 412, "stale", etag=None)
    first = (await ann.put(f"{PETTY}/draft", document())).headers["ETag"]
    second = (await ann.put(f"{PETTY}/draft", document("Cash"), **{"If-Match": first})).headers["ETag"]
    assert second != first
    refused = await ann.put(f"{PETTY}/draft", document("Other"), **{"If-Match": first})
    assert_problem(refused, 412, "stale", etag=second)
    assert_problem(await ann.send("DELETE", f"{PETTY}/draft", **{"If-Match": first}), 412, "stale")
    assert_problem(await ann.post(f"{PETTY}/publish", **{"If-Match": first}), 412, "stale")
    assert (await ann.get(f"{PETTY}/draft")).json["title"] == "Cash"
    assert (await ann.put(f"{PETTY}/draft", document("Replaced"))).status == 200


async def test_of_two_who_save_at_once_with_the_same_tag_one_wins(ann: Person) -> None:
    tag = (await ann.put(f"{PETTY}/draft", document())).headers["ETag"]
    saves = (ann.put(f"{PETTY}/draft", document(f"By {n}"), **{"If-Match": tag}) for n in range(8))
    assert sorted([one.status for one in await asyncio.gather(*saves)]) == [200, *[412] * 7]


async def test_of_two_who_begin_a_draft_at_once_one_wins_and_no_draft_is_replaced(ann: Person) -> None:
    new = {"If-None-Match": "*"}
    begun = (ann.put(f"{PETTY}/draft", document(f"By {n}"), **new) for n in range(8))
    assert sorted([one.status for one in await asyncio.gather(*begun)]) == [200, *[412] * 7]
    draft = await ann.get(f"{PETTY}/draft")
    refused = await ann.put(f"{PETTY}/draft", document("Other"), **new)
    assert_problem(refused, 412, "stale", etag=draft.headers["ETag"])


async def test_a_draft_that_is_known_already_is_not_sent_again(ann: Person) -> None:
    tag = (await ann.put(f"{PETTY}/draft", document())).headers["ETag"]
    same = await ann.send("GET", f"{PETTY}/draft", **{"If-None-Match": tag})
    assert (same.status, same.headers["ETag"]) == (304, tag)
    await ann.put(f"{PETTY}/draft", document("Cash"))
    assert (await ann.send("GET", f"{PETTY}/draft", **{"If-None-Match": tag})).json["title"] == "Cash"


async def test_a_draft_is_of_the_vertical_of_its_path(ann: Person) -> None:
    assert_invalid(await ann.put("/process-templates/other/draft", document()), "/vertical")


async def test_a_draft_is_deleted_once(ann: Person) -> None:
    await ann.put(f"{PETTY}/draft", document())
    assert (await ann.delete(f"{PETTY}/draft")).status == 204
    assert_problem(await ann.delete(f"{PETTY}/draft"), 404, "not_found")
    assert_problem(await ann.post(f"{PETTY}/publish"), 404, "not_found")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"company_templates_max": 3, "company_template_bytes_max": 20_000})


async def test_a_company_has_so_many_drafts(ann: Person) -> None:
    for name in ("a", "b", "c"):
        assert (await ann.put(f"/process-templates/{name}/draft", document(vertical=name))).status == 200
    assert_problem(await ann.put("/process-templates/d/draft", document(vertical="d")), 507, "quota_exceeded")
    assert (await ann.put("/process-templates/a/draft", document("Again", vertical="a"))).status == 200


async def test_the_templates_of_a_company_have_so_many_characters(ann: Person) -> None:
    large = {**document(), "description": "d" * 7_000}
    for number in (1, 2):
        assert (await publish(ann, large))["version"] == number
    assert (await ann.put(f"{PETTY}/draft", {**large, "description": "d" * 3_000})).status == 200
    assert_problem(await ann.put(f"{PETTY}/draft", large), 507, "quota_exceeded")
    assert (await ann.post(f"{PETTY}/publish")).status == 201
    sizes = iter(range(3_000, 0, -20))
    while (await ann.put(f"{PETTY}/draft", {**large, "description": "d" * next(sizes)})).status == 507:
        pass
    assert_problem(await ann.post(f"{PETTY}/publish"), 507, "quota_exceeded")  # with all that defaults add
    assert (await ann.get(PETTY)).json["version"] == 3


# ------------------------------------------------------------------------------------- publishing


async def test_a_published_version_is_listed_shown_and_started_by_its_company_alone(ann: Person, eve: Person) -> None:
    made = await publish(ann)
    assert (made["version"], made["published_by"], made["gates"], made["runs_affected"]) == (
        1,
        ann.email,
        ["signoff"],
        [],
    )
    assert "petty-cash" in [one["vertical"] for one in (await ann.get("/process-templates/")).json]
    canvas = (await ann.get(f"{PETTY}/canvas")).json
    assert (canvas["digest"], canvas["gates"]) == (made["digest"], ["signoff"])
    run = await ann.start("petty-cash")
    assert (run["parked_at"], run["template"]) == ("signoff", {"version": 1, "digest": made["digest"]})
    assert_problem(await ann.get(f"{PETTY}/draft"), 404, "not_found")
    assert "petty-cash" not in [one["vertical"] for one in (await eve.get("/process-templates/")).json]
    for path in (
        PETTY,
        f"{PETTY}/canvas",
        f"{PETTY}/versions",
        f"{PETTY}/versions/1",
        f"{PETTY}/canvas?digest={made['digest']}",
    ):
        assert_problem(await eve.get(path), 404, "not_found")
    assert_problem(await eve.post("/process-runs/", {"vertical": "petty-cash"}), 404, "not_found")
    assert_problem(await eve.post(f"{PETTY}/versions/1/retire"), 404, "not_found")


async def test_an_invalid_draft_is_not_published_and_says_why(ann: Person) -> None:
    await ann.put(f"{PETTY}/draft", UNGATED)
    refused = assert_problem(await ann.post(f"{PETTY}/publish"), 422, "invalid")
    assert {one["rule"] for one in refused["violations"]} == {"ungated_irreversible", "unreachable"}
    assert (await ann.get(f"{PETTY}/draft")).json == UNGATED
    assert_problem(await ann.get(PETTY), 404, "not_found")


async def test_a_draft_under_a_shipped_vertical_goes_on_from_its_number_for_that_company_alone(
    ann: Person, eve: Person
) -> None:
    shipped = (await eve.get(REFUND)).json
    made = await publish(ann, document("Refund our way", vertical="refund"))
    assert made["version"] == shipped["version"] + 1
    assert (await ann.get(REFUND)).json["title"] == "Refund our way"
    assert (await eve.get(REFUND)).json == shipped
    versions = (await ann.get(f"{REFUND}/versions")).json
    assert [(one["version"], one["published_by"]) for one in versions] == [
        (made["version"], ann.email),
        (shipped["version"], None),
    ]
    assert (await ann.get(f"{REFUND}/versions/{shipped['version']}")).json["document"]["title"] == shipped["title"]
    assert_problem(await ann.post(f"{REFUND}/versions/{shipped['version']}/retire"), 403, "forbidden")


async def test_runs_in_flight_go_on_by_their_version_and_those_that_would_go_otherwise_are_named(ann: Person) -> None:
    await publish(ann)
    parked = await ann.start("petty-cash")
    relabelled = await publish(ann, {**document(), "description": "Only the description is another."})
    assert relabelled["runs_affected"] == []
    made = await publish(ann, document(quorum=2))
    assert made["runs_affected"] == [{"run_id": parked["id"], "parked_at": "signoff"}]
    done = await ann.resume(parked, "signoff")
    assert (done.json["outcome"], done.json["template"]["version"]) == ("paid", 1)
    assert (await ann.get(f"{PETTY}/versions")).json[0]["version"] == 3


async def test_runs_that_stand_alike_are_compared_with_a_new_version_once(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def counted(run: Run, *others: Template) -> bool:
        compared.append(run.id)
        return goes_otherwise(run, *others)

    monkeypatch.setattr(versions, "goes_otherwise", counted)
    await publish(ann)
    parked = [await ann.start("petty-cash") for _ in range(3)]
    made = await publish(ann, {**document(), "title": "Another"})
    assert made["runs_affected"] == []
    assert len(parked) == 3
    assert len(compared) == 1


async def test_inputs_keep_the_order_of_their_document_in_versions_and_in_drafts_made_of_them(ann: Person) -> None:
    schema = {"type": "object", "properties": {"reason": {"type": "string"}, "amount": {"type": "number"}}}
    await publish(ann, {**document(), "inputs_schema": schema})
    assert (await ann.get(PETTY)).json["inputs_schema"]["x-order"] == ["reason", "amount"]
    shipped = (await ann.get(REFUND)).json
    whole = (await ann.get(f"{REFUND}/versions/{shipped['version']}")).json["document"]
    del whole["version"]
    await publish(ann, whole)
    assert (await ann.get(REFUND)).json["inputs_schema"] == shipped["inputs_schema"]


async def test_a_retired_version_starts_no_run_and_the_newest_that_is_left_counts(ann: Person) -> None:
    await publish(ann)
    parked = await ann.start("petty-cash")
    await publish(ann, document("Second"))
    retired = await ann.post(f"{PETTY}/versions/2/retire")
    assert (retired.status, retired.json["retired_by"]) == (200, ann.email)
    assert (await ann.post(f"{PETTY}/versions/2/retire")).json == retired.json
    assert (await ann.get(PETTY)).json["version"] == 1
    assert (await ann.start("petty-cash"))["template"]["version"] == 1
    start = {"vertical": "petty-cash", "version": 2}
    assert_problem(await ann.post("/process-runs/", start), 409, "retired")
    await ann.post(f"{PETTY}/versions/1/retire")
    assert_problem(await ann.post("/process-runs/", {"vertical": "petty-cash"}), 409, "retired")
    assert_problem(await ann.get(PETTY), 404, "not_found")
    assert (await ann.resume(parked, "signoff")).json["outcome"] == "paid"
    assert_problem(await ann.post(f"{PETTY}/versions/7/retire"), 404, "not_found")
    assert_problem(await ann.get(f"{PETTY}/versions/x"), 404, "not_found")


async def test_versions_are_known_as_they_are_read_anew(house: House, ann: Person) -> None:
    await publish(ann)
    await publish(ann, document("Zweite: größer", quorum=2))
    await publish(ann, document("Third"))
    await ann.post(f"{PETTY}/versions/2/retire")
    catalog, company_id = house.services.catalog, ann.session["company"]["id"]
    known = await catalog.own_versions(company_id, "petty-cash")
    catalog.forget([company_id])
    assert [*known] == [*await catalog.own_versions(company_id, "petty-cash")]


async def test_with_all_of_its_own_retired_a_company_has_the_shipped_one_again(ann: Person) -> None:
    shipped = (await ann.get(REFUND)).json
    made = await publish(ann, document("Refund our way", vertical="refund"))
    await ann.post(f"{REFUND}/versions/{made['version']}/retire")
    assert (await ann.get(REFUND)).json == shipped
    assert (await ann.start("refund", shipped["inputs"]))["template"]["digest"] == shipped["digest"]
    assert (await publish(ann, document("Again", vertical="refund")))["version"] == made["version"] + 1


async def test_members_draft_and_admins_publish(ann: Person) -> None:
    kim, pat = await colleague(ann, "kim", "member"), await colleague(ann, "pat", "viewer")
    assert_problem(await pat.put(f"{PETTY}/draft", document()), 403, "forbidden", required="member")
    assert (await kim.put(f"{PETTY}/draft", document())).status == 200
    assert_problem(await kim.post(f"{PETTY}/publish"), 403, "forbidden", required="admin")
    assert (await ann.post(f"{PETTY}/publish")).status == 201
    assert (await pat.post("/process-templates/validate", document())).json["valid"]


async def test_whoever_published_does_not_decide_where_the_author_is_barred(ann: Person) -> None:
    kim = await colleague(ann, "kim", "manager")
    await publish(ann, document(four_eyes=["template-author"]))
    run = await ann.start("petty-cash")
    assert_problem(await ann.resume(run, "signoff"), 403, "forbidden", reason="four_eyes")
    assert (await kim.resume(run, "signoff")).status == 200


async def test_what_was_published_and_retired_is_in_the_log_of_the_company(ann: Person) -> None:
    made = await publish(ann)
    await ann.post(f"{PETTY}/versions/1/retire")
    log = [one for one in (await ann.get("/audit/log")).json if one["event"]["type"].startswith("template_")]
    assert [one["event"]["type"] for one in log] == ["template_retired", "template_published"]
    assert all((one["event"]["by"], one["event"]["digest"]) == (ann.email, made["digest"]) for one in log)


async def test_a_repeated_publication_is_one_version(ann: Person) -> None:
    await ann.put(f"{PETTY}/draft", document())
    key = {"Idempotency-Key": "once"}
    first, again = await ann.post(f"{PETTY}/publish", **key), await ann.post(f"{PETTY}/publish", **key)
    assert (first.status, again.json) == (201, first.json)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len((await ann.get(f"{PETTY}/versions")).json) == 1


async def test_of_many_publications_at_once_each_has_a_number_of_its_own(ann: Person) -> None:
    async def one(number: int) -> int:
        await ann.put(f"{PETTY}/draft", document(f"Number {number}"))
        return (await ann.post(f"{PETTY}/publish")).status

    statuses = await asyncio.gather(*(one(number) for number in range(10)))
    versions = [one["version"] for one in (await ann.get(f"{PETTY}/versions")).json]
    assert set(statuses) <= {201, 404}
    assert versions == list(range(statuses.count(201), 0, -1))


# -------------------------------------------------------------------------------------- migrating


async def test_an_admin_lets_a_run_go_on_by_another_version(ann: Person) -> None:
    kim = await colleague(ann, "kim", "manager")
    await publish(ann)
    run = await ann.start("petty-cash")
    made = await publish(ann, document(role="admin"))
    assert_problem(
        await kim.post(f"/process-runs/{run['id']}/migrate", {"version": 2}), 403, "forbidden", required="admin"
    )
    moved = (await ann.post(f"/process-runs/{run['id']}/migrate", {"version": 2})).json
    assert (moved["template"], moved["parked_at"]) == ({"version": 2, "digest": made["digest"]}, "signoff")
    assert (moved["gate"]["digest"] != run["gate"]["digest"], moved["gate"]["role"]) == (True, "admin")
    assert_problem(await kim.resume(run, "signoff"), 403, "forbidden")
    assert_problem(await decide(ann, run, run["gate"]["digest"]), 412, "stale")
    assert (await decide(ann, run, moved["gate"]["digest"])).json["outcome"] == "paid"
    events = [one["type"] for one in (await ann.get(f"/process-runs/{run['id']}/events")).json]
    assert "run_migrated" in events


async def test_a_run_does_not_migrate_where_its_open_step_is_gone_or_it_has_ended(ann: Person) -> None:
    await publish(ann)
    run = await ann.start("petty-cash")
    without = {**document(), "steps": [{**CHECK, "next": "paid"}, ENDS[0]]}
    await publish(ann, without)
    refused = await ann.post(f"/process-runs/{run['id']}/migrate", {"version": 2})
    assert_problem(refused, 409, "not_migratable", steps=["signoff"])
    assert_problem(await ann.post(f"/process-runs/{run['id']}/migrate", {"version": 9}), 404, "not_found")
    assert_invalid(await ann.post(f"/process-runs/{run['id']}/migrate", {"version": 0}), "/version")
    await ann.post(f"/process-runs/{run['id']}/cancel")
    assert_problem(
        await ann.post(f"/process-runs/{run['id']}/migrate", {"version": 1}), 409, "not_migratable", steps=[]
    )


async def test_what_was_published_is_there_after_a_restart(house: House, ann: Person) -> None:
    made = await publish(ann)
    run = await ann.start("petty-cash")
    await house.restart()
    assert (await ann.get(PETTY)).json["digest"] == made["digest"]
    assert (await ann.resume(run, "signoff")).json["outcome"] == "paid"


# ------------------------------------------------------------------------------ BPMN, and from text


async def test_every_template_is_exported_as_bpmn_and_read_again(ann: Person) -> None:
    for one in (await ann.get("/process-templates/")).json:
        first = await ann.get(f"/process-templates/{one['vertical']}/bpmn")
        assert first.headers["Content-Type"].startswith("application/xml")
        assert first.raw == (await ann.get(f"/process-templates/{one['vertical']}/bpmn")).raw
        found = (await ann.post("/process-templates/import-bpmn", {"xml": first.raw.decode()})).json
        canvas = (await ann.get(f"/process-templates/{one['vertical']}/canvas")).json
        same = ("title", "start", "nodes", "edges", "judges", "clocks", "functions", "readers", "subjects")
        assert [found[name] for name in same] == [canvas[name] for name in same]
        assert found["violations"] == []
        about = (await ann.get(f"/process-templates/{one['vertical']}")).json
        for name, told in (("rules", "rules"), ("inputs_schema", "inputs_schema"), ("inputs", "example")):
            assert found["document"].get(told, []) == about[name] or name == "rules"
        assert (await ann.post("/process-templates/validate", found["document"])).json["valid"] is True
        assert (await ann.post("/process-templates/validate", canvas)).json["canvas"]["judges"] == canvas["judges"]


async def test_what_does_not_map_or_breaks_a_rule_is_named(ann: Person) -> None:
    flow = "<sequenceFlow sourceRef='s' targetRef='pay'/>"
    xml = f"<process><startEvent id='s'/><serviceTask id='pay'/><subProcess id='sub'/>{flow}</process>"
    found = (await ann.post("/process-templates/import-bpmn", {"xml": xml})).json
    assert [node["id"] for node in found["nodes"]] == ["pay", "end"]
    assert [one["rule"] for one in found["violations"]] == ["unsupported_element", "ungated_irreversible"]
    assert "subProcess sub" in found["violations"][0]["detail"]
    assert_problem(await ann.post("/process-templates/import-bpmn", {"xml": "<a"}), 400, "malformed_xml")
    assert_problem(await ann.post("/process-templates/import-bpmn", {"xml": "<!DOCTYPE a><a/>"}), 400, "malformed_xml")
    assert_problem(await ann.post("/process-templates/import-bpmn", {"xml": "<definitions/>"}), 400, "no_process")
    assert_invalid(await ann.post("/process-templates/import-bpmn", {}), "/xml")
    lone = await ann.post("/process-templates/import-bpmn", {"xml": "<process><callActivity id='Pay'/></process>"})
    assert lone.json["detail"].startswith("There is no step in the process: the element callActivity Pay calls")
    large = f"<process>{'<task/>' * 1_001}</process>"
    assert_invalid(await ann.post("/process-templates/import-bpmn", {"xml": large}), "/xml")


async def test_a_text_finds_the_closest_template_of_those_that_the_company_has(ann: Person, eve: Person) -> None:
    path = "/process-templates/draft-from-text"
    found = (await ann.post(path, {"text": "Prior authorization of a procedure by a health plan"})).json
    assert (found["matched"], 0.5 <= found["score"] <= 1) == ("prior-auth", True)
    assert found["nodes"] == (await ann.get("/process-templates/prior-auth/canvas")).json["nodes"]
    await publish(ann, document("Lend an elephant to a zoo", vertical="elephants"))
    assert (await ann.post(path, {"text": "lend an elephant"})).json["matched"] == "elephants"
    other = (await eve.post(path, {"text": "lend an elephant"})).json
    assert (other["matched"], [node["kind"] for node in other["nodes"]]) == (None, ["task", "end"])


@pytest.mark.parametrize(
    "text",
    [
        "Check the invoice, ask finance above 500, then pay it",
        "If the amount is above 500, ask a manager. Pay the supplier and email the receipt",
        "send everything",
        "...",
        "wait 3 days then delete the account",
        "if if if, then then, and and pay",
        "inputs, facts, 1234, inputs",
        "Kündigung prüfen; zahlen; " * 40,
    ],
)
async def test_a_generated_process_keeps_all_rules(ann: Person, text: str) -> None:
    found = (await ann.post("/process-templates/draft-from-text", {"text": text, "generate": True})).json
    assert found["matched"] is None
    graph = {name: found[name] for name in ("title", "start", "nodes", "edges")}
    assert (await ann.post("/process-templates/validate", graph)).json["violations"] == []


@pytest.mark.parametrize(("words", "duration"), [("2 days", "P2D"), ("two days", "P2D"), ("an hour", "PT1H")])
async def test_a_time_to_wait_may_be_written_in_words(ann: Person, words: str, duration: str) -> None:
    text = f"Look up the order. Wait {words}. Tell the customer"
    found = (await ann.post("/process-templates/draft-from-text", {"text": text, "generate": True})).json
    assert [node["wait"]["duration"] for node in found["nodes"] if node["kind"] == "wait"] == [duration]


# --------------------------------------------------------------------------------------- trying


async def tried(person: Person, *acts: dict[str, Any], **more: Any) -> Answer:
    return await person.post("/process-templates/try", {"document": document(), "acts": [*acts], **more})


async def test_a_draft_is_tried_step_by_step_and_nothing_is_called_or_kept(ann: Person) -> None:
    first = (await tried(ann)).json
    assert (first["run"]["status"], first["run"]["parked_at"], first["taken"]) == ("parked", "signoff", 0)
    done = (await tried(ann, {"gate": "signoff", "decision": "approved"})).json
    assert (done["run"]["status"], done["run"]["outcome"], done["taken"]) == ("completed", "paid", 1)
    assert [entry["request"]["mode"] for entry in done["run"]["trace"] if entry["request"]] == ["shadow", "shadow"]
    assert (await ann.get("/process-runs/")).json == []
    assert (await ann.get("/template-drafts/")).json == []


async def test_an_act_that_is_refused_says_why_and_the_ones_before_count(ann: Person) -> None:
    found = (await tried(ann, {"gate": "signoff", "decision": "approved"}, {"gate": "signoff", "decision": "no"})).json
    assert (found["taken"], found["run"]["status"]) == (1, "completed")
    assert "completed" in found["refused"]
    assert_invalid(await tried(ann, {"gate": "signoff"}), "/acts/0")


async def test_a_draft_that_is_tried_stops_at_every_step_where_that_is_asked(ann: Person) -> None:
    first = (await tried(ann, auto_resolve=False)).json["run"]
    assert first["parked_at"] != "signoff"
    on = (await tried(ann, {"gate": first["parked_at"], "decision": "approved"}, auto_resolve=False)).json
    assert (on["taken"], on["run"]["status"]) == (1, "parked")


async def test_time_passes_where_an_act_says_nothing_else(ann: Person) -> None:
    late = document(deadline="PT2H", on_deadline="denied")
    found = (await tried(ann, {}, document=late)).json
    assert (found["run"]["status"], found["run"]["outcome"]) == ("completed", "refused")
    assert found["at"] > found["run"]["created_at"]


async def test_a_draft_that_breaks_rules_is_not_tried(ann: Person) -> None:
    problem = assert_problem(await tried(ann, document=UNGATED), 422, "invalid")
    assert "ungated_irreversible" in [one["rule"] for one in problem["violations"]]


async def test_a_clock_that_is_late_by_design_is_told_with_its_path(ann: Person) -> None:
    clock = {"id": "notice", "label": "Notice", "within": "P7D", "stops": ["send"]}
    nodes = [{"id": "w", "kind": "wait", "wait": {"duration": "P8D"}}, {"id": "send", "kind": "agent"}]
    value = {"nodes": nodes, "edges": [{"source": "w", "target": "send"}], "clocks": [clock]}
    (late,) = (await ann.post("/process-templates/validate", value)).json["violations"]
    assert (late["rule"], late["node"], late["edge"]) == ("late_by_design", "send", None)
    assert (late["clock"], late["path"], late["takes"], late["within"]) == ("notice", ["w", "send"], "P8D", "P7D")
    (other,) = (await ann.post("/process-templates/validate", {**value, "clocks": [{**clock, "stops": ["x"]}]})).json[
        "violations"
    ]
    assert set(other) == {"rule", "node", "edge", "detail"}
    kept = (await ann.post("/process-templates/validate", {**value, "clocks": [{**clock, "within": "P9D"}]})).json
    assert kept["clocks"] == [{"clock": "notice", "path": ["w", "send"], "takes": "P8D", "within": "P9D"}]
