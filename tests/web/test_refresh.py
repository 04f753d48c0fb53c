"""The page's session: a short token, renewed by refresh tokens that count once each."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from daemon.web.cookies import COOKIE, PAGE, REFRESH_COOKIE
from tests.web.operators import Operator
from tests.web.support import PASSWORD, Answer, House, Person, assert_problem
from tests.web.test_page import HOST, LOGIN, OWN, cookies_of
from tests.web.test_tokens import claims_of

POST = {**OWN, "Origin": f"http://{HOST}"}
pytestmark = pytest.mark.one_daemon  # its clock is moved


@dataclass
class Browser:
    """What a browser keeps of the page's session."""

    house: House
    token: str
    refresh: str

    @classmethod
    def of(cls, house: House, answer: Answer) -> Browser:
        found = cookies_of(answer)
        house.client.session.cookie_jar.clear()
        return cls(house, found[COOKIE].value, found[REFRESH_COOKIE].value)

    async def send(self, method: str, path: str, body: Any = None) -> Answer:
        headers = {**POST, "Cookie": f"{COOKIE}={self.token}"}
        return await self.house.send(method, path, body, headers=headers)

    async def renew(self, **headers: str) -> Answer:
        cookie = f"{COOKIE}={self.token}; {REFRESH_COOKIE}={self.refresh}"
        return await self.house.send("POST", "/auth/refresh", headers={**POST, "Cookie": cookie, **headers})

    async def renewed(self) -> Browser:
        answer = await self.renew()
        assert answer.status == 200, answer.raw
        return Browser.of(self.house, answer)

    async def counts(self) -> bool:
        return (await self.send("GET", "/auth/me")).status == 200


@pytest.fixture
async def page(house: House, ann: Person) -> Browser:
    return Browser.of(house, await house.send("POST", "/auth/login", LOGIN, headers=OWN))


