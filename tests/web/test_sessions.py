"""Sections 2 and 7: what a log-in began can be looked at and taken back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from daemon.identity.sessions import API_CLIENT, BY_PASSWORD
from daemon.model.audit_events import password_digest
from daemon.settings import Settings
from tests.web.operators import Operator
from tests.web.support import (
    PASSWORD,
    PATIENCE_S,
    CompanyStream,
    EventStream,
    House,
    Person,
    assert_invalid,
    assert_problem,
)
from tests.web.test_tokens import claims_of, forged

NEW = "another horse battery"
FIREFOX = {"User-Agent": "Firefox\u00a0on Debian " + "x" * 300}


async def again(person: Person, password: str = PASSWORD, **headers: str) -> Person:
    """The same person, logged in once more."""
    login = {"email": person.email, "password": password}
    answer = await person.house.send("POST", "/auth/login", login, headers=headers)
    assert answer.status == 200, answer.raw
    return Person(person.house, answer.json)


def of_earlier_version(person: Person) -> Person:
    """The person with a token as the version before made it."""
    token = forged(person, sid=None, epoch=None, jti=f"{claims_of(person)['jti']}-earlier")
    return Person(person.house, {**person.session, "token": token})


async def change(person: Person, current: str = PASSWORD, new: str = NEW) -> Any:
    return await person.post("/auth/password", {"current": current, "new": new})


async def counts(*people: Person) -> list[bool]:
    return [(await one.get("/auth/me")).status == 200 for one in people]


async def sessions(person: Person) -> Any:
    return (await person.get("/auth/sessions")).json


async def log_of(person: Person) -> list[dict[str, Any]]:
    """The events of the company's log, oldest first."""
    return [one["event"] for one in (await person.get("/audit/log")).json][::-1]


async def test_a_new_password_ends_every_other_session_and_not_ones_own(ann: Person, eve: Person) -> None:
    thief, other, earlier = await again(ann), await again(ann), of_earlier_version(ann)
    assert await counts(ann, thief, other, earlier) == [True] * 4
    answer = await change(ann)
    assert (answer.status, answer.raw) == (204, b"")
    assert await counts(ann, thief, other, earlier, eve) == [True, False, False, False, True]
    await ann.house.restart()
    assert await counts(ann, thief, other, earlier, eve) == [True, False, False, False, True]
    assert [one["current"] for one in await sessions(ann)] == [True]


async def test_only_the_new_password_logs_in(ann: Person) -> None:
    assert (await change(ann)).status == 204
    old = await ann.house.send("POST", "/auth/login", {"email": ann.email, "password": PASSWORD})
    assert_problem(old, 401, "invalid_credentials")
    newer = await again(ann, NEW)
    assert await counts(ann, newer) == [True, True]
    assert (await change(newer, NEW, PASSWORD)).status == 204
    assert await counts(ann, newer, await again(ann)) == [False, True, True]


async def test_a_token_of_an_earlier_version_counts_and_changes_the_password_too(ann: Person) -> None:
    earlier, other = of_earlier_version(ann), await again(ann)
    assert (await change(earlier)).status == 204
    assert await counts(earlier, other, ann) == [True, False, False]
    assert (await earlier.post("/auth/logout")).status == 204
    assert await counts(earlier) == [False]


async def test_a_wrong_password_changes_nothing(ann: Person) -> None:
    other = await again(ann)
    answer = await change(ann, "wrong horse")
    assert_problem(answer, 401, "invalid_credentials")
    assert "WWW-Authenticate" not in answer.headers  # the token counts
    assert await counts(ann, other, await again(ann)) == [True] * 3
    assert (await log_of(ann))[-2]["type"] == "login_refused"


async def test_of_many_who_change_a_password_at_once_one_does(ann: Person) -> None:
    people = [ann, *[await again(ann) for _ in range(3)]]
    answers = await asyncio.gather(*(change(one, PASSWORD, f"{NEW} {n}") for n, one in enumerate(people)))
    assert sorted(answer.status for answer in answers) == [204, 401, 401, 401]
    first = next(n for n, answer in enumerate(answers) if answer.status == 204)
    assert await counts(*people) == [n == first for n in range(4)]
    await again(ann, f"{NEW} {first}")


@pytest.mark.one_daemon
async def test_a_log_in_that_was_checked_by_the_password_of_before_begins_no_session(ann: Person) -> None:
    identity, store = ann.house.services.identity, ann.house.services.store
    account = await store.account_by_email(ann.email)
    assert account is not None
    session, entered = identity.sessions.begin(account, API_CLIENT, BY_PASSWORD)
    assert await identity.set_password(account, NEW)
    assert not await store.begin_session(session.record, account.user.epoch, entered)
    assert await store.session(session.record.id) is None


