"""People log in by an OpenID provider, and its tokens are callers of the API."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import ECKey, OctKey
from structlog.testing import capture_logs
from yarl import URL

from daemon.contract.accounts import number_of
from daemon.sso.provider import FRESH_S
from daemon.sso.service import challenge_of
from tests.openid_provider import CLIENT, OpenIdProvider, Said, new_key
from tests.web.people import company
from tests.web.sign_on import BOB, PAGE, Browser, browsing, configured
from tests.web.support import PASSWORD, House, Person, assert_problem

VERIFIER = "v" * 43


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def log_of(person: Person) -> list[dict[str, Any]]:
    return [one["event"] for one in (await person.get("/audit/log")).json][::-1]


async def test_a_person_of_a_mapped_domain_joins_the_company_with_its_role(browser: Browser, ann: Person) -> None:
    entered = await browser.log_in("/auth/sso/start?return_to=%23/runs")
    assert (entered.status, entered.headers["Location"]) == (302, "/#/runs")
    me = await browser.me()
    assert (me["user"]["email"], me["user"]["name"], me["role"]) == ("bob@example.test", "Bob", "manager")
    assert me["company"] == ann.session["company"]
    kinds = [(one["type"], one.get("via")) for one in await log_of(ann)][-3:]
    assert kinds == [("member_changed", "sso"), ("subject_linked", "sso"), ("logged_in", "sso")]


async def test_who_comes_again_is_the_same_person_whatever_their_address_is_now(
    browser: Browser, house: House, provider: OpenIdProvider
) -> None:
    await browser.log_in()
    provider.claims |= {"email": "robert@elsewhere.test"}
    async with browsing(house) as other:
        await other.log_in()
        assert await other.me() == await browser.me()


async def test_the_page_renews_a_session_of_single_sign_on(browser: Browser, house: House) -> None:
    await browser.log_in()
    url = house.opened[0].make_url("/auth/refresh")
    async with browser.session.post(url, headers={**PAGE, "Origin": str(url.origin())}) as renewed:
        assert renewed.status == 200, await renewed.text()
    await browser.me()


async def test_a_company_that_asks_for_second_factors_leaves_them_to_the_provider(
    browser: Browser, ann: Person
) -> None:
    await browser.log_in()
    path = f"/companies/{ann.session['company']['id']}/policy"
    answer = await ann.put(path, {"second_factor_from": "viewer"})
    assert answer.status == 200, answer.raw
    assert (await browser.get("/process-templates/", **PAGE)).status == 200


async def test_a_log_in_that_another_browser_began_is_refused(browser: Browser, house: House) -> None:
    back = await browser.at_provider()
    async with browsing(house) as other:
        assert_problem(await other.get(back), 403, "forbidden", reason="sign_in")
        await other.at_provider()
        assert_problem(await other.get(back), 403, "forbidden", reason="sign_in")
    mixed = URL(back).update_query(state="s" * 43)
    assert_problem(await browser.get(mixed), 403, "forbidden", reason="sign_in")


async def test_a_browser_is_told_on_a_page_that_a_log_in_failed(browser: Browser) -> None:
    failed = await browser.get("/auth/sso/callback?code=c&state=s", Accept="text/html")
    assert (failed.status, failed.headers["Content-Type"]) == (403, "text/html; charset=utf-8")
    assert b"<script" not in failed.raw
    assert "default-src 'none'" in failed.headers["Content-Security-Policy"]


async def test_a_code_counts_once(browser: Browser, house: House) -> None:
    back = await browser.at_provider()
    kept = {one.key: one.value for one in browser.session.cookie_jar}
    assert (await browser.get(back)).status == 302
    async with browsing(house) as thief:
        thief.session.cookie_jar.update_cookies(kept, house.opened[0].make_url("/auth/sso/callback"))
        assert_problem(await thief.get(back), 403, "forbidden", reason="sign_in")


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another client"},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"iss": "https://other.example"},
        {"nonce": "of another log-in"},
        {"exp": 1},
        {"iat": 2**40},
        {"sub": ""},
        {"sub": 7},
    ],
    ids="-".join,
)
async def test_an_id_token_that_is_not_for_this_log_in_is_refused(
    browser: Browser, provider: OpenIdProvider, claims: dict[str, Any]
) -> None:
    provider.said = Said(claims)
    assert_problem(await browser.log_in(), 403, "forbidden", reason="sign_in")


async def test_a_token_by_another_key_or_algorithm_is_refused(browser: Browser, provider: OpenIdProvider) -> None:
    own = provider.keys[0]
    forged = [
        Said(key=new_key()),
        Said(key=new_key(), header={"kid": own.kid}),
        Said(key=OctKey.generate_key(256), algorithm="HS256", header={"kid": own.kid}),
        Said(key=ECKey.generate_key("P-256"), algorithm="ES256", header={"kid": own.kid}),
    ]
    for said in forged:
        provider.said = said
        if said.algorithm == "HS256":
            assert_problem(await browser.log_in(), 502, "provider_unfit")
        else:
            assert_problem(await browser.log_in(), 403, "forbidden", reason="sign_in")
    provider.said = Said()
    await browser.log_in()
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": own.kid}).encode()).decode().rstrip("=")
    signed = f"{head}.{provider.token().split('.')[1]}"
    mac = hmac.digest(own.as_pem(private=False), signed.encode(), "sha256")  # the public key as a secret
    forged_token = f"{signed}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
    assert (await browser.house.send("GET", "/auth/me", headers=bearer(forged_token))).status == 401


async def test_a_token_without_a_signature_is_refused(browser: Browser, provider: OpenIdProvider) -> None:
    await browser.log_in()
    header, claims, signature = provider.token().split(".")
    none = "eyJhbGciOiJub25lIn0"  # {"alg":"none"}
    for token in (f"{none}.{claims}.", f"{none}.{claims}.{signature}", f"{header}.{claims}."):
        assert_problem(await browser.house.send("GET", "/auth/me", headers=bearer(token)), 401, "not_authenticated")


async def test_a_rotated_key_counts_at_the_next_log_in(
    browser: Browser, house: House, provider: OpenIdProvider
) -> None:
    assert (await browser.log_in()).status == 302
    old, unused = provider.token(), provider.token(jti="unused")
    assert (await house.send("GET", "/auth/me", headers=bearer(old))).status == 200
    provider.rotate()
    async with browsing(house) as other:
        assert (await other.log_in()).status == 302
    assert (await house.send("GET", "/auth/me", headers=bearer(provider.token()))).status == 200
    for token in (old, unused):
        assert (await house.send("GET", "/auth/me", headers=bearer(token))).status == 401


@pytest.mark.one_daemon
async def test_a_token_whose_key_the_provider_dropped_ends_when_the_keys_are_fetched_again(
    browser: Browser, house: House, provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    await browser.log_in()
    old, sso = provider.token(), house.services.sso
    assert sso is not None
    assert (await house.send("GET", "/auth/me", headers=bearer(old))).status == 200
    provider.rotate()
    assert (await house.send("GET", "/auth/me", headers=bearer(old))).status == 200
    monkeypatch.setattr(sso.provider, "_monotonic", lambda: time.monotonic() + FRESH_S)
    assert (await house.send("GET", "/auth/me", headers=bearer(old))).status == 401
    assert (await house.send("GET", "/auth/me", headers=bearer(provider.token()))).status == 200


@pytest.mark.one_daemon
async def test_while_the_provider_is_down_its_tokens_count_by_the_keys_that_it_last_told(
    browser: Browser, house: House, provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    await browser.log_in()
    token, sso = provider.token(), house.services.sso
    assert sso is not None
    assert (await house.send("GET", "/auth/me", headers=bearer(token))).status == 200
    provider.down = True
    monkeypatch.setattr(sso.provider, "_monotonic", lambda: time.monotonic() + FRESH_S)
    for one in (token, provider.token(jti="another")):
        assert (await house.send("GET", "/auth/me", headers=bearer(one))).status == 200


@pytest.mark.parametrize("verified", [False, None, "false"])
async def test_an_address_that_is_not_verified_brings_nobody_in(
    browser: Browser, provider: OpenIdProvider, verified: object
) -> None:
    provider.claims |= {"email_verified": verified}
    assert_problem(await browser.log_in(), 403, "forbidden", reason="email_not_verified")


@pytest.mark.parametrize("email", ["bob@elsewhere.test", "bob@sub.example.test", "@example.test", None])
async def test_an_address_of_no_mapped_domain_brings_nobody_in(
    browser: Browser, provider: OpenIdProvider, email: str | None
) -> None:
    provider.claims |= {"email": email}
    assert_problem(await browser.log_in(), 403, "forbidden", reason="no_company")


@pytest.mark.parametrize(
    "email",
    [
        "x\r\nBcc: y@example.test",
        "x@y@example.test",
        "-x@example.test",
        "=?q?x?=@example.test",
        "a\u200bb@example.test",
        "\u017f@example.test",
    ],
)
async def test_what_has_not_the_form_of_an_address_brings_nobody_in(
    browser: Browser, provider: OpenIdProvider, email: str
) -> None:
    provider.claims |= {"email": email, "email_verified": True}
    assert_problem(await browser.log_in(), 403, "forbidden", reason="no_company")


async def test_who_registered_the_address_of_another_gets_no_further_with_it(
    browser: Browser, house: House, ann: Person
) -> None:
    body = {"email": BOB["email"], "password": PASSWORD, "company_name": "a trap"}
    thief = Person(house, (await house.send("POST", "/auth/register", body)).json)
    assert_problem(await browser.log_in(), 403, "forbidden", reason="log_in_needed")
    assert [one["name"] for one in (await thief.get("/auth/me")).json["companies"]] == ["a trap"]
    assert await log_of(ann) == [one for one in await log_of(ann) if one["type"] != "subject_linked"]


async def test_a_member_of_the_company_keeps_password_and_role(
    house: House, ann: Person, provider: OpenIdProvider
) -> None:
    await configured(
        house, provider.url, ann.session["company"]["id"], oidc_domains=f"ann.test={ann.session['company']['id']}"
    )
    provider.claims |= {"email": ann.email.upper()}
    async with browsing(house) as browser:
        assert_problem(await browser.log_in(), 403, "forbidden", reason="log_in_needed")
        page = await browser.log_in(Accept="text/html")
        assert (await browser.submit(page, password="not the one")).status == 401
        assert (await browser.submit(page, password=PASSWORD)).status == 302
        assert (await browser.me())["role"] == "owner"
        async with browsing(house) as again:
            assert (await again.log_in()).status == 302, "it is linked from then on"
    assert (await house.send("POST", "/auth/login", {"email": ann.email, "password": PASSWORD})).status == 200


async def test_while_the_provider_is_down_all_else_works(
    browser: Browser, ann: Person, provider: OpenIdProvider
) -> None:
    back = await browser.at_provider()
    provider.down = True
    assert_problem(await browser.get(back), 503, "provider_unavailable")
    assert (await ann.get("/auth/me")).status == 200
    unknown = provider.token()
    answer = await browser.house.send("GET", "/auth/me", headers=bearer(unknown))
    assert_problem(answer, 503, "provider_unavailable")
    provider.down = False
    assert (await browser.log_in()).status == 302


async def test_a_provider_that_names_another_issuer_is_told_with_both_and_not_as_an_outage(
    house: House, ann: Person, provider: OpenIdProvider
) -> None:
    with capture_logs() as logs:
        await configured(house, provider.url + "/", ann.session["company"]["id"])
        refused = assert_problem(await house.send("GET", "/auth/sso/start"), 502, "provider_unfit", retryable=False)
    logged = next(one["reason"] for one in logs if one["event"] == "sso_provider_unfit")
    for value in (f"itself {provider.url},", f"PENSTOCK_OIDC_ISSUER is {provider.url}/"):
        assert value in refused["detail"]
        assert value in logged


async def test_a_token_of_the_provider_is_its_person_on_the_api(browser: Browser, provider: OpenIdProvider) -> None:
    house = browser.house
    assert (await house.send("GET", "/auth/me", headers=bearer(provider.token()))).status == 401  # not known yet
    await browser.log_in()
    found = await house.send("GET", "/auth/me", headers=bearer(provider.token()))
    assert (found.status, found.json["user"]["email"]) == (200, BOB["email"])
    for claims in ({"aud": "another"}, {"exp": 1}, {"iss": "https://other.example"}, {"sub": "another"}):
        refused = await house.send("GET", "/auth/me", headers=bearer(provider.token(**claims)))
        assert_problem(refused, 401, "not_authenticated")


@pytest.mark.one_daemon
async def test_strangers_cannot_have_the_keys_asked_for_again_and_again(
    browser: Browser, provider: OpenIdProvider
) -> None:
    await browser.log_in()
    asked, provider.said = provider.keys_asked, Said(header={"kid": "unknown"})
    for _ in range(5):
        assert (await browser.house.send("GET", "/auth/me", headers=bearer(provider.token()))).status == 401
    assert provider.keys_asked == asked


async def test_a_command_swaps_the_code_of_its_browser_once(browser: Browser) -> None:
    start = f"/auth/sso/start?cli=45678&challenge={challenge_of(VERIFIER)}"
    asked = await browser.log_in(start)
    assert asked.status == 200, "nothing is handed out before the person has said yes"
    assert number_of(challenge_of(VERIFIER)).encode() in asked.raw
    assert b"<script" not in asked.raw
    back = URL((await browser.submit(asked)).headers["Location"])
    assert str(back.origin()) == "http://127.0.0.1:45678"
    code, house = back.query["code"], browser.house
    wrong = await house.send("POST", "/auth/sso/token", {"code": code, "verifier": "w" * 43})
    assert_problem(wrong, 403, "forbidden", reason="sign_in")
    swap = {"code": code, "verifier": VERIFIER}
    swapped = await asyncio.gather(*(house.send("POST", "/auth/sso/token", swap) for _ in range(3)))
    assert sorted(one.status for one in swapped) == [200, 403, 403]
    bob = Person(house, next(one.json for one in swapped if one.status == 200))
    assert (await bob.get("/auth/me")).json["user"]["email"] == BOB["email"]


async def test_a_command_is_told_why_a_log_in_failed(browser: Browser, provider: OpenIdProvider) -> None:
    provider.claims |= {"email": "bob@elsewhere.test"}
    back = await browser.log_in(f"/auth/sso/start?cli=45678&challenge={challenge_of(VERIFIER)}")
    assert back.headers["Location"] == "http://127.0.0.1:45678/?error=no_company"


@pytest.mark.parametrize(
    "query",
    ["return_to=//evil.test", "return_to=%23javascript", "cli=22&challenge=" + "c" * 43, "cli=45678", "challenge=c"],
)
async def test_a_start_leads_nowhere_else(browser: Browser, query: str) -> None:
    assert_problem(await browser.get(f"/auth/sso/start?{query}"), 422, "invalid")


async def test_without_a_provider_there_is_no_single_sign_on(house: House) -> None:
    assert (await house.send("GET", "/auth/options")).json["sso"] is False
    for path in ("/auth/sso/start", "/auth/sso/callback"):
        assert_problem(await house.send("GET", path), 404, "not_found")
    swap = {"code": "c", "verifier": VERIFIER}
    assert_problem(await house.send("POST", "/auth/sso/token", swap), 404, "not_found")


async def test_a_member_who_was_removed_is_nobody_and_does_not_come_back(
    browser: Browser, house: House, ann: Person, provider: OpenIdProvider
) -> None:
    await browser.log_in()
    token, me = provider.token(), await browser.me()
    assert (await house.send("GET", "/auth/me", headers=bearer(token))).status == 200
    path = f"/companies/{ann.session['company']['id']}/members/{me['user']['id']}"
    assert (await ann.delete(path)).status == 204
    assert (await house.send("GET", "/auth/me", headers=bearer(token))).status == 401
    assert (await browser.get("/auth/me", **PAGE)).status == 401
    async with browsing(house) as again:
        assert_problem(await again.log_in(), 403, "forbidden", reason="no_company")


@asynccontextmanager
async def provider_process() -> AsyncIterator[str]:
    """The provider oidc-provider-mock as a process of its own; its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", "0", "--require-nonce", "true"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        found = None
        while found is None:
            line = await process.stderr.readline()
            assert line, "the provider has ended"
            found = re.search(rb"running on (http://[0-9.:]+)", line)
        draining = asyncio.create_task(process.stderr.read())
        yield found[1].decode()
    finally:
        process.terminate()
        await process.wait()
    await draining


