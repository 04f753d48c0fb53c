"""A verdict counts once: many gates, many callers at each, in the short form of what `make load`
does at length.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from tests.web.support import Answer, Person

GATES, CALLERS = 40, 25


async def parked(ann: Person) -> list[Any]:
    return await asyncio.gather(*(ann.start("line", {"amount": number}) for number in range(GATES)))


async def storm(ann: Person, runs: list[Any], *decisions: str, **headers: str) -> dict[str, list[Answer]]:
    """All callers of all gates at once; the answers by run."""

    async def call(run: Any, decision: str) -> tuple[str, Answer]:
        return run["id"], await ann.resume(run, "signoff", decision, **headers)

    calls = [call(run, decisions[caller % len(decisions)]) for caller in range(CALLERS) for run in runs]
    found: dict[str, list[Answer]] = {run["id"]: [] for run in runs}
    for run_id, answer in await asyncio.gather(*calls):
        found[run_id].append(answer)
    return found


async def test_of_all_callers_at_a_gate_one_counts_and_the_others_are_409(ann: Person) -> None:
    runs = await parked(ann)
    for run_id, answers in (await storm(ann, runs, "approved", "denied")).items():
        assert Counter(answer.status for answer in answers) == {200: 1, 409: CALLERS - 1}
        first = next(answer.json for answer in answers if answer.status == 200)
        told = {answer.json["decided"]["decision"] for answer in answers if answer.status == 409}
        kept = next(visit for visit in first["trace"] if visit["step_id"] == "signoff")
        assert told == {kept["verdict"]["decision"]}
        assert (await ann.get(f"/process-runs/{run_id}")).json == first


async def test_with_one_key_there_is_one_execution_and_one_answer(ann: Person) -> None:
    runs = await parked(ann)
    for run_id, answers in (await storm(ann, runs, "approved", Idempotency_Key="k")).items():
        assert Counter(answer.status for answer in answers) == {200: CALLERS}
        assert len({answer.raw for answer in answers}) == 1
        assert Counter(answer.headers.get("Idempotency-Replayed") for answer in answers) == {
            None: 1,
            "true": CALLERS - 1,
        }
        events = (await ann.get(f"/process-runs/{run_id}/events")).json
        assert [event["type"] for event in events].count("verdict_given") == 1
