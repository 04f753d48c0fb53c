"""A gate in front of irreversible calls that come later: what it shows, and what becomes of what
changes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.crash.service import Service, serving
from tests.effects.world import JSON, Books, assert_sent, digest_of, gate_at, ledger, put, rests, start, write_template

STEPS: list[JSON] = [
    {
        "id": "signoff",
        "kind": "gate",
        "label": "Sign off",
        "tier": "high",
        "next": {"approved": "look", "denied": "tell"},
    },
    {"id": "look", "kind": "task", "label": "Look", "tool": "look", "effect": "read", "next": "pay"},
    {
        "id": "pay",
        "kind": "task",
        "label": "Pay",
        "tier": "medium",
        "tool": "pay",
        "effect": "irreversible",
        "next": "paid",
    },
    {"id": "tell", "kind": "task", "label": "Tell", "tool": "tell", "effect": "irreversible", "next": "told"},
    {"id": "paid", "kind": "end", "label": "Paid", "outcome": "paid"},
    {"id": "told", "kind": "end", "label": "Told", "outcome": "told"},
]
INPUTS = {"amount": 12}


def pay(books: Books, **how: Any) -> JSON:
    mapped = {"amount": "inputs.amount"}
    return {
        "base_url": books.url(),
        "method": "POST",
        "path": "/ok/ok/pay",
        "body_map": mapped,
        "reversible": True,
        **how,
    }


@asynccontextmanager
async def signing(folder: Path, **how: Any) -> AsyncIterator[tuple[Books, Service, JSON]]:
    """A run that is parked at a plain gate in front of a payment."""
    write_template(folder, "paying", STEPS)
    async with ledger(folder) as books, serving(folder) as service:
        await service.register()
        await put(service, "pay", pay(books, **how))
        run = await start(service, "paying", INPUTS)
        yield books, service, await rests(service, run["id"])


async def decide(service: Service, run: JSON, gate: str, decision: str = "approved", **more: Any) -> tuple[int, Any]:
    headers = {"If_Match": more.pop("tag")} if "tag" in more else {}
    body = {"gate": gate, "decision": decision, **more}
    return await service.send("POST", f"/process-runs/{run['id']}/resume", body, **headers)


def paid(books: Books, run: JSON) -> int:
    return sum(line.key.split(":")[1] == "pay" for line in books.of(run["id"]))


async def test_a_plain_gate_names_each_irreversible_call_that_a_decision_leads_to(tmp_path: Path) -> None:
    async with signing(tmp_path) as (books, _, run):
        gate = run["gate"]
        assert (gate["step_id"], gate["effect"]) == ("signoff", None)
        (paying, telling) = gate["effects"]
        assert (paying["step_id"], paying["tool"], paying["mode"], paying["decisions"]) == (
            "pay",
            "pay",
            "live",
            ["approved"],
        )
        assert paying["connector"] == {"origin": books.url(), "method": "POST", "path": "/ok/ok/pay", "version": 1}
        assert (paying["call"]["url"], paying["call"]["body"]) == (books.url() + "/ok/ok/pay", {"amount": 12})
        assert (telling["decisions"], telling["mode"], telling["connector"]) == (["denied"], "shadow", None)
        assert gate["digest"] == digest_of(run, gate)


@pytest.mark.parametrize("way", ["digest", "tag", "neither"])
async def test_a_connector_that_changes_between_showing_and_approving_sends_nothing_unseen(
    tmp_path: Path, way: str
) -> None:
    async with signing(tmp_path, reversible=False) as (books, service, run):
        tag = (await service.send("GET", f"/process-runs/{run['id']}"))[1]["version"]
        assert run["gate"]["effects"][0]["mode"] == "shadow"
        await put(service, "pay", pay(books))
        seen = {"digest": {"digest": run["gate"]["digest"]}, "tag": {"tag": f'"{tag}"'}, "neither": {}}[way]
        status, answer = await decide(service, run, "signoff", **seen)
        assert (status, answer["code"], paid(books, run)) == (412, "stale", 0)
        again = await rests(service, run["id"])
        assert again["gate"]["effects"][0]["mode"] == "live"
        assert answer["etag"] == f'"{again["version"]}"'
        status, answer = await decide(service, run, "signoff", digest=again["gate"]["digest"])
        assert status in {200, 202}
        assert (await rests(service, run["id"]))["status"] == "completed"
        assert_sent(books.of(run["id"])[0], again["gate"]["effects"][0]["call"])


async def test_a_read_shows_what_stands_and_a_verdict_on_that_counts(tmp_path: Path) -> None:
    async with signing(tmp_path) as (books, service, run):
        await put(service, "pay", pay(books, path="/ok/ok/moved"))
        now = await service.read(run["id"])
        assert (now["version"], now["gate"]["digest"] == run["gate"]["digest"]) == (run["version"], False)
        assert now["gate"]["effects"][0]["connector"]["path"] == "/ok/ok/moved"
        assert now["gate"]["digest"] == digest_of(now, now["gate"])
        (listed,) = (await service.send("GET", "/process-runs/?status=parked"))[1]
        assert listed["gate"] == now["gate"]
        status, _ = await decide(service, run, "signoff", digest=now["gate"]["digest"])
        assert status in {200, 202}
        await rests(service, run["id"])
        (line,) = books.of(run["id"])
        assert_sent(line, now["gate"]["effects"][0]["call"])
        types = [event["type"] for event in await service.history(run["id"])]
        assert types.count("gate_opened") == 2


async def test_an_entity_tag_stands_for_the_gate_as_it_is_shown(tmp_path: Path) -> None:
    async with signing(tmp_path) as (books, service, run):
        url, headers = f"{service.address}/process-runs/{run['id']}", {"Authorization": f"Bearer {service.token}"}
        async with service.session.get(url, headers=headers) as first:
            before = first.headers["ETag"]
        await put(service, "pay", pay(books, path="/ok/ok/moved"))
        async with service.session.get(url, headers={**headers, "If-None-Match": before}) as second:
            assert second.status == 200
            after = second.headers["ETag"]
        async with service.session.get(url, headers={**headers, "If-None-Match": after}) as third:
            assert third.status == 304
        assert (await decide(service, run, "signoff", tag=before))[0] == 412


@asynccontextmanager
async def holding() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A server that answers no call before it is told to."""
    go_on = asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        await go_on.wait()
        return web.json_response({"found": True})

    app = web.Application()
    app.router.add_get("/look", answer)
    async with TestServer(app) as server:
        yield f"http://127.0.0.1:{server.port}", go_on


