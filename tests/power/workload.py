"""A few lives of the service on one folder, all of it recorded, and those who use it meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import jwt
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.crash.service import PERSON, READY, environment, write_templates
from tests.power import within
from tests.power.recording import Log, Record, build, read, syncs
from tests.power.served import FAULT, LOG_BYTES, RECORDER

CALLERS = 24
PATIENCE_S = 120.0
KILLED_AFTER_S = (0.05, 0.4)
WRAPPER = (sys.executable, "-m", "tests.power.served")
PROBE = """
import os, sqlite3
db = sqlite3.connect(os.path.join(os.environ["POWER_ROOT"], "probe.db"))
db.execute("CREATE TABLE probe (x)")
db.close()
"""
TOOLS = ("look", "note", "file")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is recorded: how many runs in each life, how long the write-ahead log may grow, which
    fault is planted.
    """

    runs: int = 100
    lives: int = 2
    log_bytes: int = 256 * 1024
    fault: str = ""
    seed: int = 1
    verticals: tuple[str, ...] = ("held", "held", "risky")


def planted(fault: str, runs: int, seed: int = 1) -> Plan:
    """A short life with a fault, in which it shows: few checkpoints, or calls."""
    log_bytes = 0 if fault == "synchronous=NORMAL" else 64 * 1024
    verticals = ("risky",) if fault == "call before commit" else ("held",)
    return Plan(runs=runs, lives=1, log_bytes=log_bytes, fault=fault, seed=seed, verticals=verticals)


@dataclass(frozen=True, slots=True)
class Recording:
    """A record, the folder it is about, and what the service runs with."""

    root: Path
    templates: Path
    records: list[Record]


@dataclass
class Company:
    """A company with somebody who may do everything."""

    email: str
    id: str
    token: str
    runs: list[str] = field(default_factory=list)


@dataclass
class Caller:
    """Talks to a running service, and notes what it was told as soon as it knows."""

    address: str
    session: aiohttp.ClientSession
    log: Log
    chance: random.Random
    companies: list[Company]
    far_side: str
    plan: Plan

    async def send(self, method: str, path: str, body: Any, company: Company | None, key: str = "") -> Any:
        """One request that has to be answered with success; what comes back."""
        headers = {"Authorization": f"Bearer {company.token}"} if company else {}
        if key:
            headers["Idempotency-Key"] = key
        async with self.session.request(method, self.address + path, json=body, headers=headers) as response:
            text = await response.text()
        assert response.status < 300, (method, path, response.status, text)
        if key and company:
            self.log.told("answer", company=company.id, key=key, status=response.status, body=text)
        return json.loads(text) if text else None

    async def register(self, number: int) -> Company:
        """A new company."""
        person = {**PERSON, "email": f"person-{number}@example.test"}
        session = await self.send("POST", "/auth/register", person, None)
        company = Company(person["email"], session["company"]["id"], session["token"])
        self.log.told("account", company=company.id, email=company.email)
        self.log.told("token", token=company.token)
        how = {"base_url": self.far_side, "path": "/pay", "method": "POST", "reversible": True, "timeout_s": 60}
        await self.send("PUT", "/connectors/slow-pay", how, company)
        self.companies.append(company)
        return company

    async def log_in_and_out(self, company: Company) -> None:
        """A second token, which then no longer counts; from the request to the answer, nobody knows
        whether it does.
        """
        who = {"email": company.email, "password": PERSON["password"]}
        token = (await self.send("POST", "/auth/login", who, None))["token"]
        self.log.told("token", token=token)
        self.log.told("leaving", token=token)
        await self.send("POST", "/auth/logout", None, Company(company.email, company.id, token))
        claims = jwt.decode(token, options={"verify_signature": False})
        self.log.told("revoked", token=token, token_id=claims["jti"])

    async def connect(self, company: Company) -> None:
        """A connector, changed or new, with a secret of its own; it stays shadowed."""
        tool = self.chance.choice(TOOLS)
        secret = self.chance.randbytes(8).hex()
        how = {"base_url": "https://api.test", "auth_type": "bearer", "auth_token": secret, "reversible": False}
        await self.send("PUT", f"/connectors/{tool}", how, company)
        (change, *_) = await self.send("GET", f"/connectors/{tool}/changes?limit=1", None, company)
        self.log.told("connector", company=company.id, tool=tool, version=change["version"])

    def told(self, company: Company, run: dict[str, Any]) -> dict[str, Any]:
        """Note where a run stands."""
        facts = {name: run[name] for name in ("id", "version", "status")}
        self.log.told("run", company=company.id, **facts)
        return run

    async def drive(self, number: int) -> None:
        """Start a run, look at another one, decide on this one or leave it where it is."""
        company = self.chance.choice(self.companies)
        inputs = {"note": self.chance.randbytes(self.chance.choice((20, 100, 600))).hex()}
        body = {"vertical": self.chance.choice(self.plan.verticals), "inputs": inputs}
        run = self.told(company, await self.send("POST", "/process-runs/", body, company, f"start-{number}"))
        company.runs.append(run["id"])
        if not self.plan.fault:
            other = self.chance.choice(company.runs)
            self.told(company, await self.send("GET", f"/process-runs/{other}", None, company))
        fate = self.chance.choice(("approved", "approved", "denied", "cancelled", "left"))
        path = f"/process-runs/{run['id']}"
        if fate == "cancelled":
            self.told(company, await self.send("POST", f"{path}/cancel", {"reason": "over"}, company, f"end-{number}"))
        elif fate != "left":
            verdict = {"gate": "signoff", "decision": fate}
            self.told(company, await self.send("POST", f"{path}/resume", verdict, company, f"end-{number}"))
            self.log.told("verdict", company=company.id, run=run["id"], gate="signoff", decision=fate)

    async def load(self, numbers: range) -> None:
        """Drive as many runs from many callers at once."""
        waiting = iter(numbers)

        async def one() -> None:
            for number in waiting:
                await self.drive(number)
                if number % 40 == 20:
                    company = self.chance.choice(self.companies)
                    await self.connect(company)
                    await self.log_in_and_out(company)

        async with asyncio.TaskGroup() as group:
            for _ in range(CALLERS):
                group.create_task(one())


