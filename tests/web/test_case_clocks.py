"""Clocks of the law over HTTP: in runs, gates, the inbox, events, evidence and rehearsals."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from urllib.parse import quote

from rich.console import Console

from daemon.client import Run
from daemon.commands.display.running import progress
from tests.web.people import company
from tests.web.support import PATIENCE_S, EventStream, House, Person
from tests.web.test_own_templates import publish

NOTICE: dict[str, Any] = {
    "id": "notice",
    "label": "Decision and notice",
    "from": "inputs.received_at",
    "within": "inputs.urgent ? 'PT2S' : 'P7D'",
    "stops": ["send"],
    "pauses": ["records"],
    "warn": ["P2D"],
    "on_breach": {"escalate": "admin"},
    "source": "42 CFR 438.210(d)",
}
DONE = {"id": "done", "kind": "end", "label": "Done", "outcome": "done"}
SIGNOFF = {"id": "signoff", "kind": "gate", "label": "Sign-off", "deadline": {"clock": "notice", "before": "P1D"}}


SEND = {"id": "send", "kind": "task", "label": "Send the notice", "tool": "send", "effect": "read", "next": "done"}
RECORDS = {"id": "records", "kind": "wait", "label": "Wait for records", "message": "came", "within": "P30D"}
WITHDRAWN = {"id": "withdrawn", "kind": "end", "label": "Withdrawn", "outcome": "withdrawn"}


def document(**more: Any) -> dict[str, Any]:
    """A case that waits for records, again and again, before it is decided."""
    steps: list[dict[str, Any]] = [
        RECORDS | {"next": {"message": "signoff", "timeout": "signoff"}},
        SIGNOFF | {"on_deadline": {"escalate": "admin"}, "next": {"approved": "send", "denied": "records"}},
        *(SEND, DONE),
    ]
    return written(steps, **more)


def at_once(**more: Any) -> dict[str, Any]:
    """A case that is decided at once, and waits for nothing."""
    steps: list[dict[str, Any]] = [
        SIGNOFF | {"on_deadline": {"escalate": "admin"}, "next": {"approved": "send", "denied": "withdrawn"}},
        *(SEND, DONE, WITHDRAWN | {"ends_clocks": {"notice": "the request was withdrawn"}}),
    ]
    return written(steps, **{"pauses": [], **more})


def written(steps: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    about = {"vertical": "case", "version": 1, "title": "Case", "inputs_schema": {"type": "object"}}
    return {**about, "clocks": [NOTICE | more], "steps": steps}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def now() -> str:
    return datetime.now(UTC).isoformat()


async def events(person: Person, run: Any) -> list[Any]:
    found = (await person.get(f"/process-runs/{run['id']}/events?limit=200")).json
    return [one for one in found if one["type"].startswith("clock_")]


async def clock_of(person: Person, run: Any) -> Any:
    (clock,) = (await person.run(run))["clocks"]
    return clock


async def until_state(person: Person, run: Any, state: str) -> Any:
    async with asyncio.timeout(PATIENCE_S), EventStream(person, run["id"]) as stream:
        while (clock := await clock_of(person, run))["state"] != state:
            await anext(stream)
    return clock


async def begun(person: Person, **inputs: Any) -> Any:
    await publish(person, document())
    return await person.start("case", {"received_at": now(), "urgent": False, **inputs})


async def test_a_run_shows_its_clock_while_it_stands_still_and_runs_and_when_it_has_stopped(ann: Person) -> None:
    run = await begun(ann)
    (paused,) = run["clocks"]
    assert (paused["id"], paused["state"], paused["source"]) == ("notice", "paused", NOTICE["source"])
    later = await clock_of(ann, run)
    assert at(later["due_at"]) > at(paused["due_at"])
    assert 0 < later["paused_s"] < 60
    await ann.post(f"/process-runs/{run['id']}/messages", {"name": "came"})
    parked = await ann.until(run, "parked")
    (clock,) = parked["clocks"]
    assert clock["state"] == "running"
    paused_for = timedelta(seconds=clock["paused_s"])
    assert at(clock["due_at"]) == at(clock["started_at"]) + timedelta(days=7) + paused_for
    assert at(parked["gate"]["due_at"]) == at(clock["due_at"]) - timedelta(days=1)
    assert parked["gate"]["clock_due_at"] == clock["due_at"]
    (listed,) = (await ann.get("/gates/")).json
    assert listed["clock_due_at"] == listed["gate"]["clock_due_at"] == clock["due_at"]
    (row,) = (await ann.get("/gates/?view=row")).json
    assert row["gate"]["clock_due_at"] == clock["due_at"]
    done = (await ann.resume(run, "signoff")).json
    (stopped,) = done["clocks"]
    assert (stopped["state"], stopped["stopped_by"], stopped["breached_at"]) == ("stopped", "send", None)
    told = [one["type"] for one in await events(ann, run)]
    assert told == ["clock_started", "clock_paused", "clock_resumed", "clock_stopped"]


async def test_a_breach_is_told_once_over_restarts_and_a_late_act_still_stops_the_clock(
    ann: Person, house: House
) -> None:
    run = await begun(ann, urgent=True)
    await ann.post(f"/process-runs/{run['id']}/messages", {"name": "came"})
    await house.restart()
    breached = await until_state(ann, run, "breached")
    assert breached["breached_at"] == breached["due_at"]
    await house.restart()
    gate = (await ann.run(run))["gate"]
    assert gate["breach_role"] == "admin"
    (stopped,) = (await ann.resume(run, "signoff")).json["clocks"]
    assert (stopped["state"], stopped["breached_at"]) == ("stopped", breached["breached_at"])
    told = [one["type"] for one in await events(ann, run)]
    assert [told.count(one) for one in ("clock_warned", "clock_breached", "clock_stopped")] == [1, 1, 1]


async def test_what_was_breached_while_the_service_was_down_is_breached_when_it_is_up(
    ann: Person, house: House
) -> None:
    await publish(ann, at_once())
    run = await ann.start("case", {"received_at": now(), "urgent": True})
    await house.restart()
    assert (await until_state(ann, run, "breached"))["state"] == "breached"


async def test_a_case_without_its_time_counts_from_its_start_and_says_so(ann: Person) -> None:
    await publish(ann, document())
    run = await ann.start("case", {})
    (clock,) = run["clocks"]
    assert (clock["started_at"], clock["assumed"]) == (run["created_at"], ["from", "within"])
    first, *_ = await events(ann, run)
    assert first["within"] == "PT2S"
    assert "received_at" in first["why"]


async def test_a_calendar_moves_a_clock_in_business_days_and_the_gate_that_hangs_on_it(ann: Person) -> None:
    await publish(ann, at_once(within="P20BD"))
    run = before = await ann.start("case", {"received_at": now()})
    day = at(before["clocks"][0]["due_at"]).date()
    await ann.put(f"{company(ann)}/calendar", {"holidays": [day.isoformat()]})
    async with asyncio.timeout(PATIENCE_S), EventStream(ann, run["id"]) as stream:
        while (after := await ann.run(run))["clocks"][0]["due_at"] == before["clocks"][0]["due_at"]:
            await anext(stream)
    assert at(after["clocks"][0]["due_at"]) > at(before["clocks"][0]["due_at"])
    assert at(after["gate"]["due_at"]) == at(after["clocks"][0]["due_at"]) - timedelta(days=1)


async def test_a_clock_in_business_days_that_stands_still_is_due_as_if_it_went_on_now(ann: Person) -> None:
    await publish(ann, document(within="P20BD"))
    run = await ann.start("case", {"received_at": now()})
    first, second = await clock_of(ann, run), await clock_of(ann, run)
    assert at(second["due_at"]) > at(first["due_at"])


async def test_a_wait_until_a_time_of_a_clock_ends_then(ann: Person) -> None:
    steps = [
        {"id": "nearly", "kind": "wait", "label": "Wait until it is nearly due",
         "until": "clocks.notice.due_at - duration('1s')", "next": "send"},
        *(SEND, DONE),
    ]  # fmt: skip
    await publish(ann, at_once(within="PT2S") | {"steps": steps})
    run = await ann.start("case", {"received_at": now()})
    assert run["status"] == "waiting"
    due, until = at(run["clocks"][0]["due_at"]), at(run["trace"][-1]["wait"]["until"])
    assert until == due - timedelta(seconds=1)
    done = await ann.until(run, "completed")
    assert done["clocks"][0]["state"] == "stopped"


async def test_evidence_of_a_run_with_clocks_verifies(ann: Person) -> None:
    run = await begun(ann)
    await ann.post(f"/process-runs/{run['id']}/messages", {"name": "came"})
    await ann.resume(run, "signoff")
    listed = (await ann.get(f"/process-runs/{run['id']}/audit")).json
    assert "clock_stopped" in [one["event"]["type"] for one in listed["events"]]


async def test_a_rehearsal_shows_the_clocks(ann: Person) -> None:
    body = {
        "document": document(),
        "inputs": {"received_at": now(), "urgent": False},
        "acts": [{"message": "came"}, {}, {"gate": "signoff", "decision": "approved"}],
    }
    tried = await ann.post("/process-templates/try", body)
    assert tried.status == 200, tried.raw
    (clock,) = tried.json["run"]["clocks"]
    assert clock["state"] == "stopped"


async def test_a_run_without_clocks_has_none(ann: Person) -> None:
    run = await ann.start("clock")
    assert run["clocks"] == []
    assert run["gate"]["clock_due_at"] is None


async def test_the_inbox_lists_the_gate_whose_clock_is_due_first_before_others(ann: Person) -> None:
    await publish(ann, at_once(within="inputs.urgent ? 'P1D' : 'P7D'"))
    runs = [await ann.start("case", {"received_at": now(), "urgent": urgent}) for urgent in (False, True)]
    listed = [one["run_id"] for one in (await ann.get("/gates/")).json]
    assert listed == [runs[1]["id"], runs[0]["id"]]
    soon = quote((datetime.now(UTC) + timedelta(days=2)).isoformat())
    assert [one["run_id"] for one in (await ann.get(f"/gates/?due_before={soon}")).json] == [runs[1]["id"]]
    assert [one["id"] for one in (await ann.get(f"/process-runs/?clock_due_before={soon}")).json] == [runs[1]["id"]]
    later = quote((datetime.now(UTC) + timedelta(days=9)).isoformat())
    found = (await ann.get(f"/process-runs/?clock_due_before={later}&vertical=case&view=summary")).json
    assert [one["id"] for one in found] == [runs[1]["id"], runs[0]["id"]]
    await ann.resume(runs[1], "signoff")
    assert (await ann.get(f"/process-runs/?clock_due_before={soon}")).json == []


async def test_a_report_counts_clocks_that_were_kept_and_breached_and_how_near(ann: Person) -> None:
    await publish(ann, at_once(within="inputs.urgent ? 'PT1S' : 'P7D'"))
    runs = [await ann.start("case", {"received_at": now(), "urgent": urgent}) for urgent in (False, True, True, False)]
    for run in runs[1:3]:
        await until_state(ann, run, "breached")
    (before,) = (await ann.get("/reports/clocks/")).json
    assert [before[name] for name in ("open", "overdue", "kept", "breached", "ended")] == [4, 2, 0, 2, 0]
    assert before["next_due_at"] == (await clock_of(ann, runs[0]))["due_at"]
    await ann.resume(runs[0], "signoff")
    await ann.resume(runs[1], "signoff")
    await ann.post(f"/process-runs/{runs[3]['id']}/cancel", {})
    (after,) = (await ann.get("/reports/clocks/")).json
    assert (after["vertical"], after["clock"], after["label"]) == ("case", "notice", "Decision and notice")
    assert [after[name] for name in ("open", "overdue", "kept", "breached", "ended")] == [1, 1, 1, 2, 1]
    kept = await clock_of(ann, runs[0])
    left = (at(kept["due_at"]) - at(kept["stopped_at"])).total_seconds()
    assert after["median_left_s"] == after["least_left_s"] == left
    late = await clock_of(ann, runs[1])
    assert after["most_late_s"] == (at(late["stopped_at"]) - at(late["due_at"])).total_seconds()


async def test_a_terminal_shows_the_clocks_of_a_run(ann: Person) -> None:
    run = await begun(ann)
    shown = Console(width=200, record=True, file=StringIO())
    shown.print(progress(Run.model_validate(await ann.run(run))))
    line = next(one for one in shown.export_text().splitlines() if one.startswith("Decision and notice"))
    assert "paused" in line
    assert NOTICE["source"] in line
