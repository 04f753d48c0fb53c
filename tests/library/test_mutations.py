"""The score of rules that are shown, tried on two processes whose rules all are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from daemon.templates.answers import unbounded
from daemon.templates.loading import CatalogEntry, load_text
from tests.library.mutations import Json, longer, mutants, others
from tests.library.score import BAR, BARRED, Shown, score, score_of, scored, shown

FIXTURES = Path(__file__).parent / "fixtures"
CLOCK: Json = {
    "id": "notice",
    "label": "Notice",
    "within": "inputs.fast ? 'PT72H' : 'P7D'",
    "from": "inputs.at",
    "stops": ["pay"],
    "pauses": ["records"],
}
DOCUMENT: Json = {
    "start": "rate",
    "clocks": [CLOCK, {**CLOCK, "id": "other", "stops": ["pay", "records"]}],
    "judges": [{"id": "rule", "label": "Rule", "steps": ["pay"], "rule": "true"}],
    "steps": [
        {
            "id": "rate",
            "kind": "gateway",
            "flow": "exclusive",
            "branches": [
                {"branch": "low", "when": 'facts["e-10"].sum <= 1.5 && "9" != inputs.a7', "to": "pay"},
                {"branch": "high", "to": "sign"},
            ],
        },
        {
            "id": "sign",
            "kind": "gate",
            "role": "admin",
            "quorum": 2,
            "four_eyes": ["starter", "gate:first"],
            "deadline": {"clock": "notice", "before": "P2D"},
            "on_deadline": {"escalate": "owner"},
            "remind": ["P1D"],
            "function": "cfo",
            "next": {"approved": "pay", "denied": "records"},
        },
        {
            "id": "records",
            "kind": "wait",
            "message": "sent",
            "within": "P30D",
            "next": {"message": "pay", "timeout": "end"},
        },
        {"id": "pay", "kind": "task", "tier": "high", "tool": "pay", "four_eyes": ["gate:sign"], "next": "end"},
        {"id": "end", "kind": "end", "outcome": "paid"},
    ],
}


def read(name: str, *changes: tuple[str, str]) -> tuple[CatalogEntry, Json]:
    text = (FIXTURES / f"{name}.yaml").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    entry = load_text(text, name)
    return entry, json.loads(entry.document)


def judged(name: str, *changes: tuple[str, str]) -> list[Shown]:
    with unbounded():
        return [*shown(*read(name, *changes))]


def changes_of(name: str) -> dict[str, Json]:
    return {f"{one.kind}: {one.what}": one.document for one in mutants(DOCUMENT, name)}


def step(document: Json, name: str) -> Any:
    return next((one for one in document["steps"] if one["id"] == name), None)


@pytest.mark.parametrize("name", ["refund", "production-change"])
def test_rehearsals_of_the_fixtures_miss_all_that_enforces_a_rule(name: str) -> None:
    found = judged(name)
    assert [str(one) for one in found if not one.is_shown] == []
    assert score(found) == 1.0
    *_, last = scored(found)
    assert last == f"Shown: {len(found)} of {len(found)}, 100.0%, at least {BAR:.0%} are due."


def test_what_no_rehearsal_misses_is_not_shown_and_lowers_the_score() -> None:
    found = judged(
        "refund", ("enforced_by: [supervisor, explain]", "enforced_by: [supervisor, explain, look-up-order]")
    )
    assert [(one.rule, one.name) for one in found if not one.is_shown] == [("refusal-explained", "look-up-order")]
    assert score(found) == 7 / 8 < BAR
    assert "refund: refusal-explained: look-up-order: NOT SHOWN: step 0/1" in scored(found)
    listed = [*scored(found, unnoticed=True)]
    assert "    step: left out, on to policy" in listed
    assert "    step: left out, on to policy" not in scored(found)


def test_a_number_is_missed_by_inputs_at_its_limit_alone() -> None:
    def noticed(*changes: tuple[str, str]) -> int:
        return next(one.noticed["number"] for one in judged("refund", *changes) if one.name == "policy")

    assert noticed() > noticed(("days_since_delivery: 14", "days_since_delivery: 5"))


def test_a_rule_names_the_ways_that_its_rehearsals_take_and_those_that_none_takes() -> None:
    found = judged("refund")
    named = {(one.rule, one.name, it.what): it.named for one in found for it in one.changes if it.kind == "branch"}
    assert named["refusal-explained", "supervisor", "denied to transfer"]
    assert not named["four-eyes", "supervisor", "denied to transfer"]
    assert named["withdrawal-refunded", "credit", "denied to refunded"]
    assert 0.5 < score_of("branch", found) < score_of("step", found) == 1.0
    assert [score_of(kind, []) for kind in BARRED] == [1.0] * 3


def test_a_rule_without_rehearsals_is_not_shown() -> None:
    found = judged("refund", ("    shown_by: {passes: inside-the-policy, stops: too-late}\n", ""))
    assert {one.name for one in found if not one.is_shown} == {"policy", "credit"}
    assert score([]) == 0.0


def test_a_step_is_left_out_with_all_that_names_it() -> None:
    made = changes_of("sign")["step: left out, on to pay"]
    assert step(made, "sign") is None
    assert step(made, "rate")["branches"][1]["to"] == "pay"
    assert "four_eyes" not in step(made, "pay")
    assert {*changes_of("rate")} >= {"step: left out, on to pay", "step: left out, on to sign"}
    assert changes_of("rate")["step: left out, on to sign"]["start"] == "sign"
    without = changes_of("pay")["step: left out, on to end"]
    assert [(one["id"], one["stops"]) for one in without["clocks"]] == [("other", ["records"])]
    assert without["judges"] == []
    assert step(changes_of("end")["step: ends otherwise"], "end")["outcome"] == "not paid"


def test_branches_are_negated_and_led_elsewhere() -> None:
    found = changes_of("rate")
    negated = step(found["branch: low negated"], "rate")["branches"][0]["when"]
    assert negated == '!(facts["e-10"].sum <= 1.5 && "9" != inputs.a7)'
    assert step(found["branch: high to pay"], "rate")["branches"][1]["to"] == "pay"
    assert step(changes_of("sign")["branch: denied to pay"], "sign")["next"] == {"approved": "pay", "denied": "pay"}


def test_a_way_has_the_name_of_its_branch_where_people_or_events_take_it() -> None:
    def ways_of(name: str) -> dict[str, str | None]:
        return {f"{one.kind}: {one.what}": one.way for one in mutants(DOCUMENT, name) if one.way is not None}

    assert ways_of("sign") == {"branch: approved to records": "approved", "branch: denied to pay": "denied"}
    waits = {"branch: message to end": "message", "branch: timeout to pay": "timeout"}
    assert ways_of("records") == {**waits, "number: within: P31D": "timeout"}
    assert {*ways_of("rate").values()} == {"pay", "sign"}


def test_numbers_of_expressions_and_durations_are_changed_and_those_of_names_are_not() -> None:
    assert [*others('facts["e-10"].sum <= 1.5 && "9" != inputs.a7')] == [
        'facts["e-10"].sum < 1.5 && "9" != inputs.a7',
        'facts["e-10"].sum <= 2.5 && "9" != inputs.a7',
        'facts["e-10"].sum <= 0.5 && "9" != inputs.a7',
    ]
    assert [*others("inputs.n > 0")] == ["inputs.n >= 0", "inputs.n > 1"]
    assert (longer("PT72H"), longer("x ? 'PT72H' : 'P7D'")) == ("PT73H", "x ? 'PT73H' : 'P8D'")
    sign = changes_of("sign")
    assert step(sign["number: deadline: P3D"], "sign")["deadline"] == {"clock": "notice", "before": "P3D"}
    assert step(sign["number: quorum: 1"], "sign")["quorum"] == 1
    assert step(changes_of("records")["number: within: P31D"], "records")["within"] == "P31D"


def test_each_thing_that_a_gate_asks_of_people_is_dropped() -> None:
    found = changes_of("sign")
    assert step(found["requirement: no four_eyes starter"], "sign")["four_eyes"] == ["gate:first"]
    assert step(found["requirement: role manager"], "sign")["role"] == "manager"
    assert "function" not in step(found["requirement: no function"], "sign")
    assert {"deadline", "on_deadline", "remind"}.isdisjoint(step(found["requirement: no deadline"], "sign"))
    pay = changes_of("pay")
    assert step(pay["requirement: tier low"], "pay")["tier"] == "low"
    assert pay["requirement: without the judge rule"]["judges"] == []


def test_a_clock_is_left_out_and_its_time_and_its_pauses_are_changed() -> None:
    found = changes_of("notice")
    assert [one["id"] for one in found["step: no clock"]["clocks"]] == ["other"]
    changed = {
        what: made["clocks"][0] for what, made in found.items() if len(made["clocks"]) == len(DOCUMENT["clocks"])
    }
    assert changed["number: within inputs.fast ? 'PT73H' : 'P8D'"]["within"] == "inputs.fast ? 'PT73H' : 'P8D'"
    assert "pauses" not in changed["requirement: no pauses"]
    assert "from" not in changed["requirement: no from"]


def test_a_clock_is_shown_where_its_time_is_missed_too() -> None:
    (one,) = (one for one in judged("refund") if one.name == "explain")
    assert one.is_shown
    assert not one._replace(clock=True).is_shown
