"""Connectors, shadow and live, and the audit page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

from daemon.cli import app
from tests.ui.browser import Window
from tests.ui.endpoint import Endpoint
from tests.ui.service import Company


def test_turning_a_tool_live_says_what_that_means_and_asks_once_more(window: Window, company: Company) -> None:
    page = window.open("connectors", "loan-fund")
    page.get_by_label("Base URL").fill("https://bank.example.com")
    page.get_by_label("Path").fill("/pay")
    page.get_by_label("Live: send calls").check()
    page.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("https://bank.example.com/pay")
    dialog.get_by_role("button", name="Keep the dry run").click()
    assert company.send("GET", "/connectors/") == []
    page.get_by_role("button", name="Save").click()
    dialog.get_by_role("button", name="Switch to live").click()
    expect(page.locator(".heading .badge")).to_have_text("Live")
    (stored,) = company.send("GET", "/connectors/")
    assert stored["reversible"] is True
    window.open("connectors")
    expect(page.locator(".row").first).to_contain_text("Live")


def test_a_secret_is_kept_and_never_shown(window: Window, company: Company) -> None:
    page = window.open("connectors", "loan-fund")
    page.get_by_label("Base URL").fill("https://bank.example.com")
    page.get_by_label("Authentication").select_option("bearer")
    page.get_by_label("Token").fill("s3cret-of-the-bank")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Leave this empty to keep it")).to_be_visible()
    expect(page.get_by_label("Token")).to_have_value("")
    page.get_by_label("Path").fill("/v2")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    (stored,) = company.send("GET", "/connectors/")
    assert (stored["path"], stored["auth_token_set"]) == ("/v2", True)
    assert "s3cret" not in page.content()


def test_a_mistake_in_a_connector_is_said_beside_the_field(window: Window) -> None:
    page = window.open("connectors", "loan-fund")
    page.get_by_label("Base URL").fill("ftp://bank.example.com")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".field.wrong")).to_contain_text("http or https")


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("Base URL", "ftp://bank.example.com"),
        ("Base URL", "https://ada:secret@bank.example.com"),
        ("Path", "/pay/{id"),
        ("Timeout (seconds)", "soon"),
        ("Body mapping", "amount"),
    ],
)
def test_consent_is_asked_for_when_the_rest_is_right(window: Window, company: Company, label: str, value: str) -> None:
    page = window.open("connectors", "loan-fund")
    page.get_by_label("Base URL").fill("https://bank.example.com")
    page.get_by_text("Request and response mapping").click()
    page.get_by_label(label).fill(value)
    page.get_by_label("Live: send calls").check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".field.wrong")).to_have_count(1)
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Send test call").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert company.send("GET", "/connectors/") == []


def test_a_secret_that_is_missing_is_said_before_consent(window: Window) -> None:
    page = window.open("connectors", "loan-fund")
    page.get_by_label("Base URL").fill("https://bank.example.com")
    page.get_by_label("Authentication").select_option("bearer")
    page.get_by_label("Live: send calls").check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".field.wrong")).to_contain_text("Required")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_test_says_what_it_sends_and_asks_first(window: Window, company: Company, endpoint: Endpoint) -> None:
    target = endpoint.connector("/pay", auth_type="bearer", auth_token="s3cret", reversible=False)
    company.send("PUT", "/connectors/loan-fund", target)
    page = window.open("connectors", "loan-fund")
    page.get_by_role("button", name="Send test call").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"POST {endpoint.url}/pay")
    expect(dialog).to_contain_text("It carries the stored secret")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert endpoint.calls == []
    page.get_by_role("button", name="Send test call").click()
    dialog.get_by_role("button", name="Send POST").click()
    expect(page.get_by_text("The endpoint responded")).to_be_visible()
    assert endpoint.calls == [("POST", "/pay", "Bearer s3cret")]


def test_a_call_is_tried_with_samples_and_shows_what_a_run_would_keep(
    window: Window, company: Company, endpoint: Endpoint
) -> None:
    page = window.open("connectors", "loan-fund")
    page.get_by_label("Base URL").fill(endpoint.url)
    page.get_by_label("Path").fill("/members/{inputs.member}")
    page.get_by_text("Request and response mapping").click()
    page.get_by_label("Body mapping").fill("sum = inputs.sum")
    page.get_by_label("Headers").fill("X-Team = loans")
    page.get_by_text("Sample values for the test call").click()
    page.get_by_label("Sample inputs").fill('{"sum": 3}')
    page.get_by_role("button", name="Send test call").click()
    expect(page.get_by_text("The samples lack inputs.member")).to_be_visible()
    page.get_by_label("Sample inputs").fill('{"member": "M/1", "sum": 3}')
    page.get_by_role("button", name="Send test call").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"POST {endpoint.url}/members/M%2F1")
    assert endpoint.calls == []
    dialog.get_by_role("button", name="Send POST").click()
    expect(page.get_by_text("What a run keeps of it")).to_be_visible()
    assert endpoint.calls == [("POST", "/members/M%2F1", None)]
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    stored = company.send("GET", "/connectors/loan-fund")
    assert (stored["path"], stored["headers"]) == ("/members/{inputs.member}", {"X-Team": "loans"})


def test_a_client_of_oauth_says_where_its_tokens_are(window: Window, company: Company) -> None:
    page = window.open("connectors", "loan-fund")
    page.get_by_label("Base URL").fill("https://bank.example.com")
    page.get_by_label("Authentication").select_option("oauth2")
    page.get_by_label("Client secret").fill("s3cret")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".field.wrong")).to_have_count(2)
    page.get_by_label("Token URL").fill("https://login.example.com/token")
    page.get_by_label("Client ID").fill("penstock")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    stored = company.send("GET", "/connectors/loan-fund")
    assert (stored["token_url"], stored["auth_token_set"]) == ("https://login.example.com/token", True)


def test_a_get_without_a_secret_is_tried_at_once(window: Window, endpoint: Endpoint) -> None:
    page = window.open("connectors", "loan-fund")
    page.get_by_label("Base URL").fill(endpoint.url)
    page.get_by_label("Method").select_option("GET")
    page.get_by_role("button", name="Send test call").click()
    expect(page.get_by_text("The endpoint responded")).to_be_visible()
    assert endpoint.calls == [("GET", "/", None)]


def test_a_get_with_the_stored_secret_asks_first(window: Window, company: Company, endpoint: Endpoint) -> None:
    target = endpoint.connector("", method="GET", auth_type="bearer", auth_token="s3cret")
    company.send("PUT", "/connectors/loan-fund", target)
    page = window.open("connectors", "loan-fund")
    page.get_by_role("button", name="Send test call").click()
    expect(page.get_by_role("dialog")).to_contain_text("It carries the stored secret")
    assert endpoint.calls == []


def test_a_connector_is_removed_after_a_question(window: Window, company: Company) -> None:
    company.send("PUT", "/connectors/loan-fund", {"base_url": "https://bank.example.com"})
    page = window.open("connectors", "loan-fund")
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove it").click()
    expect(page.get_by_role("heading", name="Connectors")).to_be_visible()
    assert company.send("GET", "/connectors/") == []


def test_the_history_of_the_company_is_told_newest_first_and_filtered(window: Window, company: Company) -> None:
    first = company.start("prior-auth")
    company.start("fork")
    company.resume(first, "signoff", comment="Seen by the board")
    page = window.open("audit")
    entries = page.locator(".history > li")
    expect(entries).to_have_count(5)
    expect(entries.first).to_contain_text("approved “Medical director sign-off”")
    page.get_by_label("Show").select_option("starts")
    expect(entries).to_have_count(2)
    page.get_by_label("Show").select_option("people")
    page.get_by_label("Step, tool, run or text").fill("board")
    expect(entries).to_have_count(1)
    expect(page.get_by_text("1 entry found.")).to_be_visible()
    assert page.url.endswith("#/audit?q=board")
    page.reload()
    expect(entries).to_have_count(1)


def test_the_audit_tells_of_log_ins_and_changes_of_connectors_too(window: Window, company: Company) -> None:
    put = {"base_url": "https://bank.example.com", "auth_type": "bearer", "auth_token": "very secret"}
    company.send("PUT", "/connectors/loan-fund", put)
    company.send("PUT", "/connectors/loan-fund", {**put, "reversible": True})
    company.start("prior-auth")
    page = window.open("audit")
    entries = page.locator(".history > li")
    page.get_by_label("Show").select_option("connectors")
    expect(entries).to_have_count(2)
    expect(entries.first).to_contain_text("changed the connector of “loan-fund”")
    expect(entries.first).to_contain_text("Mode: dry run → live")
    expect(entries.last).to_contain_text("Base URL: https://bank.example.com")
    expect(page.get_by_text("very secret")).to_have_count(0)
    page.get_by_label("Show").select_option("sessions")
    expect(entries.first).to_contain_text("signed in")


def test_the_audit_says_when_it_shows_a_part(window: Window, company: Company) -> None:
    for _ in range(70):
        company.send("PUT", "/connectors/loan-fund", {"base_url": "https://bank.example.com"})
        company.send("DELETE", "/connectors/loan-fund")
    for _ in range(35):
        company.send("PUT", "/connectors/loan-fund", {"base_url": "https://bank.example.com"})
        company.start("both")
        company.send("DELETE", "/connectors/loan-fund")
    page = window.open("audit")
    page.get_by_label("Show").select_option("all")
    extent, entries = page.get_by_role("status").filter(has_text=" found"), page.locator(".history > li")
    expect(extent).to_contain_text("The newest ")
    page.get_by_label("Show").select_option("connectors")
    expect(extent).to_contain_text("The newest 60 entries found, since ")
    for _ in range(9):
        if page.get_by_text("210 entries found.").is_visible():
            break
        page.get_by_role("button", name="Show earlier").click()
        expect(page.get_by_role("button", name="Loading…")).to_have_count(0)
    expect(entries).to_have_count(210)
    expect(extent).to_have_text("210 entries found.")


def test_the_evidence_of_a_run_is_saved_and_verified_offline(window: Window, company: Company, tmp_path: Path) -> None:
    run = company.start("prior-auth")
    company.resume(run, "signoff", comment="Geprüft: 雪")
    page = window.open("runs", run["id"])
    for name, file in (("Download the audit evidence", "run.json"), ("Public keys", "audit.pub")):
        with page.expect_download() as saved:
            page.get_by_role("button", name=name).click()
        saved.value.save_as(tmp_path / file)
        page = window.open("audit")
    arguments = ["verify", str(tmp_path / "run.json"), "--key", str(tmp_path / "audit.pub")]
    sound = CliRunner().invoke(app, arguments)
    assert sound.exit_code == 0, sound.output
    assert sound.output.startswith(f"sound: run {run['id']} of company ")
    whole = (tmp_path / "run.json").read_bytes()
    (tmp_path / "run.json").write_bytes(whole.replace("Geprüft".encode(), "Gefälscht".encode(), 1))
    assert CliRunner().invoke(app, arguments).exit_code == 1


def test_the_export_is_saved_whole(window: Window, company: Company, tmp_path: Path) -> None:
    company.start("prior-auth")
    page = window.open("audit")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export everything").click()
    file = tmp_path / "export"
    saved.value.save_as(file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines[0]["format"] == "penstock-audit-1"
    assert "checkpoint" in lines[-1]
    page.reload()
    expect(page.get_by_text("commits")).to_be_visible()


def test_a_run_that_failed_says_why_and_goes_on_from_there(window: Window, company: Company) -> None:
    company.send("PUT", "/connectors/chart-fetch", {"base_url": "http://127.0.0.1:9", "reversible": True, "retries": 0})
    run = company.start("prior-auth")
    page = window.open("runs", run["id"])
    expect(page.locator(".heading .badge")).to_have_text("Failed")
    expect(page.get_by_text("“Pull the chart” failed")).to_be_visible()
    expect(page.locator(".node.state-failed")).to_have_count(1)
    company.send("DELETE", "/connectors/chart-fetch")
    page.get_by_role("button", name="Retry from the failed step").click()
    expect(page.get_by_role("link", name="Decide: Authorize 72148 for member M-204417?")).to_be_visible()


def test_the_evidence_of_a_run_is_saved(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = window.open("runs", run["id"])
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the audit evidence").click()
    assert json.loads(saved.value.path().read_text())["run_id"] == run["id"]


def test_a_step_of_the_picture_opens_what_it_sent_and_got(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = window.open("runs", run["id"])
    page.get_by_role("button", name="Match the clinical criteria").first.press("Enter")  # the picture may move
    detail = page.locator(".detail")
    expect(detail).to_contain_text("Met")
    expect(detail).to_contain_text("This call was not sent")
    expect(detail).to_be_focused()


def test_a_run_that_needed_nobody_says_so(window: Window, company: Company) -> None:
    page = window.open("runs", company.start("refund")["id"])
    expect(page.get_by_text("Completed without a decision")).to_be_visible()


LONG = "1234567890123456789"


def test_a_sample_is_sent_with_all_its_digits(window: Window, company: Company, endpoint: Endpoint) -> None:
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/pay", body_map={"amount": "inputs.amount"}))
    page = window.open("connectors", "loan-fund")
    page.get_by_text("Sample values").click()
    page.get_by_label("Sample inputs").fill(f'{{"amount": {LONG}}}')
    page.get_by_role("button", name="Send test call").click()
    expect(page.get_by_role("dialog")).to_contain_text("1,234,567,890,123,456,789")


def test_samples_that_cannot_be_read_are_said_at_their_own_field_however_folded(
    window: Window, company: Company, endpoint: Endpoint
) -> None:
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/pay"))
    page = window.open("connectors", "loan-fund")
    fold = page.get_by_text("Sample values")
    fold.click()
    page.get_by_label("Sample facts").fill("[1]")
    expect(page.get_by_label("Sample inputs")).to_have_attribute("aria-invalid", "false")
    expect(page.get_by_label("Sample facts")).to_have_attribute("aria-invalid", "true")
    fold.click()
    expect(page.get_by_label("Sample facts")).not_to_be_visible()
    page.get_by_role("button", name="Send test call").click()
    page.locator(".field-errors").get_by_role("button").click()
    expect(page.get_by_label("Sample facts")).to_be_focused()


def test_the_record_has_each_digit_of_a_constant(window: Window, company: Company, endpoint: Endpoint) -> None:
    more = {"body_map": {"amount": {"value": 1234567890123456789}}}
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/pay", **more))
    page = window.open("audit")
    expect(page.locator(".history")).to_contain_text('{"amount":{"value":1234567890123456789}}')


def test_what_a_colleague_changed_of_a_connector_meanwhile_is_not_undone(
    window: Window, company: Company, endpoint: Endpoint
) -> None:
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/old", reversible=False))
    page = window.open("connectors", "loan-fund")
    expect(page.get_by_label("Path")).to_have_value("/old")
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/new", reversible=False))
    page.get_by_label("The endpoint supports Idempotency-Key").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Ada Marsh changed this connector meanwhile. Nothing is saved.")).to_be_visible()
    stored = company.send("GET", "/connectors/loan-fund")
    assert (stored["path"], stored["idempotent"]) == ("/new", False)
    page.get_by_role("button", name="Show the current one").click()
    expect(page.get_by_label("Path")).to_have_value("/new")
    page.get_by_label("The endpoint supports Idempotency-Key").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    stored = company.send("GET", "/connectors/loan-fund")
    assert (stored["path"], stored["idempotent"]) == ("/new", True)
