"""A busy service in trouble: whatever it writes, sends or hands out, none of the secrets that it
was given is in it.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from aiohttp import web

from daemon.keys.keyring import read_ring
from tests.crash.service import PERSON, Service, command, environment, serving, together
from tests.listening import Listener
from tests.web.collector import Collector

PASSWORD, WRONG = "pässword-canary-1", "wrong-canary-2"
BEARER, BASIC, HEADER = 'bearer/canary+3 "x"', "user:basic-canary-4", "header-canary-5"
QUERY, COOKIE, SCHEME, HASH = "query-canary-6", "cookie-canary-7", "scheme-canary-8", "$argon2id$hash-canary-9"
FIELD, TRIAL = "field-canary-10", "trial-canary-11"
FORM = {"reversible": True, "retries": 0, "method": "POST", "timeout_s": 5}


class Echo(Listener):
    """A far side that says back whatever it hears, in every way in which things go wrong."""

    def __init__(self) -> None:
        super().__init__("/{how}")
        self.heard = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.heard += 1
        said = {"headers": dict(request.headers), "body": (await request.read()).decode()}
        token = request.headers.get("Authorization", "").partition(" ")[2] or request.headers.get("X-Key", "")
        match request.match_info["how"]:
            case "redirect":
                return web.Response(status=302, headers={"Location": f"/ok?key={quote(token)}"}, text=token)
            case "cut":
                assert request.transport is not None
                request.transport.write(f"HTTP/1.1 200 OK\r\nX: {token}\r\nContent-Length: 99\r\n\r\n{token}".encode())
                request.transport.close()
                return web.Response()
            case "refused":
                return web.Response(status=401, reason=f"no {HEADER}", text=f"{token} is wrong: {quote_plus(token)}")
            case "hex":
                return web.json_response({"raw": token.encode().hex(), token: [token]}, status=500)
            case _:
                return web.json_response({**said, "signal": token})


@dataclass
class Told:
    """Everything that was written, sent or handed out, by what it is."""

    parts: dict[str, bytes] = field(default_factory=dict)

    def found(self, planted: Mapping[str, str]) -> list[tuple[str, str]]:
        """Which secret stands where, in whatever form."""
        return [
            (name, part)
            for name, secret in planted.items()
            for part, raw in self.parts.items()
            if any(form in raw for form in forms(secret))
        ]


def forms(secret: str) -> set[bytes]:
    raw = secret.encode()
    texts = {secret, json.dumps(secret)[1:-1], raw.hex(), quote(secret, safe=""), quote_plus(secret)}
    return {text.encode() for text in texts} | {base64.b64encode(raw).rstrip(b"=")}


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    async with Echo() as one:
        yield one


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with Collector() as one:
        yield one


async def use(service: Service, echo: Echo) -> dict[str, str]:
    """Work with every kind of secret, and get most of it wrong; returns those that the service
    gave.
    """
    status, session = await service.send("POST", "/auth/register", {**PERSON, "password": PASSWORD})
    assert status == 201
    service.token = session["token"]
    status, hook = await service.send("POST", "/webhooks/", {"url": f"{echo.url}/refused"})
    assert status == 201
    await knock(service, session["token"])
    for how in ("ok", "redirect", "cut", "refused", "hex"):
        for auth, secret in (("bearer", BEARER), ("basic", BASIC), ("header", HEADER)):
            more = {"auth_header": "X-Key", "query_map": {"q": "who"}} if auth == "header" else {}
            body = {**FORM, **more, "base_url": echo.url, "path": f"/{how}", "auth_type": auth, "auth_token": secret}
            assert (
                await service.send("PUT", "/connectors/look", {**body, "signal_rule": "response.body.signal != null"})
            )[0] < 300
            await service.send("POST", "/connectors/look/test", {**body, "auth_token": TRIAL, "send": True})
            await service.send("POST", "/connectors/look/test", {**body, "auth_token": 5, "auth_tokn": FIELD})
            await service.start("held")
    await service.send("POST", f"/webhooks/{hook['id']}/test")
    return {"token": session["token"], "webhook secret": hook["secret"]}


async def knock(service: Service, token: str) -> None:
    """Secrets where they do not belong."""
    await service.send("POST", "/auth/login", {"email": PERSON["email"], "password": WRONG})
    await service.send("POST", "/auth/login", {"email": "nobody@example.test", "password": WRONG})
    await service.send("POST", "/auth/register", {**PERSON, "password": PASSWORD, "passwrd": FIELD})
    for path in (f"/process-runs/?token={QUERY}", f"/process-runs/{token}", f"/nowhere?access_token={token}"):
        await service.send("GET", path, Cookie=f"session={COOKIE}")
    for credentials in (f"Token {SCHEME}", f"Bearer {SCHEME}", f"Bearer {token[:-3]}xyz", f"Basic {SCHEME}"):
        await service.send("GET", "/auth/me", Authorization=credentials)


async def trouble(service: Service, folder: Path) -> None:
    """Faults of our own, with secrets at hand: rows that cannot be read any more."""
    with closing(sqlite3.connect(folder / "data" / "penstock.db")) as db, db:
        db.execute("UPDATE users SET password_hash = ?", (HASH,))
        db.execute("UPDATE connectors SET sealed_secret = x'00'")
    await service.send("POST", "/auth/login", {"email": PERSON["email"], "password": PASSWORD})
    await service.start("held")
    with closing(sqlite3.connect(folder / "data" / "penstock.db")) as db, db:
        db.execute("UPDATE company_keys SET wrapped = x'00'")
        db.execute("UPDATE connectors SET connector = CAST(? AS BLOB)", (json.dumps({"auth_token": BEARER}),))
    await service.send("GET", "/connectors/look")
    await service.send("PUT", "/connectors/look", {**FORM, "base_url": "https://x.test", "auth_token": BEARER})
    await service.send("POST", "/process-runs/", {"vertical": "held"})


async def gathered(service: Service, folder: Path) -> Told:
    """All that can be read of a running service, but for what it tells its caller once."""
    told, pages = Told(), ["/connectors/", "/connectors/look/changes", "/webhooks/", "/audit/export", "/events"]
    pages += ["/process-runs/", "/auth/me", "/health", "/audit/keys"]
    (measuring,) = [line for line in service.log.read_text("utf-8").splitlines() if '"metrics_listening"' in line]
    headers = {"Authorization": f"Bearer {service.token}"}
    for page in (json.loads(measuring)["address"], *(service.address + page for page in pages)):
        async with service.session.get(page, headers=headers) as response:
            told.parts[page] = await response.read()
    env, copy = environment(folder), folder / "copy.db"
    remote = {**env, "PENSTOCK_URL": service.address, "PENSTOCK_TOKEN": service.token}
    given = [("backup", str(copy)), ("doctor",), ("verify", "--data-dir", str(folder / "data")), ("webhooks", "ls")]
    for words, said in zip(given, await together(command(*words, env=remote) for words in given), strict=True):
        told.parts[" ".join(words)] = "".join(map(str, said)).encode()
    told.parts["the backup itself"] = copy.read_bytes()
    return told


async def test_no_secret_is_in_anything_that_a_busy_service_in_trouble_lets_out(
    folder: Path, echo: Echo, collector: Collector
) -> None:
    settings: dict[str, Any] = {"log_level": "debug", "access_log": "all", "metrics_port": "0"}
    async with serving(folder, otlp_endpoint=collector.url, **settings) as service:
        given = await use(service, echo)
        told = await gathered(service, folder)
        await trouble(service, folder)
        service.process.terminate()
        assert await service.process.wait() == 0
    told.parts["log"] = service.log.read_bytes()
    told.parts["traces"] = collector.raw
    for file in (folder / "data").glob("penstock.db*"):
        told.parts[file.name] = file.read_bytes().replace(HASH.encode(), b"").replace(json.dumps(BEARER).encode(), b"")
    planted = {"password": PASSWORD, "wrong password": WRONG, "bearer": BEARER, "basic": "basic-canary-4", **given}
    planted |= {"header": HEADER, "trial": TRIAL, "query": QUERY, "cookie": COOKIE, "scheme": SCHEME, "hash": HASH}
    for name in ("jwt.keys", "vault.key", "audit.keys", "commit.keys"):
        ring = read_ring(folder / "data" / name)
        planted |= {f"{name} {key_id}": base64.b64encode(key).decode() for key_id, key in ring.keys.items()}
    assert echo.heard > 20
    assert len(collector.spans) > 50
    assert b'"unhandled_exception"' in told.parts["log"]
    assert b"Traceback" in told.parts["log"]
    assert told.found(planted) == []
