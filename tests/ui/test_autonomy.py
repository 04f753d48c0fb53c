"""Runs are promoted, and a company says what may be cleared without a human."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.ui.browser import Window
from tests.ui.responses import patch_gates
from tests.ui.service import Company
from tests.ui.test_access import assert_accessible, needs_axe

DIFFERENCES = [
    {"pointer": "/body/amount", "recorded": "10", "now": "12"},
    {"pointer": "", "recorded": None, "now": '{"tool":"pay"}'},
]

JUDGED = {
    "vertical": "small-credit",
    "title": "Small credit",
    "judges": [{"id": "small", "label": "Small", "steps": ["credit"], "rule": "inputs.amount <= 100"}],
    "steps": [
        {
            "id": "credit",
            "kind": "task",
            "label": "Credit the account",
            "tier": "medium",
            "tool": "account-credit",
            "effect": "reversible",
            "next": "credited",
        },
        {"id": "credited", "kind": "end", "label": "Credited", "outcome": "credited"},
    ],
}


def step(step_id: str, cases: int) -> dict[str, object]:
    known = cases >= 50
    return {
        "vertical": "refund",
        "step_id": step_id,
        "template_version": 2,
        "cases": cases,
        "agreed": cases - 1,
        "agreement": 0.93 if known else None,
        "cleared": 41,
        "would_clear": 88 if known else 0,
        "floor": 0.7,
        "curve": [{"raw": 0.6, "estimate": 0.9, "lower": 0.82}, {"raw": 0.8, "estimate": 0.98, "lower": 0.9}]
        if known
        else [],
        "bins": [
            {"low": 0.6, "high": 0.7, "cases": 9, "mean_raw": 0.66, "approved": 0.889},
            {"low": 0.9, "high": 1.0, "cases": cases - 9, "mean_raw": 0.95, "approved": 1.0},
        ],
        "calibration_error": 0.315,
        "brier": 0.12,
        "disagreements": [
            {"run_id": "0199a1b2-0000-7000-8000-000000000001", "visit": 1, "raw": 0.64, "at": "2026-03-02T09:00:00Z"}
        ],
    }


def with_calibration(page: Page) -> None:
    found = {"cases_min": 50, "steps": [step("check", 120), step("refund", 12)]}
    page.route("**/autonomy/calibration", lambda route: route.fulfill(json=found))


def test_a_run_is_promoted_and_both_runs_are_linked(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = window.open("runs", run["id"])
    expect(page.get_by_role("heading", name="Steps")).to_be_visible()
    expect(page.get_by_role("button", name="Promote to live")).to_have_count(0)
    while run["status"] == "parked":
        run = company.resume(run, run["parked_at"], run["gate"]["decisions"][0])
    assert run["status"] == "completed"
    page.get_by_role("button", name="Promote to live").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Tools that are live are called for real")
    dialog.get_by_role("button", name="Promote to live").click()
    expect(page.get_by_text("Promoted from")).to_be_visible()
    promoted = company.run(run)["promoted_to"]
    assert page.url.endswith(f"/#/runs/{promoted}")
    page.get_by_role("link", name=run["id"]).click()
    expect(page.get_by_text("Promoted to")).to_be_visible()
    expect(page.get_by_role("link", name=promoted)).to_be_visible()
    expect(page.get_by_role("button", name="Promote to live")).to_have_count(0)


def test_a_gate_shows_where_its_call_differs(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    patch_gates(window.page, run, lambda gate: gate.update(differences=DIFFERENCES))
    table = window.gate(run).get_by_role("table", name="Differs from the recorded call")
    expect(table.get_by_role("row")).to_have_text(
        ["WhereRecordedNow", "/body/amount1012", 'The whole callnone{"tool":"pay"}']
    )


def test_the_settings_are_changed_and_all_that_is_wrong_is_shown(window: Window, company: Company) -> None:
    page = window.open("people")
    page.get_by_role("link", name="Show the autonomy").click()
    expect(page.get_by_role("heading", name="No judges have been for clearing a step yet")).to_be_visible()
    page.get_by_label("Confidence floor").fill("2")
    page.get_by_label("Floor for irreversible steps").fill("much")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".field-errors li")).to_have_count(2)
    page.get_by_label("Confidence floor").fill("0.8")
    page.get_by_label("Floor for irreversible steps").fill("0.9")
    page.get_by_label("Clear steps without a person").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The settings are changed")).to_be_visible()
    found = company.send("GET", f"/companies/{company.send('GET', '/auth/me')['company']['id']}/autonomy")
    assert found == {"auto_resolve": False, "confidence_floor": 0.8, "irreversible_floor": 0.9, "learnable": {}}


def test_a_page_of_before_changes_only_what_was_typed_on_it(window: Window, company: Company) -> None:
    page, path = window.open("autonomy"), f"/companies/{company.send('GET', '/auth/me')['company']['id']}/autonomy"
    expect(page.get_by_label("Clear steps without a person")).to_be_checked()
    company.send("PUT", path, {"auto_resolve": False})
    page.get_by_label("Confidence floor").fill("0.8")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Clear steps without a person")).not_to_be_checked()
    found = company.send("GET", path)
    assert (found["auto_resolve"], found["confidence_floor"]) == (False, 0.8)


def test_a_step_with_judges_may_learn(window: Window, company: Company) -> None:
    company.send("PUT", "/process-templates/small-credit/draft", JUDGED)
    company.send("POST", "/process-templates/small-credit/publish")
    page = window.open("autonomy")
    page.reload()
    page.get_by_label("Process").select_option("small-credit")
    page.get_by_label("Step optional").select_option("credit")
    page.get_by_role("button", name="Add the step").click()
    threshold = page.get_by_label("Threshold, Small credit: Credit")
    threshold.fill("0.2")
    page.get_by_label("Sample, Small credit: Credit").fill("0")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".field-errors li")).to_have_count(2)
    page.locator(".field-errors").get_by_role("button", name="Threshold").click()
    expect(threshold).to_be_focused()
    threshold.fill("0.9")
    page.get_by_label("Sample, Small credit: Credit").fill("5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The settings are changed")).to_be_visible()
    found = company.send("GET", f"/companies/{company.send('GET', '/auth/me')['company']['id']}/autonomy")
    assert found["learnable"] == {"small-credit/credit": {"threshold": 0.9, "sample_one_in": 5}}


@needs_axe
def test_a_gate_says_in_the_readers_language_what_its_judges_said(window: Window, company: Company) -> None:
    company.send("PUT", "/process-templates/small-credit/draft", JUDGED)
    company.send("POST", "/process-templates/small-credit/publish")
    gate = window.page
    for inputs, said in (({"amount": 200}, "Its rule does not hold."), ({}, 'there is no "amount"')):
        window.gate(company.start("small-credit", inputs=inputs))
        expect(gate.get_by_text("0 of 1 judges clear this step; 1 is needed.")).to_have_count(1)
        judges = gate.get_by_role("region", name="Judges")
        judges.get_by_text(said).click()
        expect(judges.get_by_text("inputs.amount <= 100")).to_be_visible()
    assert_accessible(window.page)
    gate.locator(".account-menu summary").click()
    gate.get_by_role("radio", name="Deutsch").click()
    expect(gate.get_by_text("0 von 1 Prüfern geben diesen Schritt frei; 1 ist nötig.")).to_be_visible()


@needs_axe
def test_what_is_known_of_steps_is_shown_and_accessible(window: Window) -> None:
    with_calibration(window.page)
    page = window.open("autonomy")
    known = page.get_by_role("region", name="Check, version 2")
    expect(known).to_contain_text("at least 93% of the cases")
    expect(known.locator("canvas")).to_be_visible()
    expect(known.get_by_role("link", name="0199a1b2")).to_be_visible()
    few = page.get_by_role("region", name="Refund, version 2")
    expect(few).to_contain_text("38 more cases are needed")
    for summary in page.get_by_text("Show as a table").all():
        summary.click()
    assert_accessible(page)
