"""The journal: what was appended is there, once, in order, and for its company alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from actors.core.messages import VerdictGiven
from actors.ports import ReceiptTaken, VersionConflict
from daemon.model import ParkedRun, RecordedEvent, RunQuery
from daemon.stores.store import Store
from tests.histories import ACME, NOON, OTHER, account, append, commit, decide, failed, receipt, start, work

if TYPE_CHECKING:
    from collections.abc import Sequence


async def listed(store: Store, company_id: str = ACME, **query: object) -> list[str]:
    return [run.id for run in await store.find(company_id, RunQuery(**query))]  # type: ignore[arg-type]


async def together(store: Store, *commits: object) -> Sequence[BaseException | None]:
    return await asyncio.gather(*(append(store, one) for one in commits), return_exceptions=True)  # type: ignore[arg-type]


async def test_an_appended_run_is_loaded_as_it_was(store: Store) -> None:
    begun = start(inputs={"näme": "雪 \x00 \U0001f600", "big": 10**40, "tiny": 5e-324, "deep": [{"a": [None, True]}]})
    await store.append(begun)
    assert await store.load(ACME, "run-1") == begun.run


async def test_a_run_is_loaded_as_its_last_commit_left_it(store: Store) -> None:
    begun = start()
    await store.append(begun)
    ended = decide(begun.run)
    await append(store, ended)
    assert await store.load(ACME, "run-1") == ended.run


async def test_an_unknown_run_is_not_found(store: Store) -> None:
    assert await store.load(ACME, "run-1") is None


async def test_of_two_verdicts_on_one_version_the_second_is_a_conflict(store: Store) -> None:
    begun = start()
    await store.append(begun)
    assert [type(one) for one in await together(store, decide(begun.run), decide(begun.run))] == [
        type(None),
        VersionConflict,
    ]
    with pytest.raises(VersionConflict):
        await append(store, decide(begun.run))
    assert len(await store.history(ACME, "run-1", 0, 100)) == 5


async def test_a_run_begins_only_once(store: Store) -> None:
    outcomes = await together(store, start(), start())
    assert [type(one) for one in outcomes] == [type(None), VersionConflict]


async def test_a_commit_on_a_run_that_does_not_exist_is_a_conflict(store: Store) -> None:
    with pytest.raises(VersionConflict):
        await append(store, decide(start().run))
    assert await listed(store) == []


async def test_a_conflict_leaves_the_commits_beside_it_alone(store: Store) -> None:
    await store.append(start("run-0"))
    outcomes = await together(store, *(start(f"run-{n}") for n in range(50)))
    assert [type(one) for one in outcomes] == [VersionConflict] + [type(None)] * 49
    assert len(await listed(store, limit=100)) == 50


async def test_many_commits_at_once_all_arrive(store: Store) -> None:
    begun = [start(f"run-{n:03}", receipt=receipt(f"key-{n}")) for n in range(130)]
    assert set(await together(store, *begun)) == {None}
    assert set(await together(store, *(decide(one.run) for one in begun))) == {None}
    for one in begun:
        assert await store.load(ACME, one.run.id) == decide(one.run).run
        assert await store.receipt(ACME, "/process-runs/", f"key-{begun.index(one)}") is not None


async def test_a_commit_that_follows_another_history_of_the_same_length_is_refused(store: Store) -> None:
    begun = start()
    head = await store.append(begun)
    lost = replace(decide(begun.run, receipt=receipt(status=200)), follows=b"h" * len(head))
    with pytest.raises(VersionConflict):
        await store.append(lost)
    assert await store.load_committed(ACME, "run-1") == (begun.run, head)
    assert await store.receipt(ACME, "/process-runs/", "key-1") is None
    await store.append(replace(lost, follows=head))


async def test_of_a_batch_that_one_commit_does_not_fit_the_others_are_kept(store: Store) -> None:
    runs = [start(f"run-{number}") for number in range(3)]
    heads = await asyncio.gather(*map(store.append, runs))
    heads[1] = heads[0]
    moved = [replace(decide(one.run), follows=head) for one, head in zip(runs, heads, strict=True)]
    outcomes = await asyncio.gather(*map(store.append, moved), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [bytes, VersionConflict, bytes]


async def test_a_commit_without_events_still_changes_whether_the_run_rests(store: Store) -> None:
    begun = start()
    await store.append(begun)
    await append(store, commit(begun.run, resting=False))
    assert await store.unfinished() == [(ACME, "run-1")]
    assert await store.load(ACME, "run-1") == begun.run


async def test_the_receipt_of_a_commit_is_kept_with_it(store: Store) -> None:
    await store.append(start(receipt=receipt(run_id="run-1", status=201)))
    assert await store.receipt(ACME, "/process-runs/", "key-1") == receipt(run_id="run-1", status=201)


async def test_a_used_key_refuses_the_commit_even_before_its_version_is_compared(store: Store) -> None:
    begun = start(receipt=receipt(status=201))
    await store.append(begun)
    for again in (start("run-2", receipt=receipt()), decide(begun.run, receipt=receipt()), begun):
        with pytest.raises(ReceiptTaken):
            await append(store, again)
    assert await listed(store) == ["run-1"]
    assert await store.load(ACME, "run-1") == begun.run


async def test_a_conflict_takes_its_receipt_back(store: Store) -> None:
    begun = start()
    await store.append(begun)
    await append(store, decide(begun.run))
    with pytest.raises(VersionConflict):
        await append(store, decide(begun.run, receipt=receipt()))
    assert await store.receipt(ACME, "/process-runs/", "key-1") is None


async def test_no_company_sees_the_runs_of_another(store: Store) -> None:
    begun = start()
    await store.append(begun)
    assert await store.load(OTHER, "run-1") is None
    assert await listed(store, OTHER) == []
    assert list(await store.history(OTHER, "run-1", 0, 100)) == []


async def test_two_companies_may_have_runs_of_one_id(store: Store) -> None:
    mine, theirs = start(company_id=ACME), start(company_id=OTHER, vertical="aml")
    await store.append(mine)
    await store.append(theirs)
    await append(store, decide(mine.run))
    assert await store.load(OTHER, "run-1") == theirs.run


async def test_runs_are_listed_newest_first_page_by_page(store: Store) -> None:
    for n in (2, 0, 4, 1, 3):
        await store.append(start(f"run-{n}"))
    assert await listed(store, limit=2) == ["run-4", "run-3"]
    assert await listed(store, limit=2, before="run-3") == ["run-2", "run-1"]
    assert await listed(store, limit=2, before="run-1") == ["run-0"]
    assert await listed(store, limit=0) == []


async def test_runs_are_listed_by_status(store: Store) -> None:
    await store.append(start("run-1"))
    await store.append(start("run-2", gates=()))
    ended = start("run-3")
    await append(store, ended)
    await append(store, decide(ended.run))
    assert await listed(store, status="parked") == ["run-1"]
    assert await listed(store, status="executing") == ["run-2"]
    assert await listed(store, status="completed") == ["run-3"]
    assert await listed(store, status="failed") == []


async def test_runs_are_listed_by_vertical(store: Store) -> None:
    await store.append(start("run-1", vertical="aml"))
    await store.append(start("run-2"))
    assert await listed(store, vertical="aml") == ["run-1"]
    assert await listed(store, vertical="aml", before="run-1") == []


async def test_runs_are_listed_by_any_gate_at_which_they_are_parked(store: Store) -> None:
    await store.append(start("run-1", gates=("signoff", "legal")))
    await store.append(start("run-2", gates=("legal-review",)))
    assert await listed(store, parked_at="legal") == ["run-1"]
    assert await listed(store, parked_at="signoff", status="parked") == ["run-1"]
    assert await listed(store, parked_at="legal", status="completed") == []
    for no_gate in ("lega_", "%", "signoff|legal", ""):
        assert await listed(store, parked_at=no_gate) == []


async def test_a_run_is_listed_by_a_gate_that_is_open_beside_a_failed_branch(store: Store) -> None:
    await store.register(account(), None)
    await append(store, failed("run-1", gates=("legal", "signoff")))
    await store.append(start("run-2", gates=("legal",)))
    await append(store, failed("run-3", gates=()))
    await append(store, failed("run-4", gates=("legal",)))
    assert await listed(store, parked_at="legal") == ["run-4", "run-2", "run-1"]
    assert await listed(store, parked_at="legal", limit=2) == ["run-4", "run-2"]
    assert await listed(store, parked_at="legal", before="run-4", limit=1) == ["run-2"]
    assert await listed(store, parked_at="legal", vertical="prior-auth", before="run-2") == ["run-1"]
    assert await listed(store, parked_at="legal", status="failed") == ["run-4", "run-1"]
    assert await listed(store, parked_at="legal", status="parked") == ["run-2"]
    page = await store.parked(("", ""), 2)
    assert [(one.run_id, one.gates) for one in page] == [("run-1", 2), ("run-2", 1)]
    assert [(one.run_id, one.gates) for one in await store.parked((ACME, "run-2"), 2)] == [("run-4", 1)]


async def test_a_gate_that_was_decided_no_longer_lists_its_run(store: Store) -> None:
    begun = start()
    await store.append(begun)
    await append(store, decide(begun.run))
    assert await listed(store, parked_at="signoff") == []


async def test_history_tells_every_event_in_its_place(store: Store) -> None:
    begun = start()
    ended = decide(begun.run)
    await store.append(begun)
    await append(store, ended)
    events = (*begun.events, *ended.events)
    assert list(await store.history(ACME, "run-1", 0, 100)) == [
        RecordedEvent(seq, event) for seq, event in enumerate(events, 1)
    ]


async def test_history_goes_on_after_any_place_and_ends_at_its_limit(store: Store) -> None:
    begun = start()
    await store.append(begun)
    await append(store, decide(begun.run))
    places = {
        (after, limit): [one.seq for one in await store.history(ACME, "run-1", after, limit)]
        for after, limit in [(0, 2), (1, 3), (2, 100), (3, 1), (5, 100), (10**30, 5), (0, 0), (0, 10**30)]
    }
    assert list(places.values()) == [[1, 2], [2, 3, 4], [3, 4, 5], [4], [], [], [], [1, 2, 3, 4, 5]]


async def test_a_long_run_is_read_as_it_is_though_it_is_large(store: Store) -> None:
    run = start().run
    await store.append(start())
    for _ in range(60):
        turn = work(run, size=2_000)
        await append(store, turn)
        run = turn.run
        assert await store.load(ACME, "run-1") == run
    assert await store.find(ACME, RunQuery()) == [run]


async def test_runs_that_are_not_at_rest_are_unfinished(store: Store) -> None:
    busy = start("run-2", gates=())
    await store.append(start("run-1"))
    await store.append(busy)
    await store.append(start("run-3", OTHER, gates=()))
    assert await store.unfinished() == [(ACME, "run-2"), (OTHER, "run-3")]
    await append(store, work(busy.run))
    assert await store.unfinished() == [(OTHER, "run-3")]


async def test_what_was_loaded_is_nobody_elses(store: Store) -> None:
    begun = start(inputs={"list": [1]})
    await store.append(begun)
    begun.run.inputs["list"].append(2)
    loaded = await store.load(ACME, "run-1")
    assert loaded is not None
    assert loaded.inputs == {"list": [1]}
    loaded.inputs["list"].append(3)
    again = await store.load(ACME, "run-1")
    assert again is not None
    assert again.inputs == {"list": [1]}


async def test_the_runs_that_need_recovery_are_paged_in_order_and_none_is_missed(store: Store) -> None:
    for number in range(7):
        await store.append(start(f"run-{number}", OTHER if number % 2 else ACME, gates=()))
    await store.append(start("parked"))
    after, seen = ("", ""), list[tuple[str, str]]()
    while page := await store.needs_recovery(after, 2):
        assert len(page) <= 2
        seen += page
        after = page[-1]
    assert seen == sorted([(OTHER if number % 2 else ACME, f"run-{number}") for number in range(7)])


async def test_a_run_that_says_it_rests_while_it_executes_needs_recovery(store: Store) -> None:
    begun = start(gates=())
    await append(store, commit(None, *begun.events, resting=True))
    await store.append(start("parked"))
    assert await store.unfinished() == []
    assert list(await store.needs_recovery(("", ""), 10)) == [(ACME, "run-1")]


async def test_the_parked_are_paged_in_order_over_all_companies_and_none_is_missed(store: Store) -> None:
    await store.register(account(), None)
    await store.register(account("bob", OTHER, "bob@example.test"), None)
    await store.register(account("cy", "company-between", "cy@example.test"), None)
    for number in range(7):
        await store.append(start(f"run-{number}", OTHER if number % 2 else ACME, gates=("legal", "signoff")))
    await store.append(start("executing", gates=()))
    ended = start("ended")
    await append(store, ended)
    await append(store, decide(ended.run))
    after, seen = ("", ""), list[ParkedRun]()
    while page := await store.parked(after, 2):
        assert len(page) <= 2
        assert len(seen) < 7
        seen += page
        after = (page[-1].company_id, page[-1].run_id)
    assert [(one.company_id, one.run_id) for one in seen] == sorted(
        [(OTHER if number % 2 else ACME, f"run-{number}") for number in range(7)]
    )
    assert {(one.vertical, one.gates, one.since, one.created) for one in seen} == {("prior-auth", 2, NOON, NOON)}


async def test_a_gate_that_was_decided_no_longer_counts_and_the_other_still_does(store: Store) -> None:
    await store.register(account(), None)
    begun = start(gates=("legal", "signoff"))
    await store.append(begun)
    verdict = VerdictGiven(at=NOON, step_id="legal", visit=1, decision="approved", by="bob")
    await append(store, commit(begun.run, verdict))
    assert [one.gates for one in await store.parked(("", ""), 10)] == [1]
