"""The evidence: every store chains, logs and seals by the same rules."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from daemon.keys.keyring import KeyFileRefused
from daemon.model import merkle
from daemon.model.audit_events import LogEvent, Logged, LoggedOut, LoginRefused
from daemon.model.chain import extended, genesis, hash_of_text, text_of_hash
from daemon.model.evidence import SEAL_MAX, StoredCheckpoint, leaf
from daemon.stores.store import Store
from tests.histories import ACME, NOON, OTHER, account, append, change, decide, start, stored_connector


def sign(company: str, size: int, root: bytes, previous: str | None) -> StoredCheckpoint:
    return StoredCheckpoint(
        at="now", company=company, key_id="k", previous=previous, root=text_of_hash(root), signature="s", size=size
    )


async def test_each_commit_goes_on_from_the_head_of_the_one_before(store: Store) -> None:
    begun = start()
    await store.append(begun)
    await append(store, decide(begun.run))
    await store.seal(sign)
    first, second = await store.entries(ACME, 0, 9)
    assert first.head == extended(genesis(ACME, "run-1"), first.events.split(b"\n"))
    assert second.head == extended(first.head, second.events.split(b"\n"))
    assert (first.first_seq, first.version, second.first_seq, second.version) == (1, 3, 4, 5)


async def test_the_log_of_a_company_is_a_stream_of_its_own(store: Store) -> None:
    refused = Logged("", LoginRefused(at=NOON, by="nobody@nowhere.test"))
    await store.register(account(), None, [Logged(ACME, LoginRefused(at=NOON, by="ann"))])
    await store.put_connector(stored_connector(), change())
    await store.revoke("token", NOON, Logged(ACME, LoggedOut(at=NOON, by="ann", token="token", via="session")))
    await store.log(refused)
    await store.seal(sign)
    entries = await store.entries(ACME, 0, 9)
    assert [(one.stream, one.first_seq, one.version) for one in entries] == [(ACME, n, n) for n in (1, 2, 3)]
    kinds = [b"login_refused", b"connector_changed", b"logged_out"]
    assert all(kind in one.events for kind, one in zip(kinds, entries, strict=True))
    assert [one.stream for one in await store.entries("", 0, 9)] == [""]


async def test_the_log_of_a_company_is_read_backwards(store: Store) -> None:
    await store.append(start())
    await store.log(Logged(OTHER, LoginRefused(at=NOON, by="eve")))
    for name in ("ann", "bob", "cid"):
        await store.log(Logged(ACME, LoginRefused(at=NOON, by=name)))
    third, second = await store.logged(ACME, None, 2)
    assert [(one.stream, one.first_seq, one.version) for one in (third, second)] == [(ACME, 3, 3), (ACME, 2, 2)]
    assert third.head == extended(second.head, third.events.split(b"\n"))
    assert [one.version for one in await store.logged(ACME, 2, 9)] == [1]
    assert await store.logged(ACME, 1, 9) == []
    assert await store.logged("nobody", None, 9) == []


async def test_the_latest_event_of_a_log_that_holds_a_text_is_found(store: Store) -> None:
    for number, name in enumerate(("ann", "bob", "ann")):
        await store.log(Logged("", LoginRefused(at=NOON, by=name, reason=str(number))))
    await store.log(Logged(ACME, LoginRefused(at=NOON, by="ann", reason="elsewhere")))
    found = await store.last_logged("", '"by":"ann"')
    assert isinstance(found, LoginRefused)
    assert found.reason == "2"
    assert await store.last_logged("", '"by":"eve"') is None
    assert await store.last_logged(OTHER, "ann") is None


async def test_what_follows_on_an_event_is_added_to_its_log_by_whoever_comes_first(store: Store) -> None:
    def counted(last: LogEvent | None, *, has_peers: bool) -> LogEvent | None:
        assert not has_peers
        number = int(last.reason) + 1 if isinstance(last, LoginRefused) else 0
        return None if number == 5 else LoginRefused(at=NOON, by="ann", reason=str(number))

    await store.log(Logged("", LoginRefused(at=NOON, by="bob", reason="7")))
    await asyncio.gather(*(store.log_after("", '"by":"ann"', counted) for _ in range(9)))
    last = await store.last_logged("", '"by":"ann"')
    assert isinstance(last, LoginRefused)
    assert (last.reason, await store.unsealed()) == ("4", 6)


async def test_what_is_raised_instead_of_a_following_event_is_heard_and_nothing_is_written(store: Store) -> None:
    def refused(last: LogEvent | None, *, has_peers: bool) -> LogEvent | None:
        raise KeyFileRefused(f"{last} {has_peers}")

    with pytest.raises(KeyFileRefused, match="None False"):
        await store.log_after("", '"by":"ann"', refused)
    assert await store.unsealed() == 0


async def test_sealing_gives_each_company_its_leaves_in_order_and_a_checkpoint(store: Store) -> None:
    for number in range(5):
        await store.append(start(f"run-{number}", OTHER if number % 2 else ACME))
    assert await store.unsealed() == 5
    assert await store.seal(sign) == 5
    assert (await store.unsealed(), await store.seal(sign)) == (0, 0)
    await store.append(start("run-9"))
    assert await store.seal(sign) == 1
    found = await store.checkpoints(ACME, None, 9)
    assert [one.size for one in found] == [4, 3]
    assert [one.previous for one in found] == [found[1].root, None]
    assert [one.stream for one in await store.entries(ACME, 0, 9)] == ["run-0", "run-2", "run-4", "run-9"]
    assert [one.size for one in await store.checkpoints(ACME, 4, 9)] == [3]
    assert [one.size for one in await store.checkpoints(OTHER, None, 1)] == [2]


async def test_a_seal_takes_a_bounded_number_of_commits(store: Store) -> None:
    for number in range(SEAL_MAX + 3):
        await store.append(start(f"run-{number:03}"))
    assert [await store.seal(sign) for _ in range(3)] == [SEAL_MAX, 3, 0]


@pytest.mark.parametrize("company_id", [ACME, OTHER])
async def test_a_run_is_proven_once_its_last_commit_is_covered(store: Store, company_id: str) -> None:
    begun = start(company_id=company_id)
    await store.append(begun)
    assert await store.proven(company_id, "run-1") is None
    await store.seal(sign)
    for number in range(2, 9):
        await store.append(start(f"run-{number}", company_id))
    await append(store, decide(begun.run))
    assert await store.proven(company_id, "run-1") is None
    await store.seal(sign)
    proven = await store.proven(company_id, "run-1")
    assert proven is not None
    last, top = proven.commits[-1], proven.checkpoint
    assert (last.version, last.head) == (proven.last.version, proven.last.head)
    shown = leaf("run-1", last.version, last.head)
    assert merkle.includes(proven.last.number, top.size, shown, proven.proof, hash_of_text(top.root))
    other = OTHER if company_id == ACME else ACME
    assert await store.proven(other, "run-1") is None
    assert shown != hashlib.sha256(last.head).digest()


async def test_a_part_of_a_run_is_proven_with_the_head_before_it(store: Store) -> None:
    begun = start()
    await store.append(begun)
    await append(store, decide(begun.run))
    await store.seal(sign)
    whole = await store.proven(ACME, "run-1")
    assert whole is not None
    first, second = whole.commits
    assert (first.version, second.version) == (3, 5)
    parts = {
        (0, 1): [first],
        (2, 1): [first],
        (3, 1): [second],
        (4, None): [second],
        (2, 9): [first, second],
        (5, 1): [],
    }
    for (after, limit), commits in parts.items():
        found = await store.proven(ACME, "run-1", after, limit)
        assert found is not None
        assert list(found.commits) == commits
        assert (found.last, list(found.proof), found.checkpoint) == (whole.last, list(whole.proof), whole.checkpoint)
        if commits:
            assert found.before == (genesis(ACME, "run-1") if commits[0] == first else first.head)


async def test_a_company_that_is_sealed_alone_leaves_the_others_as_they_are_and_passes_over_none(store: Store) -> None:
    for number in range(3):
        await store.append(start(f"run-{number}", ACME))
        await store.append(start(f"run-{number}", OTHER))
    assert (await store.seal(sign, ACME), await store.seal(sign, ACME)) == (3, 0)
    assert [one.size for one in await store.checkpoints(ACME, None, 9)] == [3]
    assert list(await store.checkpoints(OTHER, None, 9)) == []
    assert await store.unsealed() >= 3
    await store.append(start("run-3", ACME))
    assert await store.seal(sign) == 4
    assert await store.unsealed() == 0
    for company, streams in ((ACME, 4), (OTHER, 3)):
        entries = await store.entries(company, 0, 9)
        assert [one.stream for one in entries] == [f"run-{number}" for number in range(streams)]
        for number in range(streams):
            assert await store.proven(company, f"run-{number}") is not None
