"""People of a company: invited and joined, on the page or by the API."""

from __future__ import annotations

from typing import Any

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


def members_path(company: Company) -> str:
    return f"/companies/{company.send('GET', '/auth/me')['company']['id']}/members"


def members_of(company: Company) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = company.send("GET", members_path(company))
    return found


def member_of(company: Company, email: str) -> str:
    """The id of the member with an e-mail address."""
    found: str = next(one["id"] for one in members_of(company) if one["email"] == email)
    return found


def colleague(company: Company, name: str, role: str) -> Company:
    """A new person in the same company, as a client of the API."""
    email = f"{name.lower()}-{company.email}"
    token = company.send("POST", members_path(company), {"email": email, "role": role})["invitation"]["token"]
    body = {"email": email, "password": PASSWORD, "invitation": token, "name": name}
    session = company.service.send("POST", "/auth/register", body)
    return Company(company.service, email, session["token"])
