"""What somebody writes who can only write to the database is no history: it is neither loaded,
shown, sealed nor gone on from, and everything else goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from actors.ports import Commit, StoreFailed
from daemon.model import RunQuery
from daemon.model.audit_events import Logged, LoginRefused
from daemon.model.chain import extended, genesis
from daemon.model.event_log import BEGINNING
from daemon.stores import codec
from daemon.stores.rows import run_row
from daemon.stores.store import Store
from tests.histories import ACME, NOON, OTHER, append, decide, start
from tests.stores.contract.test_evidence import sign

if TYPE_CHECKING:
    from collections.abc import Awaitable


HEAD = "SELECT head FROM commits WHERE company_id = $1 AND run_id = $2 AND version = $3"
ADD = (
    "INSERT INTO commits (company_id, run_id, version, first_seq, position, head, events) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7)"
)


async def beside(store: Any, statement: str, *values: Any) -> None:
    """A statement of somebody who can write to the database."""
    await store._write(ACME, lambda db: db.execute(statement, *values))


async def forge(store: Any, one: Commit) -> None:
    """Write a commit with the right hash chain, and put the row of its run right."""
    run, before = one.run, one.expected_version
    key = (run.company_id, run.id)
    events, _ = codec.encode_events(one.events)

    async def written(db: Any) -> None:
        head = await db.value(HEAD, *key, before) if before else genesis(*key)
        head = extended(head, events.split(b"\n"))
        position = await db.next_position(run.company_id)
        await db.execute(ADD, *key, run.version, before + 1, position, head, events)
        version, resting, status, parked, *_ = run_row(run)
        row = "UPDATE runs SET version = $3, resting = $4, status = $5, parked = $6 WHERE company_id = $1 AND id = $2"
        await db.execute(row, *key, version, resting, status, parked)

    await store._write(run.company_id, written)


async def refused(*reads: Awaitable[Any]) -> None:
    for read in reads:
        with pytest.raises(StoreFailed, match="the service did not write the commit"):
            await read


async def test_a_forged_verdict_is_neither_loaded_nor_shown(store: Store) -> None:
    begun, other = start(), start("run-2")
    await store.append(begun)
    await store.append(other)
    await forge(store, decide(begun.run))
    reads = (store.load(ACME, "run-1"), store.history(ACME, "run-1", 0, 99), store.find(ACME, RunQuery()))
    await refused(*reads, store.read_after(ACME, BEGINNING, 99))
    assert await store.load(ACME, "run-2") == other.run
    await append(store, decide(other.run))


async def test_a_forged_verdict_beside_a_run_that_lives_is_not_gone_on_from(store: Store) -> None:
    begun = start()
    head = await store.append(begun)
    await forge(store, decide(begun.run))
    with pytest.raises(Exception, match=r"moved on|refused the row|duplicate key"):
        await store.append(replace(decide(begun.run), follows=head))
    await refused(store.load(ACME, "run-1"))


async def test_sealing_stops_before_a_forged_commit_and_goes_on_for_others_and_when_it_is_gone(store: Store) -> None:
    begun = start()
    await store.append(begun)
    await forge(store, decide(begun.run))
    await store.append(start("run-3"))
    for number in range(3):
        await store.append(start(f"other-{number}", OTHER))
        await store.seal(sign)
        await store.seal(sign, ACME)
    assert [one.stream for one in await store.entries(ACME, 0, 9)] == ["run-1"]
    assert len(await store.entries(OTHER, 0, 9)) == 3
    assert (await store.checkpoints(ACME, None, 9))[0].size == 1
    assert await store.proven(ACME, "run-3") is None
    await beside(store, "DELETE FROM commits WHERE company_id = $1 AND version = 5", ACME)
    await store.seal(sign)
    assert [one.stream for one in await store.entries(ACME, 0, 9)] == ["run-1", "run-3"]
    assert len(await store.entries(OTHER, 0, 9)) == 3


async def test_a_sealed_commit_that_was_changed_with_its_chain_is_not_shown(store: Store) -> None:
    begun = start()
    await store.append(begun)
    await store.seal(sign)
    events = codec.encode_events(begun.events)[0].replace(b'"ann"', b'"eve"')
    head = extended(genesis(ACME, "run-1"), events.split(b"\n"))
    await beside(store, "UPDATE commits SET events = $1, head = $2", events, head)
    await refused(store.entries(ACME, 0, 9), store.proven(ACME, "run-1"), store.history(ACME, "run-1", 0, 9))


async def test_a_commit_of_another_run_or_company_with_its_mac_is_forged_there(store: Store) -> None:
    await store.append(start())
    await store.append(start("run-2"))
    await store.append(start("run-1", OTHER))
    await beside(store, "DELETE FROM snapshots")
    await beside(store, "UPDATE commits SET run_id = 'x' WHERE run_id = 'run-1'")
    await beside(store, "UPDATE commits SET run_id = 'run-1' WHERE run_id = 'run-2'")
    await beside(store, "UPDATE commits SET company_id = 'y' WHERE company_id = $1 AND run_id = 'x'", ACME)
    await beside(store, "UPDATE commits SET company_id = $1, run_id = 'run-2' WHERE company_id = $2", ACME, OTHER)
    for run_id in ("run-1", "run-2"):
        with pytest.raises(StoreFailed):
            await store.load(ACME, run_id)
    await store.seal(sign)
    assert await store.checkpoints(ACME, None, 9) == []


async def test_a_forged_snapshot_is_passed_over_for_the_history(store: Store) -> None:
    begun = start()
    await store.append(begun)
    for old, new in ((b'"parked"', b'"failed"'), (b'"ann"', b'"eve"')):
        body = codec.encode_run(begun.run).replace(old, new)
        await beside(store, "UPDATE snapshots SET body = $1", body)
        assert await store.load(ACME, "run-1") == begun.run


async def test_an_event_that_was_forged_into_a_log_is_neither_shown_nor_followed(store: Store) -> None:
    await store.log(Logged(ACME, LoginRefused(at=NOON, by="ann")))
    line = codec.encode_log(LoginRefused(at=NOON, by="eve"))

    async def written(db: Any) -> None:
        head = extended(await db.value(HEAD, ACME, ACME, 1), [line])
        await db.execute(ADD, ACME, ACME, 2, 2, await db.next_position(ACME), head, line)

    await store._write(ACME, written)
    await refused(store.logged(ACME, None, 9), store.log(Logged(ACME, LoginRefused(at=NOON, by="ann"))))
    await store.log(Logged(OTHER, LoginRefused(at=NOON, by="bob")))
    await store.seal(sign)
    assert len(await store.entries(ACME, 0, 9)) == len(await store.entries(OTHER, 0, 9)) == 1
