"""The page speaks the reader's language."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.ui.browser import NARROW, Window, decide
from tests.ui.conftest import Windows
from tests.ui.service import Company


def test_a_gate_is_decided_in_german_and_the_language_is_remembered(window: Window, company: Company) -> None:
    run = company.start("refund", {"order_id": "O-1", "amount": 1250.5})
    page = window.page
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.locator(".account-menu summary").click()
    page.get_by_role("radio", name="Deutsch").click()
    expect(page.get_by_role("heading", name="Eingang")).to_be_visible()
    expect(page.get_by_role("row", name="O-1")).to_contain_text("1.250,50")
    window.gate(run)
    expect(page.locator(".gate")).to_contain_text("1.250,50")
    decide(page, "Freigeben", "Passt", comment_label="Kommentar", confirm="Bestätigen")
    expect(page.get_by_role("heading", name="Ihre Entscheidung ist festgehalten")).to_be_visible()
    expect(page.locator(".lead")).to_have_text("Sie haben „Supervisor approves“ freigegeben.")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_role("navigation", name="Hauptmenü")).to_contain_text("Vorgänge")


@pytest.mark.parametrize("language", ["English", "Deutsch", "Español"])
def test_on_a_phone_the_menu_is_whole_in_each_language(windows: Windows, company: Company, language: str) -> None:
    page = windows(company.service.url, size=NARROW).enter(company).page
    page.locator(".account-menu summary").click()
    page.get_by_role("radio", name=language).click()
    menu = page.locator(".top nav")
    expect(menu.get_by_role("link")).to_have_count(8)
    assert menu.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_all_that_is_wrong_with_a_form_is_said_at_once_with_links(window: Window) -> None:
    page = window.open("templates", "refund")
    page.get_by_label("Amount").fill("much")
    page.get_by_label("Days since delivery").fill("1.5")
    page.get_by_role("button", name="Start the run").click()
    summary = page.locator(".field-errors")
    expect(summary.get_by_role("listitem")).to_have_text(
        ["Order: Required", "Amount: Must be a number", "Days since delivery: Must be a whole number"]
    )
    summary.get_by_role("button", name="Amount").click()
    expect(page.get_by_label("Amount")).to_be_focused()


@pytest.mark.parametrize(
    ("locale", "text", "value"),
    [
        ("de-CH", "1\u2019234.56", 1234.56),
        ("de-CH", "1'234.56", 1234.56),
        ("de-AT", "1.234,56", 1234.56),
        ("de-AT", "1 234,56", 1234.56),
        ("de-DE", "1.234.567,5", 1234567.5),
        ("de-DE", "1.234", 1234),
        ("en-US", "1,234.56", 1234.56),
        ("en-US", ".5", 0.5),
        ("en-US", "5.", 5),
        ("es-ES", "\u22125,25", -5.25),
    ],
)
def test_a_number_is_read_as_people_of_a_region_write_it(
    windows: Windows, company: Company, locale: str, text: str, value: float
) -> None:
    window = windows(company.service.url, locale=locale)
    window.sign_in_by_cookie(company)
    page = window.open("templates", "fields")
    page.get_by_label("Amount").fill(text)
    page.locator("form.start button[type=submit]").click()
    expect(page.locator("form.decide")).to_be_visible()
    assert company.send("GET", "/process-runs/")[0]["inputs"] == {"amount": value}


@pytest.mark.parametrize(("locale", "text"), [("de-AT", "1.234"), ("de-CH", "1,234"), ("en-US", "1,23,4")])
def test_a_number_that_can_be_read_in_two_ways_or_none_is_refused(
    windows: Windows, company: Company, locale: str, text: str
) -> None:
    window = windows(company.service.url, locale=locale)
    window.sign_in_by_cookie(company)
    page = window.open("templates", "fields")
    page.get_by_label("Amount").fill(text)
    page.locator("form.start button[type=submit]").click()
    expect(page.get_by_label("Amount")).to_have_attribute("aria-invalid", "true")
    assert company.send("GET", "/process-runs/") == []


@pytest.mark.parametrize(
    ("locale", "waiting", "box"),
    [
        ("en-US", "1 waiting for your decision", "Select the one that is loaded"),
        ("de-DE", "1 wartet auf Ihre Entscheidung", "Die eine geladene auswählen"),
        ("es-ES", "1 espera su decisión", "Seleccionar la única cargada"),
    ],
)
def test_one_gate_is_told_of_in_the_singular(
    windows: Windows, company: Company, locale: str, waiting: str, box: str
) -> None:
    company.start("prior-auth")
    window = windows(company.service.url, locale=locale)
    window.sign_in_by_cookie(company)
    page = window.open()
    expect(page.locator(".lead")).to_have_text(waiting)
    expect(page.get_by_label(box)).to_be_visible()


def test_what_the_service_says_of_a_run_is_said_in_german(windows: Windows, company: Company) -> None:
    run = company.start("payout")
    company.resume(run, "release", "denied")
    company.start("refund", {"order_id": "O-1", "amount": 5})
    window = windows(company.service.url, locale="de-DE")
    window.sign_in_by_cookie(company)
    page = window.open("runs", run["id"])
    expect(page.locator(".history")).to_contain_text("Der Vorgang ist abgeschlossen: Abgelehnt")
    window.open("dashboard", "cleared")
    expect(page.locator("tbody")).to_contain_text("Schritte mit geringem Risiko laufen ohne eine Person.")
    expect(page.locator("tbody")).not_to_contain_text("is cleared by")
