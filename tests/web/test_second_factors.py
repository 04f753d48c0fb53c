"""Second factors: enrolled, asked for at log-in, demanded by a policy, and kept secret."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from pyotp import TOTP

from daemon.identity.second_factors import RECOVERY_CODES, STEP_S
from daemon.settings import Settings
from daemon.web.rate_limits import CODES
from tests.web.operators import Operator
from tests.web.people import colleague, company, invited
from tests.web.support import PASSWORD, Answer, EventStream, House, Person, assert_problem
from tests.web.test_policy import policy_of


def code_of(secret: str, steps: int = 0) -> str:
    """The code of so many steps after now: one step is taken either way, so that of now counts for
    half a minute at least.
    """
    return TOTP(secret).at(int(time.time()) + steps * STEP_S)


async def enrolled(person: Person) -> tuple[str, list[str]]:
    """The secret and the recovery codes of a second factor that counts."""
    begun = await person.post("/auth/second-factor", {"password": PASSWORD})
    assert begun.status == 201, begun.raw
    secret: str = begun.json["secret"]
    confirmed = await person.post("/auth/second-factor/confirm", {"code": code_of(secret)})
    assert confirmed.status == 200, confirmed.raw
    return secret, confirmed.json["recovery_codes"]


async def log_in(person: Person, **more: str) -> Answer:
    return await person.house.send("POST", "/auth/login", {"email": person.email, "password": PASSWORD, **more})


def factor_of(person: Person) -> str:
    """Where an admin resets the second factor; a founder has the id of the user as a member."""
    member = person.session.get("member_id") or person.session["user"]["id"]
    return f"/companies/{person.session['company']['id']}/members/{member}/second-factor"


async def joined(owner: Person, person: Person, role: str) -> None:
    """Somebody of another company joins this one, too."""
    token = (await invited(owner, person.email, role))["invitation"]["token"]
    assert (await person.post("/invitations/accept", {"token": token})).status == 200


async def logged(person: Person) -> list[tuple[str, str]]:
    """The changes of second factors and refused log-ins of the company, oldest first."""
    found = [one["event"] for one in (await person.get("/audit/log?limit=200")).json][::-1]
    return [
        (one["type"], one.get("change") or one["reason"])
        for one in found
        if one["type"] in {"second_factor_changed", "login_refused"}
    ]


async def test_a_log_in_needs_a_code_once_a_second_factor_is_confirmed(ann: Person) -> None:
    secret, codes = await enrolled(ann)
    assert len(set(codes)) == RECOVERY_CODES
    assert_problem(await log_in(ann), 401, "invalid_credentials", second_factor="required")
    assert_problem(await log_in(ann, code="000000x"), 401, "invalid_credentials", second_factor="invalid")
    assert (await log_in(ann, code=code_of(secret, 1))).status == 200
    assert ("login_refused", "second_factor") in await logged(ann)


async def test_a_secret_that_was_not_confirmed_asks_for_nothing_and_is_replaced(ann: Person) -> None:
    first = (await ann.post("/auth/second-factor", {"password": PASSWORD})).json
    assert first["uri"].startswith("otpauth://totp/")
    assert (await log_in(ann)).status == 200
    second = (await ann.post("/auth/second-factor", {"password": PASSWORD})).json
    refused = await ann.post("/auth/second-factor/confirm", {"code": code_of(first["secret"])})
    assert_problem(refused, 401, "invalid_credentials", second_factor="invalid")
    assert (await ann.post("/auth/second-factor/confirm", {"code": code_of(second["secret"])})).status == 200


async def test_a_second_factor_is_begun_by_the_password_alone_and_once(ann: Person) -> None:
    refused = await ann.post("/auth/second-factor", {"password": "not the one"})
    assert "second_factor" not in assert_problem(refused, 401, "invalid_credentials")
    assert_problem(await ann.post("/auth/second-factor/confirm", {"code": "123456"}), 401, "invalid_credentials")
    await enrolled(ann)
    assert_problem(await ann.post("/auth/second-factor", {"password": PASSWORD}), 409, "already_exists")
    assert_problem(await ann.post("/auth/second-factor/confirm", {"code": "123456"}), 409, "already_exists")


async def test_what_a_wrong_password_is_told_does_not_depend_on_a_second_factor(ann: Person, eve: Person) -> None:
    secret, _ = await enrolled(ann)
    told = []
    for person, more in ((ann, {}), (ann, {"code": code_of(secret)}), (eve, {}), (eve, {"code": "123456"})):
        body = {"email": person.email, "password": "not the one", **more}
        answer = await person.house.send("POST", "/auth/login", body)
        told.append((answer.status, {**answer.json, "request_id": ""}))
    assert told == [told[0]] * 4


async def test_a_code_counts_once_of_many_log_ins_at_the_same_time(ann: Person) -> None:
    secret, _ = await enrolled(ann)
    code = code_of(secret, 1)
    answers = await asyncio.gather(*(log_in(ann, code=code) for _ in range(8)))
    assert sorted(one.status for one in answers) == [200, *([401] * 7)]
    assert (await log_in(ann, code=code_of(secret))).status == 401, "an earlier code does not count after a later one"


async def test_a_recovery_code_counts_once_of_many_log_ins_at_the_same_time(ann: Person) -> None:
    _, codes = await enrolled(ann)
    answers = await asyncio.gather(*(log_in(ann, code=codes[0].lower()) for _ in range(6)))
    assert sorted(one.status for one in answers) == [200, *([401] * 5)]
    assert (await log_in(ann, code=codes[1].replace("-", " "))).status == 200
    assert [one for one in await logged(ann) if one[1] == "recovery_code_used"] == [
        ("second_factor_changed", "recovery_code_used")
    ] * 2


async def test_enrolling_ends_the_other_sessions_and_not_the_own(ann: Person) -> None:
    other = Person(ann.house, (await log_in(ann)).json)
    await enrolled(ann)
    assert (await other.get("/auth/me")).status == 401
    assert (await ann.get("/auth/me")).status == 200


async def test_a_second_factor_is_removed_by_password_and_code(ann: Person) -> None:
    secret, _ = await enrolled(ann)
    path = "/auth/second-factor"
    wrong: list[dict[str, Any]] = [{"password": "not the one", "code": code_of(secret)}]
    wrong.append({"password": PASSWORD, "code": "000000x"})
    for body in wrong:
        assert_problem(await ann.send("DELETE", path, body), 401, "invalid_credentials")
    assert (await ann.send("DELETE", path, {"password": PASSWORD, "code": code_of(secret, 1)})).status == 204
    assert (await log_in(ann)).status == 200
    assert (await logged(ann))[-1] == ("second_factor_changed", "removed")
    await enrolled(ann)


async def test_an_admin_resets_the_second_factor_of_a_member_and_ends_the_sessions(ann: Person) -> None:
    bob = await colleague(ann, "bob", "member")
    await enrolled(bob)
    assert (await ann.delete(factor_of(bob))).status == 204
    assert (await bob.get("/auth/me")).status == 401
    assert (await log_in(bob)).status == 200
    event = next(one["event"] for one in (await ann.get("/audit/log")).json if one["event"].get("change") == "reset")
    assert (event["by"], event["user"]) == (ann.email, bob.session["user"]["id"])


async def test_nobody_resets_the_second_factor_of_a_higher_role_of_oneself_or_of_a_stranger(
    ann: Person, eve: Person
) -> None:
    bob, cid = await colleague(ann, "bob", "admin"), await colleague(ann, "cid", "manager")
    for person in (ann, bob, eve):
        await enrolled(person)
    assert_problem(await bob.delete(factor_of(ann)), 403, "forbidden", reason="role", required="owner")
    assert_problem(await cid.delete(factor_of(bob)), 403, "forbidden", reason="role", required="admin")
    assert_problem(await bob.delete(factor_of(bob)), 403, "forbidden", reason="account")
    assert_problem(await ann.delete(factor_of(eve)), 404, "not_found")
    strange = factor_of(eve).replace(eve.session["company"]["id"], ann.session["company"]["id"])
    assert_problem(await ann.delete(strange), 404, "not_found")
    for person in (ann, bob, eve):
        assert_problem(await log_in(person), 401, "invalid_credentials", second_factor="required")


async def test_no_company_resets_the_second_factor_of_who_belongs_to_another_one_too(ann: Person, eve: Person) -> None:
    await joined(ann, eve, "viewer")
    await enrolled(eve)
    path = factor_of(eve).replace(eve.session["company"]["id"], ann.session["company"]["id"])
    member = await ann.house.services.store.member_by_email(ann.session["company"]["id"], eve.email)
    assert member is not None
    refused = await ann.delete(path.replace(path.split("/")[4], member.id))
    assert_problem(refused, 403, "forbidden", reason="account")
    assert_problem(await log_in(eve), 401, "invalid_credentials", second_factor="required")


async def test_a_repeated_registration_gives_no_token_once_a_second_factor_counts(house: House) -> None:
    body = {"email": "kim@kim.test", "password": PASSWORD, "company_name": "kim inc"}
    made = await house.send("POST", "/auth/register", body, headers={"Idempotency-Key": "once"})
    await enrolled(Person(house, made.json))
    again = await house.send("POST", "/auth/register", body, headers={"Idempotency-Key": "once"})
    assert_problem(again, 422, "idempotency_key_reused")


async def test_an_invitation_takes_the_password_and_the_code_of_who_has_a_second_factor(
    ann: Person, eve: Person
) -> None:
    secret, _ = await enrolled(eve)
    token = (await invited(ann, eve.email))["invitation"]["token"]
    body = {"email": eve.email, "password": PASSWORD, "invitation": token}
    for code, said in (({}, "required"), ({"code": "000000"}, "invalid")):
        refused = await ann.house.send("POST", "/auth/register", {**body, **code})
        assert_problem(refused, 401, "invalid_credentials", second_factor=said)
    right = {"code": code_of(secret, 1)}
    wrong = await ann.house.send("POST", "/auth/register", {**body, **right, "password": "incorrect horse"})
    assert_problem(wrong, 409, "email_taken")
    joined = await ann.house.send("POST", "/auth/register", {**body, **right})
    assert (joined.status, joined.json["company"]) == (201, ann.session["company"])


async def test_who_has_a_second_factor_and_no_company_left_joins_by_an_invitation(
    ann: Person, stranger: Operator
) -> None:
    bob = await colleague(ann, "bob")
    secret, _ = await enrolled(bob)
    assert (await ann.delete(f"{company(ann)}/members/{bob.session['member_id']}")).status == 204
    token = (await invited(ann, bob.email))["invitation"]["token"]
    words = ("register", bob.email, "--invitation", token, "--password-stdin")
    joined = await stranger.says(*words, types=f"{PASSWORD}\n{code_of(secret, 1)}\n")
    assert joined.exit_code == 0, joined.stderr
    assert "ann inc" in joined.output


async def test_the_command_asks_for_the_code_that_a_log_in_needs(stranger: Operator, ann: Person) -> None:
    secret, codes = await enrolled(ann)
    wrong = await stranger.says("login", ann.email, "--password-stdin", types=f"{PASSWORD}\n000000x\n")
    assert wrong.exit_code != 0
    assert "code" in wrong.stderr
    right = await stranger.says("login", ann.email, types=f"{PASSWORD}\n{code_of(secret, 1)}\n")
    assert right.exit_code == 0, right.stderr
    assert codes[0] not in right.output


@pytest.mark.sqlite
async def test_an_operator_removes_the_second_factor_of_an_owner_who_lost_the_app(
    ann: Person, operator: Operator
) -> None:
    await enrolled(ann)
    await ann.house.close()
    words = ("sessions", "end", "--second-factor", "--data-dir", ann.house.settings.data_dir, "--email", ann.email)
    assert (await operator.says(*words)).exit_code == 0
    await ann.house.open()
    again = Person(ann.house, (await log_in(ann)).json)
    assert (await logged(again))[-1] == ("second_factor_changed", "reset")


@pytest.mark.sqlite
async def test_verify_finds_nothing_after_all_that_second_factors_and_policies_go_through(
    ann: Person, operator: Operator
) -> None:
    bob = await colleague(ann, "bob", "member")
    await bob.post("/auth/second-factor", {"password": PASSWORD})
    await enrolled(bob)
    assert (await ann.delete(factor_of(bob))).status == 204
    _, codes = await enrolled(ann)
    body = {"password": PASSWORD, "code": codes[0]}
    assert (await ann.send("DELETE", "/auth/second-factor", body)).status == 204
    await ann.post("/auth/second-factor", {"password": PASSWORD})
    for solo, least in ((False, None), (True, "owner")):
        assert (await ann.put(policy_of(ann), {"solo": solo, "second_factor_from": least})).status == 200
    await ann.house.close()
    verified = await operator.says("verify", "--data-dir", ann.house.settings.data_dir)
    assert verified.exit_code == 0, verified.output
    await ann.house.open()


class TestLimits:
    """Wrong codes of an account are counted, wherever they come from."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        lax = {"network_failed_logins_per_minute_max": 1_000, "account_failed_logins_per_minute_max": 1_000}
        return settings.model_copy(update={"rate_limits": True, **lax})

    async def test_wrong_codes_of_an_account_are_refused_after_a_few(self, ann: Person, eve: Person) -> None:
        secret, _ = await enrolled(ann)
        for _ in range(CODES.amount):
            assert (await log_in(ann, code="000000x")).status == 401
        assert_problem(await log_in(ann, code=code_of(secret, 1)), 429, "rate_limited")
        assert (await log_in(eve)).status == 200


