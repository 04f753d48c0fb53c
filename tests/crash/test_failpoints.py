"""Killed at every named place of the code: what was acknowledged is there, and whoever asks again
is answered alike.
"""

from __future__ import annotations

import ast
import asyncio
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from actors import failpoints
from daemon.keys.keyring import KeyRing, change_ring
from tests.crash import build
from tests.crash.forked import LONG, forked
from tests.crash.service import ENDED, PATIENCE_S, PERSON, FarSide, Service
from tests.crash.test_restart import check_history

ROOT = Path(__file__).parents[2]
SECRET = "s3cret"
BIG_BYTES, BIG = 500_000, 6
# Where each stands: the file and the function.
PLACES = {
    "before-migration": "daemon/stores/sqlite/engine.py migrate",
    "migration-unrecorded": "daemon/stores/sqlite/engine.py migrate",
    "after-migration": "daemon/stores/sqlite/engine.py migrate",
    "key-file-written": "daemon/keys/keyring.py write_ring",
    "templates-kept": "daemon/templates/catalog.py open",
    "before-intent": "actors/actor.py _append",
    "after-intent": "actors/actor.py _append",
    "before-perform": "actors/actor.py _seen",
    "before-publish": "actors/actor.py _seen",
    "before-reply": "actors/actor.py _turn",
    "outcome-committed": "actors/actor.py _append",
    "before-activation": "actors/actor.py _load",
    "recovery-half-way": "actors/directory.py _wake",
    "before-passivation": "actors/directory.py _release",
    "timer-due": "daemon/engine/due_runs.py post_due",
    "drain-begun": "daemon/engine/assembly.py drain",
    "drained": "daemon/engine/assembly.py drain",
    "before-begin": "daemon/stores/sqlite/engine.py commit_together",
    "after-begin": "daemon/stores/sqlite/engine.py commit_together",
    "between-statements": "daemon/stores/sqlite/database.py write",
    "before-commit": "daemon/stores/sqlite/engine.py commit_together",
    "after-commit": "daemon/stores/sqlite/engine.py commit_together",
    "before-settling": "daemon/stores/group_commit.py _write",
    "before-checkpoint": "daemon/stores/sqlite/engine.py _checkpoint",
    "after-checkpoint": "daemon/stores/sqlite/engine.py _checkpoint",
    "before-send": "daemon/engine/dispatcher.py _attempt",
    "request-leaving": "daemon/connectors/http.py _mark_sent",
    "after-send": "daemon/connectors/http.py _exchange",
    "outcome-received": "daemon/engine/dispatcher.py _perform_call",
    "before-outcome-posted": "daemon/engine/dispatcher.py _perform_call",
    "before-receipt": "daemon/web/idempotency.py _written",
    "receipt-kept": "daemon/web/idempotency.py _written",
    "connector-kept": "daemon/connectors/service.py put",
    "company-key-kept": "daemon/keys/vault.py _made",
    "before-rewrap": "daemon/keys/vault.py rewrap",
    "after-rewrap": "daemon/keys/vault.py rewrap",
}
WHILE_STARTING = (
    *("before-migration:1", "migration-unrecorded:1", "migration-unrecorded:2", "after-migration:1"),
    *("key-file-written:1", "key-file-written:2", "templates-kept:1", "before-commit:1"),
)
AT_RECOVERY = ("recovery-half-way:2", "before-activation:2", "before-rewrap:1", "after-rewrap:1", "before-commit:6")
# The calls that may be repeated come first, the one that may not second; commits count from the
# registration on.
IN_THE_DAY = (
    *(f"{name}:{nth}" for name in ("before-intent", "after-intent", "before-perform") for nth in (1, 2)),
    *(f"{name}:{nth}" for name in ("before-send", "request-leaving", "after-send") for nth in (1, 2)),
    *(f"{name}:{nth}" for name in ("outcome-received", "before-outcome-posted", "outcome-committed") for nth in (1, 2)),
    *(f"{name}:{nth}" for name in ("before-commit", "after-commit") for nth in (2, 5, 6, 9)),
    *("before-publish:1", "before-reply:1", "before-reply:3", "before-activation:1", "before-passivation:1"),
    *("timer-due:1", "drain-begun:1", "drained:1", "before-begin:4", "after-begin:4", "between-statements:2"),
    *("between-statements:5", "before-settling:5", "before-checkpoint:1", "after-checkpoint:1", "before-receipt:1"),
    *("receipt-kept:1", "connector-kept:1", "company-key-kept:1"),
)


