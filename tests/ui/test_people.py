"""People on the page: invited by link, joined, switched, demoted while they look at a gate."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.service import PASSWORD, Company, Service


def invite(page: Page, email: str, role: str) -> str:
    """Invite somebody on the page of people; returns the link."""
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Role", exact=True).select_option(role)
    page.get_by_role("button", name="Invite", exact=True).click()
    link = page.locator(".note-good code")
    expect(link).to_contain_text("/#/invitations/")
    return link.inner_text()


def join(windows: Windows, service: Service, link: str, name: str) -> Window:
    """Accept an invitation in a browser of one's own, with a new account."""
    other = windows(service.url)
    other.page.goto(link)
    other.page.get_by_label("Your name").fill(name)
    other.page.get_by_label("Password").fill(PASSWORD)
    other.page.get_by_role("button", name="Create the account and join").click()
    expect(other.page.get_by_role("navigation", name="Main")).to_be_visible()
    return other


def test_who_is_invited_by_a_link_joins_and_is_listed(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    page = window.open("people")
    email = f"grace-{company.email}"
    other = join(windows, service, invite(page, email, "manager"), "Grace Hopper")
    other.open("people")
    row = other.page.get_by_role("list", name="Members").get_by_role("listitem").filter(has_text="Grace Hopper")
    expect(row).to_contain_text("(you)")
    expect(row).to_contain_text("manager")
    expect(other.page.get_by_role("button", name="Invite", exact=True)).to_have_count(0)


def test_who_is_demoted_while_at_a_gate_decides_no_more(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    run = company.start("prior-auth")
    page = window.open("people")
    email = f"grace-{company.email}"
    other = join(windows, service, invite(page, email, "manager"), "Grace Hopper")
    other.gate(run)
    expect(other.page.get_by_role("radio", name="Approve")).to_be_visible()
    window.page.reload()
    page.get_by_label("Role of Grace Hopper").select_option("viewer")
    expect(page.get_by_label("Role of Grace Hopper")).to_have_value("viewer")
    other.page.get_by_role("radio", name="Approve").check()
    other.page.get_by_role("button", name="Confirm: Approve").click()
    expect(other.page.get_by_text("Your role, viewer, can read but not decide.")).to_be_visible()
    assert company.run(run)["status"] == "parked"


def test_a_person_of_two_companies_switches(windows: Windows, window: Window, service: Service) -> None:
    second = service.company("Second Health")
    link = invite(window.open("people"), second.email, "viewer")
    other = windows(service.url).enter(second)
    other.page.goto(link)
    other.page.get_by_role("button", name="Accept the invitation").click()
    expect(other.page.get_by_role("navigation", name="Main")).to_be_visible()
    menu = other.page.locator(".account-menu summary")
    menu.click()
    button = other.page.locator(".companies button")
    expect(button).to_contain_text("(owner)")
    button.click()
    expect(other.page.locator(".account-menu .company")).to_have_text("Second Health")


def test_a_key_is_shown_once_and_deleted(window: Window) -> None:
    page = window.open("people")
    page.get_by_label("Key name").fill("the watcher")
    page.get_by_role("button", name="Make the key").click()
    expect(page.locator(".note-good code")).to_contain_text("psk_")
    page.reload()
    expect(page.locator(".note-good")).to_have_count(0)
    keys = page.get_by_role("list", name="API keys")
    expect(keys).to_contain_text("the watcher")
    page.get_by_role("button", name="Delete the watcher").click()
    expect(keys.get_by_role("listitem")).to_have_count(0)
