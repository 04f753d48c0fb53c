"""The evidence over HTTP: who may see it, and that a stranger can check it with a hash function and
the public key.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sqlite3
from contextlib import closing
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from daemon.model import merkle
from daemon.verification.exports import verify_export
from daemon.verification.runs import verify_run
from tests.covered import covered
from tests.web.people import colleague
from tests.web.support import PASSWORD, House, Person, assert_problem


def sha(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def raw(name: str) -> bytes:
    return bytes.fromhex(name.removeprefix("sha256:"))


async def audit(person: Person, run: Any) -> Any:
    answer = await person.get(f"/process-runs/{run['id']}/audit")
    assert answer.status == 200, answer.raw
    return answer.json


async def exported(person: Person) -> list[Any]:
    answer = await person.get("/audit/export")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/x-ndjson")
    return [json.loads(line) for line in answer.raw.splitlines()]


async def keys(person: Person) -> dict[str, bytes]:
    return {key_id: base64.b64decode(key) for key_id, key in (await person.get("/audit/keys")).json.items()}


@pytest.mark.one_daemon
@pytest.mark.parametrize("path", ["/audit/export", "run"])
async def test_to_read_ones_own_evidence_seals_nothing_of_another_company(
    house: House, ann: Person, eve: Person, path: str
) -> None:
    house.services.sealer._due_at = math.inf  # it seals nothing by itself
    run = await ann.start("line", {"amount": 1})
    await eve.start("line", {"amount": 1})
    before = (await eve.get("/audit/checkpoints")).json
    answer = await ann.get(f"/process-runs/{run['id']}/audit" if path == "run" else path)
    assert answer.status == 200
    assert len((await ann.get("/audit/checkpoints")).json) > 0
    assert (await eve.get("/audit/checkpoints")).json == before
    await house.services.sealer.seal()
    answer = await eve.get("/audit/export")
    assert list(verify_export(answer.raw.splitlines(keepends=True), await keys(eve))) == []


async def test_a_stranger_can_check_the_chain_the_proof_and_the_signature_of_a_run(ann: Person) -> None:
    run = await ann.start("line", {"amount": 1.5, "näme": "雪"})
    await ann.start("line", {"amount": 1})
    await ann.resume(run, "signoff")
    found = await audit(ann, run)
    company = ann.session["company"]["id"]
    head = sha(rfc8785.dumps({"company": company, "stream": run["id"]}))
    for seq, one in enumerate(found["events"], 1):
        assert (one["seq"], one["previous"]) == (seq, head)
        head = sha(raw(head) + covered(one["event"]))
        assert one["hash"] == head
    assert (found["head"], found["version"]) == (head, len(found["events"]))
    leaf = {"head": head, "stream": run["id"], "version": found["version"]}
    assert found["leaf"]["hash"] == sha(b"\x00" + rfc8785.dumps(leaf))
    checkpoint = found["checkpoint"]
    proof = [bytes.fromhex(one) for one in found["proof"]]
    place = (found["leaf"]["number"], checkpoint["size"], raw(found["leaf"]["hash"]))
    assert merkle.includes(*place, proof, raw(checkpoint["root"]))
    rest = {name: value for name, value in checkpoint.items() if name != "signature"}
    public = Ed25519PublicKey.from_public_bytes((await keys(ann))[checkpoint["key_id"]])
    public.verify(base64.b64decode(checkpoint["signature"]), rfc8785.dumps(rest))


async def test_the_file_of_one_run_is_what_verify_takes_and_a_page_of_it_is_none(ann: Person) -> None:
    run = await ann.start("line", {"amount": 1.5, "näme": "雪", "big": 2**62, "exact": 1.0})
    await ann.start("line", {"amount": 1})
    await ann.resume(run, "signoff")
    path = f"/process-runs/{run['id']}/audit"
    whole = (await ann.get(path)).raw
    assert list(verify_run(whole, await keys(ann))) == []
    first = (await ann.get(f"{path}?limit=3")).raw
    last = (await ann.get((await ann.get(f"{path}?limit=3")).headers["Link"].partition(">")[0].removeprefix("<"))).raw
    for page in (first, last):
        (finding,) = verify_run(page, await keys(ann))
        assert (finding.kind, finding.where) == ("part", f"run {run['id']}")


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 200])
async def test_a_long_chain_is_read_page_after_page_and_each_page_goes_on_from_the_one_before(
    ann: Person, limit: int
) -> None:
    run = await ann.start("loop")
    for _ in range(2):
        await ann.resume(run, "again", "once more")
    whole, found, path = await audit(ann, run), [], f"/process-runs/{run['id']}/audit?limit={limit}"
    while path:
        answer = await ann.get(path)
        page = answer.json
        assert 1 <= len(page["events"]) <= limit
        assert {name: value for name, value in page.items() if name != "events"} == {
            name: value for name, value in whole.items() if name != "events"
        }
        found += page["events"]
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert found == whole["events"]


async def test_a_page_of_a_chain_is_asked_for_as_any_other(ann: Person) -> None:
    run, other = await ann.start("line", {"amount": 1}), await ann.start("line", {"amount": 1})
    path = f"/process-runs/{run['id']}/audit"
    assert "Link" not in (await ann.get(path)).headers
    following = (await ann.get(f"{path}?limit=1")).headers["Link"].partition(">")[0].removeprefix("<")
    assert_problem(await ann.get(f"{path}?limit=0"), 422, "invalid")
    assert_problem(await ann.get(f"{path}?cursor=x"), 400, "malformed_cursor")
    assert_problem(await ann.get(following.replace(run["id"], other["id"])), 400, "malformed_cursor")
    cursor = following.partition("cursor=")[2]
    assert len((await ann.get(f"{path}?cursor={cursor}")).json["events"]) == run["version"] - 1


@pytest.mark.sqlite
async def test_a_page_whose_events_were_changed_is_not_shown(ann: Person, house: House) -> None:
    run = await ann.start("line", {"amount": 1})
    await ann.resume(run, "signoff")
    await audit(ann, run)
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db, db:
        db.execute("UPDATE commits SET events = CAST(replace(CAST(events AS TEXT), 'ann@', 'eve@') AS BLOB)")
    path = f"/process-runs/{run['id']}/audit?limit=1"
    answer = await ann.get(path)
    while answer.status == 200:
        path = answer.headers["Link"].partition(">")[0].removeprefix("<")
        answer = await ann.get(path)
    assert_problem(answer, 503, "store_unavailable")


async def test_the_chain_says_who_changed_what_when_and_why(ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    body = {"gate": "signoff", "decision": "approved", "comment": "seems fine"}
    await ann.post(f"/process-runs/{run['id']}/resume", body)
    other = await ann.start("line", {"amount": 1})
    await ann.post(f"/process-runs/{other['id']}/cancel", {"reason": "by mistake"})
    who = {"user": ann.email, "token": "session", "kind": "person"}
    start, verdict = (one["change"] for one in (await audit(ann, run))["events"] if one["change"])
    assert (start["action"], start["who"], start["to"]["status"]) == ("start", who, "executing")
    assert (verdict["action"], verdict["who"], verdict["why"]) == ("verdict", who, "seems fine")
    assert verdict["from"] == {"gate": "signoff", "visit": 1, "status": "parked"}
    assert verdict["to"] == {"gate": "signoff", "visit": 1, "decision": "approved"}
    cancelled = (await audit(ann, other))["events"][-1]["change"]
    assert (cancelled["action"], cancelled["who"], cancelled["why"]) == ("cancel", who, "by mistake")
    assert (cancelled["from"], cancelled["to"]) == ({"status": "parked"}, {"status": "cancelled"})


async def test_the_companys_log_has_what_people_do_outside_of_runs(ann: Person, house: House) -> None:
    company = ann.session["company"]["id"]
    login = {"email": ann.email, "password": PASSWORD}
    await house.send("POST", "/auth/login", {**login, "password": "wrong horse"})
    other = Person(house, (await house.send("POST", "/auth/login", login)).json)
    await other.post("/auth/logout")
    put = {"base_url": "https://api.example.test", "auth_type": "bearer", "auth_token": "s3cret-canary"}
    await ann.put("/connectors/tool", put)
    await ann.delete("/connectors/tool")
    lines = await exported(ann)
    changes = [change for line in lines if line.get("stream") == company for change in line["changes"]]
    actions = ["register", "log_in", "log_in_refused", "log_in", "log_out", "change_connector", "change_connector"]
    assert [change["action"] for change in changes] == actions
    assert {change["who"]["user"] for change in changes} == {ann.email}
    assert [change["who"]["token"] for change in changes] == ["password"] * 4 + ["session"] * 3
    made, gone = changes[-2:]
    assert (made["from"], made["to"]["connector"]["base_url"]) == (None, "https://api.example.test")
    assert (made["to"]["secret"], gone["to"]["secret"], gone["to"]["connector"]) == ("set", "removed", None)
    assert b"s3cret-canary" not in (await ann.get("/audit/export")).raw


@pytest.mark.one_daemon
async def test_a_refused_log_in_is_written_down_whether_the_address_is_known_or_not(
    ann: Person, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = house.services.identity._store
    written: list[tuple[str, str]] = []
    real = accounts.log

    async def log(logged: Any) -> None:
        written.append((logged.company_id, logged.event.by))
        await real(logged)

    monkeypatch.setattr(accounts, "log", log)
    for email in (ann.email, "nobody@ann.test"):
        answer = await house.send("POST", "/auth/login", {"email": email, "password": "wrong horse"})
        assert_problem(answer, 401, "invalid_credentials")
    assert written == [(ann.session["company"]["id"], ann.email), ("", "nobody@ann.test")]
    assert b"nobody@ann.test" not in (await ann.get("/audit/export")).raw


async def test_an_export_holds_exactly_what_its_last_checkpoint_covers_and_verifies(ann: Person, eve: Person) -> None:
    for _ in range(40):
        await ann.start("line", {"amount": 1})
    await eve.start("line", {"amount": 1})
    answer = await ann.get("/audit/export")
    assert list(verify_export(answer.raw.splitlines(keepends=True), await keys(ann))) == []
    manifest, *lines = (json.loads(line) for line in answer.raw.splitlines())
    entries = [line for line in lines if "events" in line]
    assert manifest["size"] == len(entries) == lines[len(entries)]["checkpoint"]["size"] == 42
    assert [line["number"] for line in entries] == list(range(42))
    assert eve.email.encode() not in answer.raw
    whole, known = answer.raw.splitlines(keepends=True), await keys(ann)
    for number in range(1, len(entries) + 1):
        cut = [*whole[:number], *whole[number + 1 :]]
        assert len(list(verify_export(cut, known))) == 1, f"line {number} was removed"
        spoilt = [*whole[:number], b"{\n", *whole[number + 1 :]]
        assert len(list(verify_export(spoilt, known))) == 1, f"line {number} is spoilt"


async def test_checkpoints_are_listed_newest_first_page_by_page(ann: Person) -> None:
    for _ in range(5):
        await audit(ann, await ann.start("line", {"amount": 1}))
    path, sizes, linked = "/audit/checkpoints?limit=2", [], []
    while path:
        answer = await ann.get(path)
        sizes.append([one["size"] for one in answer.json])
        linked += [(one["previous"], one["root"]) for one in answer.json]
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert [size for page in sizes for size in page] == sorted((size for page in sizes for size in page), reverse=True)
    assert max(map(len, sizes)) == 2
    assert [previous for previous, _ in linked] == [root for _, root in linked[1:]] + [None]
    assert_problem(await ann.get("/audit/checkpoints?cursor=x"), 400, "malformed_cursor")


async def test_the_log_of_the_company_is_told_newest_first_page_by_page_and_chained(ann: Person, eve: Person) -> None:
    put = {"base_url": "https://api.example.com", "auth_type": "bearer", "auth_token": "very secret"}
    await ann.put("/connectors/tool", put)
    await ann.delete("/connectors/tool")
    await ann.house.send("POST", "/auth/login", {"email": ann.email, "password": "wrong horse"})
    await ann.house.send("POST", "/auth/login", {"email": ann.email, "password": PASSWORD})
    await eve.put("/connectors/theirs", {"base_url": "https://api.example.com"})
    whole = (await ann.get("/audit/log")).json
    actions = ["log_in", "log_in_refused", "change_connector", "change_connector", "log_in", "register"]
    assert [one["change"]["action"] for one in whole] == actions
    assert [one["seq"] for one in whole] == [6, 5, 4, 3, 2, 1]
    assert [one["previous"] for one in whole[:-1]] == [one["hash"] for one in whole[1:]]
    for limit in range(1, 8):
        found, path = [], f"/audit/log?limit={limit}"
        while path:
            answer = await ann.get(path)
            assert "very secret" not in answer.raw.decode()
            found.append(answer.json)
            path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
        assert [one for page in found for one in page] == whole
        assert {len(page) for page in found[:-1]} <= {limit}
        assert 1 <= len(found[-1]) <= limit
    assert_problem(await ann.get("/audit/log?cursor=x"), 400, "malformed_cursor")


@pytest.mark.sqlite
async def test_a_log_that_was_changed_is_not_told(ann: Person, house: House) -> None:
    await ann.put("/connectors/tool", {"base_url": "https://api.example.com"})
    await house.close()
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        changed = "CAST(replace(CAST(events AS TEXT), 'api.example', 'bad.example') AS BLOB)"
        db.execute(f"UPDATE commits SET events = {changed} WHERE run_id = company_id")  # noqa: S608
        db.commit()
    await house.open()
    assert_problem(await ann.get("/audit/log"), 503, "store_unavailable")


@pytest.mark.one_daemon
async def test_every_member_sees_the_evidence_of_the_whole_company(ann: Person) -> None:
    viewer, run = await colleague(ann, "bob", "viewer"), await ann.start("line", {"amount": 1})
    evidence = f"/process-runs/{run['id']}/audit"
    for path in ("/audit/checkpoints", "/audit/checkpoints/", "/audit/export", "/audit/log", "/audit/keys", evidence):
        assert (await viewer.get(path)).status == 200, path


async def test_the_evidence_of_another_company_looks_like_none_to_the_byte(ann: Person, eve: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    theirs = await eve.get(f"/process-runs/{run['id']}/audit", X_Request_ID="same")
    none = await eve.get(f"/process-runs/{run['id'][:-4]}0000/audit", X_Request_ID="same")
    assert_problem(theirs, 404, "not_found")
    assert theirs.raw == none.raw
    await audit(ann, run)
    assert {one["company"] for one in (await eve.get("/audit/checkpoints")).json} <= {eve.session["company"]["id"]}


async def test_all_is_sealed_when_the_service_has_stopped_and_goes_on_where_it_was(ann: Person, house: House) -> None:
    await ann.start("line", {"amount": 1})
    await house.restart()
    (last,) = (await ann.get("/audit/checkpoints?limit=1")).json
    assert last["size"] == 3
    await ann.start("line", {"amount": 1})
    found = await exported(ann)
    assert [line["checkpoint"]["size"] for line in found if "checkpoint" in line][:2] == [4, 3]


async def test_an_earlier_key_still_verifies_after_a_rotation(ann: Person, house: House) -> None:
    await audit(ann, await ann.start("line", {"amount": 1}))
    ring_file = house.settings.data_dir / "audit.keys"
    assert ring_file.stat().st_mode & 0o777 == 0o600
    from daemon.keys.keyring import KeyRing, change_ring  # noqa: PLC0415

    change_ring(ring_file, KeyRing.rotated)
    await ann.start("line", {"amount": 1})
    answer = await ann.get("/audit/export")
    found = [json.loads(line)["checkpoint"] for line in answer.raw.splitlines() if b'"checkpoint"' in line]
    assert len({one["key_id"] for one in found}) == 2
    public = house.settings.data_dir / "audit.pub"
    assert public.stat().st_mode & 0o777 == 0o644
    assert json.loads(public.read_text()) == (await ann.get("/audit/keys")).json
    assert list(verify_export(answer.raw.splitlines(keepends=True), await keys(ann))) == []
