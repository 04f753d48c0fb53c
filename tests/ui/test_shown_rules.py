"""The page of a template shows its rules: where they hold, and the rehearsals that show them."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.ui.browser import Window
from tests.ui.service import Company

DOCUMENT: dict[str, Any] = {
    "vertical": "cash",
    "title": "Cash",
    "rules": [
        {
            "id": "four-eyes",
            "source": "House rule 1",
            "jurisdiction": "DE",
            "valid_from": "2026-01-01",
            "reviewed_on": "2026-05-01",
            "says": "Nobody signs for themselves.",
            "enforced_by": ["signoff"],
            "shown_by": {"passes": "signed", "stops": "own"},
        },
        {"source": "House rule 2", "says": "Cash is counted.", "not_enforced": "By hand"},
    ],
    "rehearsals": {
        "signed": {
            "says": "A day later",
            "inputs": {"sum": 9007199254740993},
            "acts": [{"lapse": "P1D"}, {"gate": "signoff", "decision": "approved"}],
            "result": {"status": "completed", "outcome": "paid", "reached": ["signoff"]},
        },
        "own": {
            "inputs": {},
            "acts": [{"gate": "signoff", "decision": "approved", "by": "starter"}],
            "result": {"status": "parked", "parked_at": ["signoff"], "refused": "four_eyes"},
        },
    },
    "steps": [
        {"id": "signoff", "kind": "gate", "label": "Sign", "four_eyes": ["starter"], "next": {"approved": "end"}},
        {"id": "end", "kind": "end", "label": "Paid", "outcome": "paid"},
    ],
}


def test_a_rule_stands_with_its_days_and_with_what_passes_and_what_is_stopped(window: Window, company: Company) -> None:
    company.send("PUT", "/process-templates/cash/draft", DOCUMENT)
    company.send("POST", "/process-templates/cash/publish", {})
    page = window.open("templates", "cash")
    rule = page.get_by_role("listitem").filter(has_text="House rule 1")
    expect(rule).to_contain_text("DE · since Jan 1, 2026 · reviewed on May 1, 2026")
    expect(rule).to_contain_text("Enforced by signoff")
    passes, stops = rule.get_by_role("group").all()
    passes.get_by_text("Passes: A day later").click()
    for text in ("starter starts it", '"sum": 9007199254740993', "1 day later", "decider decides", "Done: signoff"):
        expect(passes.get_by_text(text)).to_be_visible()
    stops.get_by_text("Is stopped: own").click()
    for text in ("The last act is refused: this person is barred", "Waits at signoff"):
        expect(stops.get_by_text(text)).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="House rule 2")).to_contain_text("Not enforced: By hand")
