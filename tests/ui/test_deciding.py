"""A decision counts once: with two users, two tabs, double clicks and lost responses."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from tests.ui.browser import Window, decide
from tests.ui.conftest import Windows
from tests.ui.service import Company, Service


def block_events(page: Page) -> None:
    """Block the event stream of a tab."""
    page.route("**/events*", lambda route: route.abort())
    if page.url != "about:blank":
        page.reload()


def lose_response(route: Route) -> None:
    """Let the service handle a request, and drop its response."""
    route.fetch()
    route.abort()


def verdicts(company: Company, run: dict[str, str]) -> list[str]:
    events = company.send("GET", f"/process-runs/{run['id']}/events?limit=200")
    return [one["decision"] for one in events if one["type"] == "verdict_given"]


def test_of_two_tabs_that_decide_at_once_one_counts_and_the_other_is_told(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    first, second = window.page, window.tab()
    for page in (first, second):
        block_events(page)
        window.gate(run, page=page)
        page.get_by_role("radio", name="Approve" if page is first else "Deny").check()
    first.get_by_role("button", name="Confirm").click(no_wait_after=True)
    second.get_by_role("button", name="Confirm").click(no_wait_after=True)
    recorded = [page.get_by_role("heading", name="Your decision is recorded") for page in (first, second)]
    told = [page.get_by_role("heading", name="You decided this") for page in (first, second)]
    expect(recorded[0].or_(told[0])).to_be_visible()
    expect(recorded[1].or_(told[1])).to_be_visible()
    assert sum(one.is_visible() for one in recorded) == 1
    assert sum(one.is_visible() for one in told) == 1
    assert len([one for one in verdicts(company, run) if one in {"approved", "denied"}]) == 1


def test_a_second_window_sees_at_once_that_it_is_decided(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = window.gate(run)
    expect(page.get_by_role("radio", name="Approve")).to_be_visible()
    company.resume(run, "signoff", comment="Seen the records")
    expect(page.get_by_role("heading", name="You decided this")).to_be_visible()
    expect(page.get_by_text("Seen the records")).to_be_visible()
    expect(page.get_by_text("You approved it on")).to_be_visible()


def test_what_changed_meanwhile_is_said_and_asked_again(window: Window, company: Company) -> None:
    run = company.start("both")
    page = window.gate(run, "release")
    page.get_by_role("radio", name="Approve").check()
    company.resume(run, "check")
    expect(page.get_by_text("This gate has changed since you opened it")).to_be_visible()
    expect(page.locator(".changes")).to_contain_text("Check is new")
    expect(page.get_by_role("button", name="Confirm: Approve")).to_have_count(0)
    page.get_by_role("button", name="Show the current version").click()
    expect(page.get_by_text("12", exact=True)).to_be_visible()
    decide(page, "Approve")
    expect(page.get_by_text("Completed")).to_be_visible()


def test_the_notice_of_a_change_stands_in_the_place_of_the_button(
    windows: Windows, service: Service, company: Company
) -> None:
    run = company.start("both")
    page = windows(service.url, size=(1280, 800)).enter(company).gate(run, "release")
    page.get_by_role("radio", name="Approve").check()
    button = page.get_by_role("button", name="Confirm: Approve")
    button.scroll_into_view_if_needed()
    company.resume(run, "check")
    notice = page.get_by_text("This gate has changed since you opened it")
    expect(notice).to_be_in_viewport()
    expect(page.get_by_role("button", name="Show the current version")).to_be_in_viewport()
    expect(button).to_have_count(0)


def test_the_key_of_a_row_heads_the_gate_and_the_run_and_is_given_at_the_start(
    window: Window, company: Company
) -> None:
    page = window.open("templates", "prior-auth")
    page.get_by_role("button", name="Fill in example").click()
    page.get_by_label("Business key").fill("REF-2002")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("REF-2002")
    expect(page).to_have_title(re.compile("REF-2002"))
    page.get_by_role("link", name="The run:").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("REF-2002")
    expect(page).to_have_title(re.compile("REF-2002 · Prior authorization"))
    page = window.open("audit")
    expect(page.get_by_role("link", name="REF-2002 · Prior authorization").first).to_be_visible()


def test_a_stale_tab_is_refused_by_what_it_was_shown(window: Window, company: Company) -> None:
    run = company.start("both")
    block_events(window.page)
    page = window.gate(run, "release")
    page.get_by_role("radio", name="Approve").check()
    company.resume(run, "check")
    with page.expect_response("**/resume") as answered:
        page.get_by_role("button", name="Confirm: Approve").click()
    assert answered.value.status == 412
    expect(page.get_by_text("This gate has changed since you opened it")).to_be_visible()
    assert verdicts(company, run) == ["approved"]
    page.get_by_role("button", name="Show the current version").click()
    decide(page, "Deny")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert company.run(run)["outcome"] == "denied"


def test_a_gate_that_opens_again_is_another_question(window: Window, company: Company) -> None:
    run = company.start("loop")
    block_events(window.page)
    page = window.gate(run, "again")
    page.get_by_role("radio", name="Enough").check()
    company.resume(run, "again", "once more")
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator(".changes")).to_contain_text("this is a new question")
    assert verdicts(company, run) == ["once more"]


def test_a_click_too_many_sends_nothing_more(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    sent: list[str] = []
    window.page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/resume") else None)
    page = window.gate(run)
    page.get_by_role("radio", name="Approve").check()
    page.get_by_role("button", name="Confirm: Approve").dblclick()
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert len(sent) == 1


def test_an_answer_that_gets_lost_is_asked_for_again_and_counts_once(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    block_events(window.page)
    page = window.gate(run)

    expect(page.get_by_role("radio", name="Approve")).to_be_visible()
    page.route("**/resume", lose_response, times=1)
    page.route(f"**/process-runs/{run['id']}", lambda route: route.abort())
    decide(page, "Approve")
    expect(page.get_by_text("it counts only once")).to_be_visible()
    page.get_by_role("button", name="Confirm: Approve").click()
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert verdicts(company, run) == ["approved"]


def test_a_decision_whose_answer_got_lost_is_found_in_the_run(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    block_events(window.page)
    page = window.gate(run)

    page.route("**/resume", lose_response)
    decide(page, "Approve")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert verdicts(company, run) == ["approved"]


def test_nothing_is_sent_before_somebody_has_chosen(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = window.gate(run)
    page.get_by_role("button", name="Choose a decision above").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose a decision first")
    assert company.run(run)["status"] == "parked"


def test_a_call_that_will_be_sent_is_shown_as_it_is(window: Window, company: Company) -> None:
    target = {"base_url": "https://bank.example.com", "path": "/pay", "method": "POST", "reversible": True}
    company.send("PUT", "/connectors/loan-fund", target)
    page = window.gate(company.start("loan-underwriting"))
    call = page.locator(".call-live")
    expect(call).to_contain_text("This call is sent on approval")
    expect(call).to_contain_text("https://bank.example.com/pay")
    expect(call).to_contain_text('"application_id": "LA-2290"')


def test_a_connector_that_goes_live_meanwhile_is_noticed(window: Window, company: Company) -> None:
    page = window.gate(company.start("loan-underwriting"))
    expect(page.locator(".call-shadow")).to_contain_text("This call will not be sent")
    target = {"base_url": "https://bank.example.com", "path": "/pay", "method": "POST", "reversible": True}
    company.send("PUT", "/connectors/loan-fund", target)
    expect(page.locator(".changes")).to_contain_text("The call that an approval sends has changed")
    expect(page.locator(".changes")).to_contain_text("“Fund the loan” was a dry run and is now live.")
    page.get_by_role("button", name="Show the current version").click()
    expect(page.locator(".call-live")).to_be_visible()


def test_whose_role_does_not_suffice_reads_and_does_not_decide(windows: Windows, service: Service) -> None:
    company = service.company()
    one = windows(service.url).enter(company)
    run = company.start("prior-auth")

    def member(route: Route) -> None:
        account = route.fetch().json()
        route.fulfill(json={**account, "role": "member"})

    one.page.route("**/auth/me", member)
    page = one.gate(run)
    page.reload()
    expect(page.get_by_text("any manager decides. You are a member.")).to_be_visible()
    expect(page.get_by_role("radio")).to_have_count(0)
