"""Rules that are shown: listed with their rehearsals, tried, published, and named when overdue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.web.operators import Operator
from tests.web.support import House, Person, assert_invalid, assert_problem
from tests.web.test_own_templates import document, publish

RULES = "/process-templates/petty-cash/rules"
RULE = {
    "id": "four-eyes",
    "source": "House rule 1",
    "jurisdiction": "DE",
    "valid_from": "2026-01-01",
    "valid_to": "2027-12-31",
    "reviewed_on": "2026-05-01",
    "says": "Nobody signs for themselves.",
    "enforced_by": ["signoff"],
    "shown_by": {"passes": "signed", "stops": "own"},
}
LOOSE = {"source": "House rule 2", "says": "Cash is counted.", "not_enforced": "By hand"}
APPROVED = {"gate": "signoff", "decision": "approved"}
HELD = {"status": "parked", "parked_at": ["signoff"]}
REHEARSALS: dict[str, Any] = {
    "signed": {
        "says": "A day later",
        "inputs": {},
        "acts": [{"lapse": "P1D"}, {**APPROVED, "role": "manager"}],
        "result": {"status": "completed", "outcome": "paid", "at": "2026-03-03T09:00:00Z"},
    },
    "own": {"inputs": {}, "acts": [{**APPROVED, "by": "starter"}], "result": {**HELD, "refused": "four_eyes"}},
}


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    """The service runs beside the commands, whose output is theirs alone."""
    with capture_logs():
        yield


def shown(**more: Any) -> dict[str, Any]:
    return {**document(four_eyes=["starter"]), "rules": [RULE, LOOSE], "rehearsals": REHEARSALS, **more}


async def test_the_rules_of_a_template_are_listed_with_inputs_acts_verdicts_and_result(ann: Person) -> None:
    await publish(ann, shown())
    enforced, loose = (await ann.get(RULES)).json
    passes, stops = enforced.pop("rehearsals")
    assert enforced == {**RULE, "exempt": [], "not_enforced": None}
    assert (loose["id"], loose["not_enforced"], loose["shown_by"], loose["rehearsals"]) == (None, "By hand", None, [])
    assert (passes["name"], passes["inputs"], passes["by"], passes["at"]) == (
        "signed",
        {},
        "starter",
        "2026-03-02T09:00:00Z",
    )
    assert [one["lapse"] for one in passes["acts"]] == ["P1D", None]
    (verdict,) = passes["verdicts"]
    assert {name: one for name, one in verdict.items() if one is not None} == {
        **APPROVED,
        "by": "decider",
        "role": "manager",
    }
    assert (passes["result"]["status"], passes["result"]["outcome"]) == ("completed", "paid")
    assert (stops["name"], stops["result"]["refused"], stops["result"]["parked_at"]) == (
        "own",
        "four_eyes",
        ["signoff"],
    )
    detail = (await ann.get("/process-templates/petty-cash")).json
    assert detail["rules"][0] == enforced


async def test_what_is_listed_happens_as_it_says_where_it_is_tried(ann: Person) -> None:
    await publish(ann, shown())
    for case in (await ann.get(RULES)).json[0]["rehearsals"]:
        body = {name: case[name] for name in ("inputs", "acts", "by", "at", "auto_resolve")}
        tried = (await ann.post("/process-templates/try", {"document": shown(), **body})).json
        run, result = tried["run"], case["result"]
        assert (run["status"], run["outcome"]) == (result["status"], result["outcome"])
        assert run["parked_gates"] == result["parked_at"]
        assert (tried["refused"] is None) == (result["refused"] is None)
        assert result["at"] in (None, tried["at"])


async def test_a_lapse_is_a_duration_or_next_and_a_try_begins_in_this_age(ann: Person) -> None:
    path, body = "/process-templates/try", {"document": document(deadline="P2D", on_deadline="denied")}
    ended = (await ann.post(path, {**body, "at": "2026-03-02T09:00:00Z", "acts": [{"lapse": "next"}]})).json
    assert (ended["run"]["outcome"], ended["at"]) == ("refused", "2026-03-04T09:00:00Z")
    open_ = (await ann.post(path, {**body, "acts": [{"lapse": "P1D"}]})).json
    assert open_["run"]["status"] == "parked"
    assert_invalid(await ann.post(path, {**body, "acts": [{"lapse": "soon"}]}), "/acts/0/lapse")
    assert_invalid(await ann.post(path, {**body, "at": "9999-01-01T00:00:00Z"}), "/at")


async def test_rules_of_templates_of_others_are_not_found(ann: Person, house: House) -> None:
    await publish(ann, shown())
    eve = await house.register("eve")
    assert_problem(await eve.get(RULES), 404, "not_found")
    assert (await eve.get("/process-templates/refund/rules/")).status == 200


async def test_a_rehearsal_that_ends_otherwise_keeps_a_draft_from_being_published(ann: Person) -> None:
    other = {**REHEARSALS, "own": {**REHEARSALS["own"], "acts": [APPROVED]}}
    assert (await ann.put("/process-templates/petty-cash/draft", shown(rehearsals=other))).status == 200
    refused = assert_problem(await ann.post("/process-templates/petty-cash/publish"), 422, "invalid")
    rules = {one["rule"] for one in refused["violations"]}
    assert rules == {"rehearsal_refused"}
    found = (await ann.post("/process-templates/validate", shown(rehearsals=other))).json
    assert {one["rule"] for one in found["violations"]} == rules
    assert found["violations"][0]["detail"].startswith("Rehearsals/own: ")


async def test_a_rehearsal_survives_bpmn(ann: Person) -> None:
    await publish(ann, shown())
    xml = (await ann.get("/process-templates/petty-cash/bpmn")).raw.decode()
    back = (await ann.post("/process-templates/import-bpmn", {"xml": xml})).json
    assert back["document"]["rehearsals"].keys() == REHEARSALS.keys()
    assert back["document"]["rules"][0]["shown_by"] == RULE["shown_by"]


async def test_a_command_lists_the_rules(ann: Person, operator: Operator) -> None:
    await publish(ann, shown())
    (rule, _) = await operator.reads("templates", "rules", "petty-cash")
    assert rule["shown_by"] == RULE["shown_by"]
    listed = (await operator.says("templates", "rules", "petty-cash")).stdout
    assert "four-eyes" in listed
    assert "By hand" in listed


async def test_overdue_rules_of_files_of_the_library_and_of_the_company_are_named(
    ann: Person, operator: Operator, tmp_path: Path
) -> None:
    file = tmp_path / "folder" / "petty.yaml"
    file.parent.mkdir()
    file.write_text(
        json.dumps(
            {
                **shown(rules=[RULE]),
                "description": "Cash",
                "version": 1,
                "inputs_schema": {"type": "object"},
                "example": {},
            }
        )
    )
    in_time = await operator.says("templates", "check", file.parent, "--as-of", "2027-05-01")
    assert (in_time.exit_code, in_time.stdout.splitlines()[-1]) == (
        0,
        f"{file}: none of its 1 rules is overdue on 2027-05-01",
    )
    late = await operator.says("templates", "check", file, "--as-of", "2027-05-02")
    assert late.exit_code == 1
    assert f"{file}: four-eyes: House rule 1: not reviewed for a year: it was on 2026-05-01" in late.stdout
    lapsed = await operator.says("templates", "check", file, "--as-of", "2028-01-01", "--json")
    assert json.loads(lapsed.stdout)[0]["rules"] == [
        {"id": "four-eyes", "source": "House rule 1", "detail": "lapsed: it was valid until 2027-12-31"}
    ]
    await publish(ann, shown(rules=[RULE]))
    shelf = await operator.says("templates", "check", "--as-of", "2027-05-02", "--json")
    names = [one["file"] for one in json.loads(shelf.stdout)]
    assert "payments/refund.yaml" in names
    assert "petty-cash" not in names
    own = await operator.says("templates", "check", "--as-of", "2027-05-02", "--own", file, "--json")
    assert [(one["file"], one["sound"]) for one in json.loads(own.stdout)] == [
        (str(file), False),
        ("petty-cash", False),
    ]


async def test_a_check_names_files_or_a_date(operator: Operator) -> None:
    for arguments in ((), ("--own", "a.yaml"), ("--as-of", "soon")):
        assert (await operator.says("templates", "check", *arguments)).exit_code == 2
