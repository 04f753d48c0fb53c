"""The demo: a temporary service, driven over HTTP from registration to a completed run."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession
from rich.console import Console

READY = "Penstock is ready at "
VERTICAL = "prior-auth"
START_S = 30.0
STOP_S = 15.0
GATES_MAX = 10
_out = Console(highlight=False)


def run() -> int:
    return asyncio.run(_demonstrate())


async def _demonstrate() -> int:
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder:
        async with _service(folder) as address, ClientSession(address) as session:
            run = await _loop(session)
    _out.print(f"\n[bold]{run['status']}[/] with the outcome [bold]{run['outcome']}[/]. Nothing of this was kept.")
    return 0 if run["status"] == "completed" else 1


async def _loop(session: ClientSession) -> dict[str, Any]:
    person = {"email": "ada@example.test", "password": "correct horse", "company_name": "Example Health"}
    registered = await _send(session, "POST", "/auth/register", person, shown={**person, "password": "***"})
    _say(f"registered {registered['company']['name']}; the token stands for {registered['user']['email']}")
    session.headers["Authorization"] = f"Bearer {registered['token']}"
    listed = await _send(session, "GET", "/process-templates/")
    _say(f"{len(listed)} templates: {', '.join(one['vertical'] for one in listed)}")
    template = await _send(session, "GET", f"/process-templates/{VERTICAL}")
    run: dict[str, Any] = await _send(
        session, "POST", "/process-runs/", {"vertical": VERTICAL, "inputs": template["inputs"]}
    )
    for _ in range(GATES_MAX):
        for step in run["trace"]:
            by = "" if step["resolved_by"] is None else f", by {step['resolved_by']}"
            _say(f"{step['step_id']}: {step['status']}, {step['mode'] or step['kind']}{by}")
        if run["status"] != "parked":
            break
        gate = run["gate"]
        _say(f"[bold]parked[/] at {gate['step_id']} ({gate['label']}), since {gate['reason']}")
        verdict = {"gate": gate["step_id"], "decision": gate["decisions"][0], "digest": gate["digest"]}
        run = await _send(session, "POST", f"/process-runs/{run['id']}/resume", verdict)
    return run


async def _send(session: ClientSession, method: str, path: str, body: Any = None, *, shown: Any = None) -> Any:
    _out.print(f"\n[bold cyan]{method} {path}[/]", end=" ")
    _out.print("" if body is None else str(shown or body), markup=False)
    async with session.request(method, path, json=body) as response:
        answer = await response.json()
        _out.print(f"  -> {response.status}")
    if response.status >= 400:  # noqa: PLR2004 - the errors of HTTP
        raise SystemExit(f"the demonstration failed: {answer}")
    return answer


def _say(text: str) -> None:
    _out.print(f"     {text}")


@asynccontextmanager
async def _service(folder: str) -> AsyncIterator[str]:
    arguments = ("-m", "daemon", "serve", "--port", "0", "--data-dir", folder, "--log-level", "error")
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None  # noqa: S101 - it was asked for
    try:
        line = (await asyncio.wait_for(process.stdout.readline(), START_S)).decode()
        if not line.startswith(READY):
            raise SystemExit("the service did not start")
        yield line.removeprefix(READY).strip()
    finally:
        if process.returncode is None:
            process.terminate()
            await asyncio.wait_for(process.wait(), STOP_S)
