"""A store in which nobody changed anything is sound, in whatever order and spelling callers sent
what is stored.
"""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from daemon.audit.sealer import read_public
from daemon.keys.commit_keys import CommitKeys
from daemon.settings import Settings, key_files
from daemon.verification.stores import verify_store
from tests.web.closed import office
from tests.web.people import company
from tests.web.support import House, Person

pytestmark = pytest.mark.sqlite
NAMES = ["order_id", "amount", "b", "a", "Ünïcode", "z", "10", "9", "_x", "A"]
TYPES = ["run_started", "gate_opened", "verdict_given", "run_ended"]
EVENTS = ["gate_opened", "gate_decided", "run_failed"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"public_url": "http://127.0.0.1:8080"})


def shuffled(draw: random.Random, value: Any) -> Any:
    """The same value with the members of each object in another order."""
    match value:
        case dict():
            return {name: shuffled(draw, one) for name, one in draw.sample(list(value.items()), len(value))}
        case list():
            return [shuffled(draw, one) for one in value]
        case _:
            return value


def some(draw: random.Random, values: list[str]) -> list[str]:
    return draw.sample(values, draw.randint(1, len(values)))


def connector(draw: random.Random) -> dict[str, Any]:
    body: dict[str, Any] = {
        "base_url": "http://127.0.0.1:1/a",
        "method": "POST",
        "path": draw.choice(["", "/pay", "/größe"]),
        "timeout_s": draw.choice([1, 2.0, 2.5, 1e1]),
        "retries": draw.randint(0, 3),
        "reversible": draw.choice([True, False]),
    }
    if draw.random() < 0.8:
        body["body_map"] = {name: f"inputs.{name}" for name in some(draw, ["order_id", "amount", "b", "a", "z", "A"])}
    if draw.random() < 0.5:
        body["query_map"] = dict.fromkeys(some(draw, NAMES), "inputs.a")
    if draw.random() < 0.5:
        body["headers"] = {f"X-{name}": name for name in some(draw, ["B", "A", "Z", "C"])}
    if draw.random() < 0.4:
        body |= {"auth_type": "bearer", "auth_token": "secret"}
    return body


async def everything(draw: random.Random, ann: Person, nth: int) -> None:
    """Store one of each, sent in a random order."""
    at = company(ann)
    quiet = {"timezone": "Europe/Vienna", "from": "22:00", "to": "07:00"}
    members = [(await ann.get("/auth/me")).json["member_id"]]
    facts = {"amount": draw.choice([5, 5.0, 5.25, 1e3]), "b": {"z": 1.0, "a": [1, 1.0, "é"]}, "a": "x"}
    wanted: list[tuple[str, str, dict[str, Any]]] = [
        ("PUT", f"/connectors/tool-{nth % 3}", connector(draw)),
        ("POST", "/webhooks/", {"url": "http://127.0.0.1:1/", "events": some(draw, TYPES), "description": "é\u2028"}),
        (
            "POST",
            "/notifications/",
            {"kind": "webhook", "url": "http://127.0.0.1:1/", "events": some(draw, EVENTS), "quiet_hours": quiet},
        ),
        ("PUT", f"{at}/groups/group-{nth % 2}", {"members": members}),
        (
            "PUT",
            f"{at}/calendar",
            {
                "timezone": "Europe/Vienna",
                "weekend": some(draw, ["saturday", "sunday", "friday"]),
                "holidays": some(draw, ["2026-12-25", "2026-12-26", "2027-01-01"]),
            },
        ),
        ("PUT", f"{at}/policy", {"solo": draw.choice([True, False]), "templates": some(draw, ["refund", "aml"])}),
        (
            "PUT",
            f"{at}/autonomy",
            {"confidence_floor": draw.choice([0.7, 1, 1.0]), "irreversible_floor": draw.choice([0.95, 1])},
        ),
    ]
    wanted.append(("POST", "/process-runs/", {"vertical": "line", "inputs": facts, "business_key": f"Nr. {nth}"}))
    for method, path, body in draw.sample(wanted, len(wanted)):
        for _ in range(2 if method == "PUT" else 1):  # the second time as it stood
            answer = await ann.send(method, path, shuffled(draw, body))
            assert answer.status in {200, 201, 204}, (path, answer.raw)


def findings(house: House) -> list[str]:
    folder, keys = house.settings.data_dir, CommitKeys.open(key_files(house.settings)["commits"], create=False)
    return list(map(str, verify_store(folder / "penstock.db", read_public(folder / "audit.pub"), commit_keys=keys)))


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_order_members_are_sent_in_nothing_is_taken_for_a_change(
    house: House, ann: Person, seed: int
) -> None:
    draw = random.Random(seed)
    for nth in range(12):
        await everything(draw, ann, nth)
    await house.close()
    assert findings(house) == []


async def test_a_value_that_was_changed_in_the_row_of_a_connector_is_found(house: House, ann: Person) -> None:
    body = {
        "base_url": "http://127.0.0.1:1/",
        "method": "POST",
        "body_map": {"order": "inputs.b", "amount": "inputs.a"},
    }
    assert (await ann.put("/connectors/pay", body)).status == 201
    await house.close()
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db", isolation_level=None)) as db:
        ((stored,),) = db.execute("SELECT connector FROM connectors").fetchall()
        reordered = json.dumps(json.loads(stored), sort_keys=True, indent=1).encode()
        db.execute("UPDATE connectors SET connector = ?", (reordered,))
        assert findings(house) == []
        db.execute("UPDATE connectors SET connector = ?", (stored.replace(b"inputs.a", b"inputs.b"),))
    (found,) = findings(house)
    assert "connector is not what the log says" in found


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM run_readers WHERE kind = 'subject'",
        "DELETE FROM run_readers WHERE kind = 'rule'",
        "UPDATE run_readers SET name = 'person:member@member.test' WHERE kind = 'starter'",
        "UPDATE run_readers SET ends_at = '2999' WHERE kind = 'glass'",
        "INSERT INTO run_readers SELECT company_id, run_id, 'glass', 'viewer@viewer.test', '2999' FROM run_readers",
    ],
)
async def test_rows_that_say_who_finds_a_run_are_sound_until_somebody_changes_them(
    house: House, ann: Person, statement: str
) -> None:
    found = await office(ann)
    redacted, narrowed = await found.start(), await found.start("member")
    assert (await found["officer"].resume(redacted, "signoff")).status == 200
    gone = {"pointers": ["/inputs/about"], "reason": "They asked."}
    assert (await ann.post(f"/process-runs/{redacted['id']}/redact", gone)).status == 200
    line = {"readers": {"line": {"groups": ["auditors"], "starter": True}}}
    assert (await ann.put(f"{company(ann)}/policy", line)).status == 200
    started = await found["member"].start("line", {"amount": 1})
    for run in (redacted, narrowed, started):
        broken = await found["boss"].post(f"/process-runs/{run['id']}/break-glass", {"reason": "They wait."})
        assert broken.status == 201
    await house.close()
    assert findings(house) == []
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db, db:
        db.execute(f"{statement} LIMIT 1" if statement.startswith("INSERT") else statement)
    assert {"lists have" in one for one in findings(house)} == {True}