@dataclass
class Scene:
    """Where a recording is made."""

    folder: Path
    log: Log
    plan: Plan
    env: dict[str, str]
    chance: random.Random
    far_side: str
    companies: list[Company] = field(default_factory=list)

    @asynccontextmanager
    async def life(self) -> AsyncIterator[tuple[Process, Caller]]:
        """The service from its start to its end."""
        with (self.folder / "service.log").open("ab") as errors:
            command = (*WRAPPER, "serve", "--port", "0")
            process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=errors, env=self.env)
        try:
            assert process.stdout is not None
            line = (await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)).decode()
            assert line.startswith(READY), (self.folder / "service.log").read_text(encoding="utf-8")
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE_S)) as session:
                address, who = line.removeprefix(READY).strip(), self.companies
                yield process, Caller(address, session, self.log, self.chance, who, self.far_side, self.plan)
        finally:
            await self.kill(process)

    async def kill(self, process: Process, load: asyncio.Task[None] | None = None) -> None:
        """End the process between two operations, under load where there is one."""
        if load is not None:
            await asyncio.wait({load}, timeout=self.chance.uniform(*KILLED_AFTER_S))
        if process.returncode is None:
            with self.log.still():
                process.kill()
                await process.wait()
        if load is not None:
            try:
                await load
            except* (aiohttp.ClientError, OSError):
                pass

    async def command(self, *arguments: str) -> str:
        """Run commands to their end, with "," between two; what they print."""
        process = await asyncio.create_subprocess_exec(*WRAPPER, *arguments, stdout=PIPE, env=self.env)
        out, _ = await asyncio.wait_for(process.communicate(), PATIENCE_S)
        return out.decode()

    async def rotate(self) -> None:
        """Fresh keys, from the command line."""
        out = await self.command("keys", "rotate", ",", "secrets", "rotate")
        found = re.findall(r"([a-z.]+): (\S+) (?:signs|wraps)", out)
        assert [file for file, _ in found] == ["jwt.keys", "vault.key"], out
        for file, key in found:
            self.log.told("key", file=file, id=key)

    async def prune(self) -> None:
        """Drop the keys that nothing needs any more, which nobody may count on then; refused while
        some are needed.
        """
        self.log.told("pruning")
        found = re.search(r"; (\S+) is kept", await self.command("secrets", "prune"))
        if found:
            self.log.told("key", file="vault.key", id=found[1])


async def live(scene: Scene, number: int) -> None:
    """One life: a registration, load, then a kill under load; or, every other time, fresh keys and
    an orderly end.
    """
    runs = range(number * scene.plan.runs, (number + 1) * scene.plan.runs)
    middle = runs.start + len(runs) // 2
    async with scene.life() as (process, caller):
        company = await caller.register(number)
        await caller.connect(company)
        await caller.log_in_and_out(company)
        if number % 2 == 1:
            await scene.rotate()
        await caller.load(range(runs.start, middle))
        if number % 2 == 0:
            await scene.kill(process, asyncio.create_task(caller.load(range(middle, runs.stop))))
            return
        await caller.log_in_and_out(company)
        await caller.load(range(middle, runs.stop))
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
    await scene.prune()


def far_side(log: Log) -> web.Application:
    """Somebody outside, who notes each call that reaches him and takes it."""

    async def take(request: web.Request) -> web.Response:
        log.told("called", key=request.headers["Idempotency-Key"])
        return web.json_response({})

    app = web.Application()
    app.router.add_post("/pay", take)
    return app


def recorder(folder: Path, *, compiled: bool = True) -> dict[str, str] | None:
    """What makes a process record: the compiled recorder where it can be had, else the one within,
    if that can.
    """
    library = build(folder) if compiled else None
    if library is not None and sees({"LD_PRELOAD": str(library)}, folder / "probe"):
        return {"LD_PRELOAD": str(library)}
    return None if within.library() is None else {RECORDER: "within"}


def sees(by: dict[str, str], folder: Path) -> bool:
    """Whether a recorder sees what this Python's SQLite does; a SQLite that is linked in another
    way may hide it.
    """
    folder.mkdir()
    env = {**os.environ, **by, "POWER_ROOT": str(folder), "POWER_LOG": str(folder.with_suffix(".record"))}
    subprocess.run([sys.executable, "-c", PROBE], env=env, check=False, timeout=PATIENCE_S)
    return syncs(read(folder.with_suffix(".record")), "probe.db") > 0


async def record(folder: Path, plan: Plan, recorder: dict[str, str]) -> Recording:
    """Live as often as planned, and read the record; `recorder` is what makes a process record."""
    root = folder / "disk"
    root.mkdir(parents=True)
    templates = write_templates(folder / "templates")
    log = Log(folder / "record")
    env = {
        **environment(folder, data_dir=str(root / "data")),
        **recorder,
        LOG_BYTES: str(plan.log_bytes),
        FAULT: plan.fault,
        "POWER_ROOT": str(root),
        "POWER_LOG": str(log.path),
    }
    server = TestServer(far_side(log), host="127.0.0.1")
    await server.start_server()
    scene = Scene(folder, log, plan, env, random.Random(plan.seed), str(server.make_url("")))
    try:
        for number in range(plan.lives):
            await live(scene, number)
    finally:
        await server.close()
        log.close()
    return Recording(root, templates, read(log.path))
