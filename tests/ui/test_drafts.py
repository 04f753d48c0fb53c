"""Drafts are kept: past a reload, a killed service, and two authors at once."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.editor import add, begin, choose, draft, node, saved
from tests.ui.people import colleague
from tests.ui.service import Company, Service


def label(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("^Step ")).get_by_label("Label", exact=True)


def two(windows: Windows, company: Company) -> tuple[Page, Page, Company]:
    """Two authors of one company, with the same draft open."""
    kim = colleague(company, "Kim", "member")
    first = windows(company.service.url).enter(company).open("templates")
    begin(first, "Shared")
    choose(first, "Sign-off")
    label(first).fill("First")
    saved(first)
    second = windows(company.service.url).enter(kim).open("templates", "shared", "edit")
    choose(second, "First")
    return first, second, kim


def labels(company: Company) -> list[str]:
    return [step["label"] for step in draft(company, "shared")["steps"]]


def test_changes_of_two_authors_are_put_together(windows: Windows, company: Company) -> None:
    first, second, _ = two(windows, company)
    choose(first, "Done")  # before the graph moves under the pointer
    add(second, "task", "Kim's step", Tool="letters")
    saved(second)
    label(first).fill("Finished")
    expect(node(first, "Kim's step")).to_be_visible()
    expect(first.get_by_text("includes changes by Kim")).to_be_visible()
    expect(node(second, "Finished")).to_be_visible()
    assert labels(company) == ["First", "Kim's step", "Finished"]
    first.get_by_role("button", name="Undo").click()
    expect(node(first, "Done")).to_be_visible()
    expect(node(first, "Kim's step")).to_be_visible()


def test_both_new_steps_are_kept_where_two_authors_place_one_at_once(windows: Windows, company: Company) -> None:
    first, second, _ = two(windows, company)
    first.context.set_offline(True)
    add(first, "task", "Mine", Tool="printer")
    expect(first.get_by_text(re.compile("^Not saved: "))).to_be_visible()
    add(second, "task", "Theirs", Tool="binder")
    saved(second)
    first.context.set_offline(False)
    expect(first.get_by_text(re.compile("has changed the same fields as you"))).to_be_visible()
    first.get_by_role("button", name="Keep theirs").click()
    saved(first)
    assert sorted(labels(company)) == ["Done", "First", "Mine", "Theirs"]


def test_a_conflict_shows_both_values_and_the_author_chooses(windows: Windows, company: Company) -> None:
    first, second, _ = two(windows, company)
    first.context.set_offline(True)
    label(first).fill("Mine")
    expect(first.get_by_text(re.compile("^Not saved: "))).to_be_visible()
    label(second).fill("Theirs")
    saved(second)
    first.context.set_offline(False)
    conflict = first.get_by_role("alert").filter(has_text="Kim has changed the same fields as you")
    expect(conflict.get_by_role("row", name=re.compile("Mine: label"))).to_contain_text("Theirs")
    assert labels(company)[0] == "Theirs"
    conflict.get_by_role("button", name="Keep theirs").click()
    expect(label(first)).to_have_value("Theirs")
    first.get_by_role("button", name="Undo").click()
    expect(label(first)).to_have_value("Mine")
    saved(first)
    expect(label(second)).to_have_value("Mine")


def test_of_two_who_begin_the_same_draft_none_replaces_the_other(windows: Windows, company: Company) -> None:
    kim = colleague(company, "Kim", "member")
    first = windows(company.service.url).enter(company).open("templates", "refund", "edit")
    second = windows(company.service.url).enter(kim).open("templates", "refund", "edit")
    for page, text in ((first, "Refund of ours"), (second, None)):
        process = page.get_by_role("region", name="The process")
        if text is not None:
            process.get_by_label("Title", exact=True).fill(text)
        else:
            process.get_by_label("Description").fill("Money back")
        saved(page)
    found = draft(company, "refund")
    assert (found["title"], found["description"]) == ("Refund of ours", "Money back")


def test_what_was_typed_right_before_the_page_is_left_is_kept(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Hasty")
    choose(page, "Sign-off")
    label(page).fill("Typed and gone")
    page.get_by_role("link", name="Templates").first.click()
    expect(page.get_by_role("region", name="Drafts").get_by_role("link", name="Hasty")).to_be_visible()
    window.open("templates", "hasty", "edit")
    expect(node(page, "Typed and gone")).to_be_visible()
    choose(page, "Typed and gone")
    label(page).fill("Typed and reloaded")
    page.reload()
    expect(node(page, "Typed and reloaded")).to_be_visible()


def test_a_draft_outlives_a_killed_service(own: Service, windows: Windows) -> None:
    company = own.company()
    page = windows(own.url).enter(company).open("templates")
    begin(page, "Lasting")
    choose(page, "Sign-off")
    label(page).fill("Before the kill")
    saved(page)
    kill(own)
    label(page).fill("While it was away")
    expect(page.get_by_text(re.compile("^Not saved: The service cannot be reached"))).to_be_visible()
    own.start()
    saved(page)
    assert draft(company, "lasting")["steps"][0]["label"] == "While it was away"
    kill(own)
    own.start()
    page.reload()
    expect(node(page, "While it was away")).to_be_visible()


def kill(service: Service) -> None:
    assert service.process is not None
    assert service.process.stdout is not None
    service.process.kill()
    service.process.wait()
    service.process.stdout.close()


def test_a_draft_is_discarded(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Not wanted")
    choose(page, "Sign-off")
    label(page).fill("No")
    saved(page)
    choose(page, "No")
    page.get_by_role("button", name="Discard the draft").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page.get_by_role("button", name="New process")).to_be_visible()
    assert company.send("GET", "/template-drafts/") == []
