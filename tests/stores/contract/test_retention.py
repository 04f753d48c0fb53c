"""Legal holds and archives in both databases: what goes, what stays, and what `verify` says."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from actors.core.messages import RunEnded
from daemon.audit import evidence
from daemon.audit.sealer import Sealer, Signer, read_public
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model.audit_events import Logged
from daemon.model.chain import HistoryBroken
from daemon.model.event_log import BEGINNING
from daemon.model.events.company import CompanyPolicy, HoldChanged, HoldForm, PolicyChanged
from daemon.model.people.companies import POLICY
from daemon.model.retention.records import HistoryArchived, LegalHold
from daemon.retention import ArchiveFiles, ArchiveLost, Archiver
from daemon.stores.store import Store
from daemon.verification.exports import verify_export
from daemon.verification.runs import verify_run
from tests.histories import ACME, NOON, Clock, action, append, commit, decide, start

if TYPE_CHECKING:
    from pathlib import Path


DAYS = 30


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    write_ring(tmp_path / "audit.keys", KeyRing("one", {"one": secrets.token_bytes(32)}))
    return Signer(tmp_path / "audit.keys", tmp_path / "audit.pub", lambda: NOON)


@pytest.fixture
def archiver(store: Store, signer: Signer, tmp_path: Path, clock: Clock) -> Archiver:
    return Archiver(store, Sealer(store, signer), ArchiveFiles(tmp_path / "archive"), clock)


def files(folder: Path) -> list[Path]:
    return list(folder.glob("archive/*/*"))


async def ask(store: Store, days: int | None = DAYS) -> None:
    policy, before = CompanyPolicy(archive_after_days=days), CompanyPolicy()
    event = PolicyChanged(at=NOON, by="ann", before=before, after=policy, number=1, via="session")
    assert await store.put_setting(POLICY, Logged(ACME, event))


async def ended(store: Store, signer: Signer, run_id: str = "run-1") -> None:
    await store.append(start(run_id, inputs={"name": "Grace"}))
    run = await store.load(ACME, run_id)
    assert run is not None
    await append(store, decide(run))
    await Sealer(store, signer).seal()


async def hold(store: Store, run_id: str, reason: str | None) -> bool:
    after = None if reason is None else HoldForm(reason=reason)
    event = HoldChanged(at=NOON, after=after, before=None, by="ann", run_id=run_id, via="session")
    if reason is None:
        return await store.drop_hold(ACME, run_id, Logged(ACME, event))
    return await store.put_hold(LegalHold(ACME, run_id, reason, NOON, "ann"), Logged(ACME, event))


async def test_an_archived_run_leaves_its_hashes_and_an_export_that_verifies(
    store: Store, signer: Signer, archiver: Archiver, clock: Clock, tmp_path: Path
) -> None:
    await ask(store)
    await ended(store, signer)
    await store.append(start("run-2"))
    before = await store.load(ACME, "run-1")
    await archiver.tick()
    assert await store.load(ACME, "run-1") == before  # it ended just now
    clock.forward(days=DAYS, seconds=1)
    await archiver.tick()
    kept = (await store.retained(ACME, "run-1")).archived
    run = await store.load(ACME, "run-1")
    assert before is not None
    assert kept is not None
    assert run == kept.run
    assert (run.status, run.version, run.inputs, run.trace) == ("completed", before.version, {}, ())
    assert run.ended is not None
    assert (run.ended.outcome, run.ended.at) == ("done", NOON)
    with pytest.raises(HistoryArchived):
        await store.history(ACME, "run-1", 0, 10)
    with pytest.raises(HistoryArchived):
        await store.proven(ACME, "run-1")
    assert {one.run_id for one in await store.read_after(ACME, BEGINNING, 10)} == {"run-2"}
    assert (await store.retained(ACME, "run-2")).archived is None
    content = await archiver.content(kept)
    assert list(verify_run(content, read_public(tmp_path / "audit.pub"))) == []
    assert b"Grace" in content
    assert json.loads(content)["head"] == kept.form.head
    await archiver.tick()  # a repeat does no harm
    assert (await store.retained(ACME, "run-1")).archived == kept


async def test_an_action_is_archived_eight_days_after_its_end_at_the_earliest(
    store: Store, signer: Signer, archiver: Archiver, clock: Clock
) -> None:
    await ask(store, 1)
    await ended(store, signer)
    await store.append(action("run-2", gates=("ask",)))
    run = await store.load(ACME, "run-2")
    assert run is not None
    await append(store, commit(run, RunEnded(at=NOON, status="cancelled", was="parked")))
    for days, archived in ((2, [True, False]), (6, [True, False]), (1, [True, True])):
        clock.forward(days=days)
        await archiver.tick()
        found = [await store.retained(ACME, name) for name in ("run-1", "run-2")]
        assert [one.archived is not None for one in found] == archived


@pytest.mark.parametrize(("most", "together"), [(1, [1, 1, 1]), (1024 * 1024, [3])])
async def test_large_runs_are_archived_one_by_one_and_small_ones_together(
    store: Store,
    signer: Signer,
    archiver: Archiver,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    together: list[int],
) -> None:
    await ask(store)
    for number in range(3):
        await ended(store, signer, f"run-{number}")
    clock.forward(days=DAYS, seconds=1)
    transactions, keep = [], store.keep_archives

    async def counted(company_id: str, events: Any, sign: Any) -> frozenset[str]:
        transactions.append(len(events))
        return await keep(company_id, events, sign)

    monkeypatch.setattr(store, "keep_archives", counted)
    monkeypatch.setattr("daemon.retention.BATCH_BYTES_MAX", most)
    await archiver.tick()
    assert transactions == together


async def test_a_run_that_is_held_while_its_file_is_written_stays_and_the_file_goes(
    store: Store, signer: Signer, archiver: Archiver, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask(store)
    await ended(store, signer)
    await ended(store, signer, "run-2")
    clock.forward(days=DAYS, seconds=1)
    keep = store.keep_archives

    async def held_first(*arguments: Any) -> frozenset[str]:
        assert await hold(store, "run-1", "litigation")
        return await keep(*arguments)

    monkeypatch.setattr(store, "keep_archives", held_first)
    await archiver.tick()
    assert [(await store.retained(ACME, one)).archived is None for one in ("run-1", "run-2")] == [True, False]
    assert [one.name.partition(".")[0] for one in files(tmp_path)] == ["run-2"]
    monkeypatch.undo()
    await archiver.tick()
    assert len(await store.history(ACME, "run-1", 0, 10)) == 5
    assert await hold(store, "run-1", None)
    await archiver.tick()
    assert (await store.retained(ACME, "run-1")).archived is not None


async def test_an_export_of_archived_runs_verifies_and_events_that_are_gone_without_a_record_break_the_run(
    store: Store, signer: Signer, archiver: Archiver, clock: Clock, tmp_path: Path
) -> None:
    await ask(store)
    await ended(store, signer)
    clock.forward(days=DAYS, seconds=1)
    await archiver.tick()
    top = await store.checkpoints(ACME, None, 100)
    entries = await store.entries(ACME, 0, top[0].size)
    lines = [
        evidence.manifest(ACME, top[0].size),
        *map(evidence.entry_line, entries),
        *map(evidence.checkpoint_line, top),
    ]
    assert list(verify_export(lines, read_public(tmp_path / "audit.pub"))) == []
    [kept] = await store._read(lambda db: db.rows("SELECT form FROM archived_runs"))
    assert json.loads(kept[0])["run_id"] == "run-1"
    await store._write(ACME, lambda db: db.execute("DELETE FROM archived_runs"))
    with pytest.raises(HistoryBroken):
        await store.load(ACME, "run-1")


class Swept(ArchiveFiles):
    """The folder when another daemon drops what it did not write itself."""

    def write(self, company_id: str, run_id: str, content: bytes) -> Path:
        path = super().write(company_id, run_id, content)
        self.drop(path)
        return path


async def test_a_file_that_another_daemon_drops_beneath_is_left_to_it(
    store: Store, signer: Signer, clock: Clock, tmp_path: Path
) -> None:
    await ask(store)
    await ended(store, signer, "run-1")
    clock.forward(days=DAYS, seconds=1)
    await Archiver(store, Sealer(store, signer), Swept(tmp_path / "archive"), clock).tick()
    assert (await store.retained(ACME, "run-1")).archived is None


async def test_an_archive_that_is_lost_or_changed_is_not_given_out(
    store: Store, signer: Signer, archiver: Archiver, clock: Clock, tmp_path: Path
) -> None:
    await ask(store)
    await ended(store, signer)
    clock.forward(days=DAYS, seconds=1)
    await archiver.tick()
    kept = (await store.retained(ACME, "run-1")).archived
    assert kept is not None
    [file] = files(tmp_path)
    file.write_bytes(file.read_bytes()[:-1] + b" ")
    with pytest.raises(ArchiveLost):
        await archiver.content(kept)
    file.unlink()
    with pytest.raises(ArchiveLost):
        await archiver.content(kept)


async def test_without_a_folder_nothing_is_archived(store: Store, signer: Signer, clock: Clock) -> None:
    await ask(store)
    await ended(store, signer)
    clock.forward(days=DAYS, seconds=1)
    with capture_logs() as logs:
        await Archiver(store, Sealer(store, signer), ArchiveFiles(None), clock).tick()
    assert [one["event"] for one in logs] == ["archive_folder_unset"]
    assert (await store.retained(ACME, "run-1")).archived is None
