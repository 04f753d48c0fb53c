"""Verdicts on both sides of a failover that lost history, while daemons remember what was lost."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.cluster.failover.outcome import NotPlayed, Outcome
from tests.cluster.failover.stage import Stage
from tests.cluster.failover.tidings import Tidings
from tests.cluster.people import Person, Told
from tests.crash.notes import lines
from tests.crash.wire import Answer

DETECTED_S = 1.0
ANSWERED_S = 10.0
CALLED_S = 2.0
"""How long a call that must not be sent may take to arrive."""
BEFORE, AFTER = 3, 6
"""The version of a run before and after its first verdict, whichever that was."""
REMEMBERED_S = 60.0
"""How long an idle run stays in the memory of a daemon."""
LATER = {"denied there": "denied", "approved there": "approved", "decided nowhere": None}
"""What the other daemon decides of a run whose first approval was lost."""


@dataclass
class Side:
    """Somebody who asks one daemon alone, and repeats what was not answered for sure."""

    person: Person

    async def decide(self, run_id: str, gate: str, decision: str, key: str) -> Answer:
        body = {"gate": gate, "decision": decision, "comment": key}
        return await self.person.ask("POST", f"/process-runs/{run_id}/resume", body, f"{key}-{run_id}")

    async def version(self, run_id: str) -> int:
        answer = await self.person.ask("GET", f"/process-runs/{run_id}")
        return int(answer.json["version"]) if answer.status == 200 else 0


async def play_rewound(stage: Stage, outcome: Outcome) -> None:
    """One daemon approves, that is lost, another decides otherwise, and the first goes on."""
    one, two = (Side(Person(daemon.place.port, stage.token, Told())) for daemon in stage.daemons[:2])
    tidings = Tidings(stage)
    async with tidings.awaited():
        runs = await _played(stage, outcome, tidings, one, two)
        await tidings.compare(outcome)
    await _sound(stage, (one, two), runs, outcome)


async def _played(stage: Stage, outcome: Outcome, tidings: Tidings, one: Side, two: Side) -> dict[str, str]:
    """Decide on both sides, and go on; returns the runs by what comes of them."""
    runs = {fate: await _started(one, fate) for fate in LATER}
    await stage.pair.caught_up()
    await stage.pair.part()
    approved = time.monotonic()
    for run_id in runs.values():
        answer = await one.decide(run_id, "one", "approved", "lost")
        if answer.status != 200 or answer.json["version"] != AFTER:
            raise NotPlayed(f"the first approval was answered {answer.status}")
    await tidings.read(AFTER * len(runs))
    await asyncio.to_thread(stage.pair.primary.kill)
    await asyncio.sleep(DETECTED_S)
    await stage.pair.promote()
    for fate, run_id in runs.items():
        await _decided_there(two, run_id, LATER[fate])
    took_s = time.monotonic() - approved
    outcome.note("remembered for", took_s)
    if took_s > REMEMBERED_S:
        raise NotPlayed("the first daemon may have forgotten the runs meanwhile")
    await _gone_on(one, runs, outcome)
    return runs


async def _started(one: Side, key: str) -> str:
    body = {"vertical": "two-signatures", "inputs": {"plan": 0}}
    answer = await one.person.ask("POST", "/process-runs/", body, key)
    assert (answer.status, answer.json["version"]) == (201, BEFORE), answer.body
    return str(answer.json["id"])


async def _decided_there(two: Side, run_id: str, decision: str | None) -> None:
    """Let the other daemon see that the first approval is lost, and decide."""
    found = await two.version(run_id)
    if found != BEFORE:
        raise NotPlayed(f"the standby had not lost the approval: version {found}")
    if decision is not None:
        answer = await two.decide(run_id, "one", decision, "there")
        if (answer.status, answer.json["version"]) != (200, AFTER):
            raise NotPlayed(f"the decision of the other daemon was answered {answer.status}")


async def _gone_on(one: Side, runs: dict[str, str], outcome: Outcome) -> None:
    """Approve the second gate where the first approval is remembered; it is open in one run
    alone.
    """
    for fate, run_id in runs.items():
        try:
            async with asyncio.timeout(ANSWERED_S):
                status = (await one.decide(run_id, "two", "approved", "onward")).status
        except TimeoutError:  # what cannot be read is answered with 503, and asked again
            status = 503
        allowed = fate == "approved there"
        outcome.note(f"gate two, {fate}", status, held=status in (200, 202) if allowed else 400 <= status < 500)


async def _sound(stage: Stage, sides: tuple[Side, Side], runs: dict[str, str], outcome: Outcome) -> None:
    """Compare histories and calls."""
    await asyncio.sleep(CALLED_S)
    broken: list[Any] = []
    for side in sides:
        for fate, run_id in runs.items():
            answer = await _read(side, run_id)
            if answer.status != 200:
                broken.append(f"{fate}: {answer.status}")
    findings = await stage.findings()
    outcome.note("forked histories, by their events", ", ".join(broken) or 0, held=not broken)
    outcome.note("forked histories, by verify", len(findings), held=not findings)
    for finding in findings[:5]:
        outcome.note("  verify", finding)
    sent = Counter(line["key"].split(":")[0] for line in lines(stage.calls))
    for fate, run_id in runs.items():
        most = int(fate == "approved there")
        outcome.note(f"calls sent, {fate}", sent[run_id], held=sent[run_id] <= most)
    outcome.note("daemons ended", stage.ends)


async def _read(side: Side, run_id: str) -> Answer:
    """The history of a run, once, since 503 is what a forked one is answered."""
    return await side.person._wire.ask("GET", f"/process-runs/{run_id}/events?limit=200")
