"""Who may read the runs of a template, narrowed and explained, and glass broken there."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.people import colleague, member_of, members_path
from tests.ui.service import Company, Service
from tests.ui.test_access import assert_accessible, needs_axe
from tests.ui.test_changes import gated, policy_of
from tests.ui.test_closed_runs import REASON, closed

UNKNOWN = "0199c1f0-0000-7000-8000-000000000001"


def rules(page: Page) -> Any:
    return page.get_by_role("region", name="The template says")


def break_glass(page: Page, run: str) -> Any:
    """Break the glass of a run; the card that says what came of it."""
    card = page.get_by_role("region", name="Break the glass")
    card.get_by_label("Id of the run").fill(run)
    card.get_by_label("Reason").fill(REASON)
    card.get_by_role("button", name="Break the glass for an hour").click()
    return card


def reads(person: Company, run: Any) -> bool:
    return run["id"] in {one["id"] for one in person.send("GET", "/process-runs/")}


def test_an_admin_sees_why_runs_are_closed_and_breaks_the_glass(window: Window, company: Company) -> None:
    _, run = closed(company)
    page = window.open("runs", run["id"])
    page.get_by_role("link", name="Is it closed to you?").click()
    page.get_by_label("Process").select_option("inquiry")
    expect(rules(page)).to_contain_text("You may not read its runs.The template does not name you.")
    expect(rules(page)).to_contain_text("Who fills “Investigator” You are notFilled by Grace. 1 person")
    expect(rules(page)).to_contain_text("The company narrows it no further.")
    card = page.get_by_role("region", name="Break the glass")
    expect(card.get_by_label("Id of the run")).to_have_value(run["id"])
    card.get_by_role("button", name="Break the glass for an hour").click()
    expect(card.locator(".field.wrong")).to_have_count(1)
    expect(break_glass(page, run["id"])).to_contain_text("You may read the run until ")
    card.get_by_role("link", name="Open the run").click()
    expect(page.locator(".history blockquote")).to_have_text(REASON)


def test_the_page_says_the_same_of_a_foreign_an_unknown_and_a_malformed_run(
    window: Window, service: Service, company: Company
) -> None:
    foreign = service.company("Other").start("inquiry", {})
    said = set()
    for run in (foreign["id"], UNKNOWN, "no/run", ".."):
        page = window.open("runs", run.replace("/", "%2F"))
        if run != "..":
            expect(page.get_by_role("link", name="Is it closed to you?")).to_be_visible()
        page = window.open("people", "readers", "inquiry")
        card = break_glass(page, run)
        expect(card.get_by_role("alert")).to_be_visible()
        said.add(card.get_by_role("alert").inner_text())
    assert len(said) == 1, said
    assert "There is no run of this id that you can open so." in said.pop()


def test_readers_are_narrowed_and_runs_are_closed_to_who_is_not_named(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    kim, lee = colleague(company, "Kim", "member"), colleague(company, "Lee", "member")
    company.send(
        "PUT", members_path(company).replace("members", "groups/auditors"), {"members": [member_of(company, lee.email)]}
    )
    company.send("PUT", policy_of(company), {"readers": {"fork": {"role": "admin"}}})
    run = company.start("payout")
    assert reads(kim, run)
    page = window.open("people", "readers", "payout")
    expect(rules(page)).to_contain_text("Everybody in the company")
    form = page.get_by_role("region", name="Narrow who may read")
    form.get_by_label("Only people who are named here").check()
    form.get_by_label("auditors").check()
    form.get_by_label("From this role").select_option("admin")
    form.get_by_role("button", name="Save who may read").click()
    expect(form.get_by_text("Who may read is changed")).to_be_visible()
    expect(rules(page)).to_contain_text("Members of auditors You are notMembers: Lee.")
    rule = {"functions": [], "groups": ["auditors"], "role": "admin", "starter": False}
    assert company.send("GET", policy_of(company))["readers"]["payout"] == rule
    assert company.send("GET", policy_of(company))["readers"]["fork"]["role"] == "admin"
    assert (reads(kim, run), reads(lee, run)) == (False, True)
    other = windows(service.url).enter(kim).open("people", "readers", "payout")
    expect(rules(other)).to_contain_text("You may not read its runs.The company does not name you.")
    expect(other.get_by_role("region", name="Narrow who may read")).to_have_count(0)
    expect(other.get_by_role("region", name="Break the glass")).to_have_count(0)


def test_readers_that_become_more_wait_where_the_company_says_so(window: Window, company: Company) -> None:
    colleague(company, "Grace", "admin")
    gated(company, readers={"payout": {"role": "owner"}})
    page = window.open("people", "readers", "payout")
    form = page.get_by_role("region", name="Narrow who may read")
    form.get_by_label("From this role").select_option("member")
    form.get_by_role("button", name="Save who may read").click()
    form.get_by_role("link", name="Show what waits").click()
    fields = page.locator(".differences")
    expect(fields).to_contain_text("Who may read runs of payout")
    expect(fields.locator("del")).to_have_text("Who may decide there; Who is at least the owner")
    expect(fields.locator("ins")).to_have_text("Who may decide there; Who is at least a member")


CASES = [
    ("viewer", "open"),
    ("manager", "role"),
    ("viewer", "role"),
    ("viewer", "group"),
    ("viewer", "starter"),
    ("viewer", "bound"),
    ("owner", "unbound"),
    ("admin", "unbound"),
]


@pytest.mark.parametrize(("role", "way"), CASES)
def test_the_page_says_of_everybody_what_the_service_does(
    windows: Windows, service: Service, company: Company, role: str, way: str
) -> None:
    who = company if role == "owner" else colleague(company, "Kim", role)
    other = colleague(company, "Lee", "admin")
    groups, member = members_path(company).replace("members", "groups/auditors"), member_of(company, who.email)
    company.send("PUT", groups, {"members": [member if way == "group" else member_of(company, other.email)]})
    holder = {"bound": [member], "unbound": []}.get(way, [member_of(company, other.email)])
    binding = {"investigator": {"groups": [], "members": holder}}
    company.send("PUT", members_path(company).replace("members", "functions"), binding)
    rule = {"open": None, "role": {"role": "manager"}, "group": {"groups": ["auditors"]}, "starter": {"starter": True}}
    narrowed = rule.get(way)
    vertical = "payout" if way in rule else "inquiry"
    if narrowed is not None:
        company.send("PUT", policy_of(company), {"readers": {vertical: narrowed}})
    run = other.start(vertical, None if vertical == "payout" else {})
    expected = (
        "You may read its runs." if reads(who, run) else "You may read those" if way == "starter" else "You may not"
    )
    page = windows(service.url).enter(who).open("people", "readers", vertical)
    expect(rules(page).locator(".note")).to_contain_text(expected)


@needs_axe
def test_who_may_read_is_accessible(window: Window, company: Company) -> None:
    closed(company)
    company.send("PUT", policy_of(company), {"readers": {"inquiry": {"functions": ["investigator"], "starter": True}}})
    page = window.open("people", "readers", "inquiry")
    expect(rules(page)).to_be_visible()
    break_glass(page, UNKNOWN)
    expect(page.get_by_role("alert")).to_be_visible()
    assert_accessible(page)


def test_readers_that_another_admin_narrows_meanwhile_are_shown_and_not_replaced_unseen(
    window: Window, company: Company
) -> None:
    colleague(company, "Lee", "admin")
    page = window.open("people", "readers", "payout")
    form = page.get_by_role("region", name="Narrow who may read")
    company.send("PUT", policy_of(company), {"readers": {"payout": {"role": "admin"}}})
    expect(form.get_by_label("From this role")).to_have_value("admin")
    expect(page.get_by_text("The company narrows it no further.")).to_have_count(0)
    form.get_by_label("From this role").select_option("member")
    company.send("PUT", policy_of(company), {"readers": {"payout": {"role": "owner"}}})
    expect(form.get_by_text("Somebody has changed it meanwhile. Saving replaces that.")).to_be_visible()
    form.get_by_role("button", name="Save who may read").click()
    expect(form.get_by_text("Who may read is changed")).to_be_visible()
    expect(form.get_by_text("Somebody has changed it meanwhile.")).to_have_count(0)
    assert company.send("GET", policy_of(company))["readers"]["payout"]["role"] == "member"
