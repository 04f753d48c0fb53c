"""Providers of several shapes: algorithms, claims, groups, userinfo, and logging out there."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import Any

import pytest
from aiohttp import ClientSession, web
from joserfc.jwk import ECKey, OKPKey, RSAKey
from structlog.testing import capture_logs

from daemon.sso.provider import ALGORITHMS, Client, Provider, ProviderUnavailable
from daemon.sso.verification import EVENT
from tests.listening import Listener
from tests.openid_provider import OpenIdProvider, Said, new_key
from tests.web.people import company
from tests.web.sign_on import BOB, Browser, browsing, configured
from tests.web.support import Answer, House, Person, assert_problem

LOGOUT = "/auth/sso/backchannel-logout"
CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}


def key_for(algorithm: str) -> RSAKey | ECKey | OKPKey:
    if algorithm in CURVES:
        key: RSAKey | ECKey | OKPKey = ECKey.generate_key(CURVES[algorithm])
    elif algorithm == "EdDSA":
        key = OKPKey.generate_key("Ed25519")
    else:
        key = new_key()
    key.ensure_kid()
    return key


async def again(house: House, ann: Person, provider: OpenIdProvider, **more: Any) -> None:
    await configured(house, provider.url, ann.session["company"]["id"], **more)


async def bearer(house: House, token: str) -> int:
    return (await house.send("GET", "/auth/me", headers={"Authorization": f"Bearer {token}"})).status


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
async def test_a_provider_may_sign_by_each_safe_algorithm_that_it_lists(
    house: House, ann: Person, provider: OpenIdProvider, algorithm: str
) -> None:
    provider.keys, provider.listed = [key_for(algorithm)], [algorithm]
    provider.said = Said(algorithm=algorithm)
    await again(house, ann, provider)
    async with browsing(house) as browser:
        assert (await browser.log_in()).status == 302
    assert await bearer(house, provider.token()) == 200


@pytest.mark.parametrize("named", ["müller.test", "MÜLLER.test", "xn--mller-kva.test"])
@pytest.mark.parametrize("mapped", ["müller.test", "xn--mller-kva.test"])
async def test_a_domain_is_the_same_however_its_letters_are_written(
    house: House, ann: Person, provider: OpenIdProvider, mapped: str, named: str
) -> None:
    provider.claims["email"] = f"bob@{named}"
    await again(house, ann, provider, oidc_domains=f"{mapped}={ann.session['company']['id']}:manager")
    async with browsing(house) as browser:
        assert (await browser.log_in()).status == 302
        assert (await browser.me())["role"] == "manager"


@pytest.mark.parametrize("listed", [["ES384"], ["RS512", "HS256"]])
async def test_an_algorithm_that_it_does_not_list_is_refused_for_good_by_its_name(
    house: House, ann: Person, provider: OpenIdProvider, listed: list[str]
) -> None:
    provider.listed = listed
    await again(house, ann, provider)
    with capture_logs() as logs:
        async with browsing(house) as browser:
            refused = assert_problem(await browser.log_in(), 502, "provider_unfit", retryable=False)
    assert "RS256" in refused["detail"]
    assert any("RS256" in one.get("reason", "") for one in logs)


async def test_a_provider_without_a_safe_algorithm_is_unfit_at_the_start(
    house: House, ann: Person, provider: OpenIdProvider
) -> None:
    provider.listed = ["HS256", "none"]
    await again(house, ann, provider)
    refused = assert_problem(await house.send("GET", "/auth/sso/start"), 502, "provider_unfit")
    assert "HS256" in refused["detail"]


@pytest.mark.parametrize(
    "left_out", [("email", "email_verified"), ("email_verified",), ("email", "email_verified", "name")]
)
async def test_what_the_id_token_leaves_out_is_asked_of_the_userinfo_endpoint(
    house: House, ann: Person, provider: OpenIdProvider, left_out: tuple[str, ...]
) -> None:
    provider.userinfo = dict(BOB)
    provider.claims = {name: value for name, value in BOB.items() if name not in left_out}
    await again(house, ann, provider)
    async with browsing(house) as browser:
        assert (await browser.log_in()).status == 302
        me = await browser.me()
    assert (me["user"]["email"], me["user"]["name"]) == (BOB["email"], BOB["name"])


@pytest.mark.parametrize("other", [{"sub": "mallory"}, {"sub": None}, {"email_verified": False}, {"email": "x@y.test"}])
async def test_userinfo_of_another_subject_or_address_proves_nothing(
    house: House, ann: Person, provider: OpenIdProvider, other: dict[str, Any]
) -> None:
    provider.userinfo = {**BOB, **other}
    provider.claims = {"sub": BOB["sub"], "email": BOB["email"]}
    await again(house, ann, provider)
    async with browsing(house) as browser:
        assert_problem(await browser.log_in(), 403, "forbidden", reason="email_not_verified")


async def test_an_address_may_come_by_another_claim_of_a_provider_that_is_trusted(
    house: House, ann: Person, provider: OpenIdProvider
) -> None:
    provider.claims = {"sub": "bob-1", "upn": "bob@example.test", "email": "eve@example.test", "email_verified": True}
    await again(house, ann, provider, oidc_email_claim="upn")
    async with browsing(house) as browser:
        assert_problem(await browser.log_in(), 403, "forbidden", reason="email_not_verified")
    await again(house, ann, provider, oidc_email_claim="upn", oidc_email_trusted=True)
    async with browsing(house) as browser:
        assert (await browser.log_in()).status == 302
        assert (await browser.me())["user"]["email"] == "bob@example.test"


@pytest.mark.parametrize(
    ("listed", "claimed"),
    [
        ("physicians", ["/physicians"]),
        ("/physicians", ["physicians"]),
        ("physicians=/clinic/physicians", ["/clinic/physicians"]),
        ("physicians=f5c0 Physicians", ["f5c0 Physicians"]),
    ],
)
async def test_groups_are_found_by_what_the_provider_calls_them(
    house: House, ann: Person, provider: OpenIdProvider, listed: str, claimed: list[str]
) -> None:
    await again(house, ann, provider, oidc_groups_claim="realm_access.groups", oidc_groups=listed)
    assert (await ann.put(f"{company(ann)}/groups/physicians", {"members": []})).status == 200
    provider.claims["realm_access"] = {"groups": claimed}
    async with browsing(house) as browser:
        await browser.log_in()
        member = (await browser.me())["member_id"]
    assert (await ann.get(f"{company(ann)}/groups/")).json == [{"name": "physicians", "members": [member]}]


async def test_groups_that_match_none_of_the_listed_are_in_the_log(
    house: House, ann: Person, provider: OpenIdProvider
) -> None:
    await again(house, ann, provider, oidc_groups_claim="groups", oidc_groups="physicians")
    provider.claims["groups"] = ["Physicians of the clinic"]
    with capture_logs() as logs:
        async with browsing(house) as browser:
            await browser.log_in()
    told = next(one for one in logs if one["event"] == "sso_groups_unmatched")
    assert (told["claimed"], told["listed"]) == (["Physicians of the clinic"], ["physicians"])


@pytest.mark.parametrize(
    ("claims", "header"),
    [
        ({}, {"typ": "logout+jwt"}),
        ({}, {"typ": "secevent+jwt"}),
        ({"events": {EVENT: {}}}, {}),
        ({"events": {}}, {}),
        ({"azp": "another"}, {}),
        ({"typ": "Refresh"}, {}),
        ({"typ": "Logout"}, {}),
        ({"exp": 1e308}, {}),
        ({"exp": float("inf")}, {}),
        ({"exp": float("nan")}, {}),
        ({"exp": 10**30}, {}),
        ({"iat": 1e308}, {}),
        ({"nbf": -1e308}, {}),
    ],
)
async def test_tokens_of_other_kinds_and_times_are_no_bearers(
    browser: Browser, provider: OpenIdProvider, claims: dict[str, Any], header: dict[str, Any]
) -> None:
    await browser.log_in()
    assert await bearer(browser.house, provider.token()) == 200
    provider.said = Said(claims, header=header)
    assert await bearer(browser.house, provider.token()) == 401


async def test_an_id_token_is_a_bearer_only_where_that_is_set(
    house: House, ann: Person, provider: OpenIdProvider
) -> None:
    await again(house, ann, provider, oidc_id_tokens=False, oidc_audience="https://api.example.test")
    async with browsing(house) as browser:
        await browser.log_in()
    audience = {"aud": "https://api.example.test"}
    assert await bearer(house, provider.token()) == 401
    assert await bearer(house, provider.token(**audience)) == 200
    assert await bearer(house, provider.token(**audience, nonce="n")) == 401
    provider.said = Said(header={"typ": "at+jwt"})
    assert await bearer(house, provider.token()) == 200


def logout_token(provider: OpenIdProvider, **claims: Any) -> str:
    """A logout token as it has to be, but for what is said otherwise; None leaves a claim out."""
    provider.said = Said(header={"typ": "logout+jwt", **claims.pop("header", {})})
    kept, provider.claims = provider.claims, {}
    now = int(time.time())
    given = {"sub": BOB["sub"], "sid": "s-1", "jti": f"jti-{time.monotonic_ns()}", "events": {EVENT: {}}, "iat": now}
    told = {name: value for name, value in {**given, **claims}.items() if value is not None}
    token = provider.token(**told)
    provider.claims, provider.said = kept, Said()
    return token


async def log_out(house: House, token: str) -> Answer:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return await house.send("POST", LOGOUT, data=f"logout_token={token}".encode(), headers=headers)


async def counts(browser: Browser) -> bool:
    return (await browser.get("/auth/me", **{"Penstock-Page": "1"})).status == 200


@pytest.mark.parametrize("named", [{"sid": None}, {"sub": None}, {}, {"header": {"typ": "JWT"}}])
async def test_a_provider_ends_the_sessions_that_it_began(
    browser: Browser, house: House, ann: Person, provider: OpenIdProvider, named: dict[str, Any]
) -> None:
    provider.claims["sid"] = "s-1"
    await browser.log_in()
    token = logout_token(provider, **named)
    assert (await log_out(house, token)).status == 200
    assert not await counts(browser)
    assert (await ann.get("/auth/me")).status == 200
    assert (await log_out(house, token)).status == 400, "it counts once"


async def test_a_session_of_the_provider_ends_its_own_alone(
    browser: Browser, house: House, provider: OpenIdProvider
) -> None:
    provider.claims["sid"] = "s-1"
    await browser.log_in()
    async with browsing(house) as other:
        provider.claims["sid"] = "s-2"
        await other.log_in()
        assert (await log_out(house, logout_token(provider))).status == 200
        assert [await counts(one) for one in (browser, other)] == [False, True]


@pytest.mark.parametrize(
    "claims",
    [
        {"header": {"typ": "at+jwt"}},
        {"events": None},
        {"events": {"https://other.example/event": {}}},
        {"events": {EVENT: True}},
        {"iss": "https://other.example"},
        {"aud": "another"},
        {"nonce": "n"},
        {"jti": None},
        {"jti": ""},
        {"iat": 0},
        {"iat": 1},
        {"exp": 1},
        {"exp": None},
        {"sub": None, "sid": None},
    ],
    ids=str,
)
async def test_a_logout_token_that_is_not_one_ends_nothing(
    browser: Browser, house: House, provider: OpenIdProvider, claims: dict[str, Any]
) -> None:
    provider.claims["sid"] = "s-1"
    await browser.log_in()
    if claims.get("exp", 0) is None:
        provider.life_s = None
    refused = await log_out(house, logout_token(provider, **dict(claims)))
    assert refused.status == 400, refused.raw
    assert await counts(browser)


async def test_a_logout_token_by_another_key_ends_nothing(
    browser: Browser, house: House, provider: OpenIdProvider
) -> None:
    await browser.log_in()
    token = logout_token(provider)
    forged, provider.keys = provider.keys, [new_key()]
    assert (await log_out(house, logout_token(provider))).status == 400
    provider.keys = forged
    assert await counts(browser)
    assert (await log_out(house, token)).status == 200


async def test_a_session_by_a_provider_ends_after_so_many_hours(
    house: House, ann: Person, provider: OpenIdProvider
) -> None:
    await again(house, ann, provider, oidc_session_hours=2)
    async with browsing(house) as browser:
        await browser.log_in()
        (session,) = [one for one in await sessions_of(browser) if one["current"]]
    assert hours_of(session) == 2


async def sessions_of(browser: Browser) -> Any:
    return (await browser.get("/auth/sessions/", **{"Penstock-Page": "1"})).json


def hours_of(session: dict[str, str]) -> float:
    began, ends = (datetime.fromisoformat(session[name]) for name in ("created_at", "expires_at"))
    return (ends - began).total_seconds() / 3_600


class HangingProvider(Listener):
    """Keeps everybody waiting until it is told to refuse them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.arrived, self.end = asyncio.Event(), asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        self.arrived.set()
        await self.end.wait()
        return web.Response(status=503)


async def test_a_provider_that_hangs_is_asked_once_however_many_wait_for_it() -> None:
    async with HangingProvider() as far, ClientSession() as session:
        provider = Provider(Client(far.url, "client", "", ""), session)
        waiting = [asyncio.create_task(provider.key("unknown", fetch=True)) for _ in range(20)]
        await far.arrived.wait()
        far.end.set()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(end) for end in ends} == {ProviderUnavailable}
    assert far.asked == 1


async def test_a_question_that_is_under_way_ends_with_the_service() -> None:
    async with HangingProvider() as far, ClientSession() as session:
        provider = Provider(Client(far.url, "client", "", ""), session)
        waiting = asyncio.create_task(provider.key("unknown", fetch=True))
        await far.arrived.wait()
        await provider.stop()
        (end,) = await asyncio.gather(waiting, return_exceptions=True)
        far.end.set()
    assert isinstance(end, asyncio.CancelledError)
