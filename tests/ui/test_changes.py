"""Changes that wait for another person: asked for, shown with what they change, decided."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect

from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.people import colleague, member_of, members_path
from tests.ui.service import Company, Service
from tests.ui.test_access import assert_accessible, needs_axe

LIVE = {"base_url": "http://127.0.0.1:9", "method": "POST", "path": "/pay", "reversible": True}
ALL = ["go_live", "policy_off", "publish_laxer"]
PATH = "/process-templates/petty-cash"


def policy_of(company: Company) -> str:
    return members_path(company).replace("members", "policy")


def gated(company: Company, function: str | None = None, **more: Any) -> None:
    company.send("PUT", policy_of(company), {"change_gates": {"acts": ALL, "function": function}, **more})


def document(quorum: int) -> dict[str, Any]:
    gate = {"id": "ok", "kind": "gate", "label": "Sign off", "tier": "high", "quorum": quorum, "next": "end"}
    return {
        "vertical": "petty-cash",
        "version": 1,
        "title": "Petty cash",
        "description": "Money is paid.",
        "example": {},
        "inputs_schema": {"type": "object"},
        "steps": [gate, {"id": "end", "kind": "end", "label": "End", "outcome": "done"}],
    }


def publish(person: Company, quorum: int) -> Any:
    person.send("PUT", f"{PATH}/draft", document(quorum))
    return person.send("POST", f"{PATH}/publish", {})


def changes(person: Company) -> Any:
    return person.send("GET", members_path(person).replace("members", "changes/"))


def waiting(page: Page) -> Any:
    return page.get_by_role("list", name="Waiting").locator("> li")


def decide(page: Page, word: str, comment: str) -> None:
    waiting(page).get_by_role("button", name=word).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Comment").fill(comment)
    dialog.get_by_role("button", name=word).click()


def test_a_policy_is_asked_for_by_one_admin_and_approved_by_another(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    grace = colleague(company, "Grace", "admin")
    gated(company, solo=False)
    people = window.page.get_by_role("navigation", name="Main").get_by_role("link", name="People")
    expect(people).to_have_text("People")
    asking = windows(service.url).enter(grace)
    form = asking.open("people").get_by_role("region", name="Policy")
    form.get_by_label("While the company has one person").check()
    form.get_by_role("button", name="Save the policy").click()
    form.get_by_role("link", name="Show what waits").click()
    own = waiting(asking.page)
    expect(own).to_contain_text("You asked for it, or made the key that did: another person decides.")
    expect(own.get_by_role("button")).to_have_count(0)
    expect(people).to_contain_text("1 waiting")
    page = window.open("people")
    expect(page.get_by_text("1 change waits for your decision.")).to_be_visible()
    page.get_by_role("link", name="Show the changes").first.click()
    expect(waiting(page)).to_contain_text("Change the policy so that it protects less")
    expect(waiting(page)).to_contain_text("Asked for by Grace")
    expect(waiting(page).locator(".differences")).to_have_text("The only person of the company decides aloneno yes")
    decide(page, "Approve", "As agreed.")
    expect(page.get_by_text("The change is approved and done.")).to_be_visible()
    expect(page.get_by_text("No change waits.")).to_be_visible()
    decided = page.get_by_role("list", name="Decided")
    expect(decided).to_contain_text("Approved by Ada Marsh")
    expect(decided.locator("blockquote")).to_have_text("As agreed.")
    expect(people).to_have_text("People")
    assert company.send("GET", policy_of(company))["solo"] is True


def test_a_laxer_version_is_shown_beside_the_one_before_and_denied(
    windows: Windows, window: Window, company: Company
) -> None:
    grace = colleague(company, "Grace", "admin")
    gated(company)
    publish(grace, 2)
    publish(grace, 1)
    page = window.open("people", "changes")
    expect(waiting(page)).to_contain_text("Publish version 2 of petty-cash, which is laxer at a gate")
    expect(waiting(page).locator(".steps-list")).to_contain_text("quorum2 1")
    expect(waiting(page).get_by_role("link", name="Show both versions")).to_have_attribute(
        "href", "#/templates/petty-cash/compare?from=1&to=draft"
    )
    decide(page, "Deny", "Two have to look.")
    expect(page.get_by_text("The change is denied; nothing has changed.")).to_be_visible()
    expect(page.get_by_role("list", name="Decided")).to_contain_text("Denied by Ada Marsh")
    assert [one["version"] for one in company.send("GET", f"{PATH}/versions/")] == [1]


def test_a_draft_that_is_another_by_now_is_said_to_be(window: Window, company: Company) -> None:
    grace = colleague(company, "Grace", "admin")
    gated(company)
    publish(grace, 2)
    publish(grace, 1)
    grace.send("PUT", f"{PATH}/draft", {**document(1), "title": "Another"})
    page = window.open("people", "changes")
    expect(waiting(page)).to_contain_text("The draft is another by now.")
    decide(page, "Approve", "")
    expect(page.locator(".note-bad")).to_contain_text("so it was closed; ask for it again")
    expect(page.get_by_role("list", name="Decided")).to_contain_text("what it stood on had changed")


def test_a_connector_that_goes_live_is_shown_without_its_secret(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    grace = colleague(company, "Grace", "admin")
    gated(company)
    company.send("PUT", "/connectors/cash-box", {**LIVE, "reversible": False})
    asking = windows(service.url).enter(grace).open("connectors", "cash-box")
    asking.get_by_label("Live: send calls").check()
    asking.get_by_role("button", name="Save").click()
    asking.get_by_role("dialog").get_by_role("button", name="Switch to live").click()
    expect(asking.get_by_role("link", name="Show what waits")).to_be_visible()
    grace.send("PUT", "/connectors/cash-box", {**LIVE, "auth_type": "bearer", "auth_token": "s3cret"})
    page = window.open("people", "changes")
    expect(waiting(page)).to_have_count(2)
    expect(waiting(page).nth(1).locator(".differences")).to_have_text("Modedry run live")
    expect(waiting(page).nth(0)).to_contain_text("A new secret comes with it; nobody is shown it.")
    expect(page.get_by_text("s3cret")).to_have_count(0)


def test_what_waits_is_put_behind_a_gate_by_a_form_and_decided_by_who_fills_the_function(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    grace, kim = colleague(company, "Grace", "admin"), colleague(company, "Kim", "viewer")
    binding = {"investigator": {"groups": [], "members": [member_of(company, kim.email)]}}
    company.send("PUT", members_path(company).replace("members", "functions"), binding)
    policy = window.open("people").get_by_role("region", name="Policy")
    gates = policy.get_by_role("group", name="Changes that another person approves")
    gates.get_by_label("A policy that protects less").check()
    gates.get_by_label("Function that approves").select_option("investigator")
    policy.get_by_role("button", name="Save the policy").click()
    expect(policy.get_by_text("The policy is changed")).to_be_visible()
    said = company.send("GET", policy_of(company))["change_gates"]
    assert said == {"acts": ["policy_off"], "function": "investigator"}
    grace.send("PUT", policy_of(company), {"change_gates": None})
    page = window.open("people", "changes")
    expect(waiting(page)).to_contain_text("Those decide this who fill the function that the company names.")
    expect(waiting(page).locator("del")).to_have_text("A policy that protects less; the function investigator approves")
    expect(waiting(page).get_by_role("button")).to_have_count(0)
    there = windows(service.url).enter(kim).open("people", "changes")
    decide(there, "Approve", "")
    expect(there.get_by_text("Admins decide about changes")).to_be_visible()  # the gate itself is gone
    assert company.send("GET", policy_of(company))["change_gates"] is None


def test_who_decides_no_change_is_told_who_does(windows: Windows, service: Service, company: Company) -> None:
    page = windows(service.url).enter(colleague(company, "Kim", "manager")).open("people", "changes")
    expect(page.get_by_text("Admins decide about changes")).to_be_visible()
    expect(page.get_by_role("list", name="Waiting")).to_have_count(0)


@needs_axe
def test_the_changes_are_accessible_and_decided_by_keyboard(window: Window, company: Company) -> None:
    grace = colleague(company, "Grace", "admin")
    gated(company, solo=False)
    publish(grace, 2)
    publish(grace, 1)
    grace.send("PUT", "/connectors/cash-box", LIVE)
    grace.send("PUT", policy_of(company), {"solo": True})
    denied = changes(company)[0]
    company.send(
        "POST",
        f"{members_path(company).replace('members', 'changes')}/{denied['id']}/deny",
        {"digest": denied["digest"]},
    )
    page = window.open("people", "changes")
    expect(page.locator(".differences").first).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    assert_accessible(page)
    deny = waiting(page).last.get_by_role("button", name="Deny")
    deny.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").locator(".differences").first).to_be_visible()
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(deny).to_be_focused()


def test_a_rule_that_is_proposed_says_what_it_would_allow(window: Window, company: Company) -> None:
    made = company.send("POST", "/api-keys", {"name": "helper", "role": "member", "kind": "agent"})
    rule = {"id": "refunds", "tool": "refund", "decision": "ask", "when": "arguments.amount < 9"}
    company.send("PUT", members_path(company).replace("members", "action-rules"), {"rules": [rule]})
    asked = company.service.send(
        "POST", "/actions/", {"tool": "refund", "arguments": {"amount": 5}}, made["key"], Idempotency_Key="k"
    )
    company.send("POST", f"/actions/{asked['id']}/rule-proposal", {})
    page = window.open("people", "changes")
    expect(waiting(page)).to_contain_text("Always allow such calls of refund by helper")
    expect(waiting(page)).to_contain_text("arguments.amount < 9")
    expect(waiting(page)).to_contain_text("Newest calls that it would have allowed 1")
    decide(page, "Approve", "small ones")
    expect(page.get_by_text("The change is approved and done.")).to_be_visible()


def asked_to_publish(window: Window) -> Any:
    """The dialog that asks before the draft of petty cash is published."""
    page = window.open("templates", "petty-cash", "edit")
    expect(page.get_by_text("Valid. The draft can be published.")).to_be_visible()
    page.get_by_role("button", name="Publish").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Publish")).to_be_enabled()
    return dialog


def test_who_publishes_a_version_that_asks_less_reads_before_what_that_keeps_them_from(
    window: Window, company: Company
) -> None:
    publish(company, 2)
    company.send("PUT", f"{PATH}/draft", {**document(2), "title": "Cash"})
    expect(asked_to_publish(window).locator(".note")).to_have_count(0)
    company.send("PUT", f"{PATH}/draft", document(1))
    window.page.reload()
    dialog = asked_to_publish(window)
    expect(dialog.locator(".note")).to_contain_text("It asks less than before at “Sign off”.")
    expect(dialog).to_contain_text("As the only person of the company you decide there all the same.")
    colleague(company, "Grace", "admin")
    expect(dialog).to_contain_text("If you publish it, you do not decide there in its runs. Others do.")
    expect(dialog).not_to_contain_text("waits")
    dialog.get_by_role("button", name="Publish").click()
    expect(window.page.get_by_role("dialog")).to_contain_text("Version 2 is published")
    page = window.gate(company.start("petty-cash", {}))
    expect(page.get_by_text("Ask Grace.")).to_be_visible()


def test_who_publishes_reads_that_a_version_which_asks_less_waits_for_another_person(
    window: Window, company: Company
) -> None:
    colleague(company, "Grace", "admin")
    publish(company, 2)
    gated(company)
    gate = {"id": "also", "kind": "gate", "label": "Look again", "tier": "high", "next": "end"}
    steps = [{**document(2)["steps"][0], "next": "also"}, gate, document(2)["steps"][1]]
    company.send("PUT", f"{PATH}/draft", {**document(2), "steps": steps})
    company.send("POST", f"{PATH}/publish", {})
    company.send("PUT", f"{PATH}/draft", document(1))
    dialog = asked_to_publish(window)
    expect(dialog).to_contain_text("It asks less than before at “Sign off”.")
    expect(dialog).to_contain_text("It has no gate at “Look again” any more.")
    expect(dialog).to_contain_text("It waits until another person approves it. Nothing is published before.")
    assert_accessible(window.page)
    dialog.get_by_role("button", name="Publish").click()
    expect(dialog.get_by_role("link", name="Show what waits")).to_be_visible()