@pytest.mark.parametrize(
    "new",
    ["12345678", "87654321", "8901234567", "        ", "x" * 8, "abcdefgh", "Password", "iloveyou", "qwertyui"],
)
async def test_a_password_that_is_guessed_at_once_is_not_taken(ann: Person, new: str) -> None:
    assert_invalid(await change(ann, new=new), "/new")
    body = {"email": "new@new.test", "password": new, "company_name": "New"}
    assert_invalid(await ann.house.send("POST", "/auth/register", body), "/password")
    assert await counts(await again(ann)) == [True]


@pytest.mark.parametrize("new", ["new@new.test", "NEW@new.test", "New Company"])
async def test_a_password_that_is_ones_own_name_is_not_taken(house: House, new: str) -> None:
    body = {"email": "new@new.test", "password": new, "company_name": "New Company"}
    assert_invalid(await house.send("POST", "/auth/register", body), "/password")


async def test_a_new_password_is_8_to_256_characters_long(ann: Person) -> None:
    assert_invalid(await change(ann, new="short"), "/new")
    assert_invalid(await change(ann, new="xy" * 129), "/new")
    assert_invalid(await ann.post("/auth/password", {"new": NEW}), "/current")


async def test_sessions_are_listed_newest_first_with_where_they_are_from(ann: Person, eve: Person) -> None:
    other = await again(ann, **FIREFOX)
    found = await sessions(ann)
    assert [one["current"] for one in found] == [False, True]
    newest = found[0]
    assert (newest["kind"], newest["address"]) == ("api", "127.0.0.1")
    assert newest["user_agent"].startswith("Firefox")
    assert newest["user_agent"].endswith("xxx")
    assert len(newest["user_agent"]) <= 200
    assert newest["expires_at"] == other.session["expires_at"]
    assert newest["created_at"] <= newest["expires_at"]
    assert [one["current"] for one in await sessions(other)] == [True, False]
    assert len(await sessions(eve)) == 1


async def test_a_long_list_of_sessions_has_pages(ann: Person) -> None:
    for _ in range(4):
        await again(ann)
    seen, path = [], "/auth/sessions/?limit=2"
    while path:
        answer = await ann.get(path)
        seen += [one["id"] for one in answer.json]
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert seen == [one["id"] for one in await sessions(ann)]
    assert len(seen) == 5


async def test_a_session_that_is_ended_counts_no_more_and_neither_do_its_streams(ann: Person) -> None:
    other = await again(ann)
    run = await ann.start("line", {"amount": 5})
    mine, its = [one["id"] for one in (await sessions(other))[::-1]]
    async with CompanyStream(other, "") as of_all, EventStream(other, run["id"], Last_Event_ID="99") as of_one:
        assert (await ann.delete(f"/auth/sessions/{its}")).status == 204
        assert (await ann.resume(run, "signoff")).status == 200
        assert [[event async for event in stream] for stream in (of_all, of_one)] == [[], []]
    assert await counts(ann, other) == [True, False]
    assert [one["id"] for one in await sessions(ann)] == [mine]
    assert_problem(await ann.delete(f"/auth/sessions/{its}"), 404, "not_found")
    await ann.house.restart()
    assert await counts(ann, other) == [True, False]


async def test_ones_own_session_can_be_ended_too(ann: Person) -> None:
    (mine,) = await sessions(ann)
    assert (await ann.delete(f"/auth/sessions/{mine['id']}")).status == 204
    assert await counts(ann) == [False]


async def test_a_session_of_somebody_else_looks_like_none(ann: Person, eve: Person) -> None:
    (hers,) = await sessions(eve)
    of_eve = await ann.delete(f"/auth/sessions/{hers['id']}")
    unknown = await ann.delete("/auth/sessions/01990000-0000-7000-8000-000000000000")
    assert_problem(of_eve, 404, "not_found")
    assert {**of_eve.json, "request_id": ""} == {**unknown.json, "request_id": ""}
    assert await counts(eve) == [True]


async def test_all_other_sessions_are_ended_at_once(ann: Person, eve: Person) -> None:
    others = [await again(ann) for _ in range(3)]
    earlier = of_earlier_version(others[0])
    for _ in range(2):
        answer = await ann.delete("/auth/sessions")
        assert (answer.status, answer.raw) == (204, b"")
    assert await counts(ann, *others, earlier, eve) == [True, False, False, False, False, True]
    assert len(await sessions(ann)) == 1
    assert await counts(await again(ann)) == [True]


async def test_a_log_out_ends_the_session(ann: Person) -> None:
    other = await again(ann)
    assert (await other.post("/auth/logout")).status == 204
    assert len(await sessions(ann)) == 1
    assert await counts(ann, other) == [True, False]


