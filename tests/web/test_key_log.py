"""Changes of the service's own keys stand in its own log, whoever made them and whenever."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from daemon.audit.evidence import change_of
from daemon.audit.sealer import read_public
from daemon.keys.keyring import KeyRing, change_ring, read_ring
from daemon.settings import key_files
from daemon.verification.stores import verify_store
from tests.web.support import PATIENCE_S, House, Person

pytestmark = pytest.mark.sqlite
PURPOSES = ["commits", "tokens", "secrets", "audit"]


def written(house: House) -> Sequence[Any]:
    """What the service's own log says of keys."""
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db:
        rows = db.execute("SELECT events FROM commits WHERE company_id = '' AND run_id = '' ORDER BY version")
        events = [json.loads(events) for (events,) in rows]
    return [event for event in events if event["type"] == "keys_changed"]


async def until(house: House, count: int) -> Any:
    """The latest entry, as soon as there are so many."""
    async with asyncio.timeout(PATIENCE_S):
        while len(found := written(house)) < count:  # noqa: ASYNC110 - the log is looked at, as anybody would
            await asyncio.sleep(0.05)
    return found[-1]


async def test_the_first_start_writes_down_the_keys_that_it_made(house: House) -> None:
    made = written(house)
    rings = {purpose: read_ring(path) for purpose, path in key_files(house.settings).items()}
    assert [(one["purpose"], one["before"], one["by"], one["via"]) for one in made] == [
        (purpose, None, "", "service") for purpose in PURPOSES
    ]
    assert {one["purpose"]: one["after"] for one in made} == {
        purpose: {"current": ring.current, "known": [ring.current]} for purpose, ring in rings.items()
    }


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_rotation_beside_the_running_service_is_written_down(house: House, purpose: Any) -> None:
    path = key_files(house.settings)[purpose]
    before, after = read_ring(path), change_ring(path, KeyRing.rotated)
    said = await until(house, 5)
    assert (said["purpose"], said["before"]["current"], said["after"]["current"]) == (
        purpose,
        before.current,
        after.current,
    )
    assert said["after"]["known"] == list(after.keys)
    change = change_of(said)
    assert change is not None
    assert (change["action"], change["to"]["purpose"]) == ("change_keys", purpose)


async def test_what_was_changed_while_the_service_was_stopped_is_written_down_at_the_start(house: House) -> None:
    await house.close()
    path = key_files(house.settings)["secrets"]
    change_ring(path, KeyRing.rotated)
    change_ring(path, KeyRing.pruned)
    await house.open()
    assert written(house)[-1]["after"] == {"current": read_ring(path).current, "known": [read_ring(path).current]}
    await house.restart()
    assert len(written(house)) == 5


async def test_what_somebody_calls_themselves_is_not_taken_for_an_entry_of_keys(house: House) -> None:
    for name in ('"purpose":"tokens"', 'purpose\\":\\"tokens'):
        body = {"email": f"{name}@x.test", "password": "wrong horse"}
        await house.send("POST", "/auth/login", body)
    await house.restart()
    assert len(written(house)) == 4


async def test_the_entries_are_evidence_and_hold_no_key(house: House, ann: Person) -> None:
    keys = [key for path in key_files(house.settings).values() for key in json.loads(path.read_text())["keys"].values()]
    assert not any(key in json.dumps(written(house)) for key in keys)
    await house.services.sealer.seal()
    folder = house.settings.data_dir
    assert list(verify_store(folder, read_public(folder / "audit.pub"))) == []
    with closing(sqlite3.connect(folder / "penstock.db")) as db, db:
        db.execute("UPDATE commits SET events = CAST(replace(CAST(events AS TEXT), 'tokens', 'audits') AS BLOB)")
    assert [str(one).split(":")[0] for one in verify_store(folder, read_public(folder / "audit.pub"))] != []