@pytest.fixture
def forward(house: House, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Moves the clock of sessions and tokens on."""
    identity = house.services.identity
    began, passed = house.services.now(), timedelta()

    def move(**by: float) -> None:
        nonlocal passed
        passed += timedelta(**by)
        later = began + passed
        for one in (identity, identity.sessions, identity._tokens):
            monkeypatch.setattr(one, "_now", lambda: later)

    return move


async def test_a_token_of_the_page_lasts_a_quarter_of_an_hour_and_that_of_an_api_client_a_day(
    page: Browser, ann: Person
) -> None:
    short, long = claims_of(Person(page.house, {"token": page.token})), claims_of(ann)
    assert short["exp"] - short["iat"] == 900
    assert long["exp"] - long["iat"] == 86_400


async def test_the_refresh_token_is_sent_to_one_address_and_no_script_reads_it(house: House, ann: Person) -> None:
    answer = await house.send("POST", "/auth/login", LOGIN, headers=OWN)
    found = cookies_of(answer)[REFRESH_COOKIE]
    assert (found["path"], found["httponly"], found["samesite"]) == ("/auth/refresh", True, "Strict")
    assert found.value.encode() not in answer.raw


async def test_a_refresh_gives_another_token_of_the_same_session(page: Browser, ann: Person) -> None:
    answer = await page.renew()
    assert answer.status == 200
    assert answer.json["user"] == ann.session["user"]
    assert set(answer.json) == set(ann.session) - {"token", "token_type"}
    newer = Browser.of(page.house, answer)
    assert newer.refresh != page.refresh
    assert newer.token != page.token
    assert [await one.counts() for one in (page, newer)] == [True, True]
    (mine,) = [one for one in (await newer.send("GET", "/auth/sessions")).json if one["current"]]
    assert mine["kind"] == "page"
    assert (await newer.renewed()).refresh != newer.refresh


async def test_two_tabs_that_refresh_at_once_get_the_same(page: Browser) -> None:
    answers = await asyncio.gather(*(page.renew() for _ in range(5)))
    assert [answer.status for answer in answers] == [200] * 5
    tabs = [Browser.of(page.house, answer) for answer in answers]
    assert len({tab.refresh for tab in tabs}) == 1
    assert all([await tab.counts() for tab in tabs])
    await tabs[0].renewed()


async def test_a_refresh_token_that_is_used_again_later_ends_the_session(
    page: Browser, ann: Person, forward: Any
) -> None:
    newer = await page.renewed()
    forward(seconds=11)
    with capture_logs() as logs:
        assert_problem(await page.renew(), 401, "not_authenticated")
    assert "refresh_token_reused" in {line["event"] for line in logs}
    assert [await one.counts() for one in (page, newer)] == [False, False]
    assert_problem(await newer.renew(), 401, "not_authenticated")
    last = (await ann.get("/audit/log")).json[0]["event"]
    assert (last["type"], last["reason"], last["by"]) == ("session_ended", "reused", ann.email)


async def test_an_older_refresh_token_ends_the_session_at_once(page: Browser) -> None:
    newest = await (await page.renewed()).renewed()
    assert_problem(await page.renew(), 401, "not_authenticated")
    assert not await newest.counts()


async def test_the_browser_forgets_what_does_not_count(page: Browser) -> None:
    await (await page.renewed()).renewed()
    gone = cookies_of(await page.renew())
    assert {(one["max-age"], one.value) for one in gone.values()} == {("0", "")}
    assert (gone[COOKIE]["path"], gone[REFRESH_COOKIE]["path"]) == ("/", "/auth/refresh")


async def test_who_knows_but_the_id_of_a_session_cannot_end_it(page: Browser) -> None:
    session_id, family, secret = page.refresh.split(".")
    for forged in (f"{session_id}.{secret}.{family}", f"{session_id}..", f"{session_id}.{'0' * 64}.{secret}", "x", "é"):
        assert_problem(await Browser(page.house, page.token, forged).renew(), 401, "not_authenticated")
    assert await page.counts()
    await page.renewed()


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "cross-site"}])
async def test_another_site_refreshes_nothing(page: Browser, headers: dict[str, str]) -> None:
    assert_problem(await page.renew(**headers), 403, "forbidden", required="same-origin")
    await page.renewed()


async def test_without_the_pages_header_or_its_cookie_nothing_is_refreshed(page: Browser) -> None:
    cookie = {"Cookie": f"{REFRESH_COOKIE}={page.refresh}"}
    for headers in (cookie, POST, {**POST, "Cookie": f"{COOKIE}={page.refresh}"}):
        assert PAGE not in headers or headers is not cookie
        assert_problem(await page.house.send("POST", "/auth/refresh", headers=headers), 401, "not_authenticated")
    await page.renewed()


async def test_a_token_expires_and_the_session_goes_on(page: Browser, forward: Any) -> None:
    forward(minutes=16)
    assert not await page.counts()
    expires = (await page.renew()).json["expires_at"]
    assert expires > page.house.services.now().isoformat()


async def test_a_session_that_nobody_uses_ends_after_a_day(page: Browser, forward: Any) -> None:
    forward(hours=23)
    page = await page.renewed()
    forward(hours=23)
    page = await page.renewed()
    forward(hours=25)
    assert_problem(await page.renew(), 401, "not_authenticated")


async def test_a_session_ends_after_30_days_however_often_it_is_used(page: Browser, forward: Any) -> None:
    for _ in range(30):
        page = await page.renewed()
        forward(hours=23.9)
    page = await page.renewed()
    forward(hours=3)
    assert_problem(await page.renew(), 401, "not_authenticated")


async def test_a_log_out_ends_it_for_good(page: Browser) -> None:
    answer = await page.send("POST", "/auth/logout")
    assert answer.status == 204
    gone = cookies_of(answer)
    assert {(name, one["path"], one["max-age"]) for name, one in gone.items()} == {
        (COOKIE, "/", "0"),
        (REFRESH_COOKIE, "/auth/refresh", "0"),
    }
    assert_problem(await page.renew(), 401, "not_authenticated")


async def test_a_new_password_ends_the_other_pages(page: Browser, house: House, ann: Person) -> None:
    other = Browser.of(house, await house.send("POST", "/auth/login", LOGIN, headers=OWN))
    body = {"current": PASSWORD, "new": "another horse battery"}
    assert (await page.send("POST", "/auth/password", body)).status == 204
    assert [await one.counts() for one in (page, other)] == [True, False]
    assert (await ann.get("/auth/me")).status == 401
    assert_problem(await other.renew(), 401, "not_authenticated")
    assert await (await page.renewed()).counts()


async def test_a_session_outlives_a_restart_and_a_new_key(page: Browser) -> None:
    await page.house.restart()
    newer = await page.renewed()
    assert await newer.counts()
    assert not [line for line in newer.refresh.split(".")[1:] if len(line) != 64]


async def test_the_store_holds_no_refresh_token(page: Browser) -> None:
    session_id, family, secret = page.refresh.split(".")
    newer = await page.renewed()
    kept = repr(await page.house.services.store.session(session_id))
    assert not [one for one in (family, secret, newer.refresh.split(".")[2]) if one in kept]


@pytest.mark.sqlite
async def test_what_became_of_sessions_is_what_the_log_says(page: Browser, ann: Person, operator: Operator) -> None:
    house = page.house
    newest = await (await page.renewed()).renewed()
    assert (await page.renew()).status == 401
    assert not await newest.counts()
    other = Person(house, (await house.send("POST", "/auth/login", LOGIN)).json)
    assert (await other.post("/auth/logout")).status == 204
    third = Browser.of(house, await house.send("POST", "/auth/login", LOGIN, headers=OWN))
    (mine,) = [one for one in (await third.send("GET", "/auth/sessions")).json if one["current"]]
    assert (await ann.delete(f"/auth/sessions/{mine['id']}")).status == 204
    assert (await ann.delete("/auth/sessions")).status == 204
    assert (await ann.post("/auth/password", {"current": PASSWORD, "new": "another horse battery"})).status == 204
    await house.close()
    verified = await operator.says("verify", "--data-dir", house.settings.data_dir)
    await house.open()
    assert verified.exit_code == 0, verified.output
