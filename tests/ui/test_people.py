"""People on the page: invited by link, joined, switched, demoted while they look at a gate."""

from __future__ import annotations

from playwright.sync_api import expect
from pyotp import TOTP

from tests.ui.browser import Window, decide
from tests.ui.conftest import Windows
from tests.ui.people import invite, join, members_of, members_path
from tests.ui.service import PASSWORD, Company, Service


def test_who_is_invited_by_a_link_joins_and_is_listed(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    page = window.open("people")
    email = f"grace-{company.email}"
    link = invite(page, email, "manager")
    row = page.get_by_role("list", name="Members").get_by_role("listitem").filter(has_text=email)
    expect(row).to_contain_text("invited by Ada Marsh")
    other = join(windows, service, link, "Grace Hopper")
    expect(row).not_to_contain_text("invited by")
    other.open("people")
    row = other.page.get_by_role("list", name="Members").get_by_role("listitem").filter(has_text="Grace Hopper")
    expect(row).to_contain_text("(you)")
    expect(row).to_contain_text("Manager")
    expect(other.page.get_by_role("button", name="Invite", exact=True)).to_have_count(0)


def test_who_has_an_account_with_a_second_factor_joins_by_a_link(
    windows: Windows, window: Window, service: Service
) -> None:
    second = service.company("Second Health")
    app = TOTP(second.send("POST", "/auth/second-factor", {"password": PASSWORD})["secret"])
    codes = second.send("POST", "/auth/second-factor/confirm", {"code": app.now()})["recovery_codes"]
    other = windows(service.url)
    other.page.goto(invite(window.open("people"), second.email, "viewer"))
    other.page.get_by_label("Password of your account").fill("incorrect horse")
    other.page.get_by_role("button", name="Sign in and join").click()
    expect(other.page.get_by_text("The password is wrong.")).to_be_visible()
    other.page.get_by_label("Password of your account").fill(PASSWORD)
    other.page.get_by_role("button", name="Sign in and join").click()
    expect(other.page.get_by_text("a code of the second factor is needed")).to_be_visible()
    other.page.get_by_label("Code of your second factor").fill(codes[0])
    other.page.get_by_role("button", name="Sign in and join").click()
    expect(other.page.locator(".account-menu .company")).to_have_text("Example Health")


def test_who_is_demoted_while_at_a_gate_sees_it_without_a_click(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    run = company.start("prior-auth")
    page = window.open("people")
    other = join(windows, service, invite(page, f"grace-{company.email}", "manager"), "Grace Hopper")
    there = other.gate(run)
    there.get_by_role("radio", name="Approve").check()
    there.get_by_label("Comment").fill("Meets all criteria.")
    page.get_by_label("Role of Grace Hopper").select_option("viewer")
    expect(page.get_by_label("Role of Grace Hopper")).to_have_value("viewer")
    expect(there.get_by_text("any manager decides. You are a viewer.")).to_be_visible()
    expect(there.get_by_text("Meets all criteria.")).to_be_visible()
    expect(there.get_by_role("radio")).to_have_count(0)
    page.get_by_label("Role of Grace Hopper").select_option("manager")
    expect(there.get_by_label("Comment")).to_have_value("Meets all criteria.")
    there.get_by_role("button", name="Confirm: Approve").click()
    expect(there.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert company.run(run)["status"] != "parked"


def test_who_is_demoted_unheard_decides_no_more_and_loses_nothing(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    run = company.start("prior-auth")
    page = window.open("people")
    other = join(windows, service, invite(page, f"grace-{company.email}", "manager"), "Grace Hopper")
    other.context.route("**/events", lambda route: route.abort())
    there = other.gate(run)
    there.reload()
    there.get_by_role("radio", name="Approve").check()
    there.get_by_label("Comment").fill("Meets all criteria.")
    page.get_by_label("Role of Grace Hopper").select_option("viewer")
    expect(page.get_by_label("Role of Grace Hopper")).to_have_value("viewer")
    there.get_by_role("button", name="Confirm: Approve").click()
    expect(there.get_by_text("any manager decides. You are a viewer.")).to_be_visible()
    expect(there.get_by_text("Meets all criteria.")).to_be_visible()
    assert company.run(run)["status"] == "parked"


def test_who_is_removed_while_at_a_gate_comes_to_sign_in_and_is_told_why(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    run = company.start("prior-auth")
    page = window.open("people")
    other = join(windows, service, invite(page, f"grace-{company.email}", "manager"), "Grace Hopper")
    there = other.gate(run)
    expect(there.get_by_role("radio", name="Approve")).to_be_visible()
    page.get_by_role("button", name="Remove Grace Hopper").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(there.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(there.get_by_text("You are no longer a member of Example Health.")).to_be_visible()


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
    expect(button).to_contain_text("(Owner)")
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


def test_a_proposal_is_shown_at_the_gate_while_somebody_looks(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = window.gate(run)
    expect(page.get_by_role("radio", name="Approve")).to_be_visible()
    expect(page.get_by_role("region", name="Proposals")).to_have_count(0)
    key = company.send("POST", "/api-keys", {"name": "the triage agent", "role": "member", "kind": "agent"})["key"]
    proposal = {"gate": run["parked_at"], "decision": "approved", "confidence": 0.86, "comment": "Meets criteria 2."}
    company.service.send("POST", f"/process-runs/{run['id']}/proposals", proposal, key)
    card = page.get_by_role("region", name="Proposals")
    expect(card).to_contain_text("the triage agent (agent) proposes “Approve”")
    expect(card).to_contain_text("Confidence 86 %")
    expect(card).to_contain_text("Meets criteria 2.")
    expect(card).to_contain_text("decides nothing")
    page.get_by_role("radio", name="Deny").check()
    page.get_by_role("button", name="Confirm: Deny").click()
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    page = window.open("runs", run["id"])
    expect(page.locator(".history")).to_contain_text(
        "the triage agent (agent) proposed “Approve” at “Medical director sign-off” with a confidence of 86 %"
    )


def test_a_gate_with_a_proposal_is_marked_in_the_inbox(window: Window, company: Company) -> None:
    page = window.open()
    run = company.start("prior-auth")
    row = page.locator(".row")
    expect(row).to_have_count(1)
    expect(row).not_to_contain_text("proposal")
    company.send("POST", f"/process-runs/{run['id']}/proposals", {"gate": run["parked_at"], "decision": "denied"})
    expect(row).to_contain_text("1 proposal")


def test_people_are_shown_by_name_and_who_left_by_address(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    page = window.open("people")
    email = f"grace-{company.email}"
    other = join(windows, service, invite(page, email, "manager"), "Grace Hopper")
    run = company.start("prior-auth")
    decide(other.gate(run), "Approve")
    expect(other.page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    page = window.gate(run)
    page.reload()
    expect(page.get_by_text("Grace Hopper approved it")).to_be_visible()
    expect(page.get_by_title(email)).to_have_text("Grace Hopper")
    page = window.open("runs", run["id"])
    expect(page.locator(".history")).to_contain_text("Grace Hopper approved")
    expect(page.locator(".history")).to_contain_text("Ada Marsh started the run")
    member = next(one for one in members_of(company) if one["email"] == email)
    company.send("DELETE", f"{members_path(company)}/{member['id']}")
    page.reload()
    expect(page.locator(".history")).to_contain_text(f"{email} approved")


def test_who_may_decide_stands_at_the_gate(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    run = company.start("prior-auth")
    page = window.open("people")
    other = join(windows, service, invite(page, f"grace-{company.email}", "member"), "Grace Hopper")
    there = other.gate(run)
    expect(there.get_by_text("any manager decides. You are a member.")).to_be_visible()
    expect(there.get_by_text("Ask Ada Marsh.")).to_be_visible()
    expect(there.get_by_role("heading", name="Inputs")).to_be_visible()
    expect(there.get_by_role("radio")).to_have_count(0)
    expect(window.gate(run).get_by_text("any manager decides. You are the owner.")).to_be_visible()


def test_a_second_tab_follows_into_another_company(windows: Windows, window: Window, service: Service) -> None:
    second = service.company("Second Health")
    link = invite(window.open("people"), second.email, "viewer")
    other = windows(service.url).enter(second)
    tab = other.tab()
    other.open("runs", page=tab)
    expect(tab.locator(".account-menu .company")).to_have_text("Second Health")
    other.page.goto(link)
    other.page.get_by_role("button", name="Accept the invitation").click()
    for page in (other.page, tab):
        expect(page.locator(".account-menu .company")).to_have_text("Example Health")
    tab.locator(".account-menu summary").click()
    tab.locator(".companies button").click()
    for page in (other.page, tab):
        expect(page.locator(".account-menu .company")).to_have_text("Second Health")


def test_a_tab_that_waits_for_a_switch_goes_on_when_it_fails(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    second = service.company("Second Health")
    link = invite(window.open("people"), second.email, "viewer")
    other = windows(service.url).enter(second)
    other.page.goto(link)
    other.page.get_by_role("button", name="Accept the invitation").click()
    expect(other.page.locator(".account-menu .company")).to_have_text("Example Health")
    tab = other.tab()
    other.open("runs", page=tab)
    expect(tab.get_by_role("heading", name="There are no runs yet")).to_be_visible()
    other.page.route("**/auth/switch", lambda route: route.abort())
    other.page.locator(".account-menu summary").click()
    other.page.locator(".companies button").click()
    expect(other.page.get_by_role("alert")).to_contain_text("cannot be reached")
    company.start("prior-auth")
    expect(tab.locator(".row")).to_have_count(1)
    expect(other.page.locator(".account-menu .company")).to_have_text("Example Health")


def test_what_a_colleague_has_deleted_meanwhile_goes_from_the_list_without_an_error(
    window: Window, company: Company
) -> None:
    groups = members_path(company).replace("members", "groups")
    company.send("PUT", f"{groups}/nurses", {"members": []})
    key = company.send("POST", "/api-keys", {"name": "the watcher", "role": "member", "kind": "agent"})
    page = window.open("people")
    expect(page.get_by_role("button", name="Delete nurses")).to_be_visible()
    expect(page.get_by_role("button", name="Delete the watcher")).to_be_visible()
    company.send("DELETE", f"{groups}/nurses")
    company.send("DELETE", f"/api-keys/{key['id']}")
    for name, owned in (("Groups", "nurses"), ("API keys", "the watcher")):
        page.get_by_role("button", name=f"Delete {owned}").click()
        expect(page.get_by_role("list", name=name).get_by_role("listitem")).to_have_count(0)
    expect(page.locator(".note-bad")).to_have_count(0)
