"""A new user draws, tries, publishes and runs eight steps: by mouse, and by keyboard."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.ui.browser import Window
from tests.ui.editor import VALID, at_rest, graph, node, press, saved, tab_to
from tests.ui.service import Company

STEPS = ["signoff", "task", "gateway", "task-2", "wait", "task-3", "done", "end"]


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("^Step "))


def field(page: Page, label: str) -> Locator:
    """A field of the panel, whether or not its label says that it is optional."""
    return panel(page).get_by_label(re.compile(f"^{re.escape(label)}( optional)?$"))


def handle(page: Page, step: str, side: str) -> Locator:
    return graph(page).locator(f'.react-flow__node[data-id="{step}"] .react-flow__handle.{side}')


def gate_of(company: Company) -> dict[str, Any]:
    (run,) = company.send("GET", "/process-runs/?vertical=small-refund")
    found: dict[str, Any] = run
    return found


def completed(page: Page, company: Company, run: dict[str, Any]) -> None:
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    expect(page.get_by_text("Completed").first).to_be_visible()
    done = company.run(run)
    assert (done["status"], done["outcome"]) == ("completed", "done")
    assert [visit["step_id"] for visit in done["trace"]] == [step for step in STEPS if step != "end"]


def drawn_right(company: Company, run: dict[str, Any]) -> None:
    canvas = company.send("GET", "/process-templates/small-refund/canvas")
    assert sorted(one["id"] for one in canvas["nodes"]) == sorted(STEPS)
    assert {(one["branch"], one["target"]) for one in canvas["edges"] if one["source"] == "signoff"} == {
        ("approved", "task"),
        ("denied", "end"),
    }
    assert run["parked_at"] == "signoff"
    assert run["gate"]["due_at"] > run["gate"]["opened_at"]


# ---------------------------------------------------------------------------------------- by mouse


def test_a_new_user_draws_and_runs_a_process_by_mouse(window: Window, company: Company) -> None:
    page = window.open("templates")
    page.get_by_role("button", name="New process").click()
    page.get_by_label("Title").fill("Small refund")
    page.get_by_role("button", name="Begin").click()
    ask_for_the_amount(page)
    draw_by_mouse(page)
    try_it_by_mouse(page, company)
    publish_and_start_by_mouse(page)
    expect(page.get_by_text(re.compile("due|deadline", re.IGNORECASE)).first).to_be_visible()
    run = gate_of(company)
    drawn_right(company, run)
    page.get_by_role("radio", name="Approve").check()
    page.get_by_role("button", name="Confirm: Approve").click()
    completed(page, company, run)


def draw_by_mouse(page: Page) -> None:
    node(page, "Sign-off").click()
    field(page, "Deadline").fill("PT72H")
    expect(graph(page).locator('[data-id="signoff"]')).to_contain_text("1 finding")
    field(page, "On deadline").select_option("denied")
    expect(page.get_by_text(VALID)).to_be_visible()
    drop(page, "Task", on="Sign-off", label="Look up the order")
    field(page, "Tool").fill("order-lookup")
    drop(page, "Gateway", on="Look up the order", label="Is it small?")
    condition = panel(page).get_by_label("Condition of branch 1")
    condition.fill("inputs.am")
    page.get_by_role("option", name="inputs.amount").click()
    condition.press_sequentially(" < 100.0")
    insert_after(page, "gateway", "Pay it back")
    field(page, "Tool").fill("payments")
    field(page, "Effect").select_option("irreversible")
    drop(page, "Wait", on="Pay it back", label="Cool off")
    field(page, "Duration").fill("PT1S")
    drop(page, "Task", on="Cool off", label="Write the letter")
    field(page, "Tool").fill("letters")
    drop(page, "End", on="Write the letter", label="Refused")
    field(page, "Outcome").fill("refused")
    expect(graph(page).locator('[data-id="end"]')).to_contain_text("1 finding")
    at_rest(page)
    handle(page, "signoff", "source").drag_to(handle(page, "end", "target"), force=True)
    expect(page.get_by_text(VALID)).to_be_visible()


def ask_for_the_amount(page: Page) -> None:
    process = page.get_by_role("region", name="The process")
    process.get_by_role("button", name="Add a field").click()
    process.get_by_label("Name of field 1").fill("amount")
    process.get_by_label("Type of field 1").select_option("number")
    process.get_by_label("Example inputs").fill('{"amount": 40}')


def drop(page: Page, kind: str, on: str, label: str) -> None:
    """Drag a new step onto the one that it follows, and name it.

    The graph is drawn anew after each change, so it has come to rest before the mouse takes aim.
    """
    at_rest(page)
    palette = page.get_by_role("group", name="New steps")
    palette.get_by_role("button", name=kind, exact=True).drag_to(node(page, on))
    field(page, "Label").fill(label)
    expect(node(page, label)).to_be_visible()


def insert_after(page: Page, step: str, label: str) -> None:
    at_rest(page)
    graph(page).get_by_role("button", name=f"Insert a step between {step} and done").first.click()
    field(page, "Label").fill(label)
    expect(node(page, label)).to_be_visible()


def try_it_by_mouse(page: Page, company: Company) -> None:
    page.get_by_role("button", name="Try it").click()
    tried = page.get_by_role("region", name="Try it")
    tried.get_by_role("button", name="Start").click()
    tried.get_by_role("button", name="Approve").click()
    expect(tried.get_by_role("status")).to_contain_text("Waiting")
    tried.get_by_role("button", name="Skip the waiting time").click()
    expect(tried.get_by_role("status")).to_contain_text("Completed")
    assert company.send("GET", "/process-runs/") == []
    page.get_by_role("button", name="Try it").click()


def publish_and_start_by_mouse(page: Page) -> None:
    saved(page)
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    page.get_by_role("dialog").get_by_role("button", name="Start a run").click()
    page.get_by_label("Amount").fill("40")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", name=re.compile("Sign-off"))).to_be_visible()


# ------------------------------------------------------------------------------ by keyboard alone


def test_a_new_user_draws_and_runs_a_process_by_keyboard_alone(window: Window, company: Company) -> None:
    page = window.open("templates")
    press(page, page.get_by_role("button", name="New process"))
    write(page, page.get_by_label("Title"), "Small refund")
    press(page, page.get_by_role("button", name="Begin"))
    expect(page.get_by_role("heading", name="Edit Small refund")).to_be_visible()
    process = page.get_by_role("region", name="The process")
    press(page, process.get_by_role("button", name="Add a field"))
    write(page, process.get_by_label("Name of field 1"), "amount")
    write(page, process.get_by_label("Type of field 1"), "number")
    write(page, process.get_by_label("Example inputs"), '{"amount": 40}')
    press(page, node(page, "Sign-off"))
    expect(field(page, "Label")).to_be_focused()
    write(page, field(page, "Deadline"), "PT72H")
    write(page, field(page, "On deadline"), "deny")
    draw_by_keyboard(page)
    expect(page.get_by_text(VALID)).to_be_visible()
    try_it_by_keyboard(page)
    saved(page)
    press(page, page.get_by_role("button", name="Publish"))
    press(page, page.get_by_role("dialog").get_by_role("button", name="Publish"))
    press(page, page.get_by_role("dialog").get_by_role("button", name="Start a run"))
    write(page, page.get_by_label("Amount"), "40")
    press(page, page.get_by_role("button", name="Start the run"))
    expect(page.get_by_role("heading", name=re.compile("Sign-off"))).to_be_visible()
    run = gate_of(company)
    drawn_right(company, run)
    tab_to(page, page.get_by_role("radio", name="Approve"))
    page.keyboard.press("Space")
    press(page, page.get_by_role("button", name="Confirm: Approve"))
    completed(page, company, run)


def draw_by_keyboard(page: Page) -> None:
    place(page, "Task", "Look up the order")
    write(page, field(page, "Tool"), "order-lookup")
    place(page, "Gateway", "Is it small?")
    condition = panel(page).get_by_label("Condition of branch 1")
    write(page, condition, "inputs.am")
    page.keyboard.press("Enter")
    page.keyboard.type(" < 100.0")
    expect(condition).to_have_value("inputs.amount < 100.0")
    place(page, "Task", "Pay it back")
    write(page, field(page, "Tool"), "payments")
    write(page, field(page, "Effect"), "irreversible")
    place(page, "Wait", "Cool off")
    write(page, field(page, "Duration"), "PT1S")
    place(page, "Task", "Write the letter")
    write(page, field(page, "Tool"), "letters")
    place(page, "End", "Refused")
    write(page, field(page, "Outcome"), "refused")
    go_to_the_gate(page)
    press(page, panel(page).get_by_role("button", name="Add a next step"))
    write(page, field(page, "Branch 1"), "approved")
    write(page, field(page, "Branch 2"), "denied")
    write(page, field(page, "Next step of branch 2"), "Refused")


def place(page: Page, kind: str, label: str) -> None:
    """Add a step behind the chosen one: the label has the focus then."""
    press(page, page.get_by_role("group", name="New steps").get_by_role("button", name=kind, exact=True))
    expect(field(page, "Label")).to_be_focused()
    page.keyboard.type(label)
    expect(node(page, label)).to_be_visible()


def go_to_the_gate(page: Page) -> None:
    """From the panel back to the graph, and to its first step."""
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(node(page, "Sign-off")).to_be_focused()
    page.keyboard.press("Enter")
    expect(field(page, "Label")).to_have_value("Sign-off")


def write(page: Page, where: Locator, text: str) -> None:
    """Type into a field instead of what it says; in a list the keys choose the option."""
    tab_to(page, where)
    if where.evaluate("one => one.tagName") != "SELECT":
        page.keyboard.press("Control+a")
    page.keyboard.type(text)


def try_it_by_keyboard(page: Page) -> None:
    press(page, page.get_by_role("button", name="Try it"))
    tried = page.get_by_role("region", name="Try it")
    press(page, tried.get_by_role("button", name="Start"))
    press(page, tried.get_by_role("button", name="Approve"))
    expect(tried.get_by_role("status")).to_contain_text("Waiting")
    press(page, tried.get_by_role("button", name="Skip the waiting time"))
    expect(tried.get_by_role("status")).to_contain_text("Completed")
