"""Section 1: media types, request ids, addresses, and what every refusal has in common."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from aiohttp import hdrs
from yarl import URL

from tests.web.support import House, Person, assert_problem

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
UNKNOWN = "01990000-0000-7000-8000-000000000000"
COLLECTIONS = ("/process-templates", "/process-runs", "/connectors")


async def test_answers_are_json_with_utc_times_and_uuid7_ids(ann: Person) -> None:
    answer = await ann.post("/process-runs/", {"vertical": "quick", "inputs": {"name": "Zoë"}})
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert "Zoë".encode() in answer.raw
    assert UUID7.fullmatch(answer.json["id"])
    assert answer.json["created_at"].endswith("Z")
    assert datetime.fromisoformat(answer.json["created_at"]).tzinfo is not None


@pytest.mark.parametrize("path", COLLECTIONS)
async def test_a_collection_answers_with_and_without_its_trailing_slash(ann: Person, path: str) -> None:
    with_slash, without = await ann.get(f"{path}/"), await ann.get(path)
    assert (with_slash.status, without.status) == (200, 200)
    assert isinstance(with_slash.json, list)
    assert with_slash.raw == without.raw


async def test_a_run_starts_and_lists_its_history_with_and_without_the_trailing_slash(ann: Person) -> None:
    for path in ("/process-runs", "/process-runs/"):
        answer = await ann.post(path, {"vertical": "quick"})
        assert answer.status == 201
        history = await ann.get(f"/process-runs/{answer.json['id']}/events/")
        assert history.raw == (await ann.get(f"/process-runs/{answer.json['id']}/events")).raw


@pytest.mark.parametrize("given", ["a", "A-z_0.9", "x" * 128])
async def test_a_callers_own_request_id_is_echoed(house: House, given: str) -> None:
    answer = await house.send("GET", "/health", headers={"X-Request-ID": given})
    assert answer.headers["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "two words", "semi;colon", "ümlaut"])
async def test_a_request_id_out_of_bounds_is_replaced(house: House, given: str) -> None:
    answer = await house.send("GET", "/health", headers={"X-Request-ID": given})
    assert UUID7.fullmatch(answer.headers["X-Request-ID"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/nowhere", 404),
        ("GET", "/process-runs/", 401),
        ("DELETE", "/health", 405),
        ("POST", "/auth/login", 415),
    ],
)
async def test_every_response_has_a_request_id(house: House, method: str, path: str, status: int) -> None:
    answer = await house.send(method, path)
    assert answer.status == status
    assert UUID7.fullmatch(answer.headers["X-Request-ID"])
    assert answer.headers["Server"] == "penstock"


async def test_a_problem_has_every_member_of_the_contract(house: House) -> None:
    answer = await house.send("GET", "/nowhere", headers={"X-Request-ID": "mine"})
    body = assert_problem(answer, 404, "not_found", request_id="mine", retryable=False, title="Not found")
    assert set(body) == {"type", "title", "status", "detail", "code", "request_id", "retryable"}


@pytest.mark.parametrize(
    "path",
    [
        "/process-templates/unknown",
        "/process-templates/unknown/canvas",
        f"/process-runs/{UNKNOWN}",
        f"/process-runs/{UNKNOWN}/events",
        "/process-runs/1",
        "/connectors/unknown",
        "/process-runs/%00",
        "/process-runs/%ff%fe",
        "/process-runs/..%2f..%2fhealth",
        "/process-runs/%2e%2e%2fhealth",
        "/process-templates/%00",
        "/process-templates/%F0%9F%90%99",
        "/process-templates/a%2Fb",
        "/connectors/%00",
        "/connectors/a%2Fb",
        "/connectors/%25",
        "/connectors/a%0Ab",
        "/auth%2Fme",
        "/process-runs//",
        "//process-runs",
    ],
)
async def test_what_is_unknown_is_404_however_it_is_written(ann: Person, path: str) -> None:
    url = URL(str(ann.house.client.make_url("")).rstrip("/") + path, encoded=True)  # the client tidies nothing
    response = await ann.house.client.session.get(url, headers=ann.bearer)
    assert response.status == 404
    assert (await response.json(content_type=None))["code"] == "not_found"


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/auth/register", "POST"),
        ("PUT", "/process-runs/", "GET, HEAD, POST"),
        ("PATCH", "/connectors/x", "DELETE, GET, HEAD, PUT"),
        ("DELETE", f"/process-runs/{UNKNOWN}", "GET, HEAD"),
        ("OPTIONS", "/process-runs/", "GET, HEAD, POST"),
        ("TRACE", "/health", "GET, HEAD"),
    ],
)
async def test_another_method_is_405_with_what_is_allowed(ann: Person, method: str, path: str, allow: str) -> None:
    answer = await ann.send(method, path)
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == allow


async def test_head_answers_the_headers_of_get_without_a_body(ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    for path in ("/health", "/process-runs/", f"/process-runs/{run['id']}", f"/process-runs/{run['id']}/events"):
        got = await ann.get(path)
        head = await ann.send("HEAD", path)
        assert (head.status, head.raw) == (got.status, b"")
        assert head.headers["Content-Length"] == str(len(got.raw))
        assert head.headers.get("ETag") == got.headers.get("ETag")
    assert (await ann.send("HEAD", "/nowhere")).status == 404
    assert (await ann.send("HEAD", f"/process-runs/{run['id']}/resume")).status == 405


async def test_head_of_a_live_history_does_not_hang(ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    answer = await ann.send("HEAD", f"/process-runs/{run['id']}/events", Accept="text/event-stream")
    assert answer.status == 200


async def test_expectations_other_than_100_continue_are_passed_over(ann: Person) -> None:
    assert (await ann.post("/process-runs/", {"vertical": "quick"}, Expect="the-unexpected")).status == 201
    assert (await ann.post("/process-runs/", {"vertical": "quick"}, Expect="100-continue")).status == 201


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/auth/me"),
        ("POST", "/auth/logout"),
        ("GET", "/process-templates/"),
        ("GET", "/process-templates/line"),
        ("GET", "/process-templates/line/canvas"),
        ("GET", "/process-runs/"),
        ("POST", "/process-runs/"),
        ("GET", f"/process-runs/{UNKNOWN}"),
        ("GET", f"/process-runs/{UNKNOWN}/events"),
        ("POST", f"/process-runs/{UNKNOWN}/resume"),
        ("POST", f"/process-runs/{UNKNOWN}/cancel"),
        ("POST", f"/process-runs/{UNKNOWN}/retry"),
        ("GET", "/connectors/"),
        ("GET", "/connectors/x"),
        ("PUT", "/connectors/x"),
        ("DELETE", "/connectors/x"),
        ("POST", "/connectors/x/test"),
    ],
)
async def test_everything_with_data_needs_a_token(house: House, method: str, path: str) -> None:
    answer = await house.send(method, path)
    assert_problem(answer, 401, "not_authenticated", retryable=False)
    assert answer.headers[hdrs.WWW_AUTHENTICATE] == "Bearer"
