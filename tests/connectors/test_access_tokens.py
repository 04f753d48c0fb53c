"""Access tokens of OAuth 2: fetched once, kept until they expire, fetched anew at 401."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from actors.core.messages import CallReturned
from daemon.connectors.service import Samples
from tests.connectors.conftest import House, hang

SECRET = "client-s3cret"
CLIENT = {"auth_type": "oauth2", "client_id": "penstock at lab", "scope": "refunds:write", "audience": "https://lab"}


class TokenServer:
    """The far side's handler: tokens at /token, and calls that only the newest token may make."""

    def __init__(self, **answer: Any) -> None:
        self.answer = {"token_type": "Bearer", "expires_in": 3600, **answer}
        self.given = 0
        self.forms: list[dict[str, str]] = []
        self.refuse: set[str] = set()
        self.status = 200

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/token":
            return await self._token(request)
        token = request.headers["Authorization"].removeprefix("Bearer ")
        if token in self.refuse:
            return web.json_response({"error": f"no more {token}"}, status=401)
        return web.json_response({"by": token})

    async def _token(self, request: web.Request) -> web.StreamResponse:
        self.forms.append({**{name: str(value) for name, value in (await request.post()).items()}})
        self.forms[-1]["client"] = request.headers["Authorization"]
        self.given += 1
        answer = {name: value for name, value in self.answer.items() if value is not None}
        return web.json_response({"access_token": f"token-number-{self.given}", **answer}, status=self.status)


@pytest.fixture
def server(house: House) -> TokenServer:
    server = TokenServer()
    house.far.answers = [server] * 40
    house.connect(secret=SECRET, token_url=f"{house.far.url}/token", retries=0, **CLIENT)
    return server


async def test_a_token_is_fetched_once_and_sent_in_place_of_the_secret(house: House, server: TokenServer) -> None:
    for visit in (1, 2, 3):
        house.perform(house.call(visit=visit))
        returned = await house.outcome()
        assert isinstance(returned, CallReturned)
        assert returned.output == {"by": "***"}
    client = b64encode(f"penstock+at+lab:{SECRET}".encode()).decode()
    asked = {"grant_type": "client_credentials", "scope": "refunds:write", "audience": "https://lab"}
    assert server.forms == [{**asked, "client": f"Basic {client}"}]
    calls = [seen for seen in house.far.seen if seen.target == "/do"]
    assert {seen.headers["Authorization"] for seen in calls} == {"Bearer token-number-1"}


async def test_calls_at_once_ask_for_one_token(house: House, server: TokenServer) -> None:
    house.perform(*(house.call(visit=visit) for visit in range(1, 11)))
    outcomes = [await house.outcome() for _ in range(10)]
    assert all(isinstance(one, CallReturned) for one in outcomes)
    assert server.given == 1


async def test_a_token_that_is_over_is_fetched_anew(house: House, server: TokenServer) -> None:
    server.answer["expires_in"] = "60"
    for visit, given in ((1, 1), (2, 1)):
        house.perform(house.call(visit=visit))
        await house.outcome()
        assert server.given == given
    house.time.seconds += 31
    house.perform(house.call(visit=3))
    await house.outcome()
    assert server.given == 2


async def test_a_token_that_is_refused_is_replaced_once(house: House, server: TokenServer) -> None:
    server.refuse = {"token-number-1"}
    house.perform(house.call(repeatable=False))
    returned = await house.outcome()
    assert isinstance(returned, CallReturned)
    assert (returned.attempts, server.given) == (1, 2)
    server.refuse = {"token-number-2", "token-number-3"}
    house.perform(house.call(visit=2))
    failed = await house.failure()
    assert (failed.error.status_code, failed.error.excerpt) == (401, '{"error":"no more ***"}')
    assert server.given == 3


@pytest.mark.parametrize(
    ("status", "answer", "code", "why"),
    [
        (400, {}, "token_refused", "The token server answered 400."),
        (503, {}, "call_failed", "The token server answered 503."),
        (200, {"access_token": ""}, "token_refused", "The token server answered without a bearer token."),
        (200, {"token_type": "mac"}, "token_refused", "The token server answered without a bearer token."),
    ],
)
async def test_without_a_token_nothing_is_sent(
    house: House, server: TokenServer, status: int, answer: dict[str, Any], code: str, why: str
) -> None:
    server.status, server.answer = status, {**server.answer, **answer}
    house.perform(house.call(repeatable=False))
    failed = await house.failure()
    assert (failed.error.code, failed.error.detail, failed.error.maybe_sent) == (code, why, False)
    assert SECRET not in repr(failed)
    assert [seen.target for seen in house.far.seen] == ["/token"]


