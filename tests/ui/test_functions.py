"""Functions on the page: bound among people, named at gates, written in the editor."""

from __future__ import annotations

from datetime import timedelta

from playwright.sync_api import expect

from tests.ui.browser import Window, decide
from tests.ui.conftest import Windows
from tests.ui.editor import begin, choose, draft, saved
from tests.ui.notice import started
from tests.ui.people import colleague, member_of, members_path
from tests.ui.service import Company, Service


def test_a_function_is_bound_and_decides_whatever_the_role(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    run = started(company, ago=timedelta(days=2))
    page = window.gate(run)
    expect(page.get_by_text("Nobody is bound to Medical director: any manager decides.").first).to_be_visible()
    grace = colleague(company, "Grace", "viewer")
    page = window.open("people")
    listed = page.get_by_role("list", name="Functions")
    expect(listed).to_contain_text("Nobody is bound to it: a manager decides")
    expect(listed).to_contain_text("Decides in Notice of a decision at review")
    page.get_by_role("button", name="Bind Medical director").click()
    page.get_by_role("dialog").get_by_label("Grace").check()
    page.get_by_role("dialog").get_by_role("button", name="Bind").click()
    expect(listed).to_contain_text("Filled by Grace. 1 person")
    page = window.gate(run)
    who = "Who fills the function Medical director decides here, whatever their role."
    expect(page.get_by_text(f"{who} You are not bound to it.")).to_be_visible()
    expect(page.get_by_role("radio")).to_have_count(0)
    there = windows(service.url).enter(grace).gate(run)
    decide(there, "Approve")
    expect(there.get_by_role("heading", name="Your decision is recorded")).to_be_visible()


def test_a_bound_function_is_unbound_and_the_log_says_so(window: Window, company: Company) -> None:
    grace = colleague(company, "Grace", "viewer")
    member = grace.send("GET", "/auth/me")["member_id"]
    me = company.send("GET", "/auth/me")
    company.send(
        "PUT", f"/companies/{me['company']['id']}/functions", {"medical-director": {"groups": [], "members": [member]}}
    )
    page = window.open("people")
    page.get_by_role("button", name="Bind Medical director").click()
    page.get_by_role("dialog").get_by_label("Grace").uncheck()
    page.get_by_role("dialog").get_by_role("button", name="Unbind").click()
    expect(page.get_by_role("list", name="Functions")).to_contain_text("Nobody is bound to it: a manager decides")
    page = window.open("audit")
    page.get_by_label("Show").select_option("access")
    expect(page.get_by_text("changed who fills the functions of the company").first).to_be_visible()
    expect(page.get_by_text("medical-director: Grace → nobody")).to_be_visible()


def test_functions_and_readers_are_written_in_the_editor(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Need to know")
    functions = page.get_by_role("group", name="Functions", exact=True)
    functions.get_by_role("button", name="Add a function").click()
    office = page.get_by_role("group", name="Function New function")
    office.get_by_label("ID of the function").fill("medical-director")
    office.get_by_label("ID of the function").press("Tab")
    office.get_by_label("Label").fill("Medical director")
    readers = page.get_by_role("group", name="Who may read runs of this")
    readers.get_by_label("Only people who are named").check()
    readers.get_by_label("Reading functions").fill("medical-director")
    choose(page, "Sign-off")
    page.get_by_label("Function", exact=False).select_option("medical-director")
    saved(page)
    stored = draft(company, "need-to-know")
    assert stored["functions"] == {"medical-director": {"label": "Medical director"}}
    assert stored["readers"] == {"role": "admin", "functions": ["medical-director"]}
    assert stored["steps"][0]["function"] == "medical-director"


def test_whom_another_admin_binds_meanwhile_is_shown_and_not_lost(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    grace, kim = colleague(company, "Grace", "admin"), colleague(company, "Kim", "viewer")
    page = window.open("people")
    page.get_by_role("button", name="Bind Medical director").click()
    there = windows(service.url).enter(grace).open("people")
    there.get_by_role("button", name="Bind Medical director").click()
    there.get_by_role("dialog").get_by_label("Kim").check()
    there.get_by_role("dialog").get_by_role("button", name="Bind").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".note").first).to_contain_text("Somebody has changed it meanwhile.")
    expect(dialog.locator(".note").first).to_contain_text("Filled by Kim.")
    dialog.get_by_role("button", name="Keep as it is").click()
    expect(page.get_by_role("list", name="Functions")).to_contain_text("Filled by Kim. 1 person")
    expect(window.open("people", "readers", "notice").get_by_text("Filled by Kim.")).to_be_visible()
    company.send("DELETE", f"{members_path(company)}/{member_of(company, kim.email)}")
    expect(page.get_by_text("Nobody there is active.")).to_be_visible()
    page = window.open("people")
    page.get_by_role("button", name="Bind Medical director").click()
    page.get_by_role("dialog").get_by_label("Grace").check()
    page.get_by_role("dialog").get_by_role("button", name="Bind").click()
    expect(page.get_by_role("list", name="Functions")).to_contain_text("Filled by Grace. 1 person")
