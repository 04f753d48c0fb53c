"""Sections 1 and 2: how often one may register and log in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import ClientSession, TCPConnector

from daemon.settings import Settings
from tests.web.support import PASSWORD, Answer, House, assert_problem


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"rate_limits": True})


def assert_limited(answer: Answer, limit: int) -> None:
    assert_problem(answer, 429, "rate_limited", limit=limit, retryable=True)
    assert 1 <= int(answer.headers["Retry-After"]) <= 60


async def log_in(house: House, email: str, password: str = "wrong horse") -> Answer:
    return await house.send("POST", "/auth/login", {"email": email, "password": password})


async def from_elsewhere(house: House, body: Any) -> int:
    """Log in from another address of this machine."""
    url = house.client.make_url("/auth/login")
    async with ClientSession(connector=TCPConnector(local_addr=("127.0.0.2", 0))) as other:
        response = await other.post(url, json=body)
        await response.read()
        return response.status


async def test_an_address_may_register_60_times_a_minute(house: House) -> None:
    async def register(number: int) -> Answer:
        body = {"email": f"a{number}@a.test", "password": PASSWORD, "company_name": "A"}
        return await house.send("POST", "/auth/register", body)

    answers = await asyncio.gather(*(register(number) for number in range(60)))
    assert {answer.status for answer in answers} == {201}
    assert_limited(await register(60), 60)


async def test_an_address_may_log_in_5_times_a_minute_whatever_the_account(house: House) -> None:
    for number in range(5):
        assert (await log_in(house, f"a{number}@a.test")).status == 401
    assert_limited(await log_in(house, "another@a.test"), 5)


async def test_an_account_may_be_logged_into_5_times_a_minute_from_all_addresses(house: House) -> None:
    await house.register("ann")
    for email in ("ann@ann.test", "ANN@ann.test", "Ann@Ann.Test", "ann@ann.test", "ann@ann.test"):
        assert (await log_in(house, email)).status == 401
    login = {"email": "ann@ann.test", "password": PASSWORD}
    assert await from_elsewhere(house, login) == 429
    assert await from_elsewhere(house, {**login, "email": "bob@ann.test"}) == 401


async def test_what_is_limited_is_refused_even_with_the_right_password(house: House) -> None:
    await house.register("ann")
    for _ in range(5):
        assert (await log_in(house, "ann@ann.test", PASSWORD)).status == 200
    assert_limited(await log_in(house, "ann@ann.test", PASSWORD), 5)


async def test_nothing_else_is_limited(house: House) -> None:
    ann = await house.register("ann")
    statuses = [(await ann.get("/auth/me")).status for _ in range(70)]
    assert set(statuses) == {200}


async def test_the_limits_can_be_switched_off(house: House, settings: Settings) -> None:
    await house.close()
    house.settings = settings.model_copy(update={"rate_limits": False})
    await house.open()
    assert {(await log_in(house, "ann@ann.test")).status for _ in range(8)} == {401}
