"""The page as it is served, and its session: a cookie that counts for the page alone."""

from __future__ import annotations

import gzip
import re
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest

from daemon.web.cookies import COOKIE, PAGE, REFRESH_COOKIE, cookie_at
from tests.web.support import PASSWORD, Answer, House, Person, assert_problem

ASSETS = Path(__file__).parents[2] / "daemon" / "web" / "static" / "assets"
HOST = "penstock.example.com"
OWN = {"Host": HOST, PAGE: "1", "Sec-Fetch-Site": "same-origin"}
LOGIN = {"email": "ann@ann.test", "password": PASSWORD}


async def entered(house: House, **headers: str) -> Answer:
    """A log-in as the page makes it."""
    return await house.send("POST", "/auth/login", LOGIN, headers={**OWN, **headers})


def cookies_of(answer: Answer) -> Any:
    found = SimpleCookie()
    for line in answer.headers.getall("Set-Cookie", ()):  # type: ignore[attr-defined]
        found.load(line)
    return found


def cookie_of(answer: Answer) -> Any:
    return cookies_of(answer)[COOKIE]


@pytest.fixture
async def cookie(house: House, ann: Person) -> dict[str, str]:
    """What a browser sends by itself once Ann has logged in, whoever makes it send something."""
    value = cookie_of(await entered(house)).value
    house.client.session.cookie_jar.clear()
    return {"Cookie": f"{COOKIE}={value}", "Host": HOST}


async def test_the_page_gets_its_token_where_no_script_reads_it(house: House, ann: Person) -> None:
    answer = await entered(house)
    assert answer.status == 200
    found = cookie_of(answer)
    assert (found["httponly"], found["samesite"], found["path"]) == (True, "Strict", "/")
    assert int(found["max-age"]) == house.settings.page_token_ttl_s
    assert found["domain"] == ""
    assert found.value.encode() not in answer.raw
    assert answer.json["user"] == ann.session["user"]
    assert set(answer.json) == set(ann.session) - {"token", "token_type"}


async def test_a_registration_by_the_page_gets_one_too(house: House) -> None:
    body = {"email": "new@new.test", "password": PASSWORD, "company_name": "New"}
    answer = await house.send("POST", "/auth/register", body, headers=OWN)
    assert answer.status == 201
    assert cookie_of(answer)["httponly"]
    assert "token" not in answer.json


@pytest.mark.parametrize(("origin", "secure"), [("https://penstock.example.com", True), ("http://localhost", "")])
async def test_over_https_the_cookie_is_for_https_alone(house: House, ann: Person, origin: str, secure: object) -> None:
    found = cookies_of(await entered(house, Origin=origin))
    token, refresh = (f"__Host-{COOKIE}", f"__Secure-{REFRESH_COOKIE}") if secure else (COOKIE, REFRESH_COOKIE)
    assert set(found) == {token, refresh}
    assert [found[name]["secure"] for name in (token, refresh)] == [secure, secure]
    assert (found[token]["path"], found[refresh]["path"], found[token]["domain"]) == ("/", "/auth/refresh", "")


async def test_behind_tls_the_cookie_that_only_this_host_can_set_is_the_one_that_counts(
    house: House, ann: Person, eve: Person
) -> None:
    https = {**OWN, "Origin": f"https://{HOST}"}
    mine, planted = f"__Host-{COOKIE}={ann.token}", f"{COOKIE}={eve.token}"
    for jar in (f"{planted}; {mine}", f"{mine}; {planted}"):
        answer = await house.send("GET", "/auth/me", headers={**https, "Cookie": jar})
        assert answer.json["user"] == ann.session["user"]


async def test_the_cookie_of_an_earlier_version_counts_until_the_next_log_in(house: House, ann: Person) -> None:
    https = {**OWN, "Origin": f"https://{HOST}", "Cookie": f"{COOKIE}={ann.token}"}
    assert (await house.send("GET", "/auth/me", headers=https)).status == 200
    found = cookies_of(await house.send("POST", "/auth/login", LOGIN, headers=https))
    assert found[COOKIE]["max-age"] == "0"
    assert found[f"__Host-{COOKIE}"].value


async def test_the_cookie_counts_for_the_page(house: House, cookie: dict[str, str]) -> None:
    assert (await house.send("GET", "/auth/me", headers={**cookie, **OWN})).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {PAGE: "1", "Sec-Fetch-Site": "cross-site"},
        {PAGE: "1", "Sec-Fetch-Site": "same-site"},
        {PAGE: "1", "Sec-Fetch-Site": "none"},
        {PAGE: "1", "Origin": "https://elsewhere.example.com"},
        {PAGE: "1", "Origin": "null"},
    ],
)
async def test_for_nobody_else_it_counts(house: House, cookie: dict[str, str], headers: dict[str, str]) -> None:
    assert_problem(await house.send("GET", "/auth/me", headers={**cookie, **headers}), 401, "not_authenticated")
    run = {"vertical": "line", "inputs": {"amount": 1}}
    started = await house.send("POST", "/process-runs/", run, headers={**cookie, **headers})
    assert_problem(started, 401, "not_authenticated")


async def test_what_changes_something_has_to_say_where_it_comes_from(house: House, cookie: dict[str, str]) -> None:
    """Over plain HTTP browsers leave out Sec-Fetch-Site; Origin they send with each POST."""
    silent = {**cookie, PAGE: "1"}
    assert (await house.send("GET", "/auth/me", headers=silent)).status == 200
    assert (await house.send("POST", "/auth/logout", headers=silent)).status == 401
    assert (await house.send("POST", "/auth/logout", headers={**silent, "Origin": f"http://{HOST}"})).status == 204