async def test_a_connector_that_changes_after_the_approval_parks_its_step(tmp_path: Path) -> None:
    async with holding() as (url, go_on), signing(tmp_path) as (books, service, run):
        await put(service, "look", {"base_url": url, "path": "/look", "reversible": True})
        status, _ = await service.send(
            "POST",
            f"/process-runs/{run['id']}/resume",
            {"gate": "signoff", "decision": "approved", "digest": run["gate"]["digest"]},
            Prefer="respond-async",
        )
        assert status == 202
        await put(service, "pay", pay(books, path="/ok/ok/moved"))
        go_on.set()
        now = await rests(service, run["id"])
        assert (now["parked_at"], now["gate"]["reason"], paid(books, run)) == ("pay", "changed since approval", 0)
        assert now["gate"]["effect"]["url"].endswith("/ok/ok/moved")
        status, _ = await decide(service, now, "pay", digest=now["gate"]["digest"])
        assert status in {200, 202}
        assert (await rests(service, run["id"]))["status"] == "completed"
        assert paid(books, run) == 1


async def test_a_change_of_a_connector_is_told_on_the_streams_of_the_runs_that_it_touches(tmp_path: Path) -> None:
    async with signing(tmp_path) as (books, service, run):
        beside = await start(service, "paying", INPUTS)
        await decide(service, beside, "signoff", "denied")
        headers = {"Authorization": f"Bearer {service.token}", "Accept": "text/event-stream"}
        path = f"/process-runs/{run['id']}/events"
        async with (
            service.session.get(f"{service.address}{path}?after={run['version']}", headers=headers) as stream,
            service.session.get(f"{service.address}/events", headers=headers) as all_runs,
        ):
            await put(service, "unrelated", pay(books))
            await put(service, "pay", pay(books, path="/ok/ok/moved"))
            name, data = await told(stream)
            assert (await told(all_runs))[0] == "connectors_changed"
        now = await service.read(run["id"])
        assert (name, data["run_id"], data["gate"]) == ("gate_changed", run["id"], now["gate"])
        assert now["version"] == run["version"]


async def told(stream: Any) -> tuple[str, Any]:
    """The next named event of a stream."""
    name = ""
    async with asyncio.timeout(10):
        async for raw in stream.content:
            line = raw.decode().strip()
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            if line.startswith("data: "):
                return name, json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream ended")


async def test_a_doubtful_call_is_sent_to_no_address_that_nobody_has_seen(tmp_path: Path) -> None:
    async with signing(tmp_path, path="/effect-then-reset/ok/pay", retries=0) as (books, service, run):
        await decide(service, run, "signoff")
        doubtful = await rests(service, run["id"])
        assert (doubtful["parked_at"], doubtful["gate"]["reason"]) == ("pay", "outcome unknown")
        await put(service, "pay", pay(books, path="/ok/ok/moved"))
        status, answer = await decide(service, run, "pay", "retry", digest=doubtful["gate"]["digest"])
        assert (status, answer["code"]) == (412, "stale")
        status, answer = await service.send("POST", f"/process-runs/{run['id']}/retry")
        assert (status, answer["code"]) == (409, "not_retryable")
        now = await rests(service, run["id"])
        assert now["gate"]["reason"] == "outcome unknown"
        assert now["gate"]["effect"]["url"].endswith("/ok/ok/moved")
        assert gate_at(now, "pay")["effects"][0]["decisions"] == ["retry"]
        before = paid(books, run)
        assert (await decide(service, run, "pay", "retry", digest=now["gate"]["digest"]))[0] in {200, 202}
        assert (await rests(service, run["id"]))["status"] == "completed"
        assert paid(books, run) == before + 1


async def test_a_payment_that_was_refused_by_the_far_side_is_not_repeated_without_a_human(tmp_path: Path) -> None:
    async with signing(tmp_path, path="/refuse/ok/pay") as (books, service, run):
        await decide(service, run, "signoff")
        failed = await rests(service, run["id"])
        assert (failed["status"], failed["error"]["maybe_sent"]) == ("failed", True)
        before = paid(books, run)
        status, again = await service.send("POST", f"/process-runs/{run['id']}/retry")
        assert (status, again["status"], again["parked_at"]) == (200, "parked", "pay")
        assert again["gate"]["reason"] == "failed after it may have been sent"
        assert paid(books, run) == before
