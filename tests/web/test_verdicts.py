"""Sections 1 and 4: which verdicts count, and what the others are told."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from tests.web.support import Answer, FarSide, House, Person, assert_problem

UNKNOWN = "01990000-0000-7000-8000-000000000000"


async def verdict(person: Person, run: Any, body: dict[str, Any], **headers: str) -> Answer:
    return await person.post(f"/process-runs/{run['id']}/resume", {"decision": "approved", **body}, **headers)


@pytest.fixture
async def run(ann: Person) -> Any:
    """A run that is parked at its sign-off."""
    return await ann.start("line", {"amount": 5})


@pytest.mark.parametrize(
    "gate", ["The sign-off", "look", "pay", "unknown", "SIGNOFF", " signoff", "signoff ", "\x00", "", "signoff" * 200]
)
async def test_a_gate_on_which_the_run_is_not_parked_is_409(ann: Person, run: Any, gate: str) -> None:
    answer = await ann.resume(run, gate)
    more = {"run_status": "parked", "parked_at": "signoff", "decided": None}
    assert_problem(answer, 409, "gate_mismatch", retryable=False, **more)
    assert await ann.run(run) == run


async def test_who_comes_second_learns_who_was_first(ann: Person, run: Any) -> None:
    done = (await ann.resume(run, "signoff", "denied")).json
    body = assert_problem(await ann.resume(run, "signoff"), 409, "not_parked", run_status="completed", parked_at=None)
    decided = body["decided"]
    who = {"by": ann.email, "by_kind": "person", "on_behalf_of": None}
    assert decided == {"gate": "signoff", "visit": 1, "decision": "denied", **who, "at": decided["at"]}
    assert decided["at"].endswith("Z")
    assert datetime.fromisoformat(decided["at"]) <= datetime.fromisoformat(done["updated_at"])
    other = assert_problem(await ann.resume(run, "look"), 409, "not_parked")
    assert other["decided"] is None


async def test_an_earlier_gate_is_a_mismatch_that_names_its_verdict(ann: Person) -> None:
    run = await ann.start("direct")
    await ann.resume(run, "transfer")
    body = assert_problem(await ann.resume(run, "transfer"), 409, "gate_mismatch", parked_at="close")
    assert (body["decided"]["gate"], body["decided"]["decision"]) == ("transfer", "approved")


@pytest.mark.parametrize("decision", ["approve", "APPROVED", "yes", "enough", "retry", "done", " approved", ""])
async def test_another_decision_is_422_with_those_that_are_allowed(ann: Person, run: Any, decision: str) -> None:
    answer = await ann.resume(run, "signoff", decision)
    assert_problem(answer, 422, "decision_not_allowed", decisions=["approved", "denied"], retryable=False)
    assert await ann.run(run) == run


async def test_a_gateway_takes_its_branch_labels_and_nothing_else(ann: Person) -> None:
    run = await ann.start("loop")
    answer = await ann.resume(run, "again", "approved")
    assert_problem(answer, 422, "decision_not_allowed", decisions=["once more", "enough"])
    assert (await ann.resume(run, "again", "enough")).json["outcome"] == "finished"


@pytest.mark.parametrize("tag", ['"{version}"', '"1", "{version}"', "*", 'W/"1", "{version}"'])
async def test_if_match_with_the_current_entity_tag_counts(ann: Person, run: Any, tag: str) -> None:
    answer = await verdict(ann, run, {"gate": "signoff"}, If_Match=tag.format(version=run["version"]))
    assert answer.status == 200


@pytest.mark.parametrize("tag", ['"1"', '"999"', "nonsense", '""', '"1", "2"', 'W/"{version}"', "{version}"])
async def test_if_match_with_another_entity_tag_is_412_with_the_current_one(ann: Person, run: Any, tag: str) -> None:
    answer = await verdict(ann, run, {"gate": "signoff"}, If_Match=tag.format(version=run["version"]))
    body = assert_problem(answer, 412, "stale", parked_at="signoff", etag=f'"{run["version"]}"', retryable=False)
    assert "version" not in body
    assert await ann.run(run) == run


async def test_with_if_match_a_run_is_ended_only_as_it_was_seen(ann: Person, run: Any) -> None:
    path = f"/process-runs/{run['id']}/cancel"
    answer = await ann.post(path, If_Match='"1"')
    assert_problem(answer, 412, "stale", parked_at="signoff", etag=f'"{run["version"]}"', retryable=False)
    assert await ann.run(run) == run
    ended = await ann.post(path, If_Match=f'"{run["version"]}"')
    assert (ended.status, ended.json["status"]) == (200, "cancelled")
    assert_problem(await ann.post(path, If_Match='"1"'), 409, "not_cancellable")


async def test_with_if_match_a_step_is_tried_again_only_as_the_run_was_seen(ann: Person, far: FarSide) -> None:
    far.status = 500
    await ann.connect("answers", far.url)
    run = await ann.start("quick")
    path = f"/process-runs/{run['id']}/retry"
    answer = await ann.post(path, If_Match='"1"')
    assert_problem(answer, 412, "stale", parked_at=None, etag=f'"{run["version"]}"')
    far.status = 200
    assert (await ann.post(path, If_Match=f'"{run["version"]}"')).json["status"] == "completed"
    assert_problem(await ann.post(path, If_Match='"1"'), 409, "not_retryable")


async def test_a_digest_that_was_shown_counts_and_another_is_412(ann: Person, run: Any) -> None:
    for wrong in ("sha256:" + "0" * 64, "", "x", run["template"]["digest"]):
        answer = await verdict(ann, run, {"gate": "signoff", "digest": wrong})
        assert_problem(answer, 412, "stale", parked_at="signoff", etag=f'"{run["version"]}"')
    assert (await verdict(ann, run, {"gate": "signoff", "digest": run["gate"]["digest"]})).status == 200


async def test_a_verdict_for_an_earlier_visit_is_412_with_its_digest_and_with_its_tag(ann: Person) -> None:
    first = await ann.start("loop")
    second = (await ann.resume(first, "again", "once more")).json
    assert (second["parked_at"], second["gate"]["visit"]) == ("again", 2)
    assert second["gate"]["digest"] != first["gate"]["digest"]
    assert second["version"] != first["version"]
    body = {"gate": "again", "decision": "enough"}
    old_digest = await verdict(ann, first, {**body, "digest": first["gate"]["digest"]})
    old_tag = await verdict(ann, first, body, If_Match=f'"{first["version"]}"')
    for answer in (old_digest, old_tag):
        assert_problem(answer, 412, "stale", parked_at="again", etag=f'"{second["version"]}"')
    assert (await verdict(ann, first, {**body, "digest": second["gate"]["digest"]})).json["outcome"] == "finished"


async def test_a_verdict_at_one_gate_makes_what_the_other_showed_stale(ann: Person) -> None:
    run = await ann.start("fork")
    body = {"gate": "legal", "digest": run["gate"]["digest"]}
    await ann.resume(run, "finance")
    assert_problem(await verdict(ann, run, body), 412, "stale", parked_at="legal")
    now = await ann.run(run)
    assert (await verdict(ann, run, {**body, "digest": now["gate"]["digest"]})).json["outcome"] == "signed"


async def test_the_checks_come_in_the_order_of_the_contract(ann: Person, run: Any) -> None:
    wrong = {"decision": "maybe", "digest": "sha256:0"}
    unknown = await verdict(ann, {"id": UNKNOWN}, {"gate": "look", **wrong})
    assert_problem(unknown, 404, "not_found")
    assert_problem(await verdict(ann, run, {"gate": "look", **wrong}), 409, "gate_mismatch")
    assert_problem(await verdict(ann, run, {"gate": "signoff", **wrong}), 412, "stale")
    assert_problem(await verdict(ann, run, {"gate": "signoff", "decision": "maybe"}), 422, "decision_not_allowed")
    await ann.resume(run, "signoff")
    assert_problem(await verdict(ann, run, {"gate": "signoff", **wrong}), 409, "not_parked")


async def test_a_comment_is_kept_with_the_verdict(ann: Person, run: Any) -> None:
    done = (await verdict(ann, run, {"gate": "signoff", "comment": "all \u0000 fine ✓"})).json
    kept = next(visit["verdict"] for visit in done["trace"] if visit["step_id"] == "signoff")
    assert (kept["decision"], kept["comment"], kept["by"]) == ("approved", "all \u0000 fine ✓", ann.email)


async def test_of_many_verdicts_at_once_exactly_one_counts(ann: Person, run: Any) -> None:
    decisions = ["approved", "denied"] * 10
    answers = await asyncio.gather(*(ann.resume(run, "signoff", decision) for decision in decisions))
    assert sorted(answer.status for answer in answers) == [200, *[409] * 19]
    first = next(answer for answer in answers if answer.status == 200)
    visit = next(v for v in first.json["trace"] if v["step_id"] == "signoff")
    for answer in answers:
        if answer.status == 409:
            body = assert_problem(answer, 409, "not_parked")
            assert body["decided"]["decision"] == visit["verdict"]["decision"]


async def test_another_companys_run_looks_like_none_to_the_byte(ann: Person, eve: Person, run: Any) -> None:
    requests: list[tuple[str, str, Any, dict[str, str]]] = [
        ("GET", "", None, {}),
        ("GET", "/events", None, {}),
        ("GET", "/events", None, {"Accept": "text/event-stream"}),
        ("POST", "/resume", {"gate": "signoff", "decision": "approved"}, {}),
        ("POST", "/resume", {"gate": "signoff", "decision": "approved"}, {"Idempotency-Key": "k"}),
        ("POST", "/cancel", {}, {}),
        ("POST", "/retry", None, {}),
    ]
    for method, path, body, headers in requests:
        theirs, none, odd = [
            await eve.send(method, f"/process-runs/{run_id}{path}", body, **headers, **{"X-Request-ID": "same"})
            for run_id in (run["id"], UNKNOWN, "nonsense")
        ]
        assert_problem(theirs, 404, "not_found")
        assert theirs.raw == none.raw == odd.raw
        ours, theirs_headers = ({**a.headers, "Date": ""} for a in (none, theirs))
        assert ours == theirs_headers
    assert (await eve.get("/process-runs/")).json == []
    assert await ann.run(run) == run


async def test_a_run_is_shared_within_its_company_only(house: House, ann: Person, eve: Person, run: Any) -> None:
    assert (await ann.get(f"/process-runs/{run['id']}")).status == 200
    assert (await eve.get(f"/process-runs/{run['id']}")).status == 404
    assert (await house.send("GET", f"/process-runs/{run['id']}")).status == 401
