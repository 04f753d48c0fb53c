"""Gates that ask for several people, forms, reasons and time, in two browsers at once."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, Route, expect

from tests.ui.browser import Window, decide
from tests.ui.conftest import Windows
from tests.ui.people import colleague, member_of, members_path
from tests.ui.service import Company, Service
from tests.ui.test_changes import PATH, document

HEADINGS = """
window.headings = [];
new MutationObserver(() => {
  const heading = document.querySelector("main h1");
  if (heading) window.headings.push(heading.innerText);
}).observe(document, {subtree: true, childList: true, characterData: true});
"""
"""Notes every heading that the page ever shows, however shortly."""


def finance(company: Company, *names: str) -> list[Company]:
    """Colleagues who are managers of the group finance."""
    people = [colleague(company, name, "manager") for name in names]
    members = [member_of(company, one.email) for one in people]
    group = members_path(company).replace("/members", "/groups/finance")
    company.send("PUT", group, {"members": members})
    return people


def sign(page: Page, units: str = "3", account: str = "AT61") -> None:
    page.get_by_role("radio", name="Approve").check()
    page.get_by_label("Units").fill(units)
    page.get_by_label("Account").fill(account)
    page.get_by_role("button", name="Confirm: Approve").click()


def test_two_people_in_two_browsers_make_a_quorum(windows: Windows, service: Service, company: Company) -> None:
    bob, cyd = finance(company, "Bob", "Cyd")
    run = company.start("payment")
    first, second = (windows(service.url).enter(one).gate(run) for one in (bob, cyd))
    rules = first.get_by_role("region", name="Rules of this gate")
    expect(rules).to_contain_text("A manager, admin or owner of the group finance decides here.")
    expect(rules).to_contain_text("2 people have to agree, 1 denial is enough to deny.")
    expect(rules).to_contain_text("Not who started the run.")
    sign(first)
    expect(
        first.get_by_text("Your decision counts. The gate is open until enough people have decided.")
    ).to_be_visible()
    so_far = second.get_by_role("region", name="Decisions so far")
    expect(so_far).to_contain_text("1 of 2 approvals so far.")
    expect(so_far).to_contain_text("Bob approved it")
    sign(second, "4")
    expect(second.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    expect(first.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert company.run(run)["facts"]["signatures"]["form"] == {"units": 4, "account": "AT61"}


def test_a_decision_is_taken_back_while_the_quorum_is_open(
    windows: Windows, service: Service, company: Company
) -> None:
    bob, cyd = finance(company, "Bob", "Cyd")
    run = company.start("payment")
    first, second = (windows(service.url).enter(one).gate(run) for one in (bob, cyd))
    sign(first)
    expect(second.get_by_role("region", name="Decisions so far")).to_be_visible()
    first.get_by_role("button", name="Take my decision back").click()
    expect(second.get_by_role("region", name="Decisions so far")).to_have_count(0)
    expect(first.get_by_role("radio", name="Approve")).to_be_visible()
    sign(first)
    expect(second.get_by_role("region", name="Decisions so far")).to_contain_text("1 of 2 approvals so far.")


def test_who_may_not_decide_reads_why_before_trying(windows: Windows, service: Service, company: Company) -> None:
    bob, _ = finance(company, "Bob", "Cyd")
    dan = colleague(company, "Dan", "manager")
    run = company.start("payment")
    outside = windows(service.url).enter(dan).gate(run)
    expect(outside.get_by_text("You are in none of these groups.")).to_be_visible()
    expect(outside.get_by_text("Ask Bob or Cyd.")).to_be_visible()
    expect(outside.get_by_role("radio")).to_have_count(0)
    own = bob.start("payment")
    starter = windows(service.url).enter(bob).gate(own)
    expect(starter.get_by_text("Somebody else has to decide here: you started this run.")).to_be_visible()
    rules = starter.get_by_role("region", name="Rules of this gate")
    expect(rules).to_contain_text("it needs 2, and 1 may decide")


def test_the_inbox_holds_what_the_reader_may_decide_on(window: Window, company: Company) -> None:
    bob, _ = finance(company, "Bob", "Cyd")
    company.start("payment")
    page = window.open()
    expect(page.get_by_text("No gate waits for your decision; 1 decision waits for others")).to_be_visible()
    expect(page.locator(".row")).to_have_count(0)
    bob.start("prior-auth")
    expect(page.locator(".row")).to_have_count(1)
    expect(page.locator(".row")).to_contain_text(re.compile("Due in [67] d"))


def test_who_looks_at_a_gate_tells_others_and_everybody_may_still_decide(
    windows: Windows, service: Service, company: Company
) -> None:
    bob = colleague(company, "Bob", "manager")
    run = company.start("prior-auth")
    first = windows(service.url).enter(bob).gate(run)
    first.get_by_role("button", name="Claim").click()
    expect(first.get_by_role("button", name="Release")).to_be_visible()
    second = windows(service.url).enter(company).gate(run)
    expect(second.get_by_text("Bob has claimed this gate. You may still decide.")).to_be_visible()
    decide(second, "Approve")
    expect(second.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    expect(first.get_by_role("heading", name="Already decided")).to_be_visible()


def test_a_claim_reaches_an_open_gate_and_the_inbox_at_once(
    windows: Windows, service: Service, company: Company
) -> None:
    bob = colleague(company, "Bob", "manager")
    run = company.start("prior-auth")
    window = windows(service.url).enter(company)
    gate, inbox = window.gate(run), window.open(page=window.tab())
    expect(gate.get_by_role("button", name="Claim")).to_be_visible()
    expect(inbox.locator(".row .cell-whom")).to_have_text("Manager")
    path = f"/process-runs/{run['id']}/gates/{run['parked_at']}/claim"
    bob.send("POST", path, {})
    expect(gate.get_by_text("Bob has claimed this gate. You may still decide.")).to_be_visible()
    expect(inbox.locator(".row .cell-whom")).to_have_text("claimed by Bob")
    bob.send("DELETE", path)
    expect(gate.get_by_text("Bob has claimed this gate.")).to_have_count(0)
    expect(inbox.locator(".row .cell-whom")).to_have_text("Manager")


def test_a_form_says_all_that_is_wrong_at_once_in_its_own_order(
    windows: Windows, service: Service, company: Company
) -> None:
    bob, _ = finance(company, "Bob", "Cyd")
    run = company.start("payment")
    page = windows(service.url).enter(bob).gate(run)
    page.get_by_role("radio", name="Approve").check()
    fields = page.get_by_role("group", name="Form").get_by_role("textbox")
    names = ("Units", "Account", "Payee: Name", "Payee: Since", "Tags")
    expect(fields).to_have_count(len(names))
    for place, name in enumerate(names):
        expect(fields.nth(place)).to_have_accessible_name(re.compile(f"^{name}"))
    sign(page, "many", "A")
    expect(page.get_by_label("Units")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Account")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Units")).to_be_focused()
    page.get_by_label("Payee: Name").fill("Grace")
    page.get_by_label("Payee: Since").fill("2026-03-02")
    page.get_by_label("Tags").fill("spring\nsecond rate")
    sign(page)
    expect(page.get_by_role("region", name="Decisions so far")).to_contain_text("1 of 2 approvals so far.")
    (verdict,) = company.run(run)["gate"]["verdicts"]
    assert verdict["form"] == {
        "units": 3,
        "account": "AT61",
        "payee": {"name": "Grace", "since": "2026-03-02"},
        "tags": ["spring", "second rate"],
    }


def test_a_form_has_a_field_for_choices_lists_of_them_and_lists_of_objects_with_defaults(
    window: Window, company: Company
) -> None:
    run = company.start("fields")
    page = window.gate(run)
    page.get_by_role("radio", name="Approve").check()
    page.get_by_label("Reason").select_option("Wrong payee")
    channels = page.get_by_role("group", name="Channels")
    channels.get_by_label("Mail").check()
    channels.get_by_label("Letter").check()
    lines = page.get_by_role("group", name="Lines")
    lines.get_by_role("button", name="Add an item").click()
    lines.get_by_label("Text").fill("Freight")
    lines.get_by_label("Price").fill("2.675")
    expect(page.get_by_label("Days")).to_have_value("14")
    page.get_by_role("button", name="Confirm: Approve").click()
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert company.run(run)["facts"]["fill"]["form"] == {
        "reason": "r2",
        "channels": ["mail", "letter"],
        "lines": [{"text": "Freight", "price": 2.675}],
        "days": 14,
    }


def test_a_field_that_the_page_cannot_draw_is_said_beside_the_form(window: Window) -> None:
    page = window.open("templates", "fields")
    expect(page.get_by_text("Fill in pairs as JSON")).to_be_visible()


def test_who_decided_first_of_two_never_reads_that_it_was_decided_by_others(
    windows: Windows, service: Service, company: Company
) -> None:
    bob, cyd = finance(company, "Bob", "Cyd")
    run = company.start("payment")
    for one in (bob, cyd):
        one.resume(run, "signatures", form={"units": 3, "account": "AT61"})
    window = windows(service.url).enter(bob)
    window.page.add_init_script(HEADINGS)
    window.page.reload()
    page = window.gate(run, "signatures")
    expect(page.get_by_role("heading", name="You decided this")).to_be_visible()
    expect(page.get_by_text("Your decision counted before.")).to_be_visible()
    assert "Already decided" not in page.evaluate("window.headings")
    page = windows(service.url).enter(company).gate(run, "signatures")
    expect(page.get_by_role("heading", name="Already decided")).to_be_visible()


def test_a_denial_says_why_by_code_and_comment(windows: Windows, service: Service, company: Company) -> None:
    bob, _ = finance(company, "Bob", "Cyd")
    run = company.start("payment")
    page = windows(service.url).enter(bob).gate(run)
    decide(page, "Deny")
    expect(page.get_by_label("Reason code")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Comment")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Reason code").select_option("duplicate")
    page.get_by_label("Comment").fill("Paid in May")
    page.get_by_role("button", name="Confirm: Deny").click()
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    (verdict,) = [one["verdict"] for one in company.run(run)["trace"] if one["verdict"] is not None]
    assert (verdict["code"], verdict["comment"]) == ("duplicate", "Paid in May")


def test_a_delegate_decides_for_somebody_and_both_are_named(
    windows: Windows, service: Service, company: Company
) -> None:
    bob, _ = finance(company, "Bob", "Cyd")
    dan = colleague(company, "Dan", "manager")
    giving = windows(service.url).enter(bob).open("account")
    giving.get_by_label("Who decides for you").select_option("Dan")
    giving.get_by_role("button", name="Delegate").click()
    expect(giving.get_by_role("list", name="Delegations")).to_contain_text("Dan decides for you")
    run = company.start("payment")
    page = windows(service.url).enter(dan).gate(run)
    expect(page.get_by_label("Decide", exact=True)).to_contain_text("For Bob")
    sign(page)
    expect(page.get_by_role("region", name="Decisions so far")).to_contain_text("You approved it for Bob")
    (verdict,) = company.run(run)["gate"]["verdicts"]
    assert (verdict["by"], verdict["on_behalf_of"]) == (dan.email, bob.email)
    reading = windows(service.url).enter(company)
    for place in (("runs", run["id"]), ("audit",)):
        expect(reading.open(*place).get_by_text("Dan (for Bob) approved “Signatures”")).to_be_visible()
    expect(reading.open("dashboard", "decisions").get_by_text("Dan (for Bob)")).to_be_visible()
    giving.get_by_role("button", name="End it").click()
    expect(giving.get_by_role("list", name="Delegations").get_by_role("listitem")).to_have_count(0)


def test_a_deadline_counts_down_and_passes_while_somebody_looks(window: Window, company: Company) -> None:
    run = company.start("clock")
    page = window.gate(run)
    rules = page.get_by_role("region", name="Rules of this gate")
    expect(rules).to_contain_text("Due in")
    expect(rules).to_contain_text("Then it is denied.")
    expect(page.get_by_text("The deadline denied it on")).to_be_visible()
    expect(page.get_by_role("heading", name="The deadline has decided")).to_be_visible()


def test_who_was_outvoted_reads_what_they_decided_and_what_was_decided(
    windows: Windows, service: Service, company: Company
) -> None:
    bob, cyd = finance(company, "Bob", "Cyd")
    run = company.start("payment")
    bob.resume(run, "signatures", form={"units": 3, "account": "AT61"})
    cyd.resume(run, "signatures", "denied", code="duplicate", comment="Paid in May")
    page = windows(service.url).enter(bob).gate(run, "signatures")
    expect(page.get_by_text("Cyd denied it on")).to_be_visible()
    expect(page.get_by_text("You approved it before. No action is needed.")).to_be_visible()
    expect(page.get_by_role("heading", name="Decided", exact=True)).to_be_visible()


def test_a_message_is_delivered_on_the_page_of_the_run(window: Window, company: Company) -> None:
    run = company.start("letter")
    page = window.open("runs", run["id"])
    expect(page.get_by_text("Waits for the message letter-received")).to_be_visible()
    page.get_by_role("button", name="Deliver the message").click()
    page.get_by_label("Content").fill('{"pages": 3}')
    page.get_by_role("dialog").get_by_role("button", name="Deliver").click()
    expect(page.get_by_role("link", name="Decide: Read the letter")).to_be_visible()
    assert company.run(run)["facts"]["await"]["payload"] == {"pages": 3}


def test_a_run_is_cancelled_with_what_it_did_undone(window: Window, company: Company) -> None:
    run = company.start("letter")
    page = window.open("runs", run["id"])
    page.get_by_role("button", name="Cancel the run").click()
    page.get_by_label("Undo what the run has done").check()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_text("what the run did is undone").or_(page.get_by_text("had the run undone"))).to_be_visible()
    assert company.run(run)["status"] == "cancelled"


def test_who_made_the_key_that_started_a_run_or_whom_it_acted_for_is_told_so_and_asked_by_nobody(
    windows: Windows, service: Service, company: Company
) -> None:
    bob, cyd, dan = finance(company, "Bob", "Cyd", "Dan")
    admin = colleague(company, "Eve", "admin")
    body = {"name": "desk", "role": "member", "kind": "service", "acts_for": True}
    made = admin.send("POST", "/api-keys", body)
    start = {"vertical": "payment", "inputs": {"amount": 1}, "on_behalf_of": member_of(company, bob.email)}
    run = service.send("POST", "/process-runs/", start, made["key"])
    company.send(
        "PUT",
        members_path(company).replace("/members", "/groups/finance"),
        {"members": [member_of(company, one.email) for one in (admin, bob, cyd, dan)]},
    )
    for barred in (admin, bob):
        page = windows(service.url).enter(barred).gate(run)
        expect(page.get_by_text("the key that started this run is yours, or acted for you.")).to_be_visible()
        expect(page.get_by_text("Ask Cyd or Dan.")).to_be_visible()


def test_a_gate_says_that_it_keeps_nobody_out_where_nobody_knows_for_whom_the_run_was_started(
    window: Window, company: Company
) -> None:
    run = company.start("payment")

    def opened(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "four_eyes_open": True})

    window.page.route(f"**/process-runs/{run['id']}/gates/signatures", opened)
    rules = window.gate(run).get_by_role("region", name="Rules of this gate")
    expect(rules).to_contain_text("Nobody knows for whom the key acts that started the run: that keeps nobody out.")


def test_only_who_may_really_decide_is_named_as_whom_to_ask(
    windows: Windows, service: Service, company: Company
) -> None:
    bob, cyd, dan = (colleague(company, name, "admin") for name in ("Bob", "Cyd", "Dan"))
    colleague(company, "Eve", "manager")
    sue = colleague(company, "Sue", "manager")
    asked = {"kind": "gate", "tier": "high"}
    first = {**asked, "id": "first", "label": "Look", "next": "ok"}
    last = {**asked, "id": "ok", "label": "Sign off", "four_eyes": ["starter", "gate:first"], "next": "end"}
    whole = {**document(2), "subjects": ["inputs.about"], "inputs_schema": {"type": "object"}}
    for person, quorum in ((company, 3), (bob, 2)):
        steps = [first, {**last, "quorum": quorum}, *whole["steps"][1:]]
        person.send("PUT", f"{PATH}/draft", {**whole, "steps": steps})
        person.send("POST", f"{PATH}/publish", {})
    run = cyd.start("petty-cash", {"about": sue.email})
    dan.resume(run, "first")
    page = windows(service.url).enter(bob).gate(run, "ok")
    expect(page.get_by_text("Ask Eve or Ada Marsh.")).to_be_visible()
    company.resume(run, "ok")
    expect(page.get_by_text("Ask Eve.")).to_be_visible()
    deciding = windows(service.url).enter(company).gate(run, "ok")
    expect(deciding.get_by_text("Others who may decide: Eve.")).to_be_visible()


def test_whom_an_escalation_lets_decide_below_the_role_of_the_gate_decides_on_the_page(
    windows: Windows, service: Service, company: Company
) -> None:
    admin = colleague(company, "Eve", "admin")
    outcome = {"escalate": "admin", "again": "P1D", "then": "denied"}
    whole = document(1)
    steps = [{**whole["steps"][0], "role": "owner", "deadline": "PT1S", "on_deadline": outcome}, *whole["steps"][1:]]
    company.send("PUT", f"{PATH}/draft", {**whole, "steps": steps})
    company.send("POST", f"{PATH}/publish", {})
    run = company.start("petty-cash", {})
    page = windows(service.url).enter(admin).gate(run)
    expect(page.get_by_text("an admin may decide, too.")).to_be_visible()
    decide(page, "Approve")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()


def test_a_delegate_is_offered_to_decide_for_those_alone_who_may_decide_here(
    windows: Windows, service: Service, company: Company
) -> None:
    bob, cyd = finance(company, "Bob", "Cyd")
    dan = colleague(company, "Dan", "viewer")
    now = datetime.now(UTC)
    for giver in (bob, cyd):
        span = {"from": now.isoformat(), "until": (now + timedelta(days=1)).isoformat()}
        giver.send("POST", "/delegations/", {"to": member_of(company, dan.email), **span})
    run = bob.start("payment")
    page = windows(service.url).enter(dan).gate(run)
    expect(page.get_by_label("Decide", exact=True)).to_contain_text("For Cyd")
    expect(page.get_by_label("Decide", exact=True)).not_to_contain_text("For Bob")
    sign(page)
    expect(page.get_by_text("Your decision counts.")).to_be_visible()
    expect(page.get_by_role("radio")).to_have_count(0)
    own = cyd.start("payment")
    company.send("DELETE", f"{members_path(company)}/{member_of(company, bob.email)}")
    page = windows(service.url).enter(dan).gate(own)
    expect(page.get_by_text("You can read everything here, but not decide.")).to_be_visible()
    expect(page.get_by_role("radio")).to_have_count(0)
