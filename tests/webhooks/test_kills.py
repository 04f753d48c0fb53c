"""The service is killed with signal 9 again and again: no event is lost on its way to a webhook or
to a reader.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

from tests.crash.service import Service, serving, together, write_templates
from tests.webhooks.conftest import Receiver, verified

LIVES = 3
RUNS = 12
PATIENCE_S = 30.0


async def work(service: Service) -> None:
    """Runs that park and go on, until the service is gone."""
    for run in await service.start("held", RUNS):
        await service.resume(run["id"])


async def read(service: Service, seen: list[str], number: int = 10**9) -> None:
    """Follow the company's events from where the reader is, until there are so many or the service
    is gone.
    """
    headers = {"Authorization": f"Bearer {service.token}", "Accept": "text/event-stream"}
    headers["Last-Event-ID"] = seen[-1] if seen else "0"
    async with service.session.get(f"{service.address}/events", headers=headers) as stream:
        place = ""
        async for line in stream.content:
            if line.startswith(b"id: "):
                place = line.decode().removeprefix("id: ").strip()
            elif line.startswith(b"data: "):
                seen.append(place)
                if len(seen) >= number:
                    return


async def killed_while_at_work(service: Service, receiver: Receiver, seen: list[str], messages: int) -> None:
    """Kill the service as soon as the receiver has had so many more messages."""
    until = len(receiver.got) + messages
    async with asyncio.timeout(PATIENCE_S):
        tasks = [asyncio.create_task(work(service)), asyncio.create_task(read(service, seen))]
        while len(receiver.got) < until:
            receiver.arrived.clear()
            await receiver.arrived.wait()
        await service.kill()
        for task in tasks:
            with suppress(aiohttp.ClientError, ConnectionError):
                await task


async def everything(service: Service) -> list[Any]:
    """All events of the company as they stand in the journal."""
    found: list[Any] = []
    while True:
        status, page = await service.send("GET", f"/events?limit=200&after={found[-1]['id'] if found else 0}")
        assert status == 200, page
        if not page:
            return found
        found += page


async def arrived(receiver: Receiver, wanted: set[str]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not wanted <= set(receiver.ids):
            receiver.arrived.clear()
            await receiver.arrived.wait()


async def test_after_every_kill_each_event_comes_to_the_webhook_and_to_the_reader(
    tmp_path: Path, receiver: Receiver
) -> None:
    write_templates(tmp_path / "templates")
    token, secret, seen = "", "", list[str]()
    for life in range(LIVES):
        async with serving(tmp_path, token) as service:
            if not token:
                await service.register()
                token = service.token
                status, hook = await service.send("POST", "/webhooks/", {"url": receiver.url()})
                assert status == 201, hook
                secret = hook["secret"]
            await killed_while_at_work(service, receiver, seen, 20 + 15 * life)
    async with serving(tmp_path, token) as service:
        executing = (await service.send("GET", "/process-runs/?status=executing&limit=200"))[1]
        await together(service.stands_still(run["id"]) for run in executing)
        whole = await everything(service)
        places = [one["id"] for one in whole]
        await arrived(receiver, {f"msg_{one['run_id']}_{one['seq']}" for one in whole})
        if len(seen) < len(places):
            async with asyncio.timeout(PATIENCE_S):
                await read(service, seen, len(places))
    assert seen == places
    assert {one.id: one.json["data"]["id"] for one in receiver.got} == {
        f"msg_{one['run_id']}_{one['seq']}": one["id"] for one in whole
    }
    assert all(verified(secret, one) for one in receiver.got)
    assert len(whole) > LIVES * RUNS * 3
