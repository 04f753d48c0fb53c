"""What proved a session counts where it was proven: single sign-on in its company alone."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from yarl import URL

from daemon.identity.tokens import NotAuthenticated
from daemon.runtime.clock import utc_now
from daemon.web.cookies import COOKIE, REFRESH_COOKIE, SIGN_ONS_MAX
from daemon.web.rate_limits import CODES
from tests.openid_provider import OpenIdProvider
from tests.web.people import colleague, company, invited
from tests.web.sign_on import BOB, PAGE, Browser, browsing, configured
from tests.web.support import PASSWORD, Answer, House, Person, assert_problem
from tests.web.test_second_factors import code_of, enrolled

EMAIL = str(BOB["email"])


async def log_in(house: House, email: str, **more: str) -> Person:
    answer = await house.send("POST", "/auth/login", {"email": email, "password": PASSWORD, **more})
    assert answer.status == 200, answer.raw
    return Person(house, answer.json)


async def sent(browser: Browser, method: str, path: str, body: Any = None) -> Answer:
    """A request of the page."""
    url = browser.house.opened[0].make_url(path)
    headers = {**PAGE, "Origin": str(url.origin())}
    given: Any = {} if body is None else {"json": body}
    async with browser.session.request(method, url, headers=headers, **given) as response:
        return await Answer.of(response)


def own(person: Person) -> dict[str, str]:
    return {"company_id": person.session["company"]["id"]}


@pytest.fixture
async def both(house: House, ann: Person, eve: Person, provider: OpenIdProvider) -> AsyncIterator[Browser]:
    """Bob's browser: of ann's company by its provider, an admin of eve's by password."""
    await configured(house, provider.url, own(ann)["company_id"])
    token = (await invited(eve, EMAIL, "admin"))["invitation"]["token"]
    body = {"email": EMAIL, "password": PASSWORD, "invitation": token}
    assert (await house.send("POST", "/auth/register", body)).status == 201
    async with browsing(house) as browser:
        page = await browser.log_in(Accept="text/html")
        assert (await browser.submit(page, password=PASSWORD)).status == 302
    async with browsing(house) as again:
        assert (await again.log_in()).status == 302
        yield again


async def test_a_session_by_a_provider_goes_to_no_other_company(both: Browser, ann: Person, eve: Person) -> None:
    me = await both.me()
    assert (me["company"], me["amr"]) == (ann.session["company"], [f"sso:{both.house.settings.oidc_issuer}"])
    assert_problem(await sent(both, "POST", "/auth/switch", own(eve)), 403, "forbidden", reason="password")
    assert (await both.me())["company"] == ann.session["company"]


async def test_a_session_by_a_provider_lists_and_ends_sessions_of_its_own_company_alone(
    both: Browser, house: House, ann: Person, eve: Person
) -> None:
    elsewhere, here = await log_in(house, EMAIL, **own(eve)), await log_in(house, EMAIL, **own(ann))
    listed = {one["id"] for one in (await both.get("/auth/sessions/", **PAGE)).json}
    ids = {one["id"]: one["current"] for one in (await elsewhere.get("/auth/sessions/")).json}
    (other,) = (one for one, current in ids.items() if current)
    (mine,) = (one["id"] for one in (await here.get("/auth/sessions/")).json if one["current"])
    assert (mine in listed, other in listed, listed < {*ids}) == (True, False, True)
    assert (await sent(both, "DELETE", f"/auth/sessions/{other}")).status == 404
    assert (await sent(both, "DELETE", "/auth/sessions")).status == 204
    assert [(await one.get("/auth/me")).status for one in (elsewhere, here)] == [200, 401]
    assert (await both.me())["company"] == ann.session["company"]
    assert (await elsewhere.delete("/auth/sessions")).status == 204
    assert (await both.get("/auth/me", **PAGE)).status == 401


