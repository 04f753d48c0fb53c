"""What tests of the editor do on its page."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.ui.service import Company

VALID = "Valid. The draft can be published."


def begin(page: Page, title: str) -> None:
    page.get_by_role("button", name="New process").click()
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("heading", name=f"Edit {title}")).to_be_visible()


def add(page: Page, kind: str, label: str, **fields: str) -> None:
    """Add a step behind the chosen one, and fill in its fields."""
    page.get_by_role("group", name="New steps").get_by_role("button", name=kind.capitalize(), exact=True).click()
    panel = page.get_by_role("region", name=re.compile("^Step "))
    panel.get_by_label("Label", exact=True).fill(label)
    for name, value in fields.items():
        field = panel.get_by_label(name.replace("_", " "), exact=False).first
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)


def choose(page: Page, label: str) -> None:
    node(page, label).click()


def published(page: Page) -> None:
    expect(page.get_by_text(VALID)).to_be_visible()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(page.get_by_role("heading", name=re.compile(r"Version \d+ is published"))).to_be_visible()


def trying(page: Page) -> Locator:
    """Begin to try the draft."""
    expect(page.get_by_text(VALID)).to_be_visible()
    page.get_by_role("button", name="Try it").click()
    panel = page.get_by_role("region", name="Try it")
    panel.get_by_role("button", name="Start").click()
    return panel


def tab_to(page: Page, where: Locator) -> None:
    """Press the tab key until something has the focus."""
    for _ in range(120):
        if where.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no focus came to {where}")


def press(page: Page, where: Locator) -> None:
    tab_to(page, where)
    page.keyboard.press("Enter")


def draft(company: Company, vertical: str) -> Any:
    return company.send("GET", f"/process-templates/{vertical}/draft")


def graph(page: Page) -> Locator:
    return page.get_by_role("region", name="Graph of the draft")


def node(page: Page, label: str) -> Locator:
    """The step with a label, which is the end of the button's name."""
    return graph(page).locator(".node").filter(has_text=re.compile(f"{re.escape(label)}$"))


def saved(page: Page) -> None:
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()


def at_rest(page: Page) -> None:
    """The graph shows the draft as it is, checked and laid out."""
    expect(page.locator('.template-graph[aria-busy="false"] .graph[aria-busy="false"]')).to_be_visible()
