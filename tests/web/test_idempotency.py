"""Section 1: the same key and body are executed once and answered alike."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from typing import Any

import pytest
from msgspec import structs

from actors.ports import Receipt
from daemon.web.idempotency import IdempotencyStore
from tests.web.support import PASSWORD, Answer, FarSide, House, Person, assert_invalid, assert_problem, contest

NEW: dict[str, Any] = {"email": "new@new.test", "password": PASSWORD, "company_name": "New"}
LINE = {"vertical": "line", "inputs": {"amount": 5}}


def replayed(answer: Answer) -> bool:
    return answer.headers.get("Idempotency-Replayed") == "true"


def assert_again(first: Answer, again: Answer) -> None:
    """The second answer is the first one, and says so."""
    assert (again.status, again.raw) == (first.status, first.raw)
    assert not replayed(first)
    assert replayed(again)
    for name in ("Content-Type", "ETag", "Location", "Retry-After"):
        assert again.headers.get(name) == first.headers.get(name)


async def register(house: House, key: str, **changed: Any) -> Answer:
    return await house.send("POST", "/auth/register", {**NEW, **changed}, headers={"Idempotency-Key": key})


async def test_a_start_is_executed_once_per_key(ann: Person) -> None:
    first = await ann.post("/process-runs/", LINE, Idempotency_Key="k")
    assert first.status == 201
    for path in ("/process-runs/", "/process-runs"):
        assert_again(first, await ann.post(path, LINE, Idempotency_Key="k"))
    assert len((await ann.get("/process-runs/")).json) == 1


async def test_the_answer_is_given_again_even_when_the_run_has_moved_on(ann: Person) -> None:
    first = await ann.post("/process-runs/", LINE, Idempotency_Key="k")
    await ann.resume(first.json, "signoff")
    assert_again(first, await ann.post("/process-runs/", LINE, Idempotency_Key="k"))


async def test_resume_cancel_and_retry_are_executed_once_per_key(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    resumed = await ann.resume(run, "signoff", Idempotency_Key="k")
    assert resumed.status == 200
    assert_again(resumed, await ann.resume(run, "signoff", Idempotency_Key="k"))
    other = await ann.start("line", {"amount": 5})
    cancelled = await ann.post(f"/process-runs/{other['id']}/cancel", {"reason": "x"}, Idempotency_Key="k")
    assert cancelled.status == 200
    assert_again(cancelled, await ann.post(f"/process-runs/{other['id']}/cancel", {"reason": "x"}, Idempotency_Key="k"))
    retried = await ann.post(f"/process-runs/{other['id']}/retry", Idempotency_Key="k")
    assert_problem(retried, 409, "not_retryable")
    assert_again(retried, await ann.post(f"/process-runs/{other['id']}/retry", Idempotency_Key="k"))


async def test_a_refusal_is_given_again_with_its_own_request_id(ann: Person) -> None:
    run = await ann.start("direct")
    first = await ann.resume(run, "close", Idempotency_Key="k")
    assert_problem(first, 409, "gate_mismatch")
    await ann.resume(run, "transfer")
    again = await ann.resume(run, "close", Idempotency_Key="k")
    assert_again(first, again)
    assert (await ann.run(run))["parked_at"] == "close"
    assert (await ann.resume(run, "close", Idempotency_Key="k2")).status == 200


async def test_a_key_with_another_body_is_422(ann: Person) -> None:
    await ann.post("/process-runs/", LINE, Idempotency_Key="k")
    for body in ({**LINE, "auto_resolve": True}, {**LINE, "inputs": {"amount": 6}}, {"vertical": "quick"}):
        answer = await ann.post("/process-runs/", body, Idempotency_Key="k")
        assert_problem(answer, 422, "idempotency_key_reused", retryable=False)
    assert len((await ann.get("/process-runs/")).json) == 1


async def test_two_writings_of_the_same_body_are_the_same(ann: Person) -> None:
    first = await ann.send("POST", "/process-runs/", data=json.dumps(LINE).encode(), Idempotency_Key="k")
    turned = b' {"inputs":\n{"amount": 5} ,"vertical":"lin\\u0065"}'
    assert_again(first, await ann.send("POST", "/process-runs/", data=turned, Idempotency_Key="k"))


async def test_a_key_belongs_to_a_company_and_a_path(ann: Person, eve: Person) -> None:
    mine = await ann.post("/process-runs/", LINE, Idempotency_Key="k")
    theirs = await eve.post("/process-runs/", LINE, Idempotency_Key="k")
    assert mine.json["id"] != theirs.json["id"]
    answers = [await ann.resume(mine.json, "signoff", Idempotency_Key="k")]
    other = await ann.start("line", {"amount": 5})
    answers.append(await ann.resume(other, "signoff", Idempotency_Key="k"))
    assert [(answer.status, replayed(answer)) for answer in answers] == [(200, False)] * 2


async def test_a_key_outlives_a_restart(ann: Person) -> None:
    first = await ann.post("/process-runs/", LINE, Idempotency_Key="k")
    resumed = await ann.resume(first.json, "signoff", Idempotency_Key="k")
    refused = await ann.resume(first.json, "signoff", Idempotency_Key="k2")
    await ann.house.restart()
    assert_again(first, await ann.post("/process-runs/", LINE, Idempotency_Key="k"))
    assert_again(resumed, await ann.resume(first.json, "signoff", Idempotency_Key="k"))
    assert_again(refused, await ann.resume(first.json, "signoff", Idempotency_Key="k2"))


async def test_what_was_applied_and_never_answered_is_answered_after_a_restart(
    ann: Person, far: FarSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: Any) -> None:
        raise RuntimeError("the process ends here")

    far.open.clear()
    await ann.connect("answers", far.url)
    with monkeypatch.context() as dying:
        dying.setattr(IdempotencyStore, "keep", die)
        headers = {"Idempotency-Key": "k", "Prefer": "wait=0"}
        assert (await ann.post("/process-runs/", {"vertical": "quick"}, **headers)).status == 500
    far.open.set()
    await ann.house.restart()
    first, second = [await ann.post("/process-runs/", {"vertical": "quick"}, Idempotency_Key="k") for _ in range(2)]
    assert (first.status, first.json["status"]) == (201, "completed")
    assert_again(first, second)
    assert [run["id"] for run in (await ann.get("/process-runs/")).json] == [first.json["id"]]


@pytest.mark.sqlite
async def test_who_loses_against_another_process_is_told_so_and_told_so_again(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await ann.start("line", {"amount": 5})
    await contest(ann, run, "denied", monkeypatch)
    lost = await ann.resume(run, "signoff", Idempotency_Key="k")
    assert assert_problem(lost, 409, "not_parked")["decided"]["by"] == "rival"
    assert_again(lost, await ann.resume(run, "signoff", Idempotency_Key="k"))


async def test_of_two_daemons_that_answer_a_request_the_second_says_what_the_first_has_kept(
    ann: Person, house: House
) -> None:
    run = await ann.start("line", {"amount": 1})
    company_id, answers = ann.session["company"]["id"], IdempotencyStore(house.services.store)
    body, other = b'{"facts":{"a":1,"b":2}}', b'{"facts":{"b":2,"a":1}}'
    receipts = [
        Receipt(company_id, "/process-runs/", "key-1", b"same", run["id"], 200, "{}", one) for one in (body, other)
    ]
    assert await answers.keep(receipts[0]) is None
    kept = await answers.keep(receipts[1])
    assert kept is not None
    assert (kept.status, kept.body) == (200, body)


async def test_many_at_once_with_one_key_are_executed_once(ann: Person) -> None:
    answers = await asyncio.gather(*(ann.post("/process-runs/", LINE, Idempotency_Key="k") for _ in range(20)))
    assert len({answer.raw for answer in answers}) == 1
    assert sorted(replayed(answer) for answer in answers) == [False, *[True] * 19]
    assert len((await ann.get("/process-runs/")).json) == 1


async def test_at_once_with_other_bodies_one_counts_and_the_others_are_422(ann: Person) -> None:
    bodies = [{**LINE, "inputs": {"amount": amount}} for amount in range(8)]
    answers = await asyncio.gather(*(ann.post("/process-runs/", body, Idempotency_Key="k") for body in bodies))
    assert sorted(answer.status for answer in answers) == [201, *[422] * 7]
    assert len((await ann.get("/process-runs/")).json) == 1


@pytest.mark.parametrize("key", ["x", "x" * 255, "with spaces", "ünïcode", "a/b?c"])
async def test_a_key_has_1_to_255_characters(ann: Person, key: str) -> None:
    first = await ann.post("/process-runs/", LINE, Idempotency_Key=key)
    assert_again(first, await ann.post("/process-runs/", LINE, Idempotency_Key=key))


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_a_key_out_of_bounds_is_422(ann: Person, key: str) -> None:
    assert_invalid(await ann.post("/process-runs/", LINE, Idempotency_Key=key), "")
    assert (await ann.get("/process-runs/")).json == []


async def test_without_a_key_every_request_is_executed(ann: Person) -> None:
    one, two = [await ann.post("/process-runs/", LINE) for _ in range(2)]
    assert one.json["id"] != two.json["id"]


async def test_a_registration_is_answered_again_with_the_same_token(house: House) -> None:
    first = await register(house, "k")
    assert first.status == 201
    assert_again(first, await register(house, "k"))
    await house.restart()
    assert_again(first, await register(house, "k"))
    assert (await Person(house, first.json).get("/auth/me")).status == 200


async def test_many_registrations_at_once_with_one_key_are_one(house: House) -> None:
    answers = await asyncio.gather(*(register(house, "k") for _ in range(8)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.raw for answer in answers}) == 1


async def test_a_registration_with_another_body_is_422_and_so_is_another_password(house: House) -> None:
    await register(house, "k")
    for changed in ({"company_name": "Newer"}, {"password": "another horse"}):
        assert_problem(await register(house, "k", **changed), 422, "idempotency_key_reused")


async def test_a_key_of_a_registration_belongs_to_its_address(house: House) -> None:
    first = await register(house, "k")
    other = await register(house, "k", email="newer@new.test")
    assert (other.status, other.json["user"]["email"]) == (201, "newer@new.test")
    assert "Idempotency-Replayed" not in other.headers
    assert_again(first, await register(house, "k"))
    assert_again(other, await register(house, "k", email="newer@new.test"))


async def test_a_registration_that_an_earlier_version_kept_is_answered_again(house: House) -> None:
    first = await register(house, "k")
    company_id, path, text = "", "/auth/register", "k"
    kept = await house.services.store.receipt(company_id, f"{path}/{NEW['email']}", text)
    assert kept is not None
    await house.services.store.add_receipt(structs.replace(kept, path=path, key="earlier"))
    assert_again(first, await register(house, "earlier"))


async def test_another_password_at_the_same_time_gets_nothing_of_the_first_ones_session(house: House) -> None:
    right = register(house, "k")
    wrong = [register(house, "k", password=f"another horse {number}") for number in range(4)]
    first, *others = await asyncio.gather(right, *wrong)
    assert sorted(answer.status for answer in (first, *others)) == [201, 422, 422, 422, 422]


async def test_a_refused_registration_is_refused_again(house: House) -> None:
    await register(house, "first")
    taken = await register(house, "k")
    assert_problem(taken, 409, "email_taken")
    assert_again(taken, await register(house, "k"))


@pytest.mark.sqlite
async def test_a_receipt_holds_neither_the_token_nor_anything_made_fast_from_the_password(house: House) -> None:
    first = await register(house, "k")
    other = await register(house, "k2", email="two@new.test", password="another horse")
    signature = first.json["token"].rpartition(".")[2]
    await house.close()
    with sqlite3.connect(house.settings.data_dir / "penstock.db") as db:
        rows = db.execute("SELECT key, fingerprint, body FROM receipts ORDER BY key").fetchall()
    db.close()
    await house.open()
    assert [row[0] for row in rows] == ["k", "k2"]
    for row in rows:
        whole = repr(row).encode()
        for secret in (PASSWORD, "another horse", signature, first.json["token"], other.json["token"]):
            assert secret.encode() not in whole
    again = await register(house, "k3", email="new@new.test", password="a third horse")
    assert_problem(again, 409, "email_taken")


@pytest.mark.sqlite
async def test_the_fingerprint_of_a_registration_leaves_the_password_out(house: House) -> None:
    await register(house, "a")
    await register(house, "b", password="another horse")
    await house.close()
    with sqlite3.connect(house.settings.data_dir / "penstock.db") as db:
        found = {row[0] for row in db.execute("SELECT fingerprint FROM receipts")}
    db.close()
    await house.open()
    assert len(found) == 1