async def test_the_password_takes_it_there_and_the_code_where_there_is_one(
    both: Browser, house: House, eve: Person
) -> None:
    assert (await eve.put(f"{company(eve)}/policy", {"second_factor_from": "viewer"})).status == 200
    bob = await log_in(house, EMAIL, **own(eve))
    secret, _ = await enrolled(bob)
    async with browsing(house) as browser:
        await browser.log_in()
        given = {**own(eve), "password": PASSWORD}
        wrong = await sent(browser, "POST", "/auth/switch", {**own(eve), "password": "not the one"})
        assert_problem(wrong, 401, "invalid_credentials")
        without = await sent(browser, "POST", "/auth/switch", given)
        assert_problem(without, 401, "invalid_credentials", second_factor="required")
        entered = await sent(browser, "POST", "/auth/switch", {**given, "code": code_of(secret, 1)})
        assert entered.status == 200, entered.raw
        assert (await browser.me())["amr"] == [f"sso:{house.settings.oidc_issuer}", "pwd", "otp"]
        assert (await browser.get("/process-templates/", **PAGE)).status == 200


async def test_who_was_removed_from_the_company_of_the_domain_is_refused_and_comes_to_no_other(
    both: Browser, house: House, ann: Person, eve: Person, provider: OpenIdProvider
) -> None:
    member = (await both.me())["member_id"]
    assert (await ann.delete(f"{company(ann)}/members/{member}")).status == 204
    async with browsing(house) as again:
        assert_problem(await again.log_in(), 403, "forbidden", reason="no_company")
    refused = await house.send("GET", "/auth/me", headers={"Authorization": f"Bearer {provider.token()}"})
    assert refused.status == 401


async def test_a_provider_sets_groups_in_its_own_company_alone(
    both: Browser, house: House, ann: Person, eve: Person, provider: OpenIdProvider
) -> None:
    listed = {"oidc_groups_claim": "groups", "oidc_groups": "physicians"}
    await configured(house, provider.url, own(ann)["company_id"], **listed)
    for chief in (ann, eve):
        assert (await chief.put(f"{company(chief)}/groups/physicians", {"members": []})).status == 200
    provider.claims["groups"] = ["physicians"]
    async with browsing(house) as again:
        await again.log_in()
        member = (await again.me())["member_id"]
    of_ann, of_eve = [(await chief.get(f"{company(chief)}/groups/")).json for chief in (ann, eve)]
    assert (of_ann[0]["members"], of_eve[0]["members"]) == ([member], [])


async def test_a_session_by_a_provider_accepts_no_invitation_elsewhere(
    browser: Browser, house: House, eve: Person
) -> None:
    await browser.log_in()
    token = (await invited(eve, EMAIL, "admin"))["invitation"]["token"]
    refused = await sent(browser, "POST", "/invitations/accept", {"token": token})
    assert_problem(refused, 403, "forbidden", reason="password")


async def test_a_token_of_the_provider_is_no_way_round(
    both: Browser, house: House, eve: Person, provider: OpenIdProvider
) -> None:
    headers = {"Authorization": f"Bearer {provider.token()}"}
    assert (await house.send("GET", "/auth/me", headers=headers)).json["amr"] == [f"sso:{provider.url}"]
    refused = await house.send("POST", "/auth/switch", own(eve), headers=headers)
    assert_problem(refused, 403, "forbidden", reason="password")


async def test_a_company_keeps_passwords_out_for_whom_its_provider_vouches_and_for_nobody_else(
    both: Browser, house: House, ann: Person, eve: Person
) -> None:
    bob, mia = await log_in(house, EMAIL, **own(ann)), await colleague(ann, "mia")
    assert (await ann.get(f"{company(ann)}/policy")).json["passwords"] is True
    assert (await ann.put(f"{company(ann)}/policy", {"passwords": False})).json["passwords"] is False
    assert (await both.get("/process-runs/", **PAGE)).status == 200
    for _ in range(2):
        assert_problem(await bob.get("/process-runs/"), 403, "forbidden", reason="single_sign_on")
        body = {"email": EMAIL, "password": PASSWORD, **own(ann)}
        refused = await house.send("POST", "/auth/login", body)
        assert_problem(refused, 403, "forbidden", reason="single_sign_on")
        there = await log_in(house, EMAIL, **own(eve))
        assert (await there.get("/process-runs/")).status == 200
        switched = await there.post("/auth/switch", {**own(ann), "password": PASSWORD})
        assert_problem(switched, 403, "forbidden", reason="single_sign_on")
        assert [(await one.get("/process-runs/")).status for one in (ann, mia)] == [200, 200]
        await house.restart()