async def test_a_person_logs_in_by_a_provider_that_others_have_written(house: House, ann: Person) -> None:
    async with provider_process() as issuer, browsing(house) as browser:
        await configured(house, issuer, ann.session["company"]["id"], oidc_client_id="penstock")
        async with browser.session.put(f"{issuer}/users/bob-1", json=BOB) as made:
            assert made.status == 204
        begun = await browser.get("/auth/sso/start")
        async with browser.session.post(
            URL(begun.headers["Location"], encoded=True), data={"sub": "bob-1"}, allow_redirects=False
        ) as back:
            location = back.headers["Location"]
        assert parse_qs(urlsplit(location).query)["code"]
        kept = {one.key: one.value for one in browser.session.cookie_jar}
        assert (await browser.get(location)).status == 302
        assert (await browser.me())["user"]["email"] == BOB["email"]
        url = house.opened[0].make_url("/auth/sso/callback")
        browser.session.cookie_jar.update_cookies(kept, url)
        assert_problem(await browser.get(location), 403, "forbidden", reason="sign_in")


async def groups_of(person: Person) -> dict[str, list[str]]:
    return {one["name"]: one["members"] for one in (await person.get(f"{company(person)}/groups/")).json}


async def test_the_provider_decides_the_groups_that_are_listed_and_no_others(
    house: House, ann: Person, provider: OpenIdProvider
) -> None:
    listed = {"oidc_groups_claim": "teams", "oidc_groups": "physicians, nurses, not there"}
    await configured(house, provider.url, ann.session["company"]["id"], **listed)
    for name in ("physicians", "nurses", "by-hand"):
        assert (await ann.put(f"{company(ann)}/groups/{name}", {"members": []})).status == 200

    async def arrive(teams: object) -> str:
        provider.claims["teams"] = teams
        async with browsing(house) as one:
            await one.log_in()
            found: str = (await one.me())["member_id"]
            return found

    bob = await arrive(["physicians", "by-hand", "not there"])
    assert await groups_of(ann) == {"by-hand": [], "nurses": [], "physicians": [bob]}
    assert (await ann.put(f"{company(ann)}/groups/by-hand", {"members": [bob]})).status == 200
    await arrive(["nurses"])
    assert await groups_of(ann) == {"by-hand": [bob], "nurses": [bob], "physicians": []}
    provider.claims.pop("teams")
    async with browsing(house) as one:
        await one.log_in()
    assert await groups_of(ann) == {"by-hand": [bob], "nurses": [bob], "physicians": []}
    told = [(one["group"], one["by"], one["via"]) for one in await log_of(ann) if one["type"] == "group_changed"]
    assert ("nurses", BOB["email"], "sso") in told


@pytest.mark.parametrize("teams", [5, [5, None], {"nurses": True}, []])
async def test_a_claim_of_groups_that_is_no_list_of_names_puts_nobody_into_one(
    house: House, ann: Person, provider: OpenIdProvider, teams: object
) -> None:
    await configured(house, provider.url, ann.session["company"]["id"], oidc_groups_claim="teams", oidc_groups="nurses")
    await ann.put(f"{company(ann)}/groups/nurses", {"members": []})
    provider.claims["teams"] = teams
    async with browsing(house) as one:
        assert (await one.log_in()).status == 302
    assert await groups_of(ann) == {"nurses": []}