async def test_all_of_it_is_in_the_log_of_the_company(ann: Person) -> None:
    one, two = await again(ann), await again(ann)
    mine, first, second = [one["id"] for one in (await sessions(ann))[::-1]]
    assert (await ann.delete(f"/auth/sessions/{first}")).status == 204
    assert (await two.post("/auth/logout")).status == 204
    assert (await ann.delete("/auth/sessions")).status == 204
    assert (await change(ann)).status == 204
    account = await ann.house.services.store.account(ann.session["user"]["id"], ann.session["company"]["id"])
    assert account is not None
    log = await log_of(ann)
    entered = [(event["session"], event["kind"]) for event in log if event["type"] == "logged_in"]
    assert entered == [(mine, "api"), (first, "api"), (second, "api")]
    ended, left, others, changed = log[-4:]
    assert (ended["type"], ended["session"], ended["reason"]) == ("session_ended", first, "ended")
    assert (left["type"], left["session"]) == ("logged_out", second)
    assert (others["type"], others["kept"], others["epoch"]) == ("sessions_ended", mine, 1)
    assert (changed["type"], changed["kept"], changed["epoch"]) == ("password_changed", mine, 2)
    assert changed["digest"] == password_digest(account.user.password_hash)
    assert account.user.epoch == 2
    assert {event["by"] for event in log} == {ann.email}
    assert await counts(one) == [False]
    changes = (await ann.get("/audit/log")).json
    assert [one["change"]["action"] for one in changes[:4]] == [
        "change_password",
        "end_other_sessions",
        "log_out",
        "end_session",
    ]


@pytest.mark.one_daemon
async def test_when_a_session_was_used_is_written_seldom_and_beside_requests(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await again(ann)
    identity = ann.house.services.identity.sessions
    later = ann.house.services.now() + timedelta(minutes=10)
    monkeypatch.setattr(identity, "_now", lambda: later)
    used = (await sessions(ann))[0]["last_used_at"]
    assert await counts(other) == [True]
    assert (await sessions(ann))[0]["last_used_at"] == used
    await identity.record_use()
    assert (await sessions(ann))[0]["last_used_at"] == later.isoformat().replace("+00:00", "Z")
    assert used < later.isoformat()


@pytest.mark.one_daemon
async def test_expired_sessions_are_forgotten(ann: Person) -> None:
    store, (mine,) = ann.house.services.store, await sessions(ann)
    assert await store.drop_sessions(ann.house.services.now()) == 0
    assert await store.drop_sessions(ann.house.services.now() + timedelta(days=2)) == 1
    assert await store.session(mine["id"]) is None


class TestWithLimits:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"rate_limits": True})

    async def test_the_current_password_is_guessed_no_faster_than_at_a_log_in(self, ann: Person) -> None:
        answers = [await change(ann, f"wrong horse {number}") for number in range(6)]
        assert [answer.status for answer in answers] == [401] * 5 + [429]
        assert_problem(answers[-1], 429, "rate_limited", limit=5)

    async def test_a_known_key_of_a_registration_is_no_way_to_guess_the_password(self, house: House) -> None:
        body = {"email": "new@new.test", "password": PASSWORD, "company_name": "New"}
        key = {"Idempotency-Key": "known"}
        assert (await house.send("POST", "/auth/register", body, headers=key)).status == 201
        wrong = [{**body, "password": f"wrong horse {number}"} for number in range(12)]
        answers = [await house.send("POST", "/auth/register", one, headers=key) for one in wrong]
        assert [answer.status for answer in answers] == [422] * 5 + [429] * 7
        login = {"email": body["email"], "password": PASSWORD}
        assert (await house.send("POST", "/auth/login", login)).status == 429


@pytest.mark.one_daemon
async def test_what_a_stolen_key_file_signs_counts_until_the_earlier_keys_are_pruned(
    ann: Person, operator: Operator
) -> None:
    stolen = forged(ann, jti="of-a-thief", sid="of-a-thief", role="owner")
    folder = ("--data-dir", ann.house.settings.data_dir)
    assert (await operator.reads("keys", "rotate", *folder))["keys"]
    assert await counts(ann, Person(ann.house, {"token": stolen})) == [True, True]
    said = await operator.reads("keys", "prune", *folder)
    assert (said["dropped"], said["keys"]) == (1, [said["current"]])
    async with asyncio.timeout(PATIENCE_S):
        while await counts(Person(ann.house, {"token": stolen})) == [True]:
            pass
    assert await counts(ann) == [False]
    assert await counts(await again(ann)) == [True]
    assert (await operator.reads("keys", "prune", *folder))["dropped"] == 0


@pytest.mark.sqlite
async def test_an_operator_ends_all_sessions_of_somebody(ann: Person, eve: Person, operator: Operator) -> None:
    other, house = await again(ann), ann.house
    words = ("sessions", "end", "--data-dir", house.settings.data_dir, "--email")
    refused = await operator.says(*words, ann.email)
    assert (refused.exit_code, "Another process uses" in refused.output) == (78, True), refused.output
    await house.close()
    assert (await operator.says(*words, "nobody@ann.test")).exit_code == 1
    assert await operator.reads(*words, ann.email.upper()) == {"email": ann.email.upper(), "ended": True}
    await house.open()
    assert await counts(ann, other, of_earlier_version(ann), eve) == [False, False, False, True]
    newer = await again(ann)
    assert await counts(newer) == [True]
    ended = [event for event in await log_of(newer) if event["type"] == "sessions_ended"]
    assert [(event["by"], event["kept"], event["via"]) for event in ended] == [("operator", "", "command")]