async def test_sessions_stop_counting_when_their_domain_is_mapped_no_more(
    browser: Browser, house: House, ann: Person, provider: OpenIdProvider
) -> None:
    await browser.log_in()
    token = next(one.value for one in browser.session.cookie_jar if one.key.startswith(COOKIE))
    elsewhere = f"elsewhere.test={own(ann)['company_id']}"
    await configured(house, provider.url, own(ann)["company_id"], oidc_domains=elsewhere)
    answer = await house.send("GET", "/process-templates/", headers={"Authorization": f"Bearer {token}"})
    assert_problem(answer, 403, "forbidden", reason="password")
    assert_problem(await browser.log_in(), 403, "forbidden", reason="no_company")


async def test_a_refreshed_session_has_the_proof_of_the_first(browser: Browser) -> None:
    await browser.log_in()
    before = await browser.me()
    assert (await sent(browser, "POST", "/auth/refresh")).status == 200
    assert await browser.me() == before


async def test_sessions_say_what_proved_them(ann: Person) -> None:
    assert (await ann.get("/auth/me")).json["amr"] == ["pwd"]
    secret, _ = await enrolled(ann)
    assert (await ann.get("/auth/me")).json["amr"] == ["pwd", "otp"], "it was proven by enrolling"
    other = await log_in(ann.house, ann.email, code=code_of(secret, 1))
    assert (await other.get("/auth/me")).json["amr"] == ["pwd", "otp"]
    assert [one["amr"] for one in (await ann.get("/auth/sessions/")).json] == [["pwd", "otp"]] * 2
    await ann.house.restart()
    assert [one["amr"] for one in (await ann.get("/auth/sessions/")).json] == [["pwd", "otp"]] * 2


async def test_a_session_of_a_new_member_has_the_proof_of_its_password(ann: Person, eve: Person) -> None:
    secret, _ = await enrolled(eve)
    token = (await invited(ann, eve.email))["invitation"]["token"]
    joined = Person(ann.house, (await eve.post("/invitations/accept", {"token": token})).json)
    assert (await joined.get("/auth/me")).json["amr"] == ["pwd", "otp"]
    back = Person(ann.house, (await joined.post("/auth/switch", own(eve))).json)
    assert (await back.get("/auth/me")).json["amr"] == ["pwd", "otp"]
    assert code_of(secret)


async def test_a_session_that_proved_no_code_does_not_count_where_one_is_asked_for(house: House, ann: Person) -> None:
    """As those of versions before, which kept no proof: the person has a code, this session not."""
    secret, _ = await enrolled(ann)
    proven = await log_in(ann.house, ann.email, code=code_of(secret, 1))
    assert (await proven.put(f"{company(ann)}/policy", {"second_factor_from": "viewer"})).status == 200
    assert (await proven.get("/process-templates/")).status == 200
    identity = house.services.identity
    claims, key = identity.claims(proven.token)
    for amr in ([], ["pwd"]):
        less = Person(house, {**proven.session, "token": identity.signed({**claims, "amr": amr}, key)})
        assert_problem(await less.get("/process-templates/"), 403, "forbidden", reason="second_factor")


