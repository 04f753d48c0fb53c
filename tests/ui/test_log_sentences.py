"""Sentences of the company log on the audit page."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from msgspec import inspect

from actors.core.autonomy import CompanyAutonomy
from actors.core.calls import Connector
from daemon.model.audit_events import LogEvent, WebhookForm
from daemon.model.events.company import CalendarForm, CompanyPolicy, HoldForm, NotificationForm
from tests.ui.test_sentences import BROKEN, UI, event, js, pytestmark

__all__ = ["pytestmark"]

NAMES = "$names"
TEXTS = UI / "src" / "text"
# These are in the service's own logs, which the page does not show.
OF_SERVICE = {"keys_changed", "company_keys_wrapped", "template_kept", "companies_adopted", "roots_recorded"}
TAGS = {inspect.type_info(one).tag for one in get_args(LogEvent)} - OF_SERVICE - {"commits_adopted"}  # type: ignore[attr-defined]


def form(email: str, role: str, status: str) -> dict[str, Any]:
    return {"email": f"{email}@a.test", "role": role, "status": status}


def changed(by: str, before: Any, after: Any, via: str = "session") -> dict[str, Any]:
    return event("member_changed", by=f"{by}@a.test", before=before, after=after, via=via)


def told(*events: dict[str, Any]) -> list[str]:
    found: list[str] = js(*(["describeLogEvent", one, NAMES] for one in events))
    return found


def test_every_event_of_a_company_has_a_sentence_of_its_own() -> None:
    kinds = sorted(TAGS - {"member_changed"})
    known = {
        "by": "ada@a.test",
        "name": "x",
        "user": "bob",
        "group": "board",
        "tool_id": "pay",
        "giver": "ann",
        "to": "eve",
    }
    sentences = told(*({**event(kind, **known), "kind": "agent", "role": "viewer"} for kind in kinds))
    for kind, sentence in zip(kinds, sentences, strict=True):
        assert sentence != kind.replace("_", " ").capitalize(), kind
        assert not BROKEN.search(sentence), sentence


def test_what_became_of_a_member_is_told() -> None:
    pending, active = form("bob", "member", "pending"), form("bob", "member", "active")
    manager, owner, removed = (
        {**active, **how} for how in ({"role": "manager"}, {"role": "owner"}, {"status": "removed"})
    )
    chief = form("ada", "owner", "active")
    assert told(
        changed("ada", None, pending),
        changed("ada", pending, {**pending, "role": "admin"}),
        changed("ada", pending, {**pending, "status": "removed"}),
        changed("bob", pending, active),
        changed("bob", None, active, via="sso"),
        changed("ada", active, manager),
        changed("ada", active, removed),
        changed("bob", active, removed),
        changed("ada", active, owner),
        changed("ada", chief, {**chief, "role": "admin"}),
    ) == [
        "invited bob as a member",
        "invited bob again as an admin",
        "withdrew the invitation of bob",
        "joined as a member",
        "joined as a member by single sign-on",
        "changed the role of bob from member to manager",
        "removed bob",
        "left the company",
        "handed the company over to bob",
        "became an admin, no longer the owner",
    ]


def test_how_somebody_signed_in_or_failed_to_is_told() -> None:
    assert told(
        {**event("logged_in", by="a", via="password"), "kind": "page"},
        {**event("logged_in", by="a", via="sso"), "kind": "api"},
        event("login_refused", by="a", reason="invalid_credentials"),
        event("login_refused", by="a", reason="second_factor"),
        event("password_changed", by="a", via="reset"),
        event("second_factor_changed", by="a", change="reset", user="gone"),
        event("second_factor_changed", by="a", change="recovery_code_used", user="bob"),
    ) == [
        "signed in",
        "signed in as an API client by single sign-on",
        "failed to sign in: wrong password",
        "failed to sign in: wrong code of the second factor",
        "set a new password with a mailed link",
        "reset the second factor of a member",
        "used a recovery code in place of the second factor",
    ]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (None, ["ada", "bob"], ["Added: ada and bob"]),
        (["ada", "gone"], ["ada", "bob"], ["Added: bob", "Removed: a former member"]),
        (["ada"], None, ["Removed: ada"]),
    ],
)
def test_who_came_into_a_group_and_who_left_is_told(before: Any, after: Any, lines: list[str]) -> None:
    changed_group = event("group_changed", by="a", group="board", before=before, after=after)
    assert js(["describeChanges", changed_group, NAMES]) == [lines]


PROPERTIES = [*Connector.__struct_fields__, *WebhookForm.__struct_fields__, *NotificationForm.__struct_fields__]
SETTINGS = [*CompanyPolicy.__struct_fields__, *CompanyAutonomy.__struct_fields__, *CalendarForm.__struct_fields__]


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_each_property_that_the_log_tells_of_has_a_name_in_each_language(language: str) -> None:
    named = set(re.findall(r'"property\.(\w+)":', (TEXTS / language / "audit.ts").read_text()))
    assert {*PROPERTIES, *SETTINGS, *HoldForm.__struct_fields__} - named == {"tool_id", "version"}


def test_the_record_of_a_webhook_has_its_address_without_what_is_sealed() -> None:
    after = {"enabled": True, "events": None, "url": "https://example.test/\u2026#sealed:Au8yXCWGck"}
    told = js(["describeChanges", event("webhook_changed", before=None, after=after), {}])[0]
    assert "URL: https://example.test/\u2026" in told


def test_who_fills_a_function_and_what_is_left_out_are_told() -> None:
    filled = {"functions": {"medical-director": {"groups": ["physicians"], "members": ["bob", "gone"]}}}
    changed = event("functions_changed", by="ada@a.test", before={"functions": {}}, after=filled)
    assert told(changed, event("withheld", withheld="run_redacted")) == [
        "changed who fills the functions of the company",
        "made an entry about a run that is closed to you: Run redacted",
    ]
    assert js(["describeChanges", changed, NAMES]) == [["medical-director: nobody → physicians, bob, a former member"]]
