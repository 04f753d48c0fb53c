"""Connectors that are tried by hand, without any run."""

from __future__ import annotations

import pytest
from aiohttp import web
from msgspec.structs import replace

from daemon.connectors.service import Samples
from tests.connectors.conftest import House, echo_auth

SENT = Samples(send=True)


async def echo(request: web.Request) -> web.StreamResponse:
    return echo_auth(request)


async def test_a_trial_says_what_the_far_side_answered(house: House) -> None:
    house.connect(secret="s3cret-canary", auth_type="bearer")
    house.far.answers = [echo]
    trial = replace(house.connect(secret="s3cret-canary", auth_type="bearer"), reversible=False)
    answer = await house.dispatcher.test_connector("co", trial, samples=SENT)
    assert answer.pop("latency_ms") >= 0
    body = {"you sent": "Bearer ***"}
    assert answer.pop("request")["headers"] == {"Authorization": "***"}
    assert answer.pop("missing") == ()
    assert answer == {"ok": True, "status_code": 200, "body": body, "error": None, "sent": True, "output": body}
    assert (house.far.seen[0].target, house.far.seen[0].body) == ("/do", b'{"facts":{},"inputs":{}}')
    assert house.far.seen[0].headers["Authorization"] == "Bearer s3cret-canary"


async def test_a_trial_of_another_origin_never_gets_the_stored_secret(house: House) -> None:
    stored = house.connect(secret="s3cret", auth_type="bearer", base_url="http://127.0.0.1:1")
    await house.dispatcher.test_connector("co", replace(stored, base_url=house.far.url), samples=SENT)
    await house.dispatcher.test_connector("other", replace(stored, base_url=house.far.url), samples=SENT)
    assert ["Authorization" in seen.headers for seen in house.far.seen] == [False, False]


async def test_a_trial_sends_the_secret_that_it_brings(house: House) -> None:
    stored = house.connect(secret="s3cret", auth_type="bearer")
    await house.dispatcher.test_connector("co", stored, "another", SENT)
    assert house.far.seen[0].headers["Authorization"] == "Bearer another"


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_a_trial_is_ok_only_with_a_success(house: House, status: int) -> None:
    house.far.answers = [status]
    answer = await house.dispatcher.test_connector("co", house.connect(query_map={"q": "missing"}), samples=SENT)
    assert (answer["ok"], answer["status_code"]) == (False, status)
    assert str(status) in answer["error"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://10.0.0.1", "http://unknown.invalid", "nonsense"])
async def test_a_trial_of_an_unreachable_target_is_an_answer(house: House, url: str) -> None:
    answer = await house.dispatcher.test_connector("co", house.connect(base_url=url), samples=SENT)
    assert (answer["ok"], answer["sent"], answer["status_code"], answer["body"]) == (False, False, None, None)
    assert answer["error"].endswith(".")


async def test_what_may_change_something_is_shown_and_sent_only_when_asked_to(house: House) -> None:
    connector = house.connect(
        path="/members/{inputs.member}/refunds", body_map={"sum": "check.sum"}, headers={"Accept": "text/plain"}
    )
    samples = Samples({"member": "a/b?"}, {"check": {"sum": 3}})
    answer = await house.dispatcher.test_connector("co", connector, samples=samples)
    assert (answer["ok"], answer["sent"], house.far.seen) == (False, False, [])
    assert "is sent only with `send`" in answer["error"]
    assert answer["request"]["url"] == f"{house.far.url}/members/a%2Fb%3F/refunds"
    assert answer["request"]["body"] == {"sum": 3}
    answer = await house.dispatcher.test_connector(
        "co", connector, samples=Samples(samples.inputs, samples.facts, send=True)
    )
    assert (answer["ok"], answer["sent"]) == (True, True)
    seen = house.far.seen[0]
    assert (seen.target, seen.body, seen.headers["Accept"]) == ("/members/a%2Fb%3F/refunds", b'{"sum":3}', "text/plain")


async def test_samples_that_lack_a_key_are_named_and_nothing_is_sent(house: House) -> None:
    connector = house.connect(method="GET", path="/members/{inputs.member}", query_map={"q": "facts.a.b"})
    answer = await house.dispatcher.test_connector("co", connector, samples=Samples({}, {}))
    assert (answer["sent"], house.far.seen) == (False, [])
    assert answer["missing"] == ("facts.a.b", "inputs.member")
    assert "facts.a.b, inputs.member" in answer["error"]


async def test_a_trial_shows_what_a_run_would_take_of_the_response(house: House) -> None:
    connector = house.connect(method="GET", response_map={"n": "answer", "none": "no.where"})
    answer = await house.dispatcher.test_connector("co", connector)
    assert (answer["body"], answer["output"]) == ({"answer": 1}, {"n": 1, "none": None})


async def test_a_map_reads_a_response_without_its_secret(house: House) -> None:
    house.far.answers = [echo]
    names = {"back": 'reverse("you sent")'}
    connector = house.connect(secret="s3cret-canary", auth_type="bearer", method="GET", response_map=names)
    assert (await house.dispatcher.test_connector("co", connector))["output"] == {"back": "*** reraeB"}