@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.sqlite
async def test_an_invitation_gives_its_role_by_single_sign_on_while_it_counts(
    browser: Browser, house: House, ann: Person, hours: int
) -> None:
    await invited(ann, EMAIL, "admin")
    await house.close()
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db:
        at = (utc_now() + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")
        db.execute("UPDATE invitations SET expires_at = ?", (at,))
        db.commit()
    await house.open()
    await browser.log_in()
    assert (await browser.me())["role"] == ("manager" if hours < 0 else "admin")


@pytest.mark.sqlite
async def test_a_session_by_a_provider_from_a_version_before_ends_after_as_many_hours(
    browser: Browser, house: House
) -> None:
    await browser.log_in()
    refresh = next(one.value for one in browser.session.cookie_jar if one.key.startswith(REFRESH_COOKIE))
    await house.close()
    began, ends = [(utc_now() + timedelta(hours=hours)).isoformat().replace("+00:00", "Z") for hours in (-13, 700)]
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db:
        db.execute("UPDATE sessions SET amr = '', created_at = ?, expires_at = ? WHERE via = 'sso'", (began, ends))
        db.commit()
    await house.open()
    with pytest.raises(NotAuthenticated):
        await house.services.identity.sessions.refresh(refresh)


async def test_two_mailboxes_are_two_people(house: House, ann: Person, provider: OpenIdProvider) -> None:
    await configured(house, provider.url, own(ann)["company_id"])
    found = []
    for place, email in enumerate(("boss@example.test", "bo\u00df@example.test", "BOSS@example.test")):
        provider.claims |= {"sub": f"boss-{place}", "email": email}
        async with browsing(house) as browser:
            answer = await browser.log_in()
            found.append((answer.status, (await browser.me())["user"]["id"] if answer.status == 302 else ""))
    assert [status for status, _ in found] == [302, 302, 403], "another subject does not take a linked account over"
    assert found[0] != found[1]


async def test_two_sign_ins_of_one_browser_both_work_and_a_failed_one_ends_itself_alone(browser: Browser) -> None:
    first, second = [await browser.at_provider(f"/auth/sso/start?return_to=%23/{one}") for one in ("one", "two")]
    assert_problem(await browser.get("/auth/sso/callback?code=c&state=guessed"), 403, "forbidden", reason="sign_in")
    assert_problem(await browser.get(f"{URL(first).update_query(code='wrong')}"), 403, "forbidden", reason="sign_in")
    assert (await browser.get(second)).headers["Location"] == "/#/two"
    third, fourth = [await browser.at_provider(f"/auth/sso/start?return_to=%23/{one}") for one in ("three", "four")]
    assert [(await browser.get(one)).headers["Location"] for one in (third, fourth)] == ["/#/three", "/#/four"]


async def test_a_browser_keeps_few_pending_sign_ins(browser: Browser) -> None:
    begun = [await browser.at_provider() for _ in range(SIGN_ONS_MAX + 3)]
    kept = [one for one in browser.session.cookie_jar if "sso" in one.key]
    assert len(kept) == SIGN_ONS_MAX
    assert (await browser.get(begun[-1])).status == 302


async def test_of_two_admins_who_remove_each_other_at_once_one_stays(house: House, ann: Person) -> None:
    for turn in range(4):
        one, two = [await colleague(ann, f"{name}{turn}", "admin") for name in ("one", "two")]
        paths = [f"{company(ann)}/members/{each.session['member_id']}" for each in (two, one)]
        answers = await asyncio.gather(one.delete(paths[0]), two.delete(paths[1]))
        assert sorted(each.status for each in answers) in ([204, 401], [204, 404]), [each.raw for each in answers]


async def test_the_limit_of_codes_stays_where_limits_are_off(house: House, ann: Person) -> None:
    secret, _ = await enrolled(ann)
    house.settings = house.settings.model_copy(update={"rate_limits": False})
    await house.restart()
    body = {"email": ann.email, "password": PASSWORD}
    answers = [await house.send("POST", "/auth/login", {**body, "code": "000000x"}) for _ in range(CODES.amount + 1)]
    assert [one.status for one in answers] == [401] * CODES.amount + [429]
    assert (await house.send("POST", "/auth/login", {**body, "code": code_of(secret, 1)})).status == 429
