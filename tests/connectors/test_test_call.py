"""Connectors that are tried by hand, without any run."""

from __future__ import annotations

import pytest
from aiohttp import web
from msgspec.structs import replace

from tests.connectors.conftest import House, echo_auth


async def echo(request: web.Request) -> web.StreamResponse:
    return echo_auth(request)


async def test_a_trial_says_what_the_far_side_answered(house: House) -> None:
    house.connect(secret="s3cret-canary", auth_type="bearer")
    house.far.answers = [echo]
    trial = replace(house.connect(secret="s3cret-canary", auth_type="bearer"), reversible=False)
    answer = await house.dispatcher.test_connector("co", trial)
    assert answer.pop("latency_ms") >= 0
    assert answer == {"ok": True, "status_code": 200, "body": {"you sent": "Bearer ***"}, "error": None}
    assert (house.far.seen[0].target, house.far.seen[0].body) == ("/do", b'{"facts":{},"inputs":{}}')
    assert house.far.seen[0].headers["Authorization"] == "Bearer s3cret-canary"


async def test_a_trial_of_another_origin_never_gets_the_stored_secret(house: House) -> None:
    stored = house.connect(secret="s3cret", auth_type="bearer", base_url="http://127.0.0.1:1")
    await house.dispatcher.test_connector("co", replace(stored, base_url=house.far.url))
    await house.dispatcher.test_connector("other", replace(stored, base_url=house.far.url))
    assert ["Authorization" in seen.headers for seen in house.far.seen] == [False, False]


async def test_a_trial_sends_the_secret_that_it_brings(house: House) -> None:
    stored = house.connect(secret="s3cret", auth_type="bearer")
    await house.dispatcher.test_connector("co", stored, "another")
    assert house.far.seen[0].headers["Authorization"] == "Bearer another"


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_a_trial_is_ok_only_with_a_success(house: House, status: int) -> None:
    house.far.answers = [status]
    answer = await house.dispatcher.test_connector("co", house.connect(query_map={"q": "missing"}))
    assert (answer["ok"], answer["status_code"]) == (False, status)
    assert str(status) in answer["error"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://10.0.0.1", "http://unknown.invalid", "nonsense"])
async def test_a_trial_of_an_unreachable_target_is_an_answer(house: House, url: str) -> None:
    answer = await house.dispatcher.test_connector("co", house.connect(base_url=url))
    assert answer == {"ok": False, "status_code": None, "latency_ms": None, "body": None, "error": answer["error"]}
    assert answer["error"].endswith(".")
