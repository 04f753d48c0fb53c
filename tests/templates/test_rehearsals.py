"""Rehearsals that stand in a template, and the rules that they show."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from daemon.templates.answers import Asking, Unanswered, unbounded
from daemon.templates.documents import ACTS_MAX, REHEARSALS_MAX
from daemon.templates.loading import TemplateRefused, load_json, load_text
from daemon.templates.publishing import NotATemplate, checked
from daemon.templates.rehearsals import overdue, perform

SIGNED = {"gate": "sign", "decision": "approved"}
PETTY: dict[str, Any] = {
    "vertical": "petty",
    "version": 1,
    "title": "Petty cash",
    "description": "Money is paid out.",
    "inputs_schema": {"type": "object", "properties": {"amount": {"type": "number"}}},
    "example": {"amount": 5},
    "clocks": [{"id": "pay-in-time", "label": "Pay in time", "within": "P9D", "stops": ["pay"]}],
    "rules": [
        {
            "id": "limit",
            "source": "House rule 1",
            "jurisdiction": "DE",
            "valid_from": "2026-01-01",
            "valid_to": "2027-12-31",
            "reviewed_on": "2026-05-01",
            "says": "More than 100 is signed.",
            "enforced_by": ["limit", "sign"],
            "shown_by": {"passes": "small", "stops": "large"},
        },
        {"source": "House rule 2", "says": "Cash is counted.", "not_enforced": "By hand"},
    ],
    "rehearsals": {
        "small": {
            "inputs": {"amount": 100},
            "result": {"status": "completed", "outcome": "paid", "not_reached": ["sign"]},
        },
        "large": {"inputs": {"amount": 101}, "result": {"status": "parked", "parked_at": ["sign"]}},
        "signed": {
            "inputs": {"amount": 101},
            "acts": [{"lapse": "P1D"}, SIGNED],
            "result": {
                "status": "completed",
                "outcome": "paid",
                "reached": ["sign", "pay"],
                "at": "2026-03-03T09:00:00Z",
            },
        },
        "late": {
            "at": "2026-01-01T00:00:00Z",
            "inputs": {"amount": 101},
            "acts": [{"lapse": "next"}],
            "result": {
                "status": "parked",
                "parked_at": ["sign"],
                "escalated": {"sign": "owner"},
                "at": "2026-01-03T00:00:00Z",
            },
        },
        "own": {
            "inputs": {"amount": 101},
            "acts": [{**SIGNED, "by": "starter"}],
            "result": {"status": "parked", "parked_at": ["sign"], "refused": "four_eyes"},
        },
        "clerk": {
            "inputs": {"amount": 101},
            "acts": [{**SIGNED, "role": "member"}],
            "result": {"status": "parked", "parked_at": ["sign"], "refused": "role"},
        },
    },
    "steps": [
        {
            "id": "limit",
            "kind": "gateway",
            "flow": "exclusive",
            "label": "Much?",
            "branches": [
                {"branch": "little", "when": "inputs.amount <= 100", "to": "pay"},
                {"branch": "much", "to": "sign"},
            ],
        },
        {
            "id": "sign",
            "kind": "gate",
            "label": "Sign",
            "role": "manager",
            "four_eyes": ["starter"],
            "deadline": {"clock": "pay-in-time", "before": "P7D"},
            "on_deadline": {"escalate": "owner"},
            "next": {"approved": "pay", "denied": "no"},
        },
        {"id": "pay", "kind": "task", "label": "Pay", "tool": "pay", "effect": "reversible", "next": "paid"},
        {"id": "paid", "kind": "end", "label": "Paid", "outcome": "paid"},
        {"id": "no", "kind": "end", "label": "No", "outcome": "no", "ends_clocks": {"pay-in-time": "Nothing is owed"}},
    ],
}


def changed(*path: Any, to: Any, of: dict[str, Any] = PETTY) -> dict[str, Any]:
    made = deepcopy(of)
    at: Any = made
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = to
    return made


def refusals(document: dict[str, Any]) -> list[str]:
    try:
        load_text(json.dumps(document), "petty.yaml")
    except TemplateRefused as refused:
        return refused.sentences
    return []


def test_a_document_has_its_rehearsals_and_without_any_its_digest_stays() -> None:
    entry = load_text(json.dumps(PETTY), "petty.yaml")
    assert [*entry.rehearsals] == [*sorted(PETTY["rehearsals"])]
    assert load_json(entry.document).rehearsals == entry.rehearsals
    plain = {name: one for name, one in PETTY.items() if name not in ("rehearsals", "rules")}
    bare = load_text(json.dumps(plain), "petty.yaml")
    assert "rehearsals" not in json.loads(bare.document)
    none = load_text(json.dumps({**plain, "rehearsals": {}}), "petty.yaml")
    assert none.template.digest == bare.template.digest


@pytest.mark.parametrize(
    ("path", "to", "detail"),
    [
        (("small", "result", "outcome"), "lost", "small: outcome is paid, and lost is written"),
        (("small", "result", "reached"), ["sign"], "small: sign is not reached"),
        (("small", "result", "not_reached"), ["pay"], "small: pay is reached"),
        (("large", "result", "parked_at"), [], "large: parked_at is ['sign'], and [] is written"),
        (("own", "acts"), [SIGNED], "own: refused is None, and four_eyes is written"),
        (("own", "result", "refused"), "role", "own: refused is four_eyes, and role is written"),
        (("late", "result", "escalated"), {"sign": "admin"}, "late: escalated/sign is owner, and admin is written"),
        (("late", "result", "at"), "2026-01-02T00:00:00Z", "late: at is 2026-01-03T00:00:00Z, and 2026-01-02T"),
        (("clerk", "acts", 0, "role"), "manager", "clerk: status is completed, and parked is written"),
        (("own", "acts"), [{**SIGNED, "by": "starter"}, SIGNED], "own: act 1 is refused, so that those behind it"),
    ],
)  # fmt: skip
def test_a_rehearsal_that_ends_otherwise_than_it_says_is_refused(path: tuple[Any, ...], to: Any, detail: str) -> None:
    found = refusals(changed("rehearsals", *path, to=to))
    assert any(one.startswith(f"rehearsal_refused at rehearsals/{detail}") for one in found), found


@pytest.mark.parametrize(
    ("path", "to", "detail"),
    [
        (("enforced_by",), ["limit", "gone"], "gone is no step and no clock"),
        (("valid_from",), "2026-02-30", "valid_from is 2026-02-30, which is no day"),
        (("valid_to",), "2025-12-31", "valid_to is 2025-12-31, before valid_from"),
        (("reviewed_on",), "2026-13-01", "reviewed_on is 2026-13-01, which is no day"),
        (("shown_by", "stops"), "nothing", "nothing is no rehearsal"),
        (("shown_by", "stops"), "small", "small stops where it ends otherwise than small"),
        (("shown_by", "stops"), "signed", "signed stops where it ends otherwise than small"),
        (("shown_by", "passes"), "large", "large passes where no act is refused, the run is completed"),
        (("shown_by", "passes"), "own", "own passes where no act is refused"),
        (("enforced_by",), ["pay"], "large comes to none of pay"),
    ],
)  # fmt: skip
def test_a_rule_that_is_not_shown_as_it_says_is_refused(path: tuple[Any, ...], to: Any, detail: str) -> None:
    found = refusals(changed("rules", 0, *path, to=to))
    assert any(one.startswith(f"citation_refused at rules/0: {detail}") for one in found), found


def timed(case: str = "signed", acts: list[Any] | None = None, word: str = "stopped") -> dict[str, Any]:
    """The template with its clock shown by two rehearsals, one of them changed."""
    rule = {**PETTY["rules"][0], "enforced_by": ["pay-in-time"], "shown_by": {"passes": "signed", "stops": "breached"}}
    breach = [{"lapse": "P9D"}]
    held = {"status": "parked", "parked_at": ["sign"], "clocks": {"pay-in-time": "breached"}}
    made = changed("rules", 0, to=rule)
    made["rehearsals"]["breached"] = {"inputs": {"amount": 101}, "acts": breach, "result": held}
    made["rehearsals"]["signed"]["result"]["clocks"] = {"pay-in-time": "stopped"}
    made["rehearsals"][case]["acts"] = made["rehearsals"][case]["acts"] if acts is None else acts
    made["rehearsals"][case]["result"]["clocks"] = {"pay-in-time": word}
    return made


def test_a_clock_may_enforce_a_rule_and_the_rehearsals_say_how_it_stands() -> None:
    assert refusals(timed()) == []
    for word in ("running", "paused"):
        assert f"clocks/pay-in-time is stopped, and {word} is written" in "; ".join(refusals(timed(word=word)))
    short = refusals(timed("breached", [{"lapse": "P8D"}], "breached"))
    assert any("breached: clocks/pay-in-time is running, and breached is written" in one for one in short)
    unknown = timed()
    unknown["rehearsals"]["signed"]["result"]["clocks"] = {"other": "stopped", "pay-in-time": "stopped"}
    assert any("signed: clocks/other is None, and stopped is written" in one for one in refusals(unknown))


def test_an_act_that_comes_too_late_misses_the_clock_and_so_does_not_pass() -> None:
    late = timed(acts=[{"lapse": "P10D"}, SIGNED], word="late")
    late["rehearsals"]["signed"]["result"]["at"] = "2026-03-12T09:00:00Z"
    (found,) = refusals(late)
    assert found.startswith("citation_refused at rules/0: signed passes where no act is refused")
    silent = deepcopy(late)
    del silent["rehearsals"]["signed"]["result"]["clocks"]
    (*_, found) = refusals(silent)
    assert found == "citation_refused at rules/0: signed passes, and the clock pay-in-time is late"
    late["rules"][0]["shown_by"]["passes"] = "small"
    late["rules"][0]["shown_by"]["stops"] = "signed"
    late["rehearsals"]["small"]["result"]["clocks"] = {"pay-in-time": "stopped"}
    assert refusals(late) == []


def test_two_rules_have_two_ids_and_what_nothing_enforces_is_shown_by_nothing() -> None:
    twice = changed("rules", 1, "id", to="limit")
    assert refusals(twice) == ["citation_refused at rules/1: two rules have the id limit"]
    shown = changed("rules", 1, "shown_by", to={"passes": "small", "stops": "large"})
    assert refusals(shown) == ["citation_refused at rules/1: shown_by is of a rule that something enforces"]


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        ({}, "an act is a verdict"),
        ({"gate": "sign"}, "an act is a verdict"),
        ({**SIGNED, "lapse": "P1D"}, "an act is a verdict"),
        ({"message": "paid", "by": "ann"}, "an act is a verdict"),
        ({"lapse": "soon"}, "'soon' is no ISO 8601 duration"),
        ({"lapse": "P99Y"}, "at most ten years"),
    ],
)
def test_an_act_is_one_of_a_verdict_a_message_and_a_lapse(act: dict[str, Any], sentence: str) -> None:
    (found,) = refusals(changed("rehearsals", "late", "acts", to=[act]))
    assert found.startswith("malformed at the document: rehearsals.late.acts.0")
    assert sentence in found


@pytest.mark.parametrize(
    "path_and_value",
    [
        (("rehearsals", "late", "at"), "2026-02-30T00:00:00Z"),
        (("rehearsals", "late", "at"), "9999-01-01T00:00:00Z"),
        (("rehearsals", "late", "acts"), [{"lapse": "next"}] * (ACTS_MAX + 1)),
        (("rehearsals",), {f"n{nth}": PETTY["rehearsals"]["small"] for nth in range(REHEARSALS_MAX + 1)}),
        (("rehearsals", "late", "result", "clocks"), {"pay-in-time": "soon"}),
    ],
)
def test_rehearsals_are_bounded_in_number_length_and_time(path_and_value: tuple[tuple[Any, ...], Any]) -> None:
    path, value = path_and_value
    (found,) = refusals(changed(*path, to=value))
    assert found.startswith("malformed at the document: rehearsals")


def test_a_tenants_template_with_rehearsals_is_checked_in_a_process() -> None:
    plain = {name: one for name, one in PETTY.items() if name not in ("rehearsals", "rules")}
    assert Asking().run(lambda: checked(plain)).violations == ()
    with pytest.raises(Unanswered) as asked:
        Asking().run(lambda: checked(PETTY))
    assert asked.value.question.kind == "check"
    with unbounded():
        assert checked(PETTY).violations == ()
        assert (
            checked(changed("rehearsals", "large", "inputs", to={"amount": 1})).violations[0].rule
            == "rehearsal_refused"
        )
        with pytest.raises(NotATemplate):
            checked(changed("rehearsals", "Large!", to=PETTY["rehearsals"]["large"]))


def test_a_rehearsal_without_auto_resolve_stops_at_every_step() -> None:
    by_hand = {"auto_resolve": False, "inputs": {"amount": 1}, "result": {"status": "parked", "parked_at": ["limit"]}}
    assert refusals(changed("rehearsals", "by-hand", to=by_hand)) == []


def test_a_rehearsal_lets_messages_arrive() -> None:
    waits = {
        **changed("steps", 1, to={"id": "sign", "kind": "wait", "label": "Wait", "message": "signed", "within": "P5D",
                                  "next": {"message": "pay", "timeout": "no"}}),
        "rehearsals": {
            "small": PETTY["rehearsals"]["small"],
            "large": {"inputs": {"amount": 101}, "result": {"status": "waiting"}},
            "told": {"inputs": {"amount": 101}, "acts": [{"message": "signed", "payload": {"by": "ann"}}],
                     "result": {"status": "completed", "outcome": "paid", "reached": ["pay"]}},
        },
    }  # fmt: skip
    assert refusals(waits) == []
    entry = load_text(json.dumps(waits), "petty.yaml")
    assert perform(entry.rehearsals["told"], entry.template).run.facts["sign"]["payload"] == {"by": "ann"}


@pytest.mark.parametrize(
    ("valid_to", "reviewed_on", "why"),
    [
        (None, "2025-11-29", None),
        (None, "2025-11-28", "not reviewed for a year: it was on 2025-11-28"),
        (None, None, "not reviewed: it does not say when it was"),
        ("2026-11-29", "2026-11-01", None),
        ("2026-11-28", "2026-11-01", "lapsed: it was valid until 2026-11-28"),
    ],
)
def test_a_rule_is_overdue_when_it_has_lapsed_or_was_not_reviewed_for_a_year(
    valid_to: str | None, reviewed_on: str | None, why: str | None
) -> None:
    assert overdue(valid_to, reviewed_on, date(2026, 11, 29)) == why


def test_a_year_before_the_29th_of_february_is_the_28th() -> None:
    assert overdue(None, "2027-02-28", date(2028, 2, 29)) is None
    assert overdue(None, "2027-02-27", date(2028, 2, 29)) is not None


def test_the_fixtures_of_the_rig_load() -> None:
    folder = Path(__file__).parents[1] / "library" / "fixtures"
    for file in folder.glob("*.yaml"):
        assert load_text(file.read_text(encoding="utf-8"), file.name).rehearsals, file
