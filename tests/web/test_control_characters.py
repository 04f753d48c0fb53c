"""Characters that no database, terminal or header wants are answered like any other mistake."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.support import Answer, Person

ODD = ["\0", "a\0", "a\nb", "a\x1bb", "a\x7fb", "a\x85b", "\u202e", "a/b"]
RAW = ["%00", "a%00", "%ff", "%ed%a0%80", "a%0ab", "a%1b", "%c2%85", "a%2500", "%25"]
PATHS = [
    ("GET", "/process-templates/{}", None),
    ("GET", "/process-templates/{}/canvas", None),
    ("GET", "/process-runs/{}", None),
    ("GET", "/process-runs/{}/events", None),
    ("GET", "/process-runs/{}/audit", None),
    ("POST", "/process-runs/{}/resume", {"gate": "signoff", "decision": "approved"}),
    ("POST", "/process-runs/{}/cancel", {}),
    ("POST", "/process-runs/{}/retry", None),
    ("GET", "/connectors/{}", None),
    ("GET", "/connectors/{}/changes", None),
    ("PUT", "/connectors/{}", {"base_url": "http://127.0.0.1"}),
    ("POST", "/connectors/{}/test", {"base_url": "http://10.0.0.1"}),
    ("DELETE", "/connectors/{}", None),
    ("GET", "/webhooks/{}", None),
    ("GET", "/webhooks/{}/deliveries", None),
    ("POST", "/webhooks/{}/test", None),
    ("DELETE", "/webhooks/{}", None),
    ("POST", "/webhooks/{}/deliveries/{}/redeliver", None),
    ("DELETE", "/auth/sessions/{}", None),
    ("GET", "/{}", None),
]
QUERIES = [
    "/process-runs/?vertical={}",
    "/process-runs/?parked_at={}",
    "/process-runs/?status={}",
    "/process-runs/?view={}",
    "/process-runs/?cursor={}",
    "/process-runs/?limit={}",
    "/process-runs/?{}=1",
    "/process-templates/prior-auth?digest={}",
    "/connectors/?cursor={}",
    "/connectors/tool/changes?cursor={}",
    "/webhooks/?cursor={}",
    "/events?after={}",
    "/audit/log?cursor={}",
]


def assert_refused(answer: Answer, *statuses: int) -> None:
    assert answer.status in statuses, (answer.status, answer.raw)


@pytest.mark.parametrize("escaped", RAW)
async def test_an_odd_character_in_a_path_is_an_address_that_nobody_knows(ann: Person, escaped: str) -> None:
    for method, path, body in PATHS:
        for headers in ({}, {"Idempotency-Key": "key"}):
            answer = await ann.send(method, path.replace("{}", escaped), body, **headers)
            assert_refused(answer, 404, 405, 422)


@pytest.mark.parametrize("escaped", RAW)
async def test_an_odd_character_in_a_query_finds_nothing_or_is_refused(ann: Person, escaped: str) -> None:
    for path in QUERIES:
        assert_refused(await ann.get(path.replace("{}", escaped)), 200, 400, 404, 422)


def bodies(odd: str) -> list[tuple[str, str, Any]]:
    hook = {"url": "http://127.0.0.1/", "description": odd}
    return [
        ("POST", "/process-runs/", {"vertical": odd}),
        ("POST", "/process-runs/", {"vertical": "quick", "inputs": {"name": odd, odd: [odd]}}),
        ("PUT", "/connectors/tool", {"base_url": f"http://127.0.0.1/{odd}"}),
        ("PUT", "/connectors/tool", {"base_url": "http://127.0.0.1", "path": odd}),
        ("PUT", "/connectors/tool", {"base_url": "http://127.0.0.1", "body_map": {odd: "name"}}),
        ("PUT", "/connectors/tool", {"base_url": "http://127.0.0.1", "body_map": {"a": odd}}),
        ("PUT", "/connectors/tool", {"base_url": "http://127.0.0.1", "signal_rule": f'response.body == "{odd}"'}),
        ("PUT", "/connectors/tool", {"base_url": "http://127.0.0.1", "auth_type": "bearer", "auth_token": odd}),
        ("POST", "/webhooks/", hook),
        ("POST", "/auth/register", {"email": f"{odd}@x.test", "password": "12345678ab", "company_name": "x"}),
        ("POST", "/auth/register", {"email": "bob@x.test", "password": f"12345678{odd}", "company_name": "x"}),
        ("POST", "/auth/register", {"email": "cy@x.test", "password": "12345678ab", "company_name": odd}),
        ("POST", "/auth/register", {"email": "di@x.test", "password": "12345678ab", "company_name": "x", "name": odd}),
        ("POST", "/auth/login", {"email": f"{odd}@x.test", "password": "12345678ab"}),
        ("POST", "/auth/login", {"email": "ann@x.test", "password": odd}),
    ]


@pytest.mark.parametrize("odd", ODD)
async def test_an_odd_character_in_a_body_is_kept_or_refused(ann: Person, odd: str) -> None:
    for method, path, body in bodies(odd):
        for headers in ({}, {"Idempotency-Key": "key-" + path + str(sorted(body))}):
            answer = await ann.send(method, path, body, **headers)
            assert answer.status < 500, (path, body, answer.raw)


@pytest.mark.parametrize("odd", ODD)
async def test_an_odd_character_in_a_verdict_is_kept_or_refused(ann: Person, odd: str) -> None:
    run = await ann.start("prior-auth")
    path = f"/process-runs/{run['id']}"
    for body in ({"gate": odd, "decision": "approved"}, {"gate": "signoff", "decision": odd}):
        assert_refused(await ann.post(f"{path}/resume", body), 409, 422)
    commented = await ann.post(f"{path}/resume", {"gate": run["parked_at"], "decision": "denied", "comment": odd})
    assert_refused(commented, 200, 422)
    assert_refused(await ann.post(f"{path}/cancel", {"reason": odd}), 200, 409, 422)
    again = await ann.get(path)
    assert again.status == 200
    assert (await ann.get(f"{path}/events")).status == 200


async def test_an_input_with_the_zero_character_comes_back_as_it_was_sent(ann: Person) -> None:
    inputs = {"name": "a\0b", "\0": ["\u2028", "\U0001f600"]}
    answer = await ann.post("/process-runs/", {"vertical": "quick", "inputs": inputs})
    if answer.status == 201:
        assert (await ann.get(f"/process-runs/{answer.json['id']}")).json["inputs"] == inputs
    else:
        assert_refused(answer, 422)


@pytest.mark.parametrize("key", ["\u00e9", "\udcff", "a\tb", "%00"])
async def test_an_odd_key_is_taken_or_refused(ann: Person, key: str) -> None:
    answer = await ann.post("/process-runs/", {"vertical": "quick"}, **{"Idempotency-Key": key})
    assert_refused(answer, 201, 400, 422)


@pytest.mark.parametrize("escaped", RAW)
async def test_an_odd_delivery_of_a_webhook_is_not_found(ann: Person, escaped: str) -> None:
    hook = (await ann.post("/webhooks/", {"url": "http://127.0.0.1/"})).json["id"]
    assert_refused(await ann.post(f"/webhooks/{hook}/deliveries/{escaped}/redeliver"), 404, 405, 422)
    assert_refused(await ann.get(f"/webhooks/{hook}/deliveries?cursor={escaped}"), 400)
