"""Killed under load, stopped under load: what was acknowledged is there, and what executed goes
on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp

from tests.crash.service import ENDED, FarSide, Service, serving, together

HELD, BUSY, RISKY = 500, 40, 10
KILLED_AFTER = 60
CALLERS = 50
STOPPED_WITHIN_S = 10.0


async def prepare(service: Service, far_side: FarSide, held: int, busy: int, risky: int) -> dict[str, list[str]]:
    """Runs that are parked, and runs whose call is under way."""
    await service.register()
    await service.connect(far_side, "slow-work", "slow-pay")
    runs = {
        "held": await service.start("held", held),
        "busy": await service.start("busy", busy, Prefer="respond-async"),
        "risky": await service.start("risky", risky),
    }
    await together(service.resume(run["id"], Prefer="respond-async") for run in runs["risky"])
    await far_side.reached(busy + risky)
    assert {run["status"] for run in runs["held"]} <= {"parked"}
    return {vertical: [run["id"] for run in some] for vertical, some in runs.items()}


async def check_acknowledged(service: Service, acknowledged: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every run is where it was acknowledged or further, and its history goes on from there."""
    now = {run["id"]: run for run in await together(service.read(run_id) for run_id in acknowledged)}
    for run_id, then in acknowledged.items():
        run = now[run_id]
        assert run["version"] >= then["version"]
        if run["version"] == then["version"]:
            assert run == then
        if then["status"] in ENDED:
            assert run["status"] == then["status"]
    return now


async def check_history(service: Service, run_id: str) -> None:
    """No step was settled twice, no gate decided twice, and no event is missing."""
    run, events = await service.read(run_id), await service.history(run_id)
    assert [event["seq"] for event in events] == list(range(1, run["version"] + 1))
    once = ("call_settled", "verdict_given", "step_cleared")
    facts = Counter((e["type"], e["step_id"], e["visit"]) for e in events if e["type"] in once)
    assert not [fact for fact, times in facts.items() if times > 1]


