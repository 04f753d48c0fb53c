"""The hops of a resume: the functions of ours that hand it on, from the first middleware to the
commit and back.

Measured on a running service. A hop is a function of ours on the stack when the body is parsed,
when the command is in the actor's mailbox, when the turn reaches the journal, or when the run is
rendered for the response.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from structlog.testing import capture_logs

from actors.actor import Actor
from daemon import app as composition
from daemon.settings import Settings
from daemon.stores.sqlite.store import SqliteStore
from daemon.web import bodies
from daemon.web.app import application
from daemon.web.resources import run_json

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "tests" / "web" / "templates"
OURS = tuple(f"{ROOT / folder}/" for folder in ("actors", "daemon"))
HANDED_ON = {
    bodies.parse.__code__: False,
    Actor.deliver.__code__: True,
    SqliteStore.append.__code__: False,
    run_json.run_body.__code__: False,
}
"""Where a resume changes its form, and whether that function hands it on."""


def hops() -> list[str]:
    """The functions of ours that a resume with an Idempotency-Key passes, in their order."""
    with capture_logs():
        return asyncio.run(_measured())


async def _measured() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data", templates_dir=TEMPLATES, rate_limits=False)
        async with composition.opened(settings, composition.Lifecycle()) as services:
            server = TestServer(application(services))
            async with TestClient(server) as client:
                return await _resumed(client)


async def _resumed(client: TestClient[Any, Any]) -> list[str]:
    person = {"email": "a@a.test", "password": "correct horse", "company_name": "A"}
    token = (await (await client.post("/auth/register", json=person)).json())["token"]
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "k"}
    started = await client.post("/process-runs/", json={"vertical": "line", "inputs": {"amount": 5}}, headers=headers)
    path, verdict = f"/process-runs/{(await started.json())['id']}/resume", {"gate": "signoff", "decision": "approved"}
    found: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in HANDED_ON:
            found.update(dict.fromkeys(_waiting(frame if HANDED_ON[frame.f_code] else frame.f_back)))

    sys.setprofile(watch)
    try:
        answer = await client.post(path, json=verdict, headers=headers)
    finally:
        sys.setprofile(None)
    assert answer.status == web.HTTPOk.status_code, await answer.text()
    return list(found)


def _waiting(frame: FrameType | None) -> list[str]:
    """The functions of ours on the stack, outermost first."""
    names = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(OURS):
            module = Path(code.co_filename).relative_to(ROOT).with_suffix("")
            names.append(f"{'.'.join(module.parts)}.{code.co_qualname}")
        frame = frame.f_back
    return names[::-1]


if __name__ == "__main__":
    print(*hops(), sep="\n")
