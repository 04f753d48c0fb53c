"""Webhooks over HTTP: made, read, changed, forgotten, tried; what was delivered, and whose it
is.
"""

from __future__ import annotations

import asyncio
import base64
import sqlite3
from contextlib import closing
from typing import Any, get_args

import pytest

from actors.core.canonical import canonical
from actors.core.messages import Event
from daemon.contract.events import EventType, WebhookType
from tests.web.people import colleague
from tests.web.support import PATIENCE_S, Answer, FarSide, House, Person, Seen, assert_invalid, assert_problem
from tests.webhooks.conftest import Got, verified

FIELDS = {"id", "url", "events", "description", "enabled", "disabled_reason", "failures"}
TIMES = {"created_at", "updated_at", "updated_by"}


async def made(person: Person, url: str, **fields: Any) -> Any:
    answer = await person.post("/webhooks/", {"url": url, **fields})
    assert answer.status == 201, answer.raw
    return answer.json


async def delivered(person: Person, hook: Any, number: int) -> list[Any]:
    """The deliveries, as soon as so many are delivered."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await person.get(f"/webhooks/{hook['id']}/deliveries?limit=200")).json
            if sum(one["status"] == "delivered" for one in found) >= number:
                return list(found)


async def test_a_new_webhook_shows_its_secret_once(ann: Person, far: FarSide) -> None:
    answer = await ann.post("/webhooks", {"url": f"{far.url}/in", "events": ["run_ended"], "description": "ours"})
    hook = answer.json
    assert answer.headers["Location"] == f"/webhooks/{hook['id']}"
    assert hook.keys() == FIELDS | TIMES | {"secret"}
    assert (hook["url"], hook["events"], hook["description"]) == (f"{far.url}/…", ["run_ended"], "ours")
    assert (hook["enabled"], hook["disabled_reason"], hook["failures"]) == (True, None, 0)
    assert 24 <= len(base64.b64decode(hook["secret"].removeprefix("whsec_"))) <= 64
    shown = (await ann.get(f"/webhooks/{hook['id']}")).json
    assert shown == {name: value for name, value in hook.items() if name != "secret"}
    assert (await ann.get("/webhooks/")).json == [shown]


def signers(seen: Seen, *secrets: str) -> list[bool]:
    """Whether a message has a signature by each of these secrets."""
    headers = {name.lower(): value for name, value in seen.headers.items()}
    return [verified(one, Got("/", headers, canonical(seen.body).encode())) for one in secrets]


async def rotated(person: Person, one: Any, overlap_s: int, where: str = "webhooks", **headers: str) -> Answer:
    return await person.post(f"/{where}/{one['id']}/secret/rotate", {"overlap_s": overlap_s}, **headers)


async def test_both_secrets_sign_until_the_overlap_ends(ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url)
    new = await rotated(ann, hook, 3_600)
    assert (new.status, new.json.keys()) == (200, {"secret", "overlap_until"})
    await ann.post(f"/webhooks/{hook['id']}/test")
    third = (await rotated(ann, hook, 3_600)).json["secret"]
    await ann.post(f"/webhooks/{hook['id']}/test")
    last = (await rotated(ann, hook, 0)).json["secret"]
    await ann.post(f"/webhooks/{hook['id']}/test")
    secrets = (hook["secret"], new.json["secret"], third, last)
    assert [signers(one, *secrets) for one in far.seen] == [
        [True, True, False, False],
        [True, True, True, False],
        [False, False, False, True],
    ]


async def test_a_rotation_leaves_id_deliveries_and_settings_alone_and_is_in_the_log(ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url)
    far.open.clear()
    await ann.start("line", {"amount": 1})
    waiting = len((await ann.get(f"/webhooks/{hook['id']}/deliveries")).json)
    new = (await rotated(ann, hook, 60)).json["secret"]
    far.open.set()
    assert len(await delivered(ann, hook, max(1, waiting))) >= waiting
    shown = (await ann.get(f"/webhooks/{hook['id']}")).json
    same = shown.keys() - {"updated_at", "failures"}
    assert {name: shown[name] for name in same} == {name: hook[name] for name in same}
    assert new not in (await ann.get("/audit/log?limit=200")).raw.decode()


async def test_a_rotation_is_answered_again_with_its_secret_and_only_to_who_asked(ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url)
    first = await rotated(ann, hook, 60, Idempotency_Key="k")
    again = await rotated(ann, hook, 60, Idempotency_Key="k")
    assert (again.status, again.raw) == (200, first.raw)
    vic = await colleague(ann, "vic", "viewer")
    assert_problem(await rotated(vic, hook, 60, Idempotency_Key="k"), 403, "forbidden")
    assert_problem(await rotated(ann, {"id": "none"}, 60), 404, "not_found")
    assert_invalid(await rotated(ann, hook, -1), "/overlap_s")


@pytest.mark.sqlite
async def test_no_secret_is_kept_in_clear(ann: Person, far: FarSide, house: House) -> None:
    body = {"url": far.url}
    hook = (await ann.post("/webhooks/", body, Idempotency_Key="once")).json
    secret = hook["secret"].removeprefix("whsec_")
    await house.close()
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db:
        whole = "\n".join(db.iterdump())
    await house.open()
    assert hook["id"] in whole
    for form in (secret, base64.b64decode(secret).hex(), secret.encode().hex()):
        assert form.lower() not in whole.lower()


async def test_the_same_key_makes_one_webhook_and_is_answered_alike(ann: Person, far: FarSide, house: House) -> None:
    body = {"url": far.url, "events": None}
    first = await ann.post("/webhooks/", body, Idempotency_Key="once")
    again = await asyncio.gather(*(ann.post("/webhooks/", body, Idempotency_Key="once") for _ in range(3)))
    await house.restart()
    again.append(await ann.post("/webhooks", body, Idempotency_Key="once"))
    for one in again:
        assert (one.status, one.raw, one.headers["Idempotency-Replayed"]) == (201, first.raw, "true")
        assert one.headers["Location"] == first.headers["Location"]
    assert len((await ann.get("/webhooks/")).json) == 1
    other = await ann.post("/webhooks/", {"url": f"{far.url}/else"}, Idempotency_Key="once")
    assert_problem(other, 422, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/url"),
        ({"url": "nowhere"}, "/url"),
        ({"url": "ftp://hooks.test"}, "/url"),
        ({"url": "https://user:pass@hooks.test"}, "/url"),
        ({"url": "https://hooks.test/#part"}, "/url"),
        ({"url": "http://10.0.0.1/"}, "/url"),
        ({"url": "http://169.254.169.254/latest"}, "/url"),
        ({"url": "http://[::1]/"}, "/url"),
        ({"url": "http://127.1/"}, "/url"),
        ({"url": "https://hooks.test", "events": []}, "/events"),
        ({"url": "https://hooks.test", "events": ["run_finished"]}, "/events/0"),
        ({"url": "https://hooks.test", "event": None}, "/event"),
    ],
)
async def test_what_is_no_webhook_is_422(ann: Person, body: Any, pointer: str) -> None:
    assert_invalid(await ann.post("/webhooks/", body), pointer)
    assert (await ann.get("/webhooks/")).json == []


async def test_a_company_has_a_bounded_number_of_webhooks(ann: Person, eve: Person, far: FarSide) -> None:
    for _ in range(20):
        await made(ann, far.url)
    refused = await ann.post("/webhooks/", {"url": far.url})
    assert_problem(refused, 507, "quota_exceeded", limit=20, budget="company_webhooks")
    await made(eve, far.url)
    first = await ann.get("/webhooks/?limit=15")
    rest = await ann.get(first.headers["Link"].partition(">")[0].removeprefix("<"))
    assert (len(first.json), len(rest.json), "Link" in rest.headers) == (15, 5, False)


async def test_a_webhook_is_changed_and_forgotten(ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url, events=["run_ended"], description="ours")
    answer = await ann.put(f"/webhooks/{hook['id']}", {"url": f"{far.url}/else"})
    assert (answer.status, answer.json["url"]) == (200, f"{far.url}/…")
    assert (answer.json["events"], answer.json["description"]) == (None, None)
    assert answer.json["created_at"] == hook["created_at"]
    assert (await ann.delete(f"/webhooks/{hook['id']}")).status == 204
    for gone in (await ann.delete(f"/webhooks/{hook['id']}"), await ann.get(f"/webhooks/{hook['id']}")):
        assert_problem(gone, 404, "not_found")
    assert (await ann.get("/webhooks/")).json == []


async def test_each_change_is_an_event_of_the_companys_log_without_the_secret(ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url)
    await ann.put(f"/webhooks/{hook['id']}", {"url": f"{far.url}/else"})
    await ann.delete(f"/webhooks/{hook['id']}")
    export = await ann.get("/audit/export")
    lines = [line for line in export.raw.splitlines() if b"webhook_changed" in line]
    assert len(lines) == 3
    assert all(hook["id"].encode() in line and ann.email.encode() in line for line in lines)
    assert hook["secret"].removeprefix("whsec_").encode() not in export.raw
    assert all(b'"action":"change_webhook"' in line for line in lines)
    assert all(b"/else" not in line for line in lines)
    assert b"#sealed:" in lines[1]


async def test_a_run_is_told_as_it_goes(ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url, events=["gate_opened", "run_ended"])
    run = await ann.start("line", {"amount": 5})
    await ann.resume(run, "signoff")
    ended, opened = await delivered(ann, hook, 2)
    assert (opened["type"], ended["type"]) == ("gate_opened", "run_ended")
    assert {one["run_id"] for one in (opened, ended)} == {run["id"]}
    assert (ended["attempts"], ended["status_code"], ended["error"], ended["next_attempt_at"]) == (1, 200, None, None)
    assert ended["last_attempt_at"] >= ended["created_at"]
    by_id = {one.headers["webhook-id"]: one.body for one in far.seen}
    whole = {one["id"]: one for one in (await ann.get("/events?limit=200")).json}
    for one in (opened, ended):
        assert by_id[one["id"]]["data"] == whole[one["event_id"]]


async def test_deliveries_are_read_page_by_page_newest_first(ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url)
    run = await ann.start("line", {"amount": 5})
    whole = await delivered(ann, hook, run["version"])
    path, found = f"/webhooks/{hook['id']}/deliveries/?limit=2", []
    while path:
        answer = await ann.get(path)
        found += [one["seq"] for one in answer.json]
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert found == [one["seq"] for one in whole] == list(range(run["version"], 0, -1))


async def test_a_delivery_is_sent_again_on_request(ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url, events=["run_ended"])
    await ann.start("quick")
    (one,) = await delivered(ann, hook, 1)
    path = f"/webhooks/{hook['id']}/deliveries/{one['id']}/redeliver"
    answer = await ann.post(path, Idempotency_Key="again")
    assert (answer.status, answer.json["id"], answer.json["status"]) == (202, one["id"], "pending")
    again = await ann.post(path, Idempotency_Key="again")
    assert (again.status, again.raw, again.headers["Idempotency-Replayed"]) == (202, answer.raw, "true")
    (after,) = await delivered(ann, hook, 1)
    assert after["attempts"] == 2
    assert [seen.headers["webhook-id"] for seen in far.seen] == [one["id"]] * 2
    assert_problem(await ann.post(f"/webhooks/{hook['id']}/deliveries/msg_none/redeliver"), 404, "not_found")


async def test_a_test_says_how_it_went(ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url)
    good = (await ann.post(f"/webhooks/{hook['id']}/test")).json
    assert (good["ok"], good["status_code"], good["error"]) == (True, 200, None)
    assert good["latency_ms"] >= 0
    far.status = 500
    bad = (await ann.post(f"/webhooks/{hook['id']}/test", {})).json
    assert (bad["ok"], bad["status_code"], bad["error"]) == (False, 500, "The far side answered 500.")
    assert [seen.body["type"] for seen in far.seen] == ["webhook.test"] * 2
    assert (await ann.get(f"/webhooks/{hook['id']}/deliveries")).json == []


async def test_another_companys_webhook_looks_like_none_to_the_byte(ann: Person, eve: Person, far: FarSide) -> None:
    hook = await made(ann, far.url, events=["run_ended"])
    await ann.start("quick")
    (one,) = await delivered(ann, hook, 1)
    none = "01990000-0000-7000-8000-000000000000"

    async def asked(webhook_id: str, method: str, rest: str, body: Any = None) -> Answer:
        return await eve.send(method, f"/webhooks/{webhook_id}{rest}", body, X_Request_ID="same")

    for method, rest, body in (
        ("GET", "", None),
        ("PUT", "", {"url": far.url}),
        ("DELETE", "", None),
        ("GET", "/deliveries", None),
        ("POST", "/test", None),
        ("POST", f"/deliveries/{one['id']}/redeliver", None),
    ):
        theirs, unknown = await asked(hook["id"], method, rest, body), await asked(none, method, rest, body)
        assert_problem(theirs, 404, "not_found")
        assert theirs.raw == unknown.raw
    assert (await eve.get("/webhooks/")).json == []
    assert (await ann.get(f"/webhooks/{hook['id']}")).json["url"] == far.url
    assert len(far.seen) == 1


async def test_deliveries_go_on_after_a_restart(ann: Person, far: FarSide, house: House) -> None:
    hook = await made(ann, far.url)
    far.open.clear()
    run = await ann.start("line", {"amount": 5})
    async with asyncio.timeout(PATIENCE_S):
        await far.arrived.wait()
    await house.restart()
    far.open.set()
    found = await delivered(ann, hook, run["version"])
    assert [one["seq"] for one in found] == list(range(run["version"], 0, -1))
    assert {seen.headers["webhook-id"] for seen in far.seen} == {one["id"] for one in found}


async def test_every_type_of_event_can_be_named(ann: Person, far: FarSide) -> None:
    types = {kind.__struct_config__.tag for kind in get_args(Event)}
    assert set(get_args(EventType)) == types
    assert (await made(ann, far.url, events=list(get_args(WebhookType))))["events"] == list(get_args(WebhookType))


async def test_a_url_is_a_secret_of_which_people_log_and_exports_have_the_origin(ann: Person, far: FarSide) -> None:
    secret = f"{far.url}/T0-canary/hook?token=s3cret-canary"
    made = (await ann.post("/webhooks/", {"url": secret}, Idempotency_Key="once")).json
    again = (await ann.post("/webhooks/", {"url": secret}, Idempotency_Key="once")).json
    changed = (await ann.put(f"/webhooks/{made['id']}", {"url": made["url"], "description": "ours"})).json
    assert {one["url"] for one in (made, again, changed)} == {f"{far.url}/…"}
    paths = ("/webhooks/", f"/webhooks/{made['id']}", "/audit/log", "/audit/export")
    read = [(await ann.get(path)).raw for path in paths]
    assert not any(b"s3cret-canary" in one or b"/T0-canary" in one for one in read)
    assert (await ann.post(f"/webhooks/{made['id']}/test", {})).json["ok"]
    assert [one.target for one in far.seen] == ["/T0-canary/hook?token=s3cret-canary"]


async def test_a_webhook_whose_url_is_as_shown_keeps_it_and_its_author(ann: Person, far: FarSide) -> None:
    made = (await ann.post("/webhooks/", {"url": f"{far.url}/hook"})).json
    for url in (made["url"], f"{far.url}/hook"):
        kept = (await ann.put(f"/webhooks/{made['id']}", {"url": url})).json
        assert kept["updated_at"] == made["updated_at"]
