"""The newest checkpoint of the service stands outside, and shows a history that was rolled back."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from structlog.testing import capture_logs

from daemon.audit.sealer import Sealer, Signer, read_public
from daemon.audit.witness import FILE, Witness
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model.evidence import StoredCheckpoint
from daemon.stores.sqlite.store import SqliteStore
from daemon.verification.stores import verify_store
from tests.histories import NOON, start

if TYPE_CHECKING:
    from pathlib import Path


async def nowhere(url: str, _body: dict[str, Any]) -> str | None:
    return f"{url} answers 507"


def signing(tmp_path: Path) -> Signer:
    write_ring(tmp_path / "audit.keys", KeyRing("", {}).rotated())
    return Signer(tmp_path / "audit.keys", tmp_path / "audit.pub", lambda: NOON)


async def test_a_rollback_of_what_was_sealed_a_second_ago_is_found_by_what_the_witness_keeps(tmp_path: Path) -> None:
    folder, outside, signer = tmp_path / "data", tmp_path / "outside", signing(tmp_path)
    outside.mkdir()
    path = folder / "penstock.db"
    for number in range(2):
        async with SqliteStore.open(path) as store:
            sealer, witness = Sealer(store, signer), Witness(outside.as_uri(), store, nowhere)
            await store.append(start(f"run-{number}"))
            await sealer.tick()
            for _ in range(2):
                await witness.run_once()
        if number == 0:
            shutil.copytree(folder, tmp_path / "before")
    lines = (outside / FILE).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    kept, public = [StoredCheckpoint(**json.loads(line)) for line in lines], read_public(tmp_path / "audit.pub")
    assert all(one.genuine(public) for one in kept)
    assert list(verify_store(path, public, against=kept)) == []
    found = list(verify_store(tmp_path / "before" / "penstock.db", public, against=kept))
    assert ["rolled_back" in str(one) for one in found] == [True]


async def test_a_witness_that_takes_nothing_is_asked_again_and_said_once(tmp_path: Path) -> None:
    taken: list[dict[str, Any]] = []
    refusals = ["it answers 507", "it answers 507", None]

    async def post(_url: str, body: dict[str, Any]) -> str | None:
        taken.append(body)
        return refusals.pop(0)

    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        await store.append(start())
        await Sealer(store, signing(tmp_path)).tick()
        witness = Witness("https://witness.test/penstock", store, post)
        with capture_logs() as logs:
            for _ in range(5):
                await witness.run_once()
    assert [one["event"] for one in logs] == ["witness_failed", "witness_recovered"]
    assert len(taken) == 3
    assert taken[0] == taken[2]
