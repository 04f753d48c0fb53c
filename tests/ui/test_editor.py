"""Processes of one's own on the page: drawn, tried, published and run."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.ui.browser import Window
from tests.ui.editor import VALID, add, at_rest, begin, choose, draft, graph, node, published, saved
from tests.ui.people import member_of
from tests.ui.service import Company


def test_the_text_and_the_graph_are_one_document(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "As text")
    page.get_by_role("button", name="YAML").click()
    text = page.get_by_label("Document (YAML)")
    before = text.input_value()
    text.fill(before.replace("label: Sign-off", "label: Chief's sign-off"))
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    page.get_by_role("button", name="YAML").click()
    choose(page, "Chief's sign-off")
    page.get_by_role("button", name="YAML").click()
    text.fill(before + "  - [")
    expect(page.get_by_text(re.compile("line|flow", re.IGNORECASE)).first).to_be_visible()
    assert draft(company, "as-text")["steps"][0]["label"] == "Chief's sign-off"


def test_the_text_says_the_same_to_older_readers_of_yaml(window: Window) -> None:
    page = window.open("templates")
    begin(page, "Old")
    choose(page, "Sign-off")
    add(page, "gateway", "Is it?")
    page.get_by_role("button", name="YAML").click()
    assert 'branch: "yes"' in page.get_by_label("Document (YAML)").input_value()


def test_a_list_of_choices_is_typed_and_undone_as_one_change(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Choices")
    process = page.get_by_role("region", name="The process")
    process.get_by_role("button", name="Add a field").click()
    process.get_by_label("Type of field 1").select_option("choice")
    choices = process.get_by_label("Choices of field 1")
    choices.fill("")
    choices.press_sequentially("small, large")
    saved(page)
    assert draft(company, "choices")["inputs_schema"]["properties"]["field"]["enum"] == ["small", "large"]
    page.get_by_role("button", name="Undo").click()
    expect(choices).to_have_value("yes, no")


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


def test_a_gate_whose_group_is_empty_is_told_of_before_it_is_published(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "For the board")
    choose(page, "Sign-off")
    page.get_by_role("region", name="Step signoff").get_by_label("Groups").fill("board")
    saved(page)
    expect(page.get_by_text(VALID)).to_be_visible()
    page.get_by_role("button", name="Publish").click()
    dialog = page.get_by_role("dialog")
    warning = dialog.get_by_text("Nobody can decide at “Sign-off” yet: board has no members.")
    expect(warning).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    me = company.send("GET", "/auth/me")
    group = f"/companies/{me['company']['id']}/groups/board"
    company.send("PUT", group, {"members": [member_of(company, company.email)]})
    page.reload()
    page.get_by_role("button", name="Publish").click()
    expect(dialog.get_by_text("Runs that start from now on follow it.")).to_be_visible()
    expect(warning).to_have_count(0)


# ------------------------------------------------------------------------------------- on the graph


def vertically(one: Locator) -> tuple[float, float]:
    """Where something begins and ends from the top."""
    box = one.bounding_box()
    assert box is not None
    return box["y"], box["y"] + box["height"]


def test_a_graph_that_grows_stays_in_the_middle_while_there_is_room(window: Window) -> None:
    page = window.open("templates")
    begin(page, "Growing")
    for kind in ("Gateway", "Gate"):
        page.get_by_role("group", name="New steps").get_by_role("button", name=kind, exact=True).click()
        expect(page.get_by_role("region", name=f"Step {kind.lower()}")).to_be_visible()
    expect(page.locator(".react-flow .node")).to_have_count(4)
    at_rest(page)
    (top, bottom), (first, _), (_, last) = map(
        vertically, (page.locator(".react-flow"), node(page, "Sign-off"), node(page, "Done"))
    )
    assert first > top
    assert abs((first - top) - (bottom - last)) < 30


def test_steps_are_placed_connected_and_parted_on_the_graph(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "By mouse")
    page.get_by_role("group", name="New steps").get_by_role("button", name="Task").drag_to(
        graph(page).get_by_role("button", name="Sign-off")
    )
    page.get_by_role("region", name="Step task").get_by_label("Tool", exact=True).fill("printer")
    graph(page).get_by_role("button", name="Insert a step between task and done").click()
    page.get_by_role("region", name="Step task-2").get_by_label("Tool", exact=True).fill("binder")
    node = graph(page).locator('.react-flow__node[data-id="signoff"] .react-flow__handle.source')
    node.drag_to(graph(page).locator('.react-flow__node[data-id="done"] .react-flow__handle.target'), force=True)
    graph(page).get_by_role("button", name="Remove the connection between task-2 and done").click()
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
    panel.get_by_label("Approvals required").fill("2")
    panel.get_by_label("Separation of duties").fill("starter, template-author")
    panel.get_by_label("Comment").select_option("on-denial")
    panel.get_by_label("Denial codes").fill("duplicate, other")
    page.keyboard.press("Tab")
    panel.get_by_label("Denial code", exact=True).select_option("required")
    panel.get_by_role("button", name="Add a field").click()
    panel.get_by_label("Name of field 1").fill("units")
    panel.get_by_label("Type of field 1").select_option("integer")
    panel.get_by_label("Field 1 is required").check()
    panel.get_by_label("Deadline", exact=False).first.fill("PT72H")
    panel.get_by_label("On deadline").select_option("escalate")
    panel.get_by_label("Escalation deadline", exact=False).first.fill("PT24H")
    panel.get_by_label("On escalation deadline").fill("denied")
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
    page.get_by_role("region", name="Step signoff").get_by_label("Approvals required").fill("2")
    add(page, "task", "Tell them", Tool="letters")
    expect(page.get_by_text(VALID)).to_be_visible()
    saved(page)
    page.get_by_role("button", name="Compare").click()
    differences = page.get_by_role("region", name="Differences")
    expect(differences).to_contain_text("2 steps differ")
    expect(differences).to_contain_text("Tell them")
    expect(page.locator(".node.mark-changed")).to_have_count(2)
    expect(page.locator(".node.mark-added")).to_have_count(1)
    page.get_by_role("button", name="Compare").click()
    published(page)
    window.open("templates", "versions", "compare")
    expect(page.get_by_role("region", name="Differences")).to_contain_text("quorum")


def test_a_gateway_says_that_it_needs_a_condition_and_a_parallel_one_can_drop_it(window: Window) -> None:
    page = window.open("templates")
    begin(page, "Branches")
    choose(page, "Sign-off")
    add(page, "gateway", "Is it?")
    expect(page.get_by_text(VALID)).to_have_count(0)
    panel = page.get_by_role("region", name=re.compile("^Step "))
    condition = panel.get_by_label("Condition of branch 1")
    condition.fill("inputs.amount > 10")
    panel.get_by_label("Routing").select_option("parallel")
    expect(condition).to_be_visible()
    condition.fill("")
    expect(condition).to_have_count(0)


def test_a_field_keeps_what_the_builder_has_no_field_for(window: Window, company: Company) -> None:
    page = window.open("templates")
    begin(page, "Least")
    process = page.get_by_role("region", name="The process")
    process.get_by_role("button", name="Add a field").click()
    saved(page)
    made = draft(company, "least")
    amount = {"type": "number", "minimum": 0, "title": "Amount"}
    made["inputs_schema"] = {"type": "object", "properties": {"amount": amount}, "x-order": ["amount"]}
    company.send("PUT", "/process-templates/least/draft", made)
    page.reload()
    process.get_by_label("Title of field 1").fill("Sum")
    saved(page)
    stored = draft(company, "least")["inputs_schema"]["properties"]["amount"]
    assert stored == {**amount, "title": "Sum"}
