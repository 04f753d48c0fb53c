"""A forgotten password: a mailed link sets a new one, once, and nobody learns who is known here."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from structlog.testing import capture_logs

from daemon.identity.password_resets import LIFETIME, WAITING_MAX
from daemon.model.audit_events import SERVICE
from daemon.settings import Settings
from tests.post_office import PostOffice
from tests.web.support import PASSWORD, PATIENCE_S, Answer, House, Person, assert_invalid, assert_problem

NEW = "another horse battery"
LINK = re.compile(r"^https://penstock\.test/#/reset/([A-Za-z0-9_-]{43})\r?$", re.MULTILINE)
pytestmark = pytest.mark.one_daemon


@pytest.fixture
def settings(settings: Settings, office: PostOffice) -> Settings:
    return settings.model_copy(update=office.settings)


async def forget(house: House, email: str) -> Answer:
    return await house.send("POST", "/auth/password/forgotten", {"email": email})


async def reset(house: House, token: str, new: str = NEW) -> Answer:
    return await house.send("POST", "/auth/password/reset", {"token": token, "new": new})


async def token_for(house: House, office: PostOffice, email: str, number: int = 1) -> str:
    assert (await forget(house, email)).status == 202
    found = LINK.search((await office.mail_to(email, number)).text)
    assert found is not None
    return found[1]


async def log_in(house: House, email: str, password: str) -> int:
    return (await house.send("POST", "/auth/login", {"email": email, "password": password})).status


async def test_a_mailed_link_sets_a_new_password_and_ends_all_sessions(
    house: House, ann: Person, office: PostOffice
) -> None:
    token = await token_for(house, office, ann.email)
    assert (await reset(house, token)).status == 204
    assert (await ann.get("/auth/me")).status == 401
    assert await log_in(house, ann.email, PASSWORD) == 401
    assert await log_in(house, ann.email, NEW) == 200


async def test_a_link_works_once(house: House, ann: Person, office: PostOffice) -> None:
    token = await token_for(house, office, ann.email)
    assert (await reset(house, token)).status == 204
    assert_problem(await reset(house, token, "yet another horse"), 410, "reset_expired")
    assert await log_in(house, ann.email, NEW) == 200


async def test_of_many_requests_with_one_link_one_succeeds(house: House, ann: Person, office: PostOffice) -> None:
    token = await token_for(house, office, ann.email)
    answers = await asyncio.gather(*(reset(house, token, f"another horse {number}") for number in range(8)))
    assert sorted(answer.status for answer in answers) == [204, *[410] * 7]
    won = next(number for number, answer in enumerate(answers) if answer.status == 204)
    assert await log_in(house, ann.email, f"another horse {won}") == 200


async def test_a_second_link_leaves_the_first_until_the_password_changes(
    house: House, ann: Person, office: PostOffice
) -> None:
    first = await token_for(house, office, ann.email)
    second = await token_for(house, office, ann.email, 2)
    assert (await reset(house, first)).status == 204
    assert_problem(await reset(house, second), 410, "reset_expired")


async def test_a_changed_password_ends_the_links(house: House, ann: Person, office: PostOffice) -> None:
    token = await token_for(house, office, ann.email)
    assert (await ann.post("/auth/password", {"current": PASSWORD, "new": NEW})).status == 204
    assert_problem(await reset(house, token, "yet another horse"), 410, "reset_expired")


async def test_a_link_ends_after_an_hour(
    house: House, ann: Person, office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await token_for(house, office, ann.email)
    resets: Any = house.services.password_resets
    now = resets._now
    monkeypatch.setattr(resets, "_now", lambda: now() + LIFETIME)
    assert_problem(await reset(house, token), 410, "reset_expired")


async def test_a_link_that_was_never_mailed_is_refused(house: House) -> None:
    assert_problem(await reset(house, "x" * 43), 410, "reset_expired")


async def test_a_weak_password_is_refused_and_the_link_goes_on(house: House, ann: Person, office: PostOffice) -> None:
    token = await token_for(house, office, ann.email)
    assert_invalid(await reset(house, token, "password"), "/new")
    assert (await reset(house, token)).status == 204


async def test_an_address_without_an_account_is_answered_alike_and_gets_no_mail(
    house: House, ann: Person, office: PostOffice
) -> None:
    known, unknown = await forget(house, ann.email), await forget(house, "nobody@ann.test")
    assert (known.status, known.raw, set(known.headers)) == (unknown.status, unknown.raw, set(unknown.headers))
    assert known.status == 202
    await token_for(house, office, ann.email, 2)  # those before were worked on by now
    assert office.mails_to("nobody@ann.test") == []


async def test_the_answer_waits_for_nothing_that_depends_on_the_account(house: House, ann: Person) -> None:
    """Neither the store nor the mail server is asked before the answer: both are held up here."""
    resets: Any = house.services.password_resets
    asked = resets._asked
    held = asyncio.Queue[str]()
    resets._asked = held  # what is asked now is looked at by nobody
    try:
        answers = [await forget(house, email) for email in (ann.email, "nobody@ann.test")]
    finally:
        resets._asked = asked
    assert [answer.status for answer in answers] == [202, 202]
    assert [held.get_nowait(), held.get_nowait()] == [ann.email, "nobody@ann.test"]


async def test_the_mail_goes_to_the_address_as_it_was_registered(house: House, ann: Person, office: PostOffice) -> None:
    assert (await forget(house, ann.email.upper())).status == 202
    assert (await office.mail_to(ann.email)).message["To"] == ann.email


async def test_a_link_does_not_begin_with_what_the_request_names_as_its_host(
    house: House, ann: Person, office: PostOffice
) -> None:
    body, headers = {"email": ann.email}, {"Host": "evil.test", "X-Forwarded-Host": "evil.test"}
    answer = await house.send("POST", "/auth/password/forgotten", body, headers=headers)
    assert answer.status == 202
    assert "evil" not in (await office.mail_to(ann.email)).text


async def test_the_log_of_the_company_tells_of_it_and_not_the_token(
    house: House, ann: Person, office: PostOffice
) -> None:
    with capture_logs() as lines:
        token = await token_for(house, office, ann.email)
        assert (await reset(house, token)).status == 204
    again = Person(house, (await house.send("POST", "/auth/login", {"email": ann.email, "password": NEW})).json)
    events = [one["event"] for one in (await again.get("/audit/log")).json]
    told = [(one["type"], one["by"], one["via"]) for one in events if one["type"].startswith("password")]
    assert told == [("password_changed", ann.email, "reset"), ("password_reset_requested", ann.email, "mail")]
    assert token not in str(events) + str(lines)
    files = [path.read_bytes() for path in house.settings.data_dir.rglob("*") if path.is_file()]
    assert all(token.encode() not in one for one in files)


async def test_the_services_own_log_tells_of_an_address_without_an_account(
    house: House, ann: Person, office: PostOffice
) -> None:
    await forget(house, "nobody@ann.test")
    await token_for(house, office, ann.email)
    event: Any = await house.services.store.last_logged(SERVICE, "password_reset_requested")
    assert (event.by, event.user, event.reset) == ("nobody@ann.test", "", "")


async def test_expired_links_are_deleted(house: House, ann: Person, office: PostOffice) -> None:
    token, store = await token_for(house, office, ann.email), house.services.store
    await store.drop_password_resets(house.services.now())
    assert (await reset(house, token, "x" * 7)).status == 422  # it is there
    await store.drop_password_resets(house.services.now() + LIFETIME)
    assert_problem(await reset(house, token), 410, "reset_expired")


async def test_more_than_a_bounded_number_are_refused_whoever_asks(house: House, ann: Person) -> None:
    resets: Any = house.services.password_resets
    asked, resets._asked = resets._asked, asyncio.Queue(WAITING_MAX)
    try:
        for _ in range(WAITING_MAX):
            resets.ask("nobody@ann.test")
        assert_problem(await forget(house, ann.email), 503, "overloaded")
    finally:
        resets._asked = asked


async def test_a_server_that_takes_no_mail_now_delays_no_answer(house: House, ann: Person, office: PostOffice) -> None:
    office.answers = ["451 later"]
    async with asyncio.timeout(PATIENCE_S):
        assert (await forget(house, ann.email)).status == 202
        await office.until(lambda office: office.attempts == 1)
        assert office.received == []


@pytest.mark.parametrize(
    "body", [{}, {"email": "x"}, {"email": "a@b.test", "more": 1}, {"email": "a@b.test\r\nBcc: c@d.test"}]
)
async def test_a_request_that_is_no_address_is_refused(house: House, body: Any) -> None:
    assert (await house.send("POST", "/auth/password/forgotten", body)).status == 422


async def test_the_ways_to_sign_in_are_told_to_anybody(house: House) -> None:
    answer = await house.send("GET", "/auth/options")
    assert answer.status == 200
    assert answer.json.items() >= {"registration": "open", "password_reset": True}.items()


class TestLimited:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"rate_limits": True, "network_forgotten_passwords_per_hour_max": 8})

    async def test_an_address_is_mailed_5_links_an_hour(self, house: House, ann: Person) -> None:
        for email in (ann.email, "nobody@ann.test"):
            before = [(await forget(house, email)).status for _ in range(4)]
            assert before == [202] * 4
        assert_problem(await forget(house, "other@ann.test"), 429, "rate_limited", limit=8)

    async def test_whether_an_address_has_an_account_does_not_count(self, house: House, ann: Person) -> None:
        for _ in range(5):
            await forget(house, "nobody@ann.test")
        assert_problem(await forget(house, "nobody@ann.test"), 429, "rate_limited", limit=5)

    async def test_wrong_tokens_count_as_wrong_passwords(self, house: House) -> None:
        for _ in range(30):
            assert (await reset(house, "x" * 43)).status == 410
        assert_problem(await reset(house, "x" * 43), 429, "rate_limited", limit=30)


class TestWithoutMail:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"smtp_url": None})

    async def test_nobody_can_ask_and_the_page_knows(self, house: House, ann: Person) -> None:
        assert_problem(await forget(house, ann.email), 404, "not_found")
        assert_problem(await reset(house, "x" * 43), 404, "not_found")
        assert (await house.send("GET", "/auth/options")).json["password_reset"] is False
