"""Sections 1 and 2: how often one may register and log in."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any, Literal

import pytest
from aiohttp import ClientSession, TCPConnector
from argon2 import PasswordHasher
from structlog.testing import capture_logs

from daemon.settings import Settings
from daemon.web.rate_limits import SLOW_MAX_S, delay_s
from tests.web.support import PASSWORD, PATIENCE_S, Answer, House, assert_problem


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"rate_limits": True})


def assert_limited(answer: Answer, limit: int) -> None:
    assert_problem(answer, 429, "rate_limited", limit=limit, retryable=True)
    assert 1 <= int(answer.headers["Retry-After"]) <= 60


async def log_in(house: House, email: str, password: str = "wrong horse") -> Answer:
    return await house.send("POST", "/auth/login", {"email": email, "password": password})


async def from_behind(house: House, address: str, password: str) -> Answer:
    """Log in through a proxy, from an address of its own."""
    login, headers = {"email": "ann@ann.test", "password": password}, {"X-Forwarded-For": address}
    return await house.send("POST", "/auth/login", login, headers=headers)


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


async def test_5_wrong_passwords_for_an_account_leave_the_others_behind_the_same_proxy_alone(house: House) -> None:
    await house.register("ann")
    for _ in range(5):
        assert (await log_in(house, "bob@bob.test")).status == 401
    assert_limited(await log_in(house, "bob@bob.test"), 5)
    assert (await log_in(house, "ann@ann.test", PASSWORD)).status == 200


async def test_a_network_may_send_30_wrong_passwords_a_minute_whatever_the_account(house: House) -> None:
    for number in range(30):
        assert (await log_in(house, f"a{number}@a.test")).status == 401
    assert_limited(await log_in(house, "another@a.test"), 30)


async def test_what_is_limited_is_refused_even_with_the_right_password(house: House) -> None:
    await house.register("ann")
    for _ in range(5):
        assert (await log_in(house, "ann@ann.test")).status == 401
    assert_limited(await log_in(house, "ann@ann.test", PASSWORD), 5)


async def test_right_passwords_are_never_limited(house: House) -> None:
    await house.register("ann")
    statuses = [(await log_in(house, "ann@ann.test", PASSWORD)).status for _ in range(12)]
    assert set(statuses) == {200}


async def test_a_strangers_guesses_lock_nobody_out(house: House) -> None:
    await house.register("ann")
    for email in ("ann@ann.test", "ANN@ann.test", "Ann@Ann.Test", *["ann@ann.test"] * 4):
        await log_in(house, email)
    login = {"email": "ann@ann.test", "password": PASSWORD}
    assert await from_elsewhere(house, login) == 200
    assert await from_elsewhere(house, {**login, "email": "bob@ann.test"}) == 401


@pytest.mark.parametrize("email", ["a\0b@a.test", "\U0010ffff" * 1_000])
async def test_what_is_no_address_is_counted_as_one(house: House, email: str) -> None:
    assert [(await log_in(house, email)).status for _ in range(6)] == [401] * 5 + [429]


@pytest.mark.one_daemon
async def test_guesses_at_once_are_limited_as_those_one_by_one(house: House) -> None:
    answers = await asyncio.gather(*(log_in(house, "ann@ann.test") for _ in range(30)))
    assert sorted(answer.status for answer in answers) == [401] * 5 + [429] * 25


async def test_guesses_from_many_networks_slow_an_account_down_and_refuse_nobody(
    house: House, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []

    def told(failures: int) -> float:
        delays.append(delay_s(failures))
        return 0.0

    monkeypatch.setattr("daemon.web.rate_limits.delay_s", told)
    await house.close()
    house.settings = settings.model_copy(update={"trusted_proxies": "127.0.0.1"})
    await house.open()
    await house.register("ann")
    for number in range(40):
        assert (await from_behind(house, f"192.0.2.{number}", "wrong horse")).status == 401
    assert (await from_behind(house, "198.51.100.1", PASSWORD)).status == 200
    assert delays[:6] == [0.0] * 6
    assert delays[6:] == sorted(delays[6:])
    assert delays[-1] == SLOW_MAX_S


async def test_addresses_of_one_ipv6_network_count_together(house: House, settings: Settings) -> None:
    await house.close()
    house.settings = settings.model_copy(update={"trusted_proxies": "127.0.0.1"})
    await house.open()
    for number in range(5):
        assert (await from_behind(house, f"2001:db8:0:7::{number}", "wrong horse")).status == 401
    assert_limited(await from_behind(house, "2001:db8:0:7:ffff::1", "wrong horse"), 5)
    assert (await from_behind(house, "2001:db8:0:8::1", "wrong horse")).status == 401


async def test_a_registration_repeated_with_other_passwords_is_limited_as_a_log_in(house: House) -> None:
    body = {"email": "ann@ann.test", "password": PASSWORD, "company_name": "A"}

    async def register(password: str) -> int:
        headers = {"Idempotency-Key": "known"}
        return (await house.send("POST", "/auth/register", {**body, "password": password}, headers=headers)).status

    assert await register(PASSWORD) == 201
    assert [await register(f"wrong horse {number}") for number in range(6)] == [422] * 5 + [429]
    assert (await log_in(house, "ann@ann.test")).status == 429


async def test_a_network_may_register_so_often_a_day(house: House, settings: Settings) -> None:
    await house.close()
    house.settings = settings.model_copy(update={"network_registrations_per_day_max": 2})
    await house.open()
    for name in ("ann", "bob"):
        await house.register(name)
    body = {"email": "eve@a.test", "password": PASSWORD, "company_name": "A"}
    answer = await house.send("POST", "/auth/register", body)
    assert_problem(answer, 429, "rate_limited", limit=2)
    assert 60 < int(answer.headers["Retry-After"]) <= 86_400


async def test_nothing_else_is_limited(house: House) -> None:
    ann = await house.register("ann")
    statuses = [(await ann.get("/auth/me")).status for _ in range(70)]
    assert set(statuses) == {200}


class SlowHasher(PasswordHasher):
    """Checks one password for each permit."""

    permits = threading.Semaphore(0)

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002 - as it is named there
        self.permits.acquire()
        return super().verify(hash, password)


@pytest.mark.one_daemon
async def test_a_log_in_from_elsewhere_has_its_turn_though_90_guess(
    house: House, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap = partial(SlowHasher, time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr("daemon.identity.passwords.PasswordHasher", cheap)
    await house.close()
    house.settings = settings.model_copy(update={"rate_limits": False})
    await house.open()
    await house.register("ann")
    one = asyncio.get_running_loop().create_task
    guesses = [one(log_in(house, "bob@bob.test")) for _ in range(90)]
    await asyncio.wait(guesses, return_when=asyncio.FIRST_COMPLETED)  # the first refusals: so many wait already
    rightful = one(from_elsewhere(house, {"email": "ann@ann.test", "password": PASSWORD}))
    for _ in range(20):  # until it has arrived
        await house.send("GET", "/health")
    SlowHasher.permits.release(3)  # the one at work, one more guess, and this one
    done, _ = await asyncio.wait((rightful,), timeout=PATIENCE_S)
    SlowHasher.permits.release(90)
    assert [one.result() for one in done] == [200]
    assert {answer.status for answer in await asyncio.gather(*guesses)} == {401, 503}


async def test_the_limits_can_be_switched_off(house: House, settings: Settings) -> None:
    await house.close()
    house.settings = settings.model_copy(update={"rate_limits": False})
    await house.open()
    assert {(await log_in(house, "ann@ann.test")).status for _ in range(8)} == {401}


async def test_a_registration_can_be_left_to_those_who_are_invited(house: House, settings: Settings) -> None:
    await house.close()
    house.settings = settings.model_copy(update={"registration": "invited"})
    await house.open()
    body = {"email": "ann@a.test", "password": PASSWORD, "company_name": "A"}
    assert_problem(await house.send("POST", "/auth/register", body), 403, "forbidden", reason="invited")


async def test_a_proxy_that_is_not_trusted_is_told_of_in_the_log(house: House) -> None:
    with capture_logs() as lines:
        await from_behind(house, "192.0.2.1", "wrong horse")
    assert [line["event"] for line in lines if line["event"] == "proxy_not_trusted"] == ["proxy_not_trusted"]