async def test_services_under_two_ports_of_a_host_have_a_session_each(house: House, ann: Person) -> None:
    ports = {port: {**OWN, "Host": f"localhost:{port}"} for port in (8080, 8081)}
    jar: dict[str, str] = {}
    for own in ports.values():
        answer = await house.send("POST", "/auth/login", LOGIN, headers=own)
        jar |= {name: one.value for name, one in SimpleCookie(answer.headers["Set-Cookie"]).items()}
    sent = {"Cookie": "; ".join(f"{name}={token}" for name, token in jar.items())}
    house.client.session.cookie_jar.clear()
    assert (await house.send("POST", "/auth/logout", headers={**sent, **ports[8081]})).status == 204
    asked = [await house.send("GET", "/auth/me", headers={**sent, **own}) for own in ports.values()]
    assert [answer.status for answer in asked] == [200, 401]


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("penstock.example.com", COOKIE),
        ("localhost:8080", f"{COOKIE}_8080"),
        ("[::1]:8080", f"{COOKIE}_8080"),
        ("[::1]", COOKIE),
        ("", COOKIE),
        ("localhost:", COOKIE),
        ("localhost:x=y; a", COOKIE),
    ],
)
def test_the_cookie_is_named_for_the_port(host: str, name: str) -> None:
    assert cookie_at(host) == name


async def test_another_site_opens_no_session_in_a_browser(house: House, ann: Person) -> None:
    answer = await house.send("POST", "/auth/login", LOGIN, headers={PAGE: "1", "Sec-Fetch-Site": "cross-site"})
    assert_problem(answer, 403, "forbidden", required="same-origin")
    assert "Set-Cookie" not in answer.headers


async def test_a_log_out_revokes_the_token_and_takes_the_cookie_away(house: House, cookie: dict[str, str]) -> None:
    answer = await house.send("POST", "/auth/logout", headers={**cookie, **OWN})
    assert answer.status == 204
    gone = cookie_of(answer)
    assert (gone.value, gone["max-age"]) == ("", "0")
    assert (await house.send("GET", "/auth/me", headers={**cookie, **OWN})).status == 401


async def test_who_brings_a_token_is_answered_as_ever(house: House, ann: Person, cookie: dict[str, str]) -> None:
    answer = await house.send("POST", "/auth/login", LOGIN)
    assert set(answer.json) == set(ann.session)
    assert "Set-Cookie" not in answer.headers
    wrong = {"Authorization": "Bearer none", **cookie, **OWN}
    assert_problem(await house.send("GET", "/auth/me", headers=wrong), 401, "not_authenticated")
    left = await ann.send("POST", "/auth/logout")
    assert (left.status, "Set-Cookie" in left.headers) == (204, False)


async def test_the_page_allows_itself_nothing_but_its_own_files(house: House) -> None:
    answer = await house.send("GET", "/")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert answer.headers["Cache-Control"] == "no-cache"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    text = answer.raw.decode()
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on[a-z]+=", text)
    assert not re.search(r"(?:src|href)=\"(?!/assets/)", text)


async def test_every_file_that_the_page_names_is_there_for_good(house: House) -> None:
    text = (await house.send("GET", "/")).raw.decode()
    names = re.findall(r"(?:src|href)=\"(/assets/[^\"]+)\"", text)
    assert names
    for name in names:
        answer = await house.send("GET", name)
        assert answer.status == 200
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


async def test_a_file_is_sent_compressed_to_who_takes_it(house: House) -> None:
    text = (await house.send("GET", "/")).raw.decode()
    (*_, name) = re.findall(r"src=\"(/assets/[^\"]+\.js)\"", text)
    asked = [await raw(house, name, encoding) for encoding in ("identity", "gzip", "gzip;q=0", "br, gzip;q=0.5")]
    (plain_one, _), (small, kind), (refused, _), (second, _) = asked
    assert kind == "gzip"
    assert gzip.decompress(small) == plain_one == refused
    assert second == small
    assert len(small) < len(plain_one) / 2


async def test_the_typeface_comes_from_here_as_it_is_and_its_licence_with_it(house: House) -> None:
    text = (await house.send("GET", "/")).raw.decode()
    (name,) = re.findall(r"href=\"(/assets/[^\"]+\.woff2)\"", text)
    assert (await house.send("GET", name)).headers["Content-Type"] == "font/woff2"
    found, encoding = await raw(house, name, "gzip")
    assert (found[:4], encoding) == (b"wOF2", "")
    assert "SIL OPEN FONT LICENSE" in "".join(path.read_text() for path in ASSETS.glob("licences-*.txt"))


async def test_a_browser_that_has_the_page_gets_it_not_again(house: House) -> None:
    tag = (await house.send("GET", "/")).headers["ETag"]
    answer = await house.send("GET", "/", headers={"If-None-Match": tag})
    assert (answer.status, answer.raw) == (304, b"")


@pytest.mark.parametrize("name", ["none.js", "..%2findex.html", "%2e%2e%2f%2e%2e%2fpage.py", "index.html"])
async def test_nothing_but_what_was_built_is_served(house: House, name: str) -> None:
    assert (await house.send("GET", f"/assets/{name}")).status in {401, 404}


async def raw(house: House, path: str, encoding: str) -> tuple[bytes, str]:
    """A body as it is on the wire."""
    async with house.client.get(path, headers={"Accept-Encoding": encoding}, auto_decompress=False) as answer:
        return await answer.read(), answer.headers.get("Content-Encoding", "")
