"""Section 1: what was answered once is answered again, whatever has become of templates, roles and
forms meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.ports import Receipt
from daemon.web.idempotency import fingerprint
from daemon.web.routes import ROUTES
from tests.web.conftest import TEMPLATES
from tests.web.support import Answer, FarSide, House, Person, assert_invalid, assert_problem
from tests.web.test_idempotency import LINE, assert_again
from tests.web.test_tokens import forged

NEVER = "01999999-0000-7000-8000-000000000000"
NOTHING_CHANGES = {"/connectors/{tool_id}/test", "/webhooks/{webhook_id}/test", "/process-templates/validate"}
ONCE = "/callbacks/{token}"
"""Its address works once."""
NOTHING_CHANGES |= {
    ONCE,
    "/notifications/{notification_id}/test",
    "/process-templates/try",
    "/process-templates/import-bpmn",
    "/process-templates/draft-from-text",
    "/companies/{company_id}/action-rules/try",
}
FORGOTTEN = {"a member": "that this version does not know"}


def posts() -> Iterator[str]:
    """The address of every POST that changes something, but those under /auth/."""
    for method, path, _ in ROUTES:
        if method == "POST" and not path.startswith("/auth/") and path not in NOTHING_CHANGES:
            yield (
                path.rstrip("/")
                .replace("{run_id}", NEVER)
                .replace("{webhook_id}", NEVER)
                .replace("{notification_id}", NEVER)
                .replace("{vertical}", "line")
                .replace("{version}", "7")
                .replace("{step_id}", "signoff")
                .replace("{change_id}", NEVER)
                .replace("{action_id}", NEVER)
                .replace("{question_id}", NEVER)
                .replace("{delivery_id}", "msg_none")
            )


async def reopened(house: House, folder: Path, *templates: str) -> None:
    """Open the house again with a folder of other templates."""
    await asyncio.to_thread(_filled, folder, templates)
    await house.close()
    house.settings = house.settings.model_copy(update={"templates_dir": folder})
    await house.open()


def _filled(folder: Path, templates: tuple[str, ...]) -> None:
    folder.mkdir()
    for number, text in enumerate(templates):
        (folder / f"{number}.yaml").write_text(text)


def template(name: str) -> str:
    return (TEMPLATES / f"{name}.yaml").read_text()


async def one_of_each(ann: Person) -> list[tuple[str, Any, Answer]]:
    """A start, a verdict, a refused verdict, a retry and a cancellation under keys: path, body,
    answer.
    """
    first = await ann.post("/process-runs/", LINE, Idempotency_Key="k")
    other = await ann.start("line", {"amount": 5})
    one, two = (f"/process-runs/{run['id']}" for run in (first.json, other))
    asked = [
        (f"{one}/resume", {"gate": "signoff", "decision": "approved"}),
        (f"{two}/resume", {"gate": "pay", "decision": "approved"}),
        (f"{two}/cancel", {"reason": "by mistake"}),
        (f"{two}/retry", None),
    ]
    answered = [(path, body, await ann.post(path, body, Idempotency_Key="k")) for path, body in asked]
    assert [answer.status for _, _, answer in answered] == [200, 409, 200, 409]
    return [("/process-runs/", LINE, first), *answered]


async def test_a_repeat_is_answered_after_a_new_version_that_would_refuse_it(ann: Person, tmp_path: Path) -> None:
    answered = await one_of_each(ann)
    stricter = template("line").replace("version: 1", "version: 2").replace("minimum: 0", "minimum: 6")
    await reopened(ann.house, tmp_path / "new", stricter)
    assert_invalid(await ann.post("/process-runs/", LINE), "/inputs/amount")
    for path, body, first in answered:
        assert_again(first, await ann.post(path, body, Idempotency_Key="k"))
    assert answered[0][2].json["template"]["version"] == 1
    assert len((await ann.get("/process-runs/")).json) == 2


async def test_a_repeat_is_answered_after_its_template_was_removed(ann: Person, tmp_path: Path) -> None:
    answered = await one_of_each(ann)
    await reopened(ann.house, tmp_path / "new", template("quick"))
    assert_problem(await ann.post("/process-runs/", LINE), 404, "not_found")
    for path, body, first in answered:
        assert_again(first, await ann.post(path, body, Idempotency_Key="k"))
    again = await ann.post("/process-runs/", {**LINE, "auto_resolve": False}, Idempotency_Key="k")
    assert_problem(again, 422, "idempotency_key_reused")


async def test_what_was_applied_before_its_template_was_removed_is_answered_after_it(
    ann: Person, far: FarSide, tmp_path: Path
) -> None:
    far.open.clear()
    await ann.connect("answers", far.url)
    begun = await ann.post("/process-runs/", {"vertical": "quick"}, Idempotency_Key="k", Prefer="respond-async")
    far.open.set()
    await reopened(ann.house, tmp_path / "new", template("line"))
    assert_again(begun, await ann.post("/process-runs/", {"vertical": "quick"}, Idempotency_Key="k"))


async def test_a_repeat_is_answered_to_who_may_still_do_it(ann: Person) -> None:
    answered = await one_of_each(ann)
    lowered = Person(ann.house, {**ann.session, "token": forged(ann, role="member")})
    for path, body, first in answered:
        again = await lowered.post(path, body, Idempotency_Key="k")
        if path.endswith(("/resume", "/cancel")):
            assert_problem(again, 403, "forbidden")
        else:
            assert_again(first, again)


async def test_a_webhook_is_answered_again_when_it_and_its_address_are_no_longer_allowed(
    ann: Person, far: FarSide
) -> None:
    house, body = ann.house, {"url": far.url}
    first = await ann.post("/webhooks/", body, Idempotency_Key="k")
    assert (await ann.delete(f"/webhooks/{first.json['id']}")).status == 204
    await house.close()
    house.settings = house.settings.model_copy(update={"egress_allow": ""})
    await house.open()
    assert_invalid(await ann.post("/webhooks/", body), "/url")
    assert_again(first, await ann.post("/webhooks/", body, Idempotency_Key="k"))


@pytest.mark.parametrize("path", list(posts()))
async def test_every_post_that_changes_something_looks_at_its_receipt_before_anything_else(
    ann: Person, path: str
) -> None:
    """A receipt of an earlier version, whose body this one refuses, of a run or webhook that nobody
    knows.
    """
    path = path.replace("{company_id}", ann.session["company"]["id"])
    assert (await ann.post(path, FORGOTTEN, Idempotency_Key="other")).status in {404, 422}
    caller = ann.session["user"]["id"]
    place, kept = (ann.session["company"]["id"], path, f"{caller}\nk"), b'{"said":"by an earlier version"}'
    if path == "/webhooks":  # its receipts hold a sealed secret
        kept = (await _webhook_receipt(ann)).body
    receipt = Receipt(*place, fingerprint(FORGOTTEN), None, None if path == "/webhooks" else 200, "{}", kept)
    await ann.house.services.store.keep_receipt(receipt)
    again = await ann.post(path, FORGOTTEN, Idempotency_Key="k")
    assert again.status in {200, 201}, again.raw
    assert again.headers["Idempotency-Replayed"] == "true"
    assert_problem(await ann.post(path, {}, Idempotency_Key="k"), 422, "idempotency_key_reused")


async def _webhook_receipt(ann: Person) -> Receipt:
    made = await ann.post("/webhooks/", {"url": "http://127.0.0.1:9/"}, Idempotency_Key="made")
    assert made.status == 201, made.raw
    place = (ann.session["company"]["id"], "/webhooks", f"{ann.session['user']['id']}\nmade")
    found = await ann.house.services.store.receipt(*place)
    assert found is not None
    return found


async def test_a_request_that_was_refused_before_anything_was_recorded_may_be_sent_right_under_its_key(
    ann: Person,
) -> None:
    assert_invalid(
        await ann.post("/process-runs/", {**LINE, "inputs": {"amount": "5"}}, Idempotency_Key="k"), "/inputs/amount"
    )
    assert (await ann.post("/process-runs/", LINE, Idempotency_Key="k")).status == 201
