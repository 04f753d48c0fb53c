"""Which address counts as a client's, behind proxies and without."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict
from pydantic import ValidationError

from daemon.settings import Settings
from daemon.web.clients import Clients, prefix_of
from tests.web.support import Answer, House, assert_problem

PROXY, INNER = "10.0.0.1", "10.0.0.2"
TRUSTED = "10.0.0.0/8, 2001:db8:ffff::/48"


def found(remote: str = PROXY, trusted: str = TRUSTED, **headers: str) -> str:
    sent = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
    return Clients(trusted).find_address(remote, sent)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        (" 192.0.2.7 ", "192.0.2.7"),
        ("203.0.113.1, 192.0.2.7", "192.0.2.7"),
        (f"203.0.113.1, 192.0.2.7, {INNER}", "192.0.2.7"),
        (f"{INNER}", INNER),
        (f"10.9.9.9, {INNER}", "10.9.9.9"),
        ("192.0.2.7:4711", "192.0.2.7"),
        ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("[2001:DB8:0::7]:4711", "2001:db8::7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("192.0.2.7, 2001:db8:ffff::1", "192.0.2.7"),
        ("unknown, 192.0.2.7", "192.0.2.7"),
        ("203.0.113.1, unknown", PROXY),
        (f"203.0.113.1, , {INNER}", INNER),
        (f"203.0.113.1, 192.0.2.999, {INNER}", INNER),
        ("192.0.2.7,", PROXY),
        ("192.0.2.7; drop table", PROXY),
        ("1" * 10_000, PROXY),
        ("", PROXY),
    ],
)
def test_the_right_most_address_that_is_no_trusted_proxys_counts(given: str, address: str) -> None:
    assert found(X_Forwarded_For=given) == address


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("for=192.0.2.7", "192.0.2.7"),
        ("For=192.0.2.7;proto=https;by=203.0.113.43", "192.0.2.7"),
        ("proto=https; for=192.0.2.7", "192.0.2.7"),
        ('for="192.0.2.7:4711"', "192.0.2.7"),
        ('for="[2001:db8:cafe::17]:4711"', "2001:db8:cafe::17"),
        ('for="192.0.2\\.7"', "192.0.2.7"),
        (f'for=203.0.113.1, for="192.0.2.7", for={INNER}', "192.0.2.7"),
        ('host="a, for=203.0.113.1;b";for=192.0.2.7', "192.0.2.7"),
        ("garbage, for=192.0.2.7", "192.0.2.7"),
        ("for=203.0.113.1, for=unknown", PROXY),
        ("for=203.0.113.1, for=_hidden", PROXY),
        ("for=203.0.113.1, proto=https", PROXY),
        ("for=203.0.113.1;for=192.0.2.7", PROXY),
        ('for="203.0.113.1, for=192.0.2.7', PROXY),
        ("for=203.0.113.1, garbage", PROXY),
    ],
)
def test_forwarded_counts_as_rfc_7239_has_it(given: str, address: str) -> None:
    assert found(Forwarded=given) == address


def test_headers_of_a_peer_that_is_not_trusted_do_not_count() -> None:
    assert found("192.0.2.1", X_Forwarded_For="203.0.113.1", Forwarded="for=203.0.113.1") == "192.0.2.1"
    assert found(PROXY, "", X_Forwarded_For="203.0.113.1") == PROXY
    assert found("", X_Forwarded_For="203.0.113.1") == ""


def test_where_the_two_headers_differ_neither_counts() -> None:
    assert found(X_Forwarded_For="192.0.2.7", Forwarded="for=192.0.2.7") == "192.0.2.7"
    assert found(X_Forwarded_For="192.0.2.7", Forwarded="for=203.0.113.1") == PROXY


@pytest.mark.parametrize("given", ["10.0.0.1/8", "nginx", "10.0.0.0/33", "10.0.0.1;10.0.0.2"])
def test_what_is_no_network_is_no_setting(given: str) -> None:
    with pytest.raises(ValidationError, match="is no network such as"):
        Settings(trusted_proxies=given)


async def log_in(house: House, email: str, *addresses: str) -> Answer:
    headers = [("X-Forwarded-For", address) for address in addresses]
    response = await house.client.post("/auth/login", json={"email": email, "password": "wrong horse"}, headers=headers)
    return await Answer.of(response)


async def test_behind_a_trusted_proxy_each_client_has_its_own_limit(house: House, settings: Settings) -> None:
    await house.close()
    house.settings = settings.model_copy(update={"rate_limits": True, "trusted_proxies": "127.0.0.0/8"})
    await house.open()
    for _ in range(5):
        assert (await log_in(house, "b@a.test", "192.0.2.1")).status == 401
    assert_problem(await log_in(house, "b@a.test", "192.0.2.1"), 429, "rate_limited")
    assert_problem(await log_in(house, "b@a.test", "203.0.113.5", "192.0.2.1"), 429, "rate_limited")
    assert (await log_in(house, "b@a.test", "192.0.2.2")).status == 401


async def test_without_trusted_proxies_what_a_caller_says_of_its_address_does_not_count(
    house: House, settings: Settings
) -> None:
    await house.close()
    house.settings = settings.model_copy(update={"rate_limits": True})
    await house.open()
    for number in range(5):
        assert (await log_in(house, "b@a.test", f"192.0.2.{number}")).status == 401
    assert_problem(await log_in(house, "b@a.test", "192.0.2.9"), 429, "rate_limited")


@pytest.mark.parametrize(
    ("address", "prefix"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::7", "2001:db8:1:2::/64"),
        ("", ""),
        ("unknown", "unknown"),
    ],
)
def test_an_ipv6_client_has_its_whole_64(address: str, prefix: str) -> None:
    assert prefix_of(address) == prefix