async def test_a_kill_under_load_loses_nothing_that_was_acknowledged(folder: Path, far_side: FarSide) -> None:
    async with serving(folder) as service:
        runs = await prepare(service, far_side, HELD, BUSY, RISKY)
        await kill_under_load(service, runs["held"][: HELD // 2])
    resumed = [run_id for run_id in runs["held"] if service.answered[run_id]["status"] == "completed"]
    assert len(resumed) >= KILLED_AFTER

    far_side.released.set()
    async with serving(folder, service.token) as again:
        now = await check_acknowledged(again, service.answered)
        assert {now[run_id]["status"] for run_id in runs["held"][HELD // 2 :]} == {"parked"}
        busy = await together(again.stands_still(run_id) for run_id in runs["busy"])
        risky = await together(again.stands_still(run_id) for run_id in runs["risky"])
        assert {(run["status"], run["outcome"]) for run in busy} == {("completed", "worked")}
        assert {(run["parked_at"], run["gate"]["reason"]) for run in risky} == {("pay", "outcome unknown")}
        assert {tuple(run["gate"]["decisions"]) for run in risky} == {("retry", "done", "denied")}
        for run in risky:
            assert (await again.resume(run["id"], "pay", "done"))["outcome"] == "paid"
        await together(check_history(again, run_id) for some in runs.values() for run_id in some)
    assert {far_side.seen[f"{run_id}:pay:1"] for run_id in runs["risky"]} == {1}
    assert {far_side.seen[f"{run_id}:work:1"] for run_id in runs["busy"]} <= {1, 2}
    assert len(far_side.seen) == BUSY + RISKY


async def kill_under_load(service: Service, run_ids: list[str]) -> None:
    """Give verdicts from many callers, and kill the service while most of them are under way."""
    enough, acknowledged = asyncio.Event(), 0
    waiting = iter(run_ids)

    async def caller() -> None:
        nonlocal acknowledged
        for run_id in waiting:
            await service.resume(run_id)
            acknowledged += 1
            if acknowledged >= KILLED_AFTER:
                enough.set()

    callers = [asyncio.create_task(caller()) for _ in range(CALLERS)]
    async with asyncio.timeout(30):
        await enough.wait()
    await service.kill()
    ended = await asyncio.gather(*callers, return_exceptions=True)
    assert [end for end in ended if end is not None], "the load was over before the kill"
    assert all(isinstance(end, aiohttp.ClientError | OSError) for end in ended if end is not None), ended


async def test_a_stop_under_load_answers_everybody_and_keeps_what_it_acknowledged(
    folder: Path, far_side: FarSide
) -> None:
    answers: list[tuple[str, int, Any]] = []
    async with serving(folder) as service:
        runs = await prepare(service, far_side, 200, 10, 5)
        risky = [run["id"] for run in await service.start("risky", 5)]
        waiting = [asyncio.create_task(verdict(service, answers, run_id)) for run_id in risky]
        await far_side.reached(20)  # the calls behind these verdicts are under way, and those who gave them wait
        first = asyncio.Event()
        callers = [asyncio.create_task(call(service, answers, runs["held"][n::20], first)) for n in range(20)]
        await first.wait()
        service.process.terminate()
        async with asyncio.timeout(STOPPED_WITHIN_S):
            assert await service.process.wait() == 0
        await asyncio.gather(*waiting, *callers)
    statuses = Counter(status for _, status, _ in answers)
    assert set(statuses) <= {200, 202, 503}
    assert {(body["code"], body["outcome"]) for _, status, body in answers if status == 503} == {
        ("draining", "not_applied")
    }
    assert {run_id for run_id, status, _ in answers if status == 202} >= set(risky)

    far_side.released.set()
    async with serving(folder, service.token) as again:
        now = await check_acknowledged(again, service.answered)
        for run_id, status, body in answers:
            if status == 503:
                assert now[run_id]["version"] == service.answered[run_id]["version"], body
        busy = await together(again.stands_still(run_id) for run_id in runs["busy"])
        assert {run["status"] for run in busy} == {"completed"}
        lost = await together(again.stands_still(run_id) for run_id in (*runs["risky"], *risky))
        assert {run["gate"]["reason"] for run in lost} == {"outcome unknown"}
        await together(check_history(again, run_id) for run_id in service.answered)
    assert {far_side.seen[f"{run['id']}:pay:1"] for run in lost} == {1}


async def verdict(service: Service, answers: list[tuple[str, int, Any]], run_id: str) -> int:
    """Approve, and note what was answered."""
    body = {"gate": "signoff", "decision": "approved"}
    status, answer = await service.send("POST", f"/process-runs/{run_id}/resume", body)
    answers.append((run_id, status, answer))
    if status < 300:
        service.answered[run_id] = answer
    return status


async def call(service: Service, answers: list[tuple[str, int, Any]], run_ids: list[str], first: asyncio.Event) -> None:
    """Approve one run after the other until the service says that it is stopping."""
    for run_id in run_ids:
        if await verdict(service, answers, run_id) == 503:
            return
        first.set()


async def test_an_answer_that_comes_during_the_stop_is_kept(folder: Path, far_side: FarSide) -> None:
    async with serving(folder) as service:
        runs = await prepare(service, far_side, 0, 3, 3)
        service.process.terminate()
        far_side.released.set()
        async with asyncio.timeout(STOPPED_WITHIN_S):
            assert await service.process.wait() == 0
    async with serving(folder, service.token) as again:
        ended = await together(again.read(run_id) for some in runs.values() for run_id in some)
        assert Counter(run["outcome"] for run in ended) == {"worked": 3, "paid": 3}
    assert set(far_side.seen.values()) == {1}


async def test_a_kill_while_an_answer_is_judged_sends_no_call_again_that_may_not_be_repeated(
    folder: Path, far_side: FarSide
) -> None:
    """The rule takes as long as it is given; the other call is repeated, once in each life."""
    far_side.answer = {"s": "a" * 100_000, "p": "(a?){100}" * 900}
    far_side.released.set()
    async with serving(folder) as service:
        await service.register()
        rule = {"signal_rule": "response.body.s.matches(response.body.p)"}
        await service.connect(far_side, "slow-work", "slow-pay", **rule)
        (busy,) = await service.start("busy", 1, Prefer="respond-async")
        (risky,) = await service.start("risky")
        await service.resume(risky["id"], Prefer="respond-async")
        await far_side.reached(2)
        await service.kill()
    async with serving(folder, service.token) as again:
        risky, busy = await together(again.stands_still(run["id"]) for run in (risky, busy))
        assert (risky["parked_at"], risky["gate"]["reason"]) == ("pay", "outcome unknown")
        assert busy["facts"]["work"]["signal"] is True
    assert (far_side.seen[f"{risky['id']}:pay:1"], far_side.seen[f"{busy['id']}:work:1"]) == (1, 2)
