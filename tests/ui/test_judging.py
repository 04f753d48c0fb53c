"""An author seats judges at a step of medium risk."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.ui.browser import Window
from tests.ui.editor import VALID, add, begin, published
from tests.ui.service import Company


def test_an_author_seats_judges_at_a_step_and_renames_it(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Small credit")
    add(page, "task", "Credit the account", Tool="account-credit", Effect="reversible", Risk_tier="medium")
    page.get_by_role("button", name="Add a judge").click()
    judge = page.get_by_role("group", name="Judge New judge")
    rule = judge.get_by_label("Clears when")
    rule.fill("inputs.amount <=")
    expect(judge.locator(".cel-mistake")).to_be_visible()
    rule.fill("call.body != null")
    judge.get_by_label("Confidence").fill("0.9")
    judge.get_by_label("Label").fill("Prepared")
    page.get_by_role("button", name="Add a judge").click()
    other = page.get_by_role("group", name="Judge New judge")
    other.get_by_label("Asks").select_option("tool")
    other.get_by_label("Tool of the judge").fill("fraud-judge")
    page.get_by_role("button", name="Add a judge").click()
    page.get_by_role("button", name="Remove judge New judge").last.click()
    page.get_by_label("Judges needed").fill("1")
    step = page.get_by_label("ID", exact=True)
    step.fill("credit")
    step.blur()
    expect(page.get_by_text(VALID)).to_be_visible()
    published(page)
    assert company.send("GET", "/process-templates/small-credit/judges") == [
        {
            "id": "judge-1",
            "label": "Prepared",
            "steps": ["credit"],
            "rule": "call.body != null",
            "tool": None,
            "confidence": 0.9,
        },
        {
            "id": "judge-2",
            "label": "New judge",
            "steps": ["credit"],
            "rule": None,
            "tool": "fraud-judge",
            "confidence": None,
        },
    ]
