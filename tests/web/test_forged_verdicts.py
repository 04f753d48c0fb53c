"""A verdict that somebody wrote into the database is no verdict: nothing is performed for it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from actors.core.decider import TurnResult, step
from actors.core.messages import Resume
from daemon.audit.sealer import read_public
from daemon.keys.commit_keys import CommitKeys
from daemon.model.chain import extended
from daemon.stores import codec
from daemon.stores.rows import run_row
from daemon.verification.stores import verify_store
from tests.web.support import FarSide, House, Person, assert_problem

pytestmark = pytest.mark.sqlite
DATABASE = "penstock.db"
HEAD = "SELECT head FROM commits WHERE company_id = ? AND run_id = ? AND version = ?"


async def forged(house: House, ann: Person, run: Any, gate: str, decision: str) -> None:
    """Stop the service, and write an approval with the right chain, as the service would have."""
    company_id = ann.session["company"]["id"]
    services = house.services
    before = await services.store.load(company_id, run["id"])
    assert before is not None
    template = await services.catalog.pinned(before.company_id, before.template_digest)
    connectors = {one.connector.tool_id: one.connector for one in await services.store.connectors_of(company_id)}
    verdict = Resume(gate=gate, decision=decision, by=ann.email, role="owner", at=services.now())
    after = step(before, verdict, template, connectors)
    assert isinstance(after, TurnResult)
    await house.close()
    events, _ = codec.encode_events(after.events)
    key = (company_id, before.id)
    with closing(sqlite3.connect(house.settings.data_dir / DATABASE)) as db, db:
        (head,) = db.execute(HEAD, (*key, before.version)).fetchone()
        row = (*key, after.run.version, before.version + 1, extended(head, events.split(b"\n")), events)
        db.execute(
            "INSERT INTO commits (company_id, run_id, version, first_seq, head, events) VALUES (?,?,?,?,?,?)", row
        )
        version, resting, status, parked, *_ = run_row(after.run)
        moved = (version, resting, status, parked, *key)
        db.execute(
            "UPDATE runs SET version = ?, resting = ?, status = ?, parked = ? WHERE company_id = ? AND id = ?", moved
        )
        db.execute("DELETE FROM snapshots")


async def test_nothing_is_sent_for_a_forged_verdict_and_all_else_goes_on(
    house: House, ann: Person, far: FarSide
) -> None:
    await ann.connect("work", far.url)
    run, other = [await ann.until(await ann.start("loop"), "parked") for _ in range(2)]
    assert len(far.seen) == 2
    await forged(house, ann, run, "again", "once more")
    await house.open()
    assert (await ann.resume(other, "again", "once more")).status == 200
    await ann.until(other, "parked")
    assert [one.headers["Idempotency-Key"].partition(":")[0] for one in far.seen[2:]] == [other["id"]]
    for path in ("", "/events", "/audit"):
        answer = await ann.get(f"/process-runs/{run['id']}{path}")
        assert_problem(answer, 503, "store_unavailable")
    eve = await house.register("eve")
    assert (await eve.start("quick"))["status"] == "completed"


async def test_a_forged_verdict_is_not_sealed_and_verification_finds_it_sealed_or_not(
    house: House, ann: Person
) -> None:
    run = await ann.start("line", {"amount": 5})
    await forged(house, ann, run, "signoff", "approved")
    folder = house.settings.data_dir
    public = read_public(folder / "audit.pub")
    await house.open()
    await house.services.sealer.seal()
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        sealed = db.execute("SELECT count(*) FROM audit_leaves WHERE stream = ?", (run["id"],)).fetchone()
        commits = db.execute("SELECT count(*) FROM commits WHERE run_id = ?", (run["id"],)).fetchone()
    assert sealed[0] == commits[0] - 1
    keys = CommitKeys.open(folder / "commit.keys", create=False)
    kinds = {one.kind: str(one) for one in verify_store(folder, public, commit_keys=keys)}
    assert run["id"] in kinds["mac"]
    assert "sealing" in kinds