async def test_a_policy_confines_tokens_that_are_out_already_until_a_second_factor_counts(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    assert (await ann.put(policy_of(ann), {"second_factor_from": "manager"})).status == 200
    for path in ("/process-runs/", policy_of(ann), f"/process-runs/{run['id']}"):
        assert_problem(await ann.get(path), 403, "forbidden", reason="second_factor")
    assert_problem(await ann.put(policy_of(ann), {"second_factor_from": None}), 403, "forbidden")
    assert (await log_in(ann)).status == 200, "a session begins, and is confined"
    await enrolled(ann)
    assert (await ann.get("/process-runs/")).status == 200
    assert (await ann.put(policy_of(ann), {"second_factor_from": None})).status == 200


async def test_a_machine_has_no_second_factor_and_is_asked_for_none(ann: Person) -> None:
    key = (await ann.post("/api-keys", {"name": "desk", "role": "admin", "kind": "service"})).json
    desk = Person(ann.house, {"token": key["key"]})
    assert (await ann.put(policy_of(ann), {"second_factor_from": "viewer"})).status == 200
    assert (await desk.get("/process-runs/")).status == 200
    refused = [await desk.post("/auth/second-factor", {"password": PASSWORD}), await desk.delete(factor_of(ann))]
    for answer in (*refused, await desk.put(policy_of(ann), {"solo": False})):
        assert_problem(answer, 403, "forbidden", reason="machine")


async def test_a_policy_confines_after_a_restart_too(house: House, ann: Person, eve: Person) -> None:
    for person in (ann, eve):
        await person.put(policy_of(person), {"second_factor_from": "owner"})
    await enrolled(eve)
    await house.restart()
    assert_problem(await ann.get("/process-runs/"), 403, "forbidden", reason="second_factor")
    assert (await eve.get("/process-runs/")).status == 200


async def test_a_stream_ends_when_a_policy_confines_its_reader(house: House, ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    async with EventStream(ann, run["id"]) as stream:
        await anext(stream)
        await ann.put(policy_of(ann), {"second_factor_from": "viewer"})
        key = (ann.session["company"]["id"], run["id"])
        found = await house.services.store.load(*key)
        assert found is not None
        async with asyncio.timeout(30):
            while not stream.response.content.at_eof():
                house.services.feed.publish(found, ())
                await stream.response.content.readline()
