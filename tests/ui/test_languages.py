"""The page speaks the reader's language."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.ui.browser import Window


def test_a_language_is_chosen_in_the_account_menu_and_remembered(window: Window) -> None:
    page = window.page
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.locator(".account-menu summary").click()
    page.get_by_role("radio", name="Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.reload()
    page.locator(".account-menu summary").click()
    expect(page.get_by_role("group", name="Sprache")).to_be_visible()
    expect(page.get_by_role("radio", name="Deutsch")).to_be_checked()
