"""Secrets go through every path there is; then all that was answered, logged or kept is searched
for each of them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import string
import subprocess
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.crash.service import PERSON, Service, serving, together
from tests.effects import scale
from tests.effects.parrot import Parrot, forms
from tests.effects.world import JSON, rests, write_template

COMPANIES = 8
ALPHABET = string.ascii_letters + string.digits + "+/=&%\"\\<>'~!*#?\u00fc"
LETTERS = 24
AUTHS: tuple[JSON, ...] = (
    {"auth_type": "bearer"},
    {"auth_type": "header", "auth_header": "X-Api-Key"},
    {"auth_type": "basic"},
    {"auth_type": "none"},
)
ANSWERED = ("/json/200", "/text/200", "/text/201", "/charset")
FAILING = ("/json/400", "/text/500", "/away", "/long", "/hang", "/reset", "/json/503")
SIGNAL = "response.body.one != null"


@dataclass(frozen=True)
class Canary:
    """A secret that nobody may ever see again, and how it is used."""

    number: int
    secret: str
    auth: JSON

    @property
    def token(self) -> str:
        return f"user-{self.number}:{self.secret}" if self.auth["auth_type"] == "basic" else self.secret


@dataclass
class Caller:
    """A company that hands secrets in and keeps whatever it is answered."""

    service: Service
    parrot: Parrot
    answers: list[bytes] = field(default_factory=list)

    async def ask(self, method: str, path: str, body: Any = None, raw: bytes | None = None, **headers: str) -> int:
        """One request; its whole answer is kept."""
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Authorization": f"Bearer {self.service.token}", "Content-Type": "application/json", **own}
        how: JSON = {"json": body} if raw is None else {"data": raw}
        if raw is None and body is not None:
            del sent["Content-Type"]
        async with self.service.session.request(method, self.service.address + path, headers=sent, **how) as response:
            self.answers += [repr(response.headers).encode(), await response.read()]
            return response.status

    async def put(self, canary: Canary, path: str, tool: str = "look", *, new: bool = False, **how: Any) -> None:
        """Bind a tool; the secret goes along when it is new."""
        common = {"base_url": self.parrot.url, "method": "POST", "reversible": True, "retries": 0, "timeout_s": 5}
        body = {**common, "path": path, **canary.auth, **how, **({"auth_token": canary.token} if new else {})}
        if canary.auth["auth_type"] == "none":  # a secret that nothing uses is refused, and never seen again either
            body.pop("auth_token", None)
        assert await self.ask("PUT", f"/connectors/{tool}", body) in {200, 201}

    async def run(self, vertical: str, key: str) -> JSON:
        """A run until nothing of it executes, read in every way there is."""
        body = {"vertical": vertical, "inputs": {}}
        run = await self.service.run("POST", "/process-runs/", body, Idempotency_Key=key)
        if vertical == "pays":
            path = f"/process-runs/{run['id']}/resume"
            assert await self.ask("POST", path, {"gate": "signoff", "decision": "approved"}) in {200, 202}
        found = await rests(self.service, run["id"])
        await self.ask("POST", "/process-runs/", body, Idempotency_Key=key)
        for path in (f"/process-runs/{run['id']}", f"/process-runs/{run['id']}/events?limit=200"):
            await self.ask("GET", path)
        await self.listen(found)
        return found

    async def listen(self, run: JSON) -> None:
        """Follow the events of a run at rest to the last one."""
        headers = {"Authorization": f"Bearer {self.service.token}", "Accept": "text/event-stream"}
        path = f"{self.service.address}/process-runs/{run['id']}/events"
        async with self.service.session.get(path, headers=headers) as stream:
            async for line in stream.content:
                self.answers.append(line)
                if line.startswith(b"id: ") and int(line[4:]) >= run["version"]:
                    return


async def written(caller: Caller, canary: Canary) -> None:
    """Hand the secret in, well and badly, and read back what is said of it."""
    secret, name = canary.token, f"/connectors/look-{canary.number}"
    bad: tuple[JSON, ...] = (
        {"base_url": "https://api.test", "auth_token": f"{secret}\n"},
        {"base_url": "https://api.test", "auth_tokn": secret},
        {"base_url": "https://api.test", "auth_token": [secret]},
        {"base_url": "https://api.test", "auth_token": secret},
        {"base_url": "https://api.test", "auth_type": "basic", "auth_token": canary.secret},
    )
    for body in bad:
        assert await caller.ask("PUT", name, body) == 422
        assert await caller.ask("POST", f"{name}/test", body) == 422
    assert await caller.ask("PUT", name, raw=b'{"auth_token": "' + canary.secret.encode()) == 400
    await caller.put(canary, "/json/200", new=True, reversible=False)
    assert (await caller.run("looks", f"shadow-{canary.number}"))["status"] == "completed"
    await caller.put(canary, "/json/200", new=True)
    for path in ("/connectors/", "/connectors/look", "/connectors/look/changes"):
        assert await caller.ask("GET", path) == 200


async def called(caller: Caller, canary: Canary) -> None:
    """Use the secret in calls that succeed, and in calls that fail in every way."""
    number = canary.number
    for path in ANSWERED:
        await caller.put(canary, path, signal_rule=SIGNAL)
        await caller.run("looks", f"{path}-{number}")
    for place, path in enumerate(FAILING):
        if place % 3 == 0:
            await recover(caller, canary)
        await caller.put(canary, path, timeout_s=0.2 if path == "/hang" else 5)
        failed = await caller.run("looks", f"{path}-{number}")
        assert failed["status"] == "failed", failed
    await recover(caller, canary)
    for path in ("/reset", "/json/503"):
        await caller.put(canary, path, "pay", new=True)
        parked = await caller.run("pays", f"pay-{path}-{number}")
        assert parked["gate"]["reason"].startswith("outcome unknown"), parked
        await caller.ask("POST", f"/process-runs/{parked['id']}/resume", {"gate": "pay", "decision": "denied"})
    await recover(caller, canary)


async def recover(caller: Caller, canary: Canary) -> None:
    """A call that succeeds, so that no circuit opens."""
    await caller.put(canary, "/json/200")
    assert (await caller.run("looks", f"well-{len(caller.answers)}-{canary.number}"))["status"] == "completed"


async def tried_out(caller: Caller, canary: Canary) -> None:
    """Try the connector with the stored secret and with a given one, where it answers and where it
    cannot.
    """
    tried = {
        "base_url": caller.parrot.url,
        "method": "POST",
        "send": True,
        **canary.auth,
        "retries": 0,
        "timeout_s": 0.3,
    }
    for path in (*ANSWERED, *FAILING):
        for given in ({}, {"auth_token": canary.token}):
            status = 422 if given and canary.auth["auth_type"] == "none" else 200
            assert await caller.ask("POST", "/connectors/look/test", {**tried, "path": path, **given}) == status
    for base_url in ("http://10.0.0.1", "http://127.0.0.1:1", "http://nobody.invalid"):
        body = {**tried, "base_url": base_url, "auth_token": canary.token}
        await caller.ask("POST", "/connectors/look/test", body)


async def refused(caller: Caller, canary: Canary) -> None:
    """Send the secret where it may not go, and forget it."""
    for base_url in ("http://10.0.0.1", "http://127.0.0.1:1"):
        await caller.put(canary, "/x", new=True, base_url=base_url)
        assert (await caller.run("looks", f"{base_url}-{canary.number}"))["status"] == "failed"
    for tool in ("look", "pay"):
        assert await caller.ask("DELETE", f"/connectors/{tool}") == 204
    assert await caller.ask("GET", "/connectors/look/changes") == 200


def canaries(number: int) -> list[Canary]:
    rng = random.Random(20_260_301)
    return [Canary(n, "".join(rng.choices(ALPHABET, k=LETTERS)), AUTHS[n % len(AUTHS)]) for n in range(number)]


def hits(birds: list[Canary], place: Path, patterns: Path) -> list[str]:
    """Where in a folder a secret is found, in whichever form: `grep` looks for all of them in one
    pass.
    """
    patterns.write_text("".join(f"{form}\n" for one in birds for form in forms(one.secret)), encoding="utf-8")
    command = ["grep", "-raoF", "-f", str(patterns), str(place)]
    found = subprocess.run(command, env={"LC_ALL": "C", "PATH": os.defpath}, capture_output=True, check=False)
    assert found.returncode in {0, 1}, found.stderr
    return found.stdout.decode(errors="replace").splitlines()


def keep(data: Path, place: Path) -> None:
    """Copy all files of the data folder, and a backup of the database, as a file and in SQL."""
    shutil.copytree(data, place / "data")
    live = sqlite3.connect(f"file:{data / 'penstock.db'}?mode=ro", uri=True)
    with closing(live), closing(sqlite3.connect(place / "backup.db")) as copy:
        live.backup(copy)
        (place / "backup.sql").write_text("\n".join(copy.iterdump()), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    end = {"id": "closed", "kind": "end", "label": "Closed", "outcome": "closed"}
    look = {"id": "look", "kind": "task", "label": "Look", "tool": "look", "effect": "read", "next": "closed"}
    sign = {"id": "signoff", "kind": "gate", "label": "Sign", "next": "pay"}
    pay = {"id": "pay", "kind": "task", "label": "Pay", "tool": "pay", "effect": "irreversible", "next": "closed"}
    write_template(tmp_path, "looks", [look, end])
    write_template(tmp_path, "pays", [sign, pay, end])
    return tmp_path


@pytest.fixture
async def parrot() -> AsyncIterator[Parrot]:
    side = Parrot()
    await side.server.start_server(shutdown_timeout=0.01)
    yield side
    await side.server.close()


async def company(service: Service, parrot: Parrot, number: int) -> Caller:
    person = {**PERSON, "email": f"ada@company-{number}.test"}
    status, session = await service.send("POST", "/auth/register", person)
    assert status == 201, session
    return Caller(replace(service, token=session["token"]), parrot)


async def through_all(caller: Caller, mine: list[Canary]) -> None:
    for canary in mine:
        for way in (written, called, tried_out, refused):
            await way(caller, canary)


async def test_no_secret_is_ever_seen_again_in_any_form(folder: Path, parrot: Parrot) -> None:
    birds, seen = canaries(scale.CANARIES.now), folder / "seen"
    async with serving(folder, log_level="debug", company_tests_per_minute_max="10000") as service:
        callers = [await company(service, parrot, number) for number in range(COMPANIES)]
        await together(through_all(one, birds[number::COMPANIES]) for number, one in enumerate(callers))
        keep(folder / "data", seen / "running")
        (seen / "answers").write_bytes(b"\n".join(answer for one in callers for answer in one.answers))
        service.process.send_signal(signal.SIGTERM)
        assert await service.process.wait() == 0
    keep(folder / "data", seen / "stopped")
    shutil.copy(service.log, seen)
    assert (seen / "running" / "data" / "penstock.db-wal").stat().st_size > 0
    assert {one.secret for one in birds if one.auth["auth_type"] != "none"} <= parrot.heard
    assert b"***" in (seen / "answers").read_bytes()
    assert hits(birds, seen, folder / "patterns") == []
    answers, size = sum(len(one.answers) for one in callers), sum(path.stat().st_size for path in seen.rglob("*"))
    scale.note("canaries", secrets=len(birds), parts_of_answers=answers, bytes_searched=size, hits=0)


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_the_search_finds_a_secret_wherever_it_stands(tmp_path: Path, before: str) -> None:
    for one in canaries(20):
        text = before.encode() + one.secret.encode() + b"xyz"
        encoded = (
            text,
            text.hex().encode(),
            text.hex().upper().encode(),
            quote(text, safe="").encode(),
            b64encode(text),
        )
        place = tmp_path / str(one.number)
        place.mkdir()
        for number, form in enumerate(encoded):
            (place / str(number)).write_bytes(b"\x00\xff" + form + b"...")
        found = hits([one], place, tmp_path / "patterns")
        assert len({line.partition(":")[0] for line in found}) == len(encoded)
        assert hits([replace(one, secret=one.secret[::-1])], place, tmp_path / "patterns") == []