def reached_in(path: Path) -> list[tuple[str, str]]:
    """Each failpoint of a file, and the innermost function that it stands in."""
    found = []

    def look(node: ast.AST, function: str) -> None:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    look(child, name)
                    continue
                case ast.Call(func=ast.Name(id="reach"), args=[ast.Constant(value=str(name))]):
                    found.append((name, f"{path.relative_to(ROOT).as_posix()} {function}"))
                case _:
                    pass
            look(child, function)

    look(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def test_each_failpoint_is_reached_by_the_code_that_it_names_and_by_no_other() -> None:
    files = sorted(path for room in ("actors", "daemon") for path in (ROOT / room).rglob("*.py"))
    found = [place for path in files for place in reached_in(path)]
    assert sorted(found) == sorted(PLACES.items())
    assert set(PLACES) == failpoints.NAMES == set(build.names())


def test_every_failpoint_is_died_at() -> None:
    died_at = {spec.partition(":")[0] for spec in (*WHILE_STARTING, *AT_RECOVERY, *IN_THE_DAY)}
    assert died_at == failpoints.NAMES


def test_nothing_happens_at_a_failpoint_unless_it_is_armed() -> None:
    reached: list[str] = []
    failpoints.reach("before-begin")
    failpoints.arm(reached.append)
    try:
        failpoints.reach("after-begin")
    finally:
        failpoints.disarm()
    failpoints.reach("before-commit")
    assert reached == ["after-begin"]


class Died(Exception):
    """The service has gone in the middle of a request."""


@dataclass
class Day:
    """Somebody's day: each request has a key, so that all of it can be said again, and is then
    answered alike.
    """

    far_side: FarSide
    big: int = 0
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    connected: set[str] = field(default_factory=set)
    token: str = ""

    async def live(self, service: Service) -> None:
        """Say it all, from the beginning; Died when there is nobody to say it to any more."""
        service.token = ""
        session = await self.post(service, "register", "/auth/register", PERSON)
        service.token = self.token = session["token"]
        for tool in ("slow-work", "slow-pay"):
            await self.connect(service, tool)
        await self.post(service, "work", "/process-runs/", {"vertical": "busy"})
        await self.decided(service, "pay", "risky")
        held = await self.post(service, "hold", "/process-runs/", {"vertical": "held"})
        await passivated(service)
        await self.resume(service, "sign", held["id"])
        await self.post(service, "long", "/process-runs/", {"vertical": "long"})
        for number in range(self.big):
            inputs = {"text": f"{number}" * BIG_BYTES}
            await self.post(service, f"big-{number}", "/process-runs/", {"vertical": "held", "inputs": inputs})

    async def begin(self, service: Service) -> None:
        """Only what waits for the far side, which does not answer yet."""
        session = await self.post(service, "register", "/auth/register", PERSON)
        service.token = self.token = session["token"]
        for tool in ("slow-work", "slow-pay"):
            await self.connect(service, tool)
        await self.post(service, "work", "/process-runs/", {"vertical": "busy"}, Prefer="respond-async")
        await self.decided(service, "pay", "risky", Prefer="respond-async")
        await self.far_side.reached(2)

    async def decided(self, service: Service, name: str, vertical: str, **headers: str) -> None:
        run = await self.post(service, f"{name}-start", "/process-runs/", {"vertical": vertical})
        await self.resume(service, name, run["id"], **headers)

    async def resume(self, service: Service, name: str, run_id: str, **headers: str) -> None:
        body = {"gate": "signoff", "decision": "approved"}
        await self.post(service, name, f"/process-runs/{run_id}/resume", body, **headers)

    async def connect(self, service: Service, tool: str) -> None:
        """Bind a tool, unless it is bound; once that was acknowledged, it is."""
        status, _ = await said(service, "GET", f"/connectors/{tool}", None)
        assert status == (200 if tool in self.connected else status), tool
        if status == 200:
            return
        url = str(self.far_side.server.make_url("/")).rstrip("/")
        secret = {"auth_type": "bearer", "auth_token": SECRET}
        how = {"base_url": url, "path": f"/{tool}", "method": "POST", "reversible": True, **secret}
        status, answer = await said(service, "PUT", f"/connectors/{tool}", how)
        assert status == 201, answer
        self.connected.add(tool)

    async def post(self, service: Service, name: str, path: str, body: Any, **headers: str) -> Any:
        """A request under a key of its own: what it is answered once, it is answered always."""
        answer = await said(service, "POST", path, body, Idempotency_Key=name, **headers)
        assert answer[0] < 300, (name, answer)
        assert self.answers.setdefault(name, answer) == answer, name
        return answer[1]


async def said(service: Service, method: str, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    try:
        return await service.send(method, path, body, **headers)
    except (aiohttp.ClientError, OSError) as lost:
        raise Died from lost


async def passivated(service: Service) -> None:
    """Wait until no run is in memory."""
    async with asyncio.timeout(PATIENCE_S):
        while (await said(service, "GET", "/health", None))[1]["runs"]["live"]:
            pass


async def dies(service: Service, day: Day) -> None:
    """Live the day until the service dies at its failpoint, in the drain at the latest."""
    if service.address:
        try:
            await day.live(service)
            service.process.terminate()
        except Died:
            pass
    assert await service.process.wait() == -signal.SIGKILL, service.log.read_text(encoding="utf-8")[-3_000:]


async def lives_on(folder: Path, day: Day) -> None:
    """After a restart the day can be said again, twice alike, and all that began has ended or asks
    a human.
    """
    async with forked(folder) as service:
        await day.live(service)
        await day.live(service)
        for name, (_, run) in day.answers.items():
            if name != "register":
                await check_run(service, run)
        await check_payment(service, day)
        service.process.terminate()
        assert await service.process.wait() == 0


async def check_run(service: Service, then: dict[str, Any]) -> None:
    now = await service.stands_still(then["id"])
    assert now["version"] >= then["version"]
    if then["status"] in ENDED:
        assert now == then
    expected = {"busy": "completed", "long": "completed"}
    assert now["status"] == expected.get(now["vertical"], now["status"])
    if now["version"] <= 200:
        await check_history(service, now["id"])


async def check_payment(service: Service, day: Day) -> None:
    """It was made once, or nobody knows and a human is asked; never twice. Work may be done again,
    once per life.
    """
    paid = await service.read(day.answers["pay"][1]["id"])
    made = day.far_side.seen[f"{paid['id']}:pay:1"]
    if paid["status"] == "completed":
        assert (paid["outcome"], made) == ("paid", 1)
    else:
        assert (paid["parked_at"], paid["gate"]["reason"]) == ("pay", "outcome unknown")
        assert made <= 1
    assert 1 <= day.far_side.seen[f"{day.answers['work'][1]['id']}:work:1"] <= 3


@pytest.fixture
def long(folder: Path) -> Path:
    """The folder with one more template: more steps than one turn takes."""
    (folder / "templates" / "long.yaml").write_text(LONG, encoding="utf-8")
    return folder


@pytest.mark.parametrize("spec", WHILE_STARTING)
async def test_killed_at_its_first_start_it_starts_again(long: Path, far_side: FarSide, spec: str) -> None:
    far_side.released.set()
    day = Day(far_side)
    async with forked(long, spec, while_starting=True) as service:
        await dies(service, day)
    assert day.answers == {}
    await lives_on(long, day)


@pytest.mark.parametrize("spec", IN_THE_DAY)
async def test_killed_at_work_it_has_what_it_acknowledged_and_goes_on(long: Path, far_side: FarSide, spec: str) -> None:
    far_side.released.set()
    day = Day(far_side, big=BIG if "checkpoint" in spec else 0)
    async with forked(long, spec) as service:
        await dies(service, day)
    await lives_on(long, day)


@pytest.mark.parametrize("spec", AT_RECOVERY)
async def test_killed_while_it_recovers_it_recovers_again(long: Path, far_side: FarSide, spec: str) -> None:
    day = Day(far_side)
    async with forked(long) as service:
        await day.begin(service)
        service.process.kill()
    change_ring(long / "data" / "vault.key", KeyRing.rotated)
    far_side.released.set()
    async with forked(long, spec, while_starting=True) as service:
        await dies(service, day)
    await lives_on(long, day)
