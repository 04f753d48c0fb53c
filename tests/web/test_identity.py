"""Section 2: register, log in, log out, who am I."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from tests.web.support import PASSWORD, House, Person, assert_invalid, assert_problem

NEW: dict[str, Any] = {"email": "new@new.test", "password": PASSWORD, "company_name": "New"}
SESSION = {"token", "token_type", "expires_at", "user", "company", "role"}


async def test_registering_makes_a_company_and_a_session(house: House) -> None:
    answer = await house.send("POST", "/auth/register", {**NEW, "name": "Nina New"})
    assert answer.status == 201
    body = answer.json
    assert set(body) == SESSION
    assert body["token_type"] == "bearer"
    assert set(body["user"]) == {"id", "email", "name"}
    assert (body["user"]["email"], body["user"]["name"]) == ("new@new.test", "Nina New")
    assert set(body["company"]) == {"id", "name"}
    assert (body["company"]["name"], body["role"]) == ("New", "owner")


async def test_a_name_may_be_left_out(house: House) -> None:
    assert (await house.send("POST", "/auth/register", NEW)).json["user"]["name"] is None


async def test_the_token_is_a_jwt_with_the_claims_of_the_contract(ann: Person) -> None:
    claims = jwt.decode(ann.token, options={"verify_signature": False})
    assert {"iss", "aud", "sub", "company", "role", "jti", "iat", "exp"} <= set(claims)
    assert (claims["sub"], claims["company"]) == (ann.session["user"]["id"], ann.session["company"]["id"])
    header = jwt.get_unverified_header(ann.token)
    assert header["alg"] == "HS256"
    assert header["kid"]
    expires = datetime.fromisoformat(ann.session["expires_at"])
    assert claims["exp"] == expires.timestamp()
    assert timedelta(hours=23, minutes=59) < expires - datetime.now(UTC) <= timedelta(hours=24)


async def test_logging_in_opens_another_session_of_the_same_user(ann: Person) -> None:
    answer = await ann.house.send("POST", "/auth/login", {"email": ann.email, "password": PASSWORD})
    assert answer.status == 200
    assert set(answer.json) == SESSION
    assert answer.json["user"] == ann.session["user"]
    assert answer.json["company"] == ann.session["company"]
    assert answer.json["token"] != ann.token


async def test_me_says_who_i_am(ann: Person) -> None:
    answer = await ann.get("/auth/me")
    assert answer.status == 200
    shown = {name: ann.session[name] for name in ("user", "company", "role")}
    companies = [{**ann.session["company"], "role": "owner"}]
    mine = {"member_id": ann.session["user"]["id"], "kind": "person", "companies": companies, "second_factor": False}
    assert answer.json == {**shown, **mine, "amr": ["pwd"], "has_password": True}


async def test_logging_out_revokes_this_token_at_once_and_for_good(ann: Person) -> None:
    login = {"email": ann.email, "password": PASSWORD}
    other = Person(ann.house, (await ann.house.send("POST", "/auth/login", login)).json)
    answer = await ann.post("/auth/logout")
    assert (answer.status, answer.raw) == (204, b"")
    assert_problem(await ann.get("/auth/me"), 401, "not_authenticated")
    assert (await other.get("/auth/me")).status == 200
    await ann.house.restart()
    assert_problem(await ann.get("/auth/me"), 401, "not_authenticated")
    assert (await other.get("/auth/me")).status == 200


async def test_a_log_out_with_a_body_that_does_not_hold_revokes_nothing(ann: Person) -> None:
    assert_invalid(await ann.post("/auth/logout", {"everywhere": True}), "/everywhere")
    assert_problem(await ann.send("POST", "/auth/logout", data=b"[]"), 400, "malformed_json")
    assert (await ann.get("/auth/me")).status == 200
    assert (await ann.post("/auth/logout", {})).status == 204
    assert_problem(await ann.get("/auth/me"), 401, "not_authenticated")


async def test_an_email_address_has_one_account_whatever_its_case(house: House) -> None:
    assert (await house.send("POST", "/auth/register", {**NEW, "email": "Jo.Doe@Corp.LOCAL"})).status == 201
    again = await house.send("POST", "/auth/register", {**NEW, "email": "jo.doe@corp.local"})
    assert_problem(again, 409, "email_taken", retryable=False)
    login = await house.send("POST", "/auth/login", {"email": "JO.DOE@corp.local", "password": PASSWORD})
    assert (login.status, login.json["user"]["email"]) == (200, "Jo.Doe@Corp.LOCAL")


async def test_of_two_who_register_one_address_at_once_one_is_refused(house: House) -> None:
    answers = await asyncio.gather(*(house.send("POST", "/auth/register", NEW) for _ in range(8)))
    assert sorted(answer.status for answer in answers) == [201, *[409] * 7]


async def test_an_unknown_address_and_a_wrong_password_get_the_same_answer(ann: Person) -> None:
    headers = {"X-Request-ID": "same"}
    attempts = [(ann.email, "wrong horse"), ("nobody@ann.test", PASSWORD), (ann.email, ""), ("", ""), ("x", "y")]
    answers = [
        await ann.house.send("POST", "/auth/login", {"email": email, "password": password}, headers=headers)
        for email, password in attempts
    ]
    assert_problem(answers[0], 401, "invalid_credentials", retryable=False)
    assert len({answer.raw for answer in answers}) == 1
    assert not [answer for answer in answers if "WWW-Authenticate" in answer.headers]


@pytest.mark.one_daemon
async def test_an_unknown_address_costs_the_same_work_as_a_wrong_password(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = ann.house.services.identity._passwords
    checked: list[str] = []
    real = passwords._verify

    def verify(kept: str, password: str) -> bool:
        checked.append(kept.rpartition("$")[0].rpartition("$")[0])  # the parameters, not the salt and the hash
        return real(kept, password)

    monkeypatch.setattr(passwords, "_verify", verify)
    for email in (ann.email, "nobody@ann.test"):
        await ann.house.send("POST", "/auth/login", {"email": email, "password": "wrong horse"})
    assert len(checked) == 2
    assert len(set(checked)) == 1
    assert checked[0].startswith("$argon2id$")


@pytest.mark.parametrize(
    "password", ["xy" * 4, "xy" * 128, "pässwörd", "  spaces  ", "\x00\x01\x02\x03\x04\x05\x06\x07"]
)
async def test_a_password_of_8_to_256_characters_is_taken_as_it_is(house: House, password: str) -> None:
    assert (await house.send("POST", "/auth/register", {**NEW, "password": password})).status == 201
    login = {"email": NEW["email"], "password": password}
    assert (await house.send("POST", "/auth/login", login)).status == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("password", "x" * 7),
        ("password", "x" * 257),
        ("password", 12345678),
        ("password", None),
        ("email", "nobody"),
        ("email", "a b@c.test"),
        ("email", "a@b@c.test"),
        ("email", "@c.test"),
        ("email", "a@"),
        ("email", "a@b..test"),
        ("email", "a@b.test\n"),
        ("email", f"a@{'b' * 260}.test"),
        ("email", "-oX@b.test"),
        ("email", "=?utf-8?q?x?=@b.test"),
        ("email", "x@=?utf-8?q?b?=.test"),
        ("email", "a\u200bb@c.test"),
        ("email", "a\u2028b@c.test"),
        ("email", "a\u202eb@c.test"),
        ("email", "a\u3164b@c.test"),
        ("email", "a\x85b@c.test"),
        ("email", "x\r\nBcc: y@c.test"),
        ("email", "a@b\u00ad.test"),
        ("email", "stra\uff53se@c.test"),
        ("email", "bo\u017f\u017f@c.test"),
        ("company_name", ""),
        ("company_name", "   "),
        ("company_name", "x" * 201),
        ("company_name", "a\x00b"),
        ("name", ""),
        ("name", 1),
        ("role", "owner"),
    ],
)
async def test_a_registration_that_does_not_hold_is_422(house: House, field: str, value: Any) -> None:
    assert_invalid(await house.send("POST", "/auth/register", {**NEW, field: value}), f"/{field}")


@pytest.mark.parametrize(
    "email", ["a@b.test", "a@printer.local", "a+b@localhost", "ä@ö.example", "boß@c.test", "o'neil@x.co"]
)
async def test_an_email_address_is_checked_for_its_form_only(house: House, email: str) -> None:
    answer = await house.send("POST", "/auth/register", {**NEW, "email": email})
    assert (answer.status, answer.json["user"]["email"]) == (201, email)


async def test_what_a_field_has_to_be_is_said_in_words_for_people(house: House) -> None:
    answer = await house.send("POST", "/auth/register", {**NEW, "password": "short"})
    assert answer.json["errors"] == [{"pointer": "/password", "detail": "has to have at least 8 characters"}]
    assert answer.json["detail"] == "Not valid at /password: has to have at least 8 characters."


async def test_each_missing_field_of_a_registration_is_named(house: House) -> None:
    assert_invalid(await house.send("POST", "/auth/register", {}), "/email", "/password", "/company_name")
    assert_invalid(await house.send("POST", "/auth/login", {}), "/email", "/password")


@pytest.mark.one_daemon
async def test_a_password_is_kept_as_argon2id_and_nothing_else(ann: Person) -> None:
    account = await ann.house.services.identity._store.account_by_email(ann.email)
    assert account is not None
    assert account.user.password_hash.startswith("$argon2id$")
    await ann.house.close()
    files = [file.read_bytes() for file in ann.house.settings.data_dir.iterdir() if file.is_file()]
    await ann.house.open()
    assert not [content for content in files if PASSWORD.encode() in content or ann.token.encode() in content]


async def test_accounts_outlive_a_restart(ann: Person) -> None:
    await ann.house.restart()
    assert (await ann.get("/auth/me")).json["user"] == ann.session["user"]
    login = {"email": ann.email, "password": PASSWORD}
    assert (await ann.house.send("POST", "/auth/login", login)).status == 200
