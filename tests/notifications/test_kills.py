"""The service is killed with signal 9 again and again: each gate is told of, and only a message
that was on its way is sent twice.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import aiohttp

from tests.crash.service import Service, serving, write_templates
from tests.notifications.conftest import types
from tests.webhooks.conftest import Receiver

LIVES = 3
RUNS = 10
PATIENCE_S = 30.0
PAGE = "https://penstock.test"


async def start_until_killed(service: Service, receiver: Receiver, begun: list[str], messages: int) -> None:
    """Start runs, and kill the service as soon as the receiver has had so many more messages."""
    until = len(receiver.got) + messages

    async def start() -> None:
        for _ in range(RUNS):
            begun.extend(run["id"] for run in await service.start("held"))

    async with asyncio.timeout(PATIENCE_S):
        task = asyncio.create_task(start())
        while len(receiver.got) < until:
            receiver.arrived.clear()
            await receiver.arrived.wait()
        await service.kill()
        with suppress(aiohttp.ClientError, ConnectionError):
            await task


async def test_after_every_kill_each_gate_is_told_of(tmp_path: Path, receiver: Receiver) -> None:
    write_templates(tmp_path / "templates")
    token, begun = "", list[str]()
    for life in range(LIVES):
        async with serving(tmp_path, token, public_url=PAGE) as service:
            if not token:
                await service.register()
                token = service.token
                body = {"kind": "webhook", "events": ["gate_opened"], "url": receiver.url()}
                status, one = await service.send("POST", "/notifications/", body)
                assert status == 201, one
            await start_until_killed(service, receiver, begun, 2 + 2 * life)
    async with serving(tmp_path, token, public_url=PAGE) as service:
        runs = (await service.send("GET", "/process-runs/?status=parked&limit=200"))[1]
        async with asyncio.timeout(PATIENCE_S):
            while not {run["id"] for run in runs} <= {one.split("_")[1] for one in receiver.ids}:
                receiver.arrived.clear()
                await receiver.arrived.wait()
    assert set(begun) <= {run["id"] for run in runs}
    assert {kind for each in types(receiver) for kind in each} == {"gate_opened"}
    assert len(receiver.ids) - len(set(receiver.ids)) <= 4 * LIVES  # so many are on their way at once