@pytest.mark.parametrize("expires_in", [None, "soon", 0])
async def test_a_life_that_nobody_can_read_is_short(house: House, server: TokenServer, expires_in: Any) -> None:
    server.answer["expires_in"] = expires_in
    house.perform(house.call())
    assert isinstance(await house.outcome(), CallReturned)
    house.time.seconds += 271
    house.perform(house.call(visit=2))
    assert isinstance(await house.outcome(), CallReturned)
    assert server.given == 2


async def test_a_token_server_that_may_not_be_called_is_never_called(house: House) -> None:
    house.connect(secret=SECRET, token_url="http://10.0.0.1/token", retries=0, **CLIENT)
    house.perform(house.call())
    failed = await house.failure()
    assert (failed.error.code, house.far.seen) == ("egress_refused", [])
    assert failed.error.detail.startswith("There is no access token: ")


async def test_calls_that_wait_for_a_token_server_that_hangs_share_its_time_out(house: House) -> None:
    house.far.answers = [hang]
    house.connect(secret=SECRET, token_url=f"{house.far.url}/token", retries=0, timeout_s=0.2, **CLIENT)
    house.perform(*(house.call(visit=visit) for visit in range(1, 11)))
    failures = [await house.failure() for _ in range(10)]
    assert {(one.error.code, one.error.maybe_sent) for one in failures} == {("call_failed", False)}
    assert [seen.target for seen in house.far.seen] == ["/token"]
    house.far.answers = [TokenServer()]
    house.perform(house.call(visit=11))
    assert isinstance(await house.outcome(), CallReturned)


async def test_a_connector_that_is_deleted_while_its_token_is_asked_for_is_not_called(house: House) -> None:
    server = TokenServer()

    async def delete(request: web.Request) -> web.StreamResponse:
        house.shelf.connectors.clear()
        return await server(request)

    house.far.answers = [delete, server]
    house.connect(secret=SECRET, token_url=f"{house.far.url}/token", retries=0, **CLIENT)
    house.perform(house.call(repeatable=False))
    failed = await house.failure()
    assert (failed.unknown, failed.error.code, failed.error.maybe_sent) == (False, "connector_changed", False)
    assert [seen.target for seen in house.far.seen] == ["/token"]


async def test_a_run_that_is_cancelled_while_a_refused_token_is_replaced_calls_no_more(house: House) -> None:
    server = TokenServer()
    server.refuse = {"token-number-1"}

    async def cancel(request: web.Request) -> web.StreamResponse:
        house.dispatcher.forget("co", "run-1")
        return await server(request)

    house.far.answers = [server, server, cancel, server]
    house.connect(secret=SECRET, token_url=f"{house.far.url}/token", retries=0, **CLIENT)
    house.perform(house.call(repeatable=False))
    await house.rest()
    assert [seen.target for seen in house.far.seen] == ["/token", "/do", "/token"]
    assert house.posted == []


async def test_a_test_gets_a_token_of_its_own_and_forgets_it(house: House, server: TokenServer) -> None:
    connector = house.connect(secret=SECRET, token_url=f"{house.far.url}/token", version=0, **CLIENT)
    for _ in range(2):
        answer = await house.dispatcher.test_connector("co", connector, samples=Samples(send=True))
        assert (answer["ok"], answer["body"]) == (True, {"by": "***"})
    assert server.given == 2


async def test_the_stored_secret_is_for_its_own_token_server_alone(house: House, server: TokenServer) -> None:
    stored = house.connect(secret=SECRET, token_url=f"{house.far.url}/token", **CLIENT)
    other = replace(stored, token_url=f"{house.far.url.replace('127.0.0.1', '127.0.0.2')}/token")
    await house.dispatcher.test_connector("co", other, samples=Samples(send=True))
    assert server.given == 0
    assert "Authorization" not in house.far.seen[0].headers
