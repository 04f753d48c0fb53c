"""Processes of one's own on the page: drawn, tried, published and run."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.people import colleague
from tests.ui.service import Company, Service

VALID = "All rules are kept. The draft can be published."


def begin(page: Page, title: str) -> None:
    page.get_by_role("button", name="New process").click()
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("heading", name=f"Edit {title}")).to_be_visible()


def add(page: Page, kind: str, label: str, **fields: str) -> None:
    """Add a step behind the chosen one, and fill in its fields."""
    page.get_by_role("group", name="New steps").get_by_role("button", name=kind.capitalize(), exact=True).click()
    panel = page.get_by_role("region", name=re.compile("^Step "))
    panel.get_by_label("Label", exact=True).fill(label)
    for name, value in fields.items():
        field = panel.get_by_label(name.replace("_", " "), exact=False).first
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)


def choose(page: Page, label: str) -> None:
    page.get_by_role("region", name="Graph of the draft").get_by_role("button", name=label).click()


def published(page: Page) -> None:
    expect(page.get_by_text(VALID)).to_be_visible()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(page.get_by_role("heading", name=re.compile(r"Version \d+ is published"))).to_be_visible()


def test_a_process_of_eight_steps_is_drawn_published_and_run(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Small refund")
    choose(page, "Sign-off")
    panel = page.get_by_role("region", name="Step signoff")
    panel.get_by_label("Deadline", exact=False).first.fill("PT72H")
    expect(page.get_by_role("region", name="Findings")).to_contain_text(
        "a deadline says in on_deadline", ignore_case=True
    )
    panel.get_by_label("At the deadline").select_option("denied")
    expect(page.get_by_text(VALID)).to_be_visible()
    add(page, "task", "Look up the order", Tool="order-lookup")
    add(page, "gateway", "Is it large?")
    add(page, "wait", "Let a day pass", Wait_for="PT1S")
    add(page, "task", "Pay it back", Tool="payments", Effect="irreversible")
    add(page, "task", "Write the letter", Tool="letters", Effect="reversible")
    add(page, "task", "File it", Tool="archive", Effect="reversible")
    tried = trying(page)
    tried.get_by_role("button", name="Approve").click()
    expect(tried.get_by_role("status")).to_contain_text("Waiting")
    tried.get_by_role("button", name="Let the time pass").click()
    expect(tried.get_by_role("status")).to_contain_text("Completed")
    assert company.send("GET", "/process-runs/") == []
    published(page)
    page.get_by_role("dialog").get_by_role("button", name="Start a run").click()
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", name=re.compile("Sign-off"))).to_be_visible()
    (run,) = company.send("GET", "/process-runs/?vertical=small-refund")
    assert run["gate"]["due_at"] is not None
    canvas = company.send("GET", "/process-templates/small-refund/canvas")
    assert len(canvas["nodes"]) == 8
    company.send("POST", f"/process-runs/{run['id']}/resume", {"gate": "signoff", "decision": "approved"})


def trying(page: Page) -> Locator:
    """Begin to try the draft."""
    expect(page.get_by_text(VALID)).to_be_visible()
    page.get_by_role("button", name="Try it").click()
    panel = page.get_by_role("region", name="Try it")
    panel.get_by_role("button", name="Begin").click()
    return panel


def tab_to(page: Page, where: Locator) -> None:
    """Press the tab key until something has the focus."""
    for _ in range(120):
        if where.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no focus came to {where}")


def press(page: Page, where: Locator) -> None:
    tab_to(page, where)
    page.keyboard.press("Enter")


def test_a_process_is_written_and_published_by_keyboard_alone(window: Window, company: Company) -> None:
    page = window.open("templates")
    press(page, page.get_by_role("button", name="New process"))
    tab_to(page, page.get_by_label("Title"))
    page.keyboard.type("By keys")
    press(page, page.get_by_role("button", name="Begin"))
    expect(page.get_by_role("heading", name="Edit By keys")).to_be_visible()
    press(page, page.get_by_role("region", name="Graph of the draft").get_by_role("button", name="Sign-off"))
    press(page, page.get_by_role("group", name="New steps").get_by_role("button", name="Task"))
    tab_to(page, page.get_by_label("Tool"))
    page.keyboard.type("printer")
    expect(page.get_by_text(VALID)).to_be_visible()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    press(page, page.get_by_role("button", name="Undo"))
    expect(page.get_by_label("Tool")).to_have_value("printe")
    press(page, page.get_by_role("button", name="Redo"))
    expect(page.get_by_label("Tool")).to_have_value("printer")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    press(page, page.get_by_role("button", name="Try it"))
    tried = page.get_by_role("region", name="Try it")
    press(page, tried.get_by_role("button", name="Begin"))
    press(page, tried.get_by_role("button", name="Approve"))
    expect(tried.get_by_role("status")).to_contain_text("Completed")
    press(page, page.get_by_role("button", name="Publish"))
    press(page, page.get_by_role("dialog").get_by_role("button", name="Publish"))
    expect(page.get_by_role("heading", name="Version 1 is published")).to_be_visible()
    assert company.send("GET", "/process-templates/by-keys")["steps"] == 3


def test_two_editors_at_once_lose_nothing(windows: Windows, service: Service, company: Company) -> None:
    kim = colleague(company, "Kim", "member")
    first = windows(service.url).enter(company).open("templates")
    begin(first, "Shared")
    choose(first, "Sign-off")
    first.get_by_role("region", name="Step signoff").get_by_label("Label", exact=True).fill("First")
    expect(first.get_by_text("Saved", exact=True)).to_be_visible()
    second = windows(service.url).enter(kim).open("templates", "shared", "edit")
    choose(second, "First")
    second.get_by_role("region", name="Step signoff").get_by_label("Label", exact=True).fill("Second")
    expect(second.get_by_text("Saved", exact=True)).to_be_visible()
    expect(second.get_by_role("button", name="Publish")).to_have_count(0)
    first.get_by_role("region", name="Step signoff").get_by_label("Label", exact=True).fill("Third")
    expect(first.get_by_text("Somebody else has changed this draft since you read it.")).to_be_visible()
    first.get_by_role("button", name="Load theirs").click()
    expect(first.get_by_role("region", name="Step signoff").get_by_label("Label", exact=True)).to_have_value("Second")
    first.get_by_role("region", name="Step signoff").get_by_label("Label", exact=True).fill("Third")
    expect(first.get_by_text("Saved", exact=True)).to_be_visible()
    assert draft(company, "shared")["steps"][0]["label"] == "Third"


def draft(company: Company, vertical: str) -> Any:
    return company.send("GET", f"/process-templates/{vertical}/draft")


def test_the_text_and_the_graph_are_one_document(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "As text")
    page.get_by_role("button", name="Text").click()
    text = page.get_by_label("Document (YAML)")
    before = text.input_value()
    text.fill(before.replace("label: Sign-off", "label: Chief's sign-off"))
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    page.get_by_role("button", name="Text").click()
    choose(page, "Chief's sign-off")
    page.get_by_role("button", name="Text").click()
    text.fill(before + "  - [")
    expect(page.get_by_text(re.compile("line|flow", re.IGNORECASE)).first).to_be_visible()
    assert draft(company, "as-text")["steps"][0]["label"] == "Chief's sign-off"


def test_a_finding_leads_to_its_step_and_says_what_to_do(window: Window) -> None:
    page = window.open("templates")
    begin(page, "Careless")
    choose(page, "Sign-off")
    page.get_by_role("button", name="Delete this step").click()
    add(page, "task", "Wire the money", Tool="bank", Effect="irreversible")
    findings = page.get_by_role("region", name="Findings")
    expect(findings).to_contain_text("Put a gate in front of the task on every path")
    expect(page.get_by_role("button", name="Publish")).to_be_disabled()
    page.get_by_role("button", name="Wire the money").first.click()
    findings.get_by_role("button", name="task").click()
    expect(page.get_by_role("region", name="Step task")).to_be_visible()


def test_a_process_begins_with_words(window: Window, company: Company) -> None:
    page = window.open("templates")
    page.get_by_role("button", name="New process").click()
    page.get_by_label("Title").fill("Elephants")
    page.get_by_label("Begin with").select_option("text")
    page.get_by_label("What happens, step by step").fill("Weigh the elephant, then send it home")
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_text(VALID)).to_be_visible()
    assert [one["kind"] for one in draft(company, "elephants")["steps"]] == ["task", "gate", "task", "end"]


def test_a_version_is_retired_on_the_page_of_its_template(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Short lived")
    published_once = page.get_by_role("region", name="The process").get_by_label("Title")
    published_once.fill("Short-lived")
    published(page)
    page.get_by_role("dialog").get_by_role("button", name="Start a run").click()
    versions = page.get_by_role("region", name="Versions")
    versions.get_by_role("button", name="Retire").click()
    page.get_by_role("dialog").get_by_role("button", name="Retire").click()
    expect(versions).to_contain_text("retired")


# ------------------------------------------------------------------------------------- on the graph


def graph(page: Page) -> Locator:
    return page.get_by_role("region", name="Graph of the draft")


def saved(page: Page) -> None:
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()


def test_steps_are_placed_connected_and_parted_on_the_graph(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "By mouse")
    page.get_by_role("group", name="New steps").get_by_role("button", name="Task").drag_to(
        graph(page).get_by_role("button", name="Sign-off")
    )
    page.get_by_role("region", name="Step task").get_by_label("Tool").fill("printer")
    graph(page).get_by_role("button", name="Insert a step between task and done").click()
    page.get_by_role("region", name="Step task-2").get_by_label("Tool").fill("binder")
    node = graph(page).locator('.react-flow__node[data-id="signoff"] .react-flow__handle.source')
    node.drag_to(graph(page).locator('.react-flow__node[data-id="done"] .react-flow__handle.target'), force=True)
    graph(page).get_by_role("button", name="Remove the way between task-2 and done").click()
    expect(page.get_by_role("region", name="Findings")).to_contain_text("task-2")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text(VALID)).to_be_visible()
    saved(page)
    ways = {step["id"]: step.get("next") for step in draft(company, "by-mouse")["steps"]}
    assert ways == {"signoff": {"approved": "task", "denied": "done"}, "task": "task-2", "task-2": "done", "done": None}


def test_a_step_is_copied_pasted_and_deleted_by_keys(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Copies")
    choose(page, "Sign-off")
    page.keyboard.press("Control+c")
    page.keyboard.press("Control+v")
    expect(page.get_by_role("region", name="Step gate")).to_be_visible()
    expect(graph(page).get_by_role("button", name="Sign-off (copy)")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(graph(page).get_by_role("button", name="Sign-off (copy)")).to_have_count(0)
    page.keyboard.press("Control+y")
    expect(graph(page).get_by_role("button", name="Sign-off (copy)")).to_be_visible()
    page.keyboard.press("Delete")
    expect(page.get_by_text(VALID)).to_be_visible()
    saved(page)
    assert [step["id"] for step in draft(company, "copies")["steps"]] == ["signoff", "done"]


def test_a_condition_completes_known_names_and_points_at_what_does_not_compile(window: Window) -> None:
    page = window.open("templates")
    begin(page, "Conditions")
    panel = page.get_by_role("region", name="The process")
    panel.get_by_role("button", name="Add a field").click()
    panel.get_by_label("Name of field 1").fill("amount")
    panel.get_by_label("Type of field 1").select_option("number")
    choose(page, "Sign-off")
    add(page, "gateway", "Is it large?")
    condition = page.get_by_label("Condition of branch 1")
    condition.fill("")
    condition.press_sequentially("inputs.am")
    page.get_by_role("option", name="inputs.amount").click()
    expect(condition).to_have_value("inputs.amount")
    condition.press("End")
    condition.press_sequentially(" >> 3")
    expect(page.locator(".cel-mistake")).to_contain_text("^")
    condition.fill("inputs.amount > 3")
    expect(page.get_by_text(VALID)).to_be_visible()


def test_the_policy_of_a_gate_is_written_in_fields(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Policy")
    choose(page, "Sign-off")
    panel = page.get_by_role("region", name="Step signoff")
    panel.get_by_label("How many agree").fill("2")
    panel.get_by_label("Who may not decide").fill("starter, template-author")
    panel.get_by_label("Comment").select_option("on-denial")
    panel.get_by_label("Codes of a denial").fill("duplicate, other")
    page.keyboard.press("Tab")
    panel.get_by_label("A denial has a code").select_option("required")
    panel.get_by_role("button", name="Add a field").click()
    panel.get_by_label("Name of field 1").fill("units")
    panel.get_by_label("Type of field 1").select_option("integer")
    panel.get_by_label("Field 1 has to be filled in").check()
    panel.get_by_label("Deadline", exact=False).first.fill("PT72H")
    panel.get_by_label("At the deadline").select_option("escalate")
    panel.get_by_label("And again after").fill("PT24H")
    panel.get_by_label("Then").fill("denied")
    panel.get_by_label("Label", exact=True).focus()
    expect(page.get_by_text(VALID)).to_be_visible()
    saved(page)
    step = draft(company, "policy")["steps"][0]
    assert (step["quorum"], step["four_eyes"]) == (2, ["starter", "template-author"])
    assert (step["denial_codes"], step["code"], step["comment"]) == (["duplicate", "other"], "required", "on-denial")
    assert step["form"]["required"] == ["units"]
    assert step["on_deadline"] == {"escalate": "admin", "again": "PT24H", "then": "denied"}


def test_two_versions_are_compared_on_the_graph(window: Window) -> None:
    page = window.open("templates")
    begin(page, "Versions")
    page.get_by_role("region", name="The process").get_by_label("Description").fill("Two of them")
    published(page)
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    choose(page, "Sign-off")
    page.get_by_role("region", name="Step signoff").get_by_label("How many agree").fill("2")
    add(page, "task", "Tell them", Tool="letters")
    expect(page.get_by_text(VALID)).to_be_visible()
    saved(page)
    page.get_by_role("button", name="Changes").click()
    differences = page.get_by_role("region", name="Differences")
    expect(differences).to_contain_text("2 steps differ")
    expect(differences).to_contain_text("Tell them")
    expect(page.locator(".node.mark-changed")).to_have_count(2)
    expect(page.locator(".node.mark-added")).to_have_count(1)
    page.get_by_role("button", name="Changes").click()
    published(page)
    window.open("templates", "versions", "compare")
    expect(page.get_by_role("region", name="Differences")).to_contain_text("quorum")
