"""A company on the page: its owner, its policy, its record, and what each role is offered."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from pyotp import TOTP

from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.endpoint import Endpoint
from tests.ui.people import colleague, member_of, members_path
from tests.ui.service import PASSWORD, Company, Service


def test_the_owner_hands_the_company_over_after_a_question(window: Window, company: Company) -> None:
    grace = colleague(company, "Grace", "admin")
    page = window.open("people")
    page.get_by_role("button", name="Make owner Grace").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Grace becomes the owner of Example Health, and you become an admin.")
    dialog.get_by_role("button", name="Hand it over").click()
    row = page.get_by_role("list", name="Members").get_by_role("listitem").filter(has_text="Grace")
    expect(row).to_contain_text("Owner")
    expect(page.get_by_role("button", name="Make owner")).to_have_count(0)
    assert grace.send("GET", "/auth/me")["role"] == "owner"
    assert company.send("GET", "/auth/me")["role"] == "admin"


def test_who_leaves_the_company_is_asked_first_and_signed_out(
    windows: Windows, service: Service, company: Company
) -> None:
    page = windows(service.url).enter(colleague(company, "Grace", "viewer")).open("people")
    page.get_by_role("button", name="Leave Grace").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("You have no access to Example Health from then on.")
    dialog.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_text("You are no longer a member of Example Health.")).to_be_visible()


def test_the_policy_is_shown_and_changed_by_admins_alone(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    path = members_path(company).replace("members", "policy")
    policy = window.open("people").get_by_role("region", name="Policy")
    expect(policy.get_by_label("Who needs a second factor")).to_have_value("")
    policy.get_by_label("Who needs a second factor").select_option("viewer")
    expect(policy.get_by_text("You have no second factor yet.")).to_be_visible()
    expect(policy.get_by_role("button", name="Save the policy")).to_be_disabled()
    policy.get_by_label("Who needs a second factor").select_option("")
    policy.get_by_label("While the company has one person").uncheck()
    policy.get_by_label("Archive runs so many days after their end").fill("365")
    policy.get_by_role("button", name="Save the policy").click()
    expect(policy.get_by_text("The policy is changed")).to_be_visible()
    changed: dict[str, object] = {"archive_after_days": 365, "second_factor_from": None, "solo": False}
    assert company.send("GET", path).items() >= {**changed, "passwords": True, "functions": "optional"}.items()
    other = windows(service.url).enter(colleague(company, "Grace", "manager")).open("people")
    expect(other.get_by_role("list", name="Members")).to_be_visible()
    expect(other.get_by_role("region", name="Policy")).to_have_count(0)


def test_a_policy_that_waits_for_another_admin_is_not_said_to_be_changed(
    windows: Windows, service: Service, company: Company
) -> None:
    grace, path = colleague(company, "Grace", "admin"), members_path(company).replace("members", "policy")
    company.send("PUT", path, {"solo": False, "change_gates": {"acts": ["policy_off"]}})
    policy = windows(service.url).enter(grace).open("people").get_by_role("region", name="Policy")
    policy.get_by_label("While the company has one person").check()
    policy.get_by_role("button", name="Save the policy").click()
    expect(policy.get_by_text("Nothing has changed yet: this waits until another person approves it.")).to_be_visible()
    expect(policy.get_by_text("The policy is changed")).to_have_count(0)
    assert company.send("GET", path)["solo"] is False


@pytest.mark.parametrize("days", ["90 days", "never", "30.5", "0"])
def test_what_is_no_number_of_days_ends_no_archiving(window: Window, company: Company, days: str) -> None:
    path = members_path(company).replace("members", "policy")
    company.send("PUT", path, {"archive_after_days": 365})
    policy = window.open("people").get_by_role("region", name="Policy")
    field = policy.get_by_label("Archive runs so many days after their end")
    field.fill(days)
    policy.get_by_role("button", name="Save the policy").click()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value(days)
    assert company.send("GET", path)["archive_after_days"] == 365
    field.fill("1,000")
    policy.get_by_role("button", name="Save the policy").click()
    expect(policy.get_by_text("The policy is changed")).to_be_visible()
    assert company.send("GET", path)["archive_after_days"] == 1_000


def test_what_a_colleague_changed_of_the_policy_meanwhile_stays(window: Window, company: Company) -> None:
    path = members_path(company).replace("members", "policy")
    policy = window.open("people").get_by_role("region", name="Policy")
    policy.get_by_label("Archive runs so many days after their end").fill("30")
    company.send("PUT", path, {"solo": False, "passwords": False})
    policy.get_by_role("button", name="Save the policy").click()
    expect(policy.get_by_text("The policy is changed")).to_be_visible()
    changed = company.send("GET", path)
    assert (changed["archive_after_days"], changed["solo"], changed["passwords"]) == (30, False, False)


def test_who_lacks_a_second_factor_is_led_to_set_one_up(windows: Windows, service: Service, company: Company) -> None:
    page = windows(service.url).enter(colleague(company, "Grace", "manager")).open("runs")
    expect(page.get_by_role("heading", name="There are no runs yet")).to_be_visible()
    company.send("PUT", members_path(company).replace("members", "policy"), {"second_factor_from": "manager"})
    page.reload()
    expect(page.get_by_role("heading", name="A second factor is needed")).to_be_visible()
    page.get_by_role("link", name="Set up a second factor").click()
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Set up a second factor").click()
    page.get_by_label("Code").fill(TOTP(page.locator("code.wrap").inner_text()).now())
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Keep these recovery codes.")).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="There are no runs yet")).to_be_visible()


def test_the_audit_tells_what_became_of_people_groups_keys_and_policy(window: Window, company: Company) -> None:
    colleague(company, "Grace", "manager")
    grace = member_of(company, f"grace-{company.email}")
    members = members_path(company)
    company.send("PATCH", f"{members}/{grace}", {"role": "viewer"})
    company.send("PUT", members.replace("members", "groups/board"), {"members": [grace]})
    company.send("PUT", members.replace("members", "policy"), {"solo": False})
    key = company.send("POST", "/api-keys", {"name": "the watcher", "role": "viewer", "kind": "agent"})
    company.send("DELETE", f"/api-keys/{key['id']}")
    company.send("PATCH", "/auth/me", {"name": "Ada King"})
    page = window.open("audit")
    page.reload()
    entries = page.locator(".history > li")
    page.get_by_label("Show").select_option("members")
    expect(entries.nth(0)).to_contain_text("Ada King changed their name to “Ada King”")
    expect(entries.nth(1)).to_contain_text("Ada King added the group “board”")
    expect(entries.nth(1)).to_contain_text("Added: Grace")
    expect(entries.nth(2)).to_contain_text("Ada King changed the role of Grace from manager to viewer")
    expect(entries.nth(3)).to_contain_text("Grace joined as a manager")
    expect(entries.nth(4)).to_contain_text("Ada King invited")
    page.get_by_label("Show").select_option("access")
    expect(entries.nth(0)).to_contain_text("Ada King deleted the API key “the watcher”")
    expect(entries.nth(1)).to_contain_text("made the API key “the watcher” of an agent with the role viewer")
    expect(entries.nth(2)).to_contain_text("Ada King changed the policy of the company")
    expect(entries.nth(2)).to_contain_text("The only person of the company decides alone: yes → no")
    page.get_by_label("Step, tool, run or text").fill("watcher")
    expect(entries).to_have_count(2)
    expect(page.get_by_text(key["key"])).to_have_count(0)


def test_a_viewer_reads_everything_and_is_offered_no_change(
    windows: Windows, service: Service, company: Company
) -> None:
    run = company.start("prior-auth")
    window = windows(service.url).enter(colleague(company, "Grace", "viewer"))
    page = window.open("runs", run["id"])
    expect(page.get_by_role("link", name="Waits for others: Authorize 72148 for member M-204417?")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel the run")).to_have_count(0)
    page = window.open("templates", "prior-auth")
    expect(page.get_by_text("A member, manager, admin or owner starts runs here. You are a viewer.")).to_be_visible()
    page = window.open("connectors", "loan-fund")
    expect(page.get_by_text("A member, manager, admin or owner changes connectors here.")).to_be_visible()
    page = window.open("audit")
    expect(page.locator(".history > li").first).to_be_visible()
    expect(page.get_by_role("button", name="Export everything")).to_be_visible()


def test_a_member_is_told_beforehand_that_admins_switch_connectors_live(
    windows: Windows, company: Company, endpoint: Endpoint
) -> None:
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/pay"))
    member = colleague(company, "Kim", "member")
    page = windows(company.service.url).enter(member).open("connectors", "loan-fund")
    expect(
        page.get_by_text("An admin or owner switches connectors live, and changes live ones. You are")
    ).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    page = windows(company.service.url).enter(member).open("connectors", "notice-send")
    expect(page.get_by_label("Live: send calls")).to_be_disabled()
    expect(page.get_by_role("button", name="Save")).to_be_visible()
